/**
 * Returns whether a JSON value matches an expected one. An object matches if each expected field matches; it may have
 * other fields. A list matches if it has as many entries and each matches. Other values match if they are equal.
 *
 * @example holds({ status: 'running', instances: { running: 1, pending: 0 } }, { instances: { running: 1 } }) // true
 */
export function matchesJsonSubset(value: unknown, expected: unknown): boolean {
  if (Array.isArray(expected)) {
    return (
      Array.isArray(value) &&
      value.length === expected.length &&
      expected.every((one, at) => matchesJsonSubset(value[at], one))
    )
  }
  if (typeof expected === 'object' && expected !== null) {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return false
    return Object.entries(expected).every(
      ([field, one]) =>
        Object.hasOwn(value, field) && matchesJsonSubset((value as Record<string, unknown>)[field], one),
    )
  }
  return Object.is(value, expected)
}
