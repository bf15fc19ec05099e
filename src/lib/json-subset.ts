/**
 * Whether a JSON value is what is asked for: an object holds when each asked field does, however many others it has; a
 * list when it has as many entries and each holds; anything else when it is equal.
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
