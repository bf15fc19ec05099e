import { sha256 } from '@noble/hashes/sha2.js'
import { bytesToHex } from '@noble/hashes/utils.js'

/** Credentials in a text that leaves the simulator: JSON, a form, a path, a log line, a sentence. */

/** What readers see in place of a credential. */
export const HIDDEN = '(hidden)'

/** Returns what is in place of a credential. `raw` is the credential as the text has it, with its escapes. */
export type Replacement = (value: string, raw: string) => string

/** What the name of a field, a header or a parameter ends with if its value is a credential: `hfToken`, `API-KEY`. */
const WORD =
  '(?:(?<!(?:[be]os|pad|unk|sep|cls|mask|stop|special)[_-]?)token|secret|passw(?:or)?d|passphrase|' +
  '(?:api|access|private|secret|subscription|signing|encryption)[ _-]?key|credentials?|user[_-]?data|authorization|cookie|bearer|jwt)'
const ENVIRONMENT = String.raw`\benv(?:ironment)?(?:[_-]?var(?:iable)?s)?`
const SCHEME = '(?:bearer|basic|digest|token|apikey)'
/** What an address has before a path, a query or a fragment, also if they are escaped. */
const AUTHORITY = String.raw`(?:(?!%2F|%3F|%23)[^\s/?#"'\\<>&])`

