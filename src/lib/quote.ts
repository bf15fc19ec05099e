/** The maximum length of a value in an error message. */
const QUOTE_MAX_LENGTH = 200

/** Returns a value as JSON for an error message, at most 200 characters of it. */
export function quote(value: unknown): string {
  const text = toJson(typeof value === 'string' ? value.slice(0, QUOTE_MAX_LENGTH + 1) : value)
  return text.length <= QUOTE_MAX_LENGTH ? text : `${text.slice(0, QUOTE_MAX_LENGTH)}…`
}

function toJson(value: unknown): string {
  try {
    return JSON.stringify(value) ?? String(value)
  } catch {
    // It contains itself, or is nested without end.
    return String(value)
  }
}
