/** Numbers within the bounds of schemas, on their steps. */
import { SchemaError, type SchemaObject } from './document.ts'
import { isMultiple } from './validate.ts'

/** Steps that are tried if a multiple is inexact in floating point. */
const MAX_TRIES = 1000
/**
 * Returns a number that matches all of these schemas.
 *
 * @param span number of values to draw from, if the range has one bound
 * @throws SchemaError if no number fits
 */
export function generateNumber(
  schemas: readonly SchemaObject[],
  type: 'integer' | 'number',
  draw: (count: number) => number,
  span: number,
  at: string,
): number {
  const valuesOf = (keyword: string) =>
    schemas.map(schema => schema[keyword]).filter(value => value !== undefined) as number[]
  const multiples = valuesOf('multipleOf')
  const isFractionAllowed = type === 'number' && multiples.length === 0
  const step = commonStep(isFractionAllowed ? [0.5] : type === 'integer' ? [1, ...multiples] : multiples)
  const exclusiveMin = Math.max(Number.NEGATIVE_INFINITY, ...valuesOf('exclusiveMinimum'))
  const exclusiveMax = Math.min(Number.POSITIVE_INFINITY, ...valuesOf('exclusiveMaximum'))
  let low = Math.max(exclusiveMin, ...valuesOf('minimum'))
  let high = Math.min(exclusiveMax, ...valuesOf('maximum'))
  const isValid = (value: number) =>
    value >= low &&
    value <= high &&
    value > exclusiveMin &&
    value < exclusiveMax &&
    multiples.every(one => isMultiple(value, one))
  const [least, most] = [low, high]
  if (low === Number.NEGATIVE_INFINITY) low = high === Number.POSITIVE_INFINITY ? 0 : high - span * step.size
  if (high === Number.POSITIVE_INFINITY) high = low + span * step.size
  let first = Math.ceil(low / step.size)
  let last = Math.floor(high / step.size)
  if (first * step.size <= exclusiveMin) first++
  if (last * step.size >= exclusiveMax) last--
  const count = Math.min(last - first + 1, 1_000_000)
  if (count > 0) {
    const offset = draw(count)
    for (let index = 0; index < Math.min(count, MAX_TRIES); index++) {
      const value = step.times(first + ((offset + index) % count))
      if (isValid(value)) return value
    }
  }
  // Numbers also exist between two steps of one half.
  const candidates = isFractionAllowed ? [(low + high) / 2, least, most] : [least, most, 0]
  const candidate = candidates.find(
    value => Number.isFinite(value) && (type === 'number' || Number.isInteger(value)) && isValid(value),
  )
  if (candidate === undefined) throw new SchemaError(at, `no ${type} lies within its bounds`)
  return candidate
}

/** Returns the least common multiple of steps. It counts decimal places, so that 3 times 0.1 is 0.3. */
function commonStep(steps: readonly number[]): { size: number; times: (count: number) => number } {
  const parts = steps.map(toDecimal)
  const places = Math.max(...parts.map(one => one.places))
  const commonDigits = parts
    .map(({ digits, places: own }) => digits * powerOfTen(places - own))
    .reduce((one, other) => (one / greatestCommonDivisor(one, other)) * other)
  return {
    size: Number(`${commonDigits}e${-places}`),
    times: count => (Number.isFinite(count) ? Number(`${BigInt(count) * commonDigits}e${-places}`) : count),
  }
}

/** A decimal number: its digits, and the number of digits after the point. */
function toDecimal(value: number): { digits: bigint; places: number } {
  const [mantissa, exponent = '0'] = String(value).split('e') as [string, string?]
  const [whole, fraction = ''] = mantissa.split('.') as [string, string?]
  const places = fraction.length - Number(exponent)
  const digits = BigInt(`${whole}${fraction}`)
  return places < 0 ? { digits: digits * powerOfTen(-places), places: 0 } : { digits, places }
}

function powerOfTen(count: number): bigint {
  return BigInt(`1${'0'.repeat(count)}`)
}

function greatestCommonDivisor(one: bigint, other: bigint): bigint {
  return other === 0n ? one : greatestCommonDivisor(other, one % other)
}
