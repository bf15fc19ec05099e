/** Generates texts that match the lengths, patterns and formats of schemas. */
import { countRange, SchemaError, type SchemaObject } from './document.ts'
import type { Effort } from './effort.ts'
import { Pattern } from './patterns.ts'
import { hasFormat } from './validate.ts'

type TextOf = (effort: Effort) => string

const two = (effort: Effort, count: number, from = 0) => String(from + effort.drawInteger(count)).padStart(2, '0')
const day: TextOf = effort => `2026-${two(effort, 12, 1)}-${two(effort, 28, 1)}`
const time: TextOf = effort => `${two(effort, 24)}:${two(effort, 60)}:${two(effort, 60)}Z`

/** A typical text by the names of its formats. */
const FORMATS: Readonly<Record<string, TextOf>> = {
  'date-time iso-date-time': effort => `${day(effort)}T${time(effort)}`,
  date: day,
  'time iso-time': time,
  duration: effort => `PT${1 + effort.drawInteger(59)}M`,
  'email idn-email': effort => `${effort.drawWord()}@example.com`,
  'hostname idn-hostname': effort => `${effort.drawWord()}.example.com`,
  'ipv4 ipvanyaddress': effort => `192.0.2.${1 + effort.drawInteger(254)}`,
  ipv6: effort => `2001:db8::${(1 + effort.drawInteger(65_534)).toString(16)}`,
  'uri uri-reference iri iri-reference url': effort => `https://example.com/${effort.drawWord()}`,
  'uri-template': effort => `https://example.com/{${effort.drawWord()}}`,
  'json-pointer': effort => `/${effort.drawWord()}`,
  'relative-json-pointer': effort => `${effort.drawInteger(10)}/${effort.drawWord()}`,
  'json-pointer-uri-fragment': effort => `#/${effort.drawWord()}`,
  regex: effort => `^${effort.drawWord()}$`,
  'byte base64 base64url': effort => effort.drawHex(8),
  'uuid uuid4': effort => {
    const digits = effort.drawHex(30)
    return `${digits.slice(0, 8)}-${digits.slice(8, 12)}-4${digits.slice(12, 15)}-a${digits.slice(15, 18)}-${digits.slice(18, 30)}`
  },
  // Zod's pattern for it has properties of characters, which the library for patterns does not know.
  emoji: effort => ['🌊', '🌲', '🌙'][effort.drawInteger(3)]!,
}

/** Returns the generator of a format. Undefined: no text of the format is known. */
function formatGenerator(format: string): TextOf | undefined {
  return Object.entries(FORMATS).find(([names]) => names.split(' ').includes(format))?.[1]
}

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
  if (minLength > declaredMax)
    throw new SchemaError(at, `minLength is ${minLength}, and it has ${declaredMax} characters at most`)
  for (const one of patterns) one.requireTested(minLength, `, and minLength is ${minLength}`)
  const maxLength = Math.min(declaredMax, ...patterns.map(one => one.maxLength))
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
    // Quick patterns are tested up to a million characters, which no schema says.
    ...(maxLength < 1e6 ? [`at most ${maxLength} characters`] : []),
  ]
  throw new SchemaError(at, `no text is known that fits ${wanted.join(' and ')}`)
}

function prose(minLength: number, maxLength: number, effort: Effort): string {
  let text = effort.drawWords(2 + effort.drawInteger(4))
  while (text.length < minLength) text += ` ${effort.drawWords(4).toLowerCase()}`
  if (text.length <= maxLength) return text
  return text.slice(0, maxLength).trimEnd().padEnd(minLength, 'a')
}
