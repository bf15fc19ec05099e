/** Numbers within the bounds of schemas, on their steps. */
import { SchemaError, type SchemaObject } from './schema-document.ts'
import { isMultiple } from './schema-validator.ts'

/** How many steps are tried where a multiple of one is none to a division in floating point. */
const MOST_TRIES = 1000
/**
 * A number that fits all of these schemas.
 *
 * @param span of how many it is drawn where it has a bound on one side alone
 * @throws SchemaError where there is none
 */
export function numberWithin(
  schemas: readonly SchemaObject[],
  type: 'integer' | 'number',
  draw: (count: number) => number,
  span: number,
  at: string,
): number {
  const all = (keyword: string) =>
    schemas.map(schema => schema[keyword]).filter(value => value !== undefined) as number[]
  const multiples = all('multipleOf')
  const isFree = type === 'number' && multiples.length === 0
  const step = stepOf(isFree ? [0.5] : type === 'integer' ? [1, ...multiples] : multiples)
  const over = Math.max(Number.NEGATIVE_INFINITY, ...all('exclusiveMinimum'))
  const under = Math.min(Number.POSITIVE_INFINITY, ...all('exclusiveMaximum'))
  let low = Math.max(over, ...all('minimum'))
  let high = Math.min(under, ...all('maximum'))
  const isGood = (value: number) =>
    value >= low && value <= high && value > over && value < under && multiples.every(one => isMultiple(value, one))
  const [least, most] = [low, high]
  if (low === Number.NEGATIVE_INFINITY) low = high === Number.POSITIVE_INFINITY ? 0 : high - span * step.size
  if (high === Number.POSITIVE_INFINITY) high = low + span * step.size
  let first = Math.ceil(low / step.size)
  let last = Math.floor(high / step.size)
  if (first * step.size <= over) first++
  if (last * step.size >= under) last--
  const count = Math.min(last - first + 1, 1_000_000)
  if (count > 0) {
    const drawn = draw(count)
    for (let nth = 0; nth < Math.min(count, MOST_TRIES); nth++) {
      const value = step.times(first + ((drawn + nth) % count))
      if (isGood(value)) return value
    }
  }
  // Between two steps of one half there still are numbers.
  const others = isFree ? [(low + high) / 2, least, most] : [least, most, 0]
  const other = others.find(
    value => Number.isFinite(value) && (type === 'number' || Number.isInteger(value)) && isGood(value),
  )
  if (other === undefined) throw new SchemaError(at, `no ${type} lies within its bounds`)
  return other
}

/** The least step that is a multiple of them all, counted in decimal places so that 3 times 0.1 is 0.3. */
function stepOf(steps: readonly number[]): { size: number; times: (count: number) => number } {
  const parts = steps.map(decimal)
  const places = Math.max(...parts.map(one => one.places))
  const whole = parts
    .map(({ digits, places: own }) => digits * tens(places - own))
    .reduce((one, other) => (one / divisor(one, other)) * other)
  return {
    size: Number(`${whole}e${-places}`),
    times: count => (Number.isFinite(count) ? Number(`${BigInt(count) * whole}e${-places}`) : count),
  }
}

/** A number as it is written: its digits, and how many of them stand after the point. */
function decimal(value: number): { digits: bigint; places: number } {
  const [mantissa, exponent = '0'] = String(value).split('e') as [string, string?]
  const [whole, fraction = ''] = mantissa.split('.') as [string, string?]
  const places = fraction.length - Number(exponent)
  const digits = BigInt(`${whole}${fraction}`)
  return places < 0 ? { digits: digits * tens(-places), places: 0 } : { digits, places }
}

function tens(count: number): bigint {
  return BigInt(`1${'0'.repeat(count)}`)
}

function divisor(one: bigint, other: bigint): bigint {
  return other === 0n ? one : divisor(other, one % other)
}
