/** Requests, answers and actions as a recording keeps them: with a hash in place of each credential. */

import { concatBytes, decodeBase64, encodeBase64 } from '../../lib/bytes.ts'
import { parseJsonText } from '../../lib/json-text.ts'
import { findSecretParts, hashCredential, isSecretName, mayHaveSecrets } from '../../lib/text/secrets.ts'
import type { HeaderReader } from '../../service/http/authentication.ts'
import type { IncomingRequest } from '../../service/http/incoming-request.ts'
import type { ControlAction } from '../observer.ts'
import { hideSecretsIn } from '../requests/secrets.ts'
import type { Simulator } from '../simulator-interface.ts'
import { encodeBytes } from './bodies.ts'
import type { RecordedBody } from './lines.ts'

/** Headers that say nothing about the request, only about its connection. */
const CONNECTION_HEADERS: ReadonlySet<string> = new Set([
  ...['host', 'connection', 'keep-alive', 'accept-encoding', 'accept-language', 'upgrade', 'te', 'trailer'],
  ...['sec-fetch-mode', 'sec-fetch-site', 'sec-fetch-dest', 'sec-fetch-user', 'forwarded', 'via'],
  ...['x-forwarded-for', 'x-forwarded-host', 'x-forwarded-proto'],
])

/** Headers that came as a transport has them, and what a recording keeps of them. */
interface KnownHeaders {
  readonly rawHeaders: readonly string[]
  /** The credentials as the world reads them. */
  readonly credentials: readonly { readonly name: string; readonly value: string | null }[]
  readonly recorded: Readonly<Record<string, string>>
}

/** A request whose body is recorded. */
export interface RequestTarget {
  readonly method: string
  /** Path and query. */
  readonly target: string
}

export class CredentialRecorder {
  readonly #sim: Simulator
  /** Headers in which the service reads a token. */
  readonly #keyHeaders: ReadonlySet<string>
  /** Hashes by credential: a client sends the same one again and again. */
  readonly #hashes = new Map<string, string>()
  /** The last different headers of clients. */
  readonly #known: KnownHeaders[] = []
  #nextKnown = 0
  readonly #answers = new Map<string, { readonly text: string; readonly hidden: string }>()

  constructor(sim: Simulator) {
    this.#sim = sim
    this.#keyHeaders = new Set(sim.api.keyHeaders.map(name => name.toLowerCase()))
  }

  /** Returns a text with its credentials replaced. */
  readonly hide = (text: string): string => this.#sim.world.apiTokens.hideSecrets(text, this.#hash)

