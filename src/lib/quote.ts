import { LIMITS } from '../limits.ts'

/** Returns a value as JSON for an error message, at most 200 characters of it. */
export function quote(value: unknown): string {
  const text = toJson(typeof value === 'string' ? value.slice(0, LIMITS.quotedCharacters + 1) : value)
  return text.length <= LIMITS.quotedCharacters ? text : `${text.slice(0, LIMITS.quotedCharacters)}…`
}

function toJson(value: unknown): string {
  try {
    return JSON.stringify(value) ?? String(value)
  } catch {
    // It contains itself, or is nested without end.
    return String(value)
  }
}

/** Returns a text as one argument of a shell. */
export function shellQuote(text: string): string {
  return /^[\w./:@%+,-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`
}
