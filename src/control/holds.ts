/**
 * Whether a JSON value is what is asked for: an object holds when each asked field does, however many others it has; a
 * list when it has as many entries and each holds; anything else when it is equal.
 *
 * @example holds({ status: 'running', instances: { running: 1, pending: 0 } }, { instances: { running: 1 } }) // true
 */
export function holds(value: unknown, asked: unknown): boolean {
  if (Array.isArray(asked)) {
    return Array.isArray(value) && value.length === asked.length && asked.every((one, at) => holds(value[at], one))
  }
  if (typeof asked === 'object' && asked !== null) {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return false
    return Object.entries(asked).every(
      ([field, one]) => Object.hasOwn(value, field) && holds((value as Record<string, unknown>)[field], one),
    )
  }
  return Object.is(value, asked)
}
