/** Numbers within the bounds of schemas, on their steps. */
import { SchemaError, type SchemaObject } from './document.ts'
import type { Effort } from './effort.ts'
import { isValidNumber } from './validate.ts'

/** Steps that are tried if a multiple is inexact in floating point, or one of several. */
const MAX_TRIES = 1000

/**
 * Returns a number that matches all of these schemas.
 *
 * @throws SchemaError if no number fits
 */
export function generateNumber(schemas: readonly SchemaObject[], type: string, effort: Effort, at: string): number {
  const isValid = (value: number) =>
    Number.isFinite(value) &&
    (type === 'number' || Number.isInteger(value)) &&
    schemas.every(one => isValidNumber(one, value))
  const multiples = schemas.flatMap(one => one.multipleOf ?? [])
  const step = Math.max(...(type === 'integer' ? [1] : multiples.length === 0 ? [0.5] : []), ...multiples)
  const times = (count: number) => (Number.isInteger(step) ? step * count : Number((step * count).toPrecision(15)))
  const above = Math.max(...schemas.map(one => one.exclusiveMinimum ?? Number.NEGATIVE_INFINITY))
  const below = Math.min(...schemas.map(one => one.exclusiveMaximum ?? Number.POSITIVE_INFINITY))
  const least = Math.max(above, ...schemas.map(one => one.minimum ?? Number.NEGATIVE_INFINITY))
  const most = Math.min(below, ...schemas.map(one => one.maximum ?? Number.POSITIVE_INFINITY))
  const low = Number.isFinite(least) ? least : Number.isFinite(most) ? most - effort.span * step : 0
  const high = Number.isFinite(most) ? most : low + effort.span * step
  const first = Math.ceil(low / step) + (Math.ceil(low / step) * step <= above ? 1 : 0)
  const last = Math.floor(high / step) - (Math.floor(high / step) * step >= below ? 1 : 0)
  const count = Math.min(last - first + 1, 1_000_000)
  const offset = count > 0 ? effort.drawInteger(count) : 0
  for (let index = 0; index < Math.min(count, MAX_TRIES); index++) {
    const value = times(first + ((offset + index) % count))
    if (isValid(value)) return value
  }
  // Numbers also exist between two steps of one half.
  const candidate = [(low + high) / 2, least, most, 0].find(isValid)
  if (candidate === undefined) throw new SchemaError(at, `no ${type} lies within its bounds`)
  return candidate
}
