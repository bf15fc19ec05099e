/** Generates texts that match the lengths, patterns and formats of schemas. */
import { countRange, SchemaError, type SchemaObject } from './document.ts'
import type { Effort } from './effort.ts'
import { formatGenerator } from './formats.ts'
import { Pattern } from './patterns.ts'
import { hasFormat } from './validate.ts'

/** Texts that are tried for patterns and formats. */
const MAX_ATTEMPTS = 48
/** Texts of a format that are tried before those of a pattern. */
const MAX_FORMAT_ATTEMPTS = 4

/**
 * Returns a text that matches all of these schemas.
 *
 * @throws SchemaError if no text is found
 */
export function generateString(schemas: readonly SchemaObject[], effort: Effort, at: string): string {
  const patterns = schemas.flatMap(({ pattern }) => (pattern === undefined ? [] : [new Pattern(pattern, at)]))
  const [minLength, declaredMax] = countRange(schemas, 'Length')
  const maxLength = Math.min(declaredMax, ...patterns.map(one => one.maxLength))
  if (minLength > maxLength)
    throw new SchemaError(at, `minLength is ${minLength}, and it has ${maxLength} characters at most`)
  const formats = schemas.flatMap(({ format }) => format ?? [])
  const [formatted] = formats.flatMap(one => formatGenerator(one) ?? [])
  if (formatted === undefined && patterns.length === 0) return prose(minLength, maxLength, effort)
  // A required begin comes first, and a required end last.
  const rankOf = ({ source }: Pattern) => (source.startsWith('^') ? 0 : 1) + (source.endsWith('$') ? 1 : 0)
  const ordered = [...patterns].sort((one, other) => rankOf(one) - rankOf(other))
  const patternText = (attempt: number) => {
    const repeats = [6 + minLength, 6, 2][attempt % 3]!
    const parts = attempt % 2 === 0 ? ordered : [patterns[attempt % patterns.length]!]
    const text = parts.map(one => one.text(effort, repeats)).join('')
    return text.length > maxLength ? text.slice(0, maxLength) : text.padEnd(minLength, text.at(-1) ?? 'a')
  }
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
    const isFormatted = patterns.length === 0 || attempt < MAX_FORMAT_ATTEMPTS
    const text = formatted !== undefined && isFormatted ? formatted(effort) : patternText(attempt)
    const { length } = [...text]
    const isValidLength = length >= minLength && length <= maxLength
    if (isValidLength && formats.every(one => hasFormat(one, text)) && patterns.every(one => one.matches(text)))
      return text
  }
  const wanted = [
    ...formats.map(one => `the format ${one}`),
    ...patterns.map(({ source }) => `the pattern ${JSON.stringify(source)}`),
    ...(minLength > 0 ? [`at least ${minLength} characters`] : []),
    ...(maxLength < Number.POSITIVE_INFINITY ? [`at most ${maxLength} characters`] : []),
  ]
  throw new SchemaError(at, `no text is known that fits ${wanted.join(' and ')}`)
}

function prose(minLength: number, maxLength: number, effort: Effort): string {
  let text = effort.drawWords(2 + effort.drawInteger(4))
  while (text.length < minLength) text += ` ${effort.drawWords(4).toLowerCase()}`
  if (text.length <= maxLength) return text
  return text.slice(0, maxLength).trimEnd().padEnd(minLength, 'a')
}
