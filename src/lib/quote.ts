import { LIMITS } from './limits.ts'

/** Returns a value as JSON for an error message, at most 200 characters of it. */
export function quote(value: unknown): string {
  const text = toJson(typeof value === 'string' ? value.slice(0, LIMITS.quotedCharacters + 1) : value)
  return text.length <= LIMITS.quotedCharacters ? text : `${text.slice(0, LIMITS.quotedCharacters)}…`
}

function toJson(value: unknown): string {
  // JSON has no NaN and no Infinity.
  if (typeof value === 'number') return String(value)
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

/** Returns a text as an attribute of XML, with its quotes. */
export function xmlAttribute(text: string): string {
  return `"${escapeXml(text).replace(/"/g, '&quot;').replace(/\n/g, '&#10;')}"`
}

/** Escapes text for XML, and removes characters that XML does not allow. */
export function escapeXml(text: string): string {
  return text
    .replace(/[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu, '')
    .replace(/&/g, '&amp;')
    .replace(/</g, '&lt;')
    .replace(/>/g, '&gt;')
}

/** Returns a value of JSON as source text: short values in one line, keys without quotes, texts in single quotes. */
export function toSource(value: unknown, width: number, indent = ''): string {
  if (typeof value === 'string')
    return `'${JSON.stringify(value).slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'")}'`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const isList = Array.isArray(value)
  const inner = `${indent}  `
  const parts = isList
    ? value.map(item => toSource(item, width, inner))
    : Object.entries(value).map(([key, item]) => `${toKey(key)}: ${toSource(item, width, inner)}`)
  const [open, close, space] = isList ? ['[', ']', ''] : ['{', '}', ' ']
  const line = `${open}${space}${parts.join(', ')}${space}${close}`
  if (parts.length === 0) return `${open}${close}`
  if (line.length + indent.length <= width && !line.includes('\n')) return line
  return `${open}\n${parts.map(part => `${inner}${part},\n`).join('')}${indent}${close}`
}

function toKey(key: string): string {
  // Without brackets, the literal of an object would set its prototype.
  if (key === '__proto__') return "['__proto__']"
  return /^[A-Za-z_]\w*$/.test(key) ? key : toSource(key, 0)
}