  /** Returns a value of JSON with its credentials replaced: an action, or the headers of an answer. */
  readonly hideIn = <Value>(value: Value): Value => hideSecretsIn(this.#sim, value, this.#hash)

  /** Returns an answer with its credentials replaced. Clients poll, so the last answer to a path is known. */
  recordAnswer(path: string, text: string): string {
    const known = this.#answers.get(path)
    if (known?.text === text) return known.hidden
    const hidden = this.hide(text)
    if (this.#answers.size >= MAX_PATHS) this.#answers.clear()
    if (text.length <= MAX_KNOWN_ANSWER) this.#answers.set(path, { text, hidden })
    return hidden
  }

  recordHeaders(request: Request, incoming: IncomingRequest): Readonly<Record<string, string>> {
    const { header: read, rawHeaders } = incoming
    if (rawHeaders === undefined || read === undefined) return this.#create(request, incoming)
    for (const known of this.#known) if (fits(known, rawHeaders, read)) return known.recorded
    const recorded = this.#create(request, incoming)
    const credentials = Object.keys(recorded)
      .filter(name => this.#isCredential(name))
      .map(name => ({ name, value: read(name) }))
    this.#known[this.#nextKnown] = { rawHeaders, credentials, recorded }
    this.#nextKnown = (this.#nextKnown + 1) % MAX_KNOWN
    return recorded
  }

  #isCredential(name: string): boolean {
    return this.#keyHeaders.has(name) || isSecretName(name)
  }

  /** `read` is the reader of a transport that rewrites headers. */
  #create(request: Request, { header: read, headerFields: headers }: IncomingRequest): Record<string, string> {
    const recorded: Record<string, string> = {}
    const record = (sent: string, name: string) => {
      if (CONNECTION_HEADERS.has(name)) return
      const value = read === undefined ? sent : read(name)
      if (value === null) return
      recorded[name] = this.#isCredential(name) ? this.#recordCredential(value) : this.hide(value)
    }
    if (headers === undefined) request.headers.forEach(record)
    else {
      for (const name in headers) {
        const value = headers[name]
        if (value !== undefined) record(typeof value === 'string' ? value : value.join(', '), name)
      }
    }
    return recorded
  }

  /** Returns a body with a hash in place of each credential on which no answer depends. */
  recordBody(request: RequestTarget, text: string): string {
    const { api, world } = this.#sim
    if (api.lineNames === undefined && !mayHaveSecrets(text)) return text
    // Some lengths are limited.
    const replace = (credential: string) => this.#hash(credential).padEnd([...credential].length, '.')
    const hide = (part: string) => world.apiTokens.hideSecrets(part, replace)
    return api.replaceCredentials(world, { ...request, text }, { hide, replace }) ?? this.#recordRefusedBody(text)
  }

  /** Returns an upload. Of a form, its text fields have no credentials, and its files stay. */
  recordUpload(request: RequestTarget, type: string, bytes: Uint8Array): RecordedBody {
    if (!/^\s*multipart\//i.test(type)) {
      const body = encodeBytes(bytes)
      return typeof body === 'string' ? this.recordBody(request, body) : body
    }
    const pieces: Uint8Array[] = []
    let copied = 0
    // A character for each byte.
    for (const { start, end } of findSecretParts(new TextDecoder('latin1').decode(bytes))) {
      const hash = this.#hash(new TextDecoder().decode(bytes.subarray(start, end)))
      pieces.push(bytes.subarray(copied, start), new TextEncoder().encode(hash))
      copied = end
    }
    return encodeBytes(copied === 0 ? bytes : concatBytes([...pieces, bytes.subarray(copied)]))
  }

  /** Returns a body that is not UTF-8 with parts of hashes as credentials. It is refused again: only ASCII is replaced. */
  recordRefusedBytes(bytes: Uint8Array): RecordedBody {
    const hide = (value: string, raw: string) => {
      const hash = this.#hash(value)
      return Array.from(raw, (letter, index) => (letter > '\x7f' ? letter : (hash[index] ?? '.'))).join('')
    }
    // A character for each byte.
    const text = atob(encodeBase64(bytes))
    const kept = encodeBytes(decodeBase64(btoa(this.#sim.world.apiTokens.hideSecrets(text, hide))))
    return typeof kept === 'string' ? encodeBytes(bytes) : kept
  }

  /** Returns an action. A scripted answer stays, because its words are counted, and so does the state of a world. */
  recordAction(action: ControlAction): ControlAction {
    return action.do === 'addAnswer' || 'snapshot' in action ? action : this.hideIn(action)
  }

  /**
   * Returns a body that is refused unread, with parts of hashes in place of its credentials: invalid JSON, or too deep or
   * too many values. The answer says where it is invalid, so this place has to stay.
   */
  #recordRefusedBody(text: string): string {
    const hashed = this.#sim.world.apiTokens.hideSecrets(text, (value, raw) =>
      this.#hash(value).slice(0, raw.length).padEnd(raw.length, '.'),
    )
    const faultOf = (one: string) => {
      const parsed = parseJsonText(one)
      return 'fault' in parsed ? JSON.stringify(parsed.fault) : undefined
    }
    return faultOf(hashed) === faultOf(text) ? hashed : text
  }

  #recordCredential(value: string): string {
    const [, scheme = '', credential = ''] = /^([^\s=;]+\s+)?(.*)$/s.exec(value) ?? []
    // A scheme alone is not a credential.
    if (/^(?:bearer|basic|null)?$/i.test(credential)) return value
    // Each word alone: a credential with a space is refused in another way.
    return scheme + credential.replaceAll(/\S+/g, this.#hash)
  }

  readonly #hash = (credential: string): string => {
    let hash = this.#hashes.get(credential)
    if (hash === undefined) {
      hash = hashCredential(credential)
      if (this.#hashes.size < MAX_HASHES) this.#hashes.set(credential, hash)
    }
    return hash
  }
}

/** Whether headers are the known ones, and the world reads the same credentials: a transport with several worlds rewrites them. */
function fits({ rawHeaders, credentials }: KnownHeaders, sent: readonly string[], read: HeaderReader): boolean {
  if (rawHeaders.length !== sent.length) return false
  for (let i = 0; i < sent.length; i++) if (rawHeaders[i] !== sent[i]) return false
  for (const { name, value } of credentials) if (read(name) !== value) return false
  return true
}

const MAX_HASHES = 10_000
/** Clients whose headers are known. */
const MAX_KNOWN = 4
/** Paths whose last answer is known, and the longest of these answers in characters. */
const MAX_PATHS = 256
const MAX_KNOWN_ANSWER = 65_536
