/** Texts of the formats that schemas name. */

/** The draws: an integer below a count, a word, hexadecimal digits. */
export interface TextSource {
  readonly below: (count: number) => number
  readonly word: () => string
  readonly hex: (length: number) => string
}

/** Returns a typical text of a format. Undefined: the format is unknown. */
export function generateFormatted(format: string, { below, word, hex }: TextSource): string | undefined {
  const two = (count: number, from = 0) => String(from + below(count)).padStart(2, '0')
  const day = () => `2026-${two(12, 1)}-${two(28, 1)}`
  const time = () => `${two(24)}:${two(60)}:${two(60)}Z`
  switch (format) {
    case 'date-time':
    case 'iso-date-time':
      return `${day()}T${time()}`
    case 'date':
      return day()
    case 'time':
    case 'iso-time':
      return time()
    case 'duration':
      return `PT${1 + below(59)}M`
    case 'email':
    case 'idn-email':
      return `${word()}@example.com`
    case 'hostname':
    case 'idn-hostname':
      return `${word()}.example.com`
    case 'ipv4':
      return `192.0.2.${1 + below(254)}`
    case 'ipv6':
      return `2001:db8::${(1 + below(65_534)).toString(16)}`
    case 'uri':
    case 'uri-reference':
    case 'iri':
    case 'iri-reference':
    case 'url':
      return `https://example.com/${word()}`
    case 'uri-template':
      return `https://example.com/{${word()}}`
    case 'json-pointer':
      return `/${word()}`
    case 'relative-json-pointer':
      return `${below(10)}/${word()}`
    case 'json-pointer-uri-fragment':
      return `#/${word()}`
    case 'regex':
      return `^${word()}$`
    case 'byte':
      return `${hex(8)}`
    case 'uuid': {
      const digits = hex(30)
      return `${digits.slice(0, 8)}-${digits.slice(8, 12)}-4${digits.slice(12, 15)}-a${digits.slice(15, 18)}-${digits.slice(18, 30)}`
    }
    default:
      return undefined
  }
}

const DAY = '2026-(?:0[1-9]|1[0-2])-(?:0[1-9]|1[0-9]|2[0-8])'
const TIME = '(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:\\.[0-9]+)?Z'
const LABEL = '[a-z][a-z0-9]{0,62}'

/** Patterns of formats whose texts may be longer or shorter than typical ones. */
const FORMAT_PATTERNS: Readonly<Record<string, string>> = {
  'date-time': `^${DAY}T${TIME}$`,
  'iso-date-time': `^${DAY}T${TIME}$`,
  date: `^${DAY}$`,
  time: `^${TIME}$`,
  'iso-time': `^${TIME}$`,
  duration: '^P[1-9][0-9]*[DMY]$',
  email: `^[a-z]+@${LABEL}(?:\\.${LABEL}){1,3}$`,
  'idn-email': `^[a-z]+@${LABEL}(?:\\.${LABEL}){1,3}$`,
  hostname: `^${LABEL}(?:\\.${LABEL}){0,3}$`,
  'idn-hostname': `^${LABEL}(?:\\.${LABEL}){0,3}$`,
  ipv4: '^(?:1?[1-9]?[0-9]\\.){3}1?[1-9]?[0-9]$',
  ipv6: '^(?:::[1-9a-f][0-9a-f]{0,3}|(?:[1-9a-f][0-9a-f]{0,3}:){7}[1-9a-f][0-9a-f]{0,3})$',
  uri: '^[a-z]{1,5}:(?://example\\.com/)?[a-z0-9]+$',
  'uri-reference': '^[a-z0-9]*$',
  iri: '^[a-z]{1,5}:[a-z0-9]+$',
  'iri-reference': '^[a-z0-9]*$',
  url: '^https?://[a-z]{1,60}\\.[a-z]{2,10}(?:/[a-z0-9]*)?$',
  'uri-template': '^(?:[a-z0-9]+/)*\\{[a-z]+\\}$',
  'json-pointer': '^(?:/[a-z0-9]+)*$',
  'relative-json-pointer': '^[0-9](?:/[a-z0-9]+)*$',
  'json-pointer-uri-fragment': '^#(?:/[a-z0-9]+)*$',
  regex: '^\\^?[a-z]*\\$?$',
  byte: '^(?:[A-Za-z0-9]{4})*$',
  uuid: '^(?:urn:uuid:)?[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-a[0-9a-f]{3}-[0-9a-f]{12}$',
}

/** Returns the pattern of shorter and longer texts of a format. Undefined: the format is unknown. */
export function formatPattern(format: string): string | undefined {
  return Object.hasOwn(FORMAT_PATTERNS, format) ? FORMAT_PATTERNS[format] : undefined
}
