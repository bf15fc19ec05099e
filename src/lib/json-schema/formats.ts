/** Texts of the formats that schemas name. */
import type { Effort } from './effort.ts'

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
export function formatGenerator(format: string): TextOf | undefined {
  return Object.entries(FORMATS).find(([names]) => names.split(' ').includes(format))?.[1]
}