/** Quick, and true for too many texts: most texts have no credential. */
const MAY_HAVE =
  /(?:token|secret|passw(?:or)?d|passphrase|key|credential|user[_-]?data|authorization|cookie|bearer|jwt)s?(?:\\*"|=|:)|--\w|(?<!\w)-[a-z]|bearer|jwt|env\w{0,30}\\*"|@|%40|sim_|hf_|sk-/i
const SCHEMED = new RegExp(`^(${SCHEME}\\s+)?(.*)$`, 'is')
const SECRET_NAME = new RegExp(`${WORD}$`, 'i')
/** The comma after an argument such as `--api-key`, whose value is the next text of the list. */
const ARGUMENT_COMMA = String.raw`,(?<=[[,]\s*\\*"--?[\w-]+\\*"\s*,)(?!\s*\\*"-)`
/** The begin of a value in JSON. Its quotes are escaped if the JSON is a text of JSON. */
const FIELD = new RegExp(
  [
    String.raw`${WORD}(?<one>\\*)"\s*(?::|,\s*\\*"value\\*"\s*:|${ARGUMENT_COMMA})\s*\k<one>"`,
    String.raw`${WORD}s?(?<list>\\*)"\s*:\s*\[`,
    String.raw`${ENVIRONMENT}(?<map>\\*)"\s*:\s*\{`,
  ].join('|'),
  'gi',
)
/** Returns what comes before the next text of a field, a list or a map. Other values than texts are left out. */
function nextOf(kind: string, depth: number): RegExp {
  const quote = String.raw`\\{${depth}}"`
  const name = kind === 'map' ? String.raw`${quote}[^"\\]*${quote}\s*:\s*` : ''
  return new RegExp(kind === 'one' ? '' : String.raw`\s*,?\s*(?:${name}[\w.+-]+\s*,\s*)*${name}${quote}`, 'y')
}
/** A part of a multipart form: its head, and its value. In a text of JSON, its line breaks are escaped. */
const partOf = (eol: string, letter: string, end: string) =>
  new RegExp(
    String.raw`(\bname=\\*"[^"\\]*${WORD}\\*"(?:${eol}[\w-]+:[^\r\n\\]*)*${eol}${eol})(${letter}+?)(?=${eol}--|${end})`,
    'gi',
  )
const PART = partOf(String.raw`\r?\n`, '[^]', '$')
const PARAMETER = new RegExp(String.raw`(${WORD}=)([^&\s"'\\;]+)`, 'gi')
/** Credentials elsewhere: what comes before, and the credential. */
const OTHERS = [
  PART,
  partOf(String.raw`(?:\\+r)?\\+n`, String.raw`(?:[^"\\]|\\+[^"\\])`, String.raw`\\*"|$`),
  new RegExp(String.raw`([a-z](?::(?:\\*/){2}|%3A%2F%2F))(${AUTHORITY}+)(?=@|%40)`, 'gi'),
  /(\bbearer(?:\s+|%20|\+))(?=[\w.~+/=:-]*[\d_])([\w.~+/=:-]{6,})/gi,
  new RegExp(
    String.raw`(${WORD}(?<!jwt)(?::\s*["']?(?:${SCHEME}\s+)?|\s+(?<=(?:^|[\s"'])--?[\w-]+\s+)(?:\\*["'])?))(?!\$?[\d.,]+(?:\s|$))(?=[^\s"'\\,;]*\d)(\w[^\s"'\\,;]{5,})`,
    'gi',
  ),
  /(\bjwt(?::|%3A)[\w-]+\.[\w-]+\.)([\w-]+)/gi,
  /((?<![\w-]))(sim_\w*token(?!\w)|hf_\w{16,}|sk-[\w-]{16,})/g,
]

/** Tells whether a field, a header or a parameter of this name holds a credential. */
export function isSecretName(name: string): boolean {
  return SECRET_NAME.test(name)
}

/** Tells whether a text may have a credential. */
export function mayHaveSecrets(text: string): boolean {
  return MAY_HAVE.test(text)
}

/** Returns a text with its credentials replaced. Default: they are hidden. */
export function hideSecrets(text: string, replace: Replacement = () => HIDDEN): string {
  if (!MAY_HAVE.test(text)) return text
  let hidden = hideFields(text, replace).replaceAll(
    PARAMETER,
    (_, name: string, raw: string) => name + swap(raw, replace, PERCENT),
  )
  for (const rule of OTHERS) {
    hidden = hidden.replaceAll(rule, (_, before: string, raw: string) => before + swap(raw, replace, PLAIN))
  }
  return hidden
}

/** Returns where the credentials of a multipart form are: in its text fields, not in its files. */
export function findSecretParts(text: string): { readonly start: number; readonly end: number }[] {
  return Array.from(text.matchAll(PART), ({ index, 0: whole, 1: head = '' }) => ({
    start: index + head.length,
    end: index + whole.length,
  }))
}

/** How a text has a value: the two ways between them. */
interface Escapes {
  decode(raw: string): string
  encode(value: string): string
}

const PLAIN: Escapes = { decode: raw => raw, encode: value => value }
const PERCENT: Escapes = {
  decode: raw => decodeURIComponent(raw.replaceAll('+', ' ')),
  encode: encodeURIComponent,
}
/** @param depth the backslashes before each quote: 0 in JSON, 1 in a text of JSON, 3 in a text of that */
const jsonEscapes = (depth: number): Escapes => ({
  decode: raw => {
    const text = JSON.parse(`"${raw}"`) as string
    return depth === 0 ? text : jsonEscapes(depth >> 1).decode(text)
  },
  encode: value => {
    const text = JSON.stringify(value).slice(1, -1)
    return depth === 0 ? text : jsonEscapes(depth >> 1).encode(text)
  },
})

/** Returns what is in place of a value. A scheme before a credential stays, and so does what is hidden. */
function swap(raw: string, replace: Replacement, { decode, encode }: Escapes): string {
  const [, scheme = '', rest = ''] = SCHEMED.exec(raw)!
  if (rest === '' || rest === HIDDEN || rest.startsWith('…')) return raw
  try {
    return scheme + encode(replace(decode(rest), rest))
  } catch {
    // A text that is cut off can end within an escape.
    return scheme + replace(rest, rest)
  }
}

function hideFields(text: string, replace: Replacement): string {
  let hidden = ''
  let copied = 0
  const finder = new RegExp(FIELD)
  for (let found = finder.exec(text); found !== null; found = finder.exec(text)) {
    const [kind, { length: depth }] = Object.entries(found.groups!).find(([, slashes]) => slashes !== undefined)!
    const next = nextOf(kind, depth)
    next.lastIndex = finder.lastIndex
    while (next.test(text)) {
      const start = next.lastIndex
      const end = endOfText(text, start, depth)
      finder.lastIndex = end
      if (!isPieceOfWords(text, end)) {
        hidden += text.slice(copied, start) + swap(text.slice(start, end), replace, jsonEscapes(depth))
        copied = end
      }
      if (kind === 'one') break
      next.lastIndex = end + depth + 1
    }
  }
  return hidden + text.slice(copied)
}

/** Returns where a text of JSON ends: before its quote, or at the end of a text that is cut off. */
function endOfText(text: string, start: number, depth: number): number {
  for (let quote = text.indexOf('"', start); quote >= 0; quote = text.indexOf('"', quote + 1)) {
    let slashes = 0
    while (quote - slashes > start && text[quote - slashes - 1] === '\\') slashes++
    // Each level doubles the backslashes of a value. What is left belongs to the quote.
    if (slashes % (2 * depth + 2) === 2 * depth + 1) continue
    // If a text around it ends here, this one is cut off.
    for (const outer of [depth, depth >> 1, depth >> 2, 0])
      if (slashes % (2 * outer + 2) === outer) return quote - outer
  }
  return text.length
}

/** Tells whether a text is a piece of an answer, which has its probability. */
function isPieceOfWords(text: string, end: number): boolean {
  return /^\\*"\s*,\s*\\*"logprob/.test(text.slice(end, end + 40))
}

/** Each hash in a text. */
export const CREDENTIAL_HASH = /sha256-[0-9a-f]{32}/g
const HASH = /^(sha256-[0-9a-f]{32})\.*$/

/**
 * Returns the hash of a credential. That of a hash is the hash itself, also if dots follow it. The answer to a scoped
 * token tells which part of it is invalid, so only its signature is hashed.
 */
export function hashCredential(credential: string): string {
  const [, known] = HASH.exec(credential) ?? []
  if (known !== undefined) return known
  const [, readable, signature] = /^(jwt:(?:[^.]*\.[^.]*\.)?)([^.]*)$/.exec(credential) ?? []
  if (readable !== undefined) return readable + hashCredential(signature!)
  return `sha256-${bytesToHex(sha256(new TextEncoder().encode(credential))).slice(0, 32)}`
}

/** Tells whether a credential is this one, or one of them is the hash of the other. */
export function isCredential(known: string, sent: string): boolean {
  return sent === known || ((HASH.test(sent) || HASH.test(known)) && hashCredential(sent) === hashCredential(known))
}
