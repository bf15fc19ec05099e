import { isInRange, parseRange } from './number-ranges.ts'

/**
 * Returns whether a JSON value matches an expected one. An object matches if each expected field matches; it may have
 * other fields. A list matches if each expected entry matches one of its entries; an empty list matches an empty one
 * alone. A number matches a range that it is in, as `50..`. Other values match if they are equal.
 *
 * @example holds({ status: 'running', instances: { running: 1, pending: 0 } }, { instances: { running: 1 } }) // true
 */
export function matchesJsonSubset(value: unknown, expected: unknown): boolean {
  if (Array.isArray(expected)) {
    if (!Array.isArray(value) || expected.length === 0) return Array.isArray(value) && value.length === 0
    return expected.every(one => value.some(entry => matchesJsonSubset(entry, one)))
  }
  if (typeof expected === 'object' && expected !== null) {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return false
    return Object.entries(expected).every(
      ([field, one]) =>
        Object.hasOwn(value, field) && matchesJsonSubset((value as Record<string, unknown>)[field], one),
    )
  }
  const bounds = typeof value === 'number' && typeof expected === 'string' ? parseRange(expected) : undefined
  return bounds === undefined ? Object.is(value, expected) : isInRange(value as number, bounds)
}

/** Returns whether arrays and objects are nested deeper than `maxDepth`. It looks no deeper than that. */
export function isNestedDeeper(value: unknown, maxDepth: number): boolean {
  if (typeof value !== 'object' || value === null) return false
  if (maxDepth === 0) return true
  if (Array.isArray(value)) return value.some(inner => isNestedDeeper(inner, maxDepth - 1))
  for (const name in value) if (isNestedDeeper((value as Record<string, unknown>)[name], maxDepth - 1)) return true
  return false
}

/** Returns JSON whose fields are sorted by name; fields without a value are left out. */
export function stableJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(stableJson).join(',')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null'
  // A date of a rule has no fields of its own.
  if (value instanceof Date) return JSON.stringify(value)
  const fields = Object.entries(value).filter(([, inner]) => inner !== undefined)
  fields.sort(([one], [other]) => (one < other ? -1 : 1))
  return `{${fields.map(([name, inner]) => `${JSON.stringify(name)}:${stableJson(inner)}`).join(',')}}`
}
