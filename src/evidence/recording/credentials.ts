/** Headers, queries and bodies of requests as a recording keeps them. A credential that is not a token of the world becomes a hash. */

import { parseJsonText } from '../../lib/json-text.ts'
import { hashCredential } from '../../lib/text/credential-hash.ts'
import type { HeaderReader } from '../../service/http/authentication.ts'
import type { IncomingRequest } from '../../service/http/incoming-request.ts'
import type { Simulator } from '../../simulator/simulator-interface.ts'
import {
  hideSecretsInQuery,
  hideSecretsInText,
  isSecretHeader,
  isSecretName,
  mayHaveSecrets,
} from '../requests/secrets.ts'

/** Headers that say nothing about the request, only about its connection. */
const CONNECTION_HEADERS: ReadonlySet<string> = new Set([
  ...['host', 'connection', 'keep-alive', 'accept-encoding', 'accept-language', 'upgrade', 'te', 'trailer'],
  ...['sec-fetch-mode', 'sec-fetch-site', 'sec-fetch-dest', 'sec-fetch-user', 'forwarded', 'via'],
  ...['x-forwarded-for', 'x-forwarded-host', 'x-forwarded-proto'],
])

/** Headers that came as a transport has them, and what a recording keeps of them. */
interface KnownHeaders {
  readonly rawHeaders: readonly string[]
  /** The credentials as the world reads them. The token in each one is that of the world. */
  readonly credentials: readonly { readonly name: string; readonly value: string; readonly token: string }[]
  readonly recorded: Readonly<Record<string, string>>
}

/** Returns headers and paths of requests as a recording keeps them. `read` is the reader of a transport that rewrites headers. */
export class CredentialRecorder {
  readonly #sim: Simulator
  /** Headers in which the service reads a token. */
  readonly #keyHeaders: ReadonlySet<string>
  /** Hashes by credential: a client sends the same one again and again. */
  readonly #hashes = new Map<string, string>()
  /** The last different headers of clients with a token. */
  readonly #known: KnownHeaders[] = []
  #nextKnown = 0

  constructor(sim: Simulator) {
    this.#sim = sim
    this.#keyHeaders = new Set(sim.api.keyHeaders.map(name => name.toLowerCase()))
  }

  recordHeaders(request: Request, incoming: IncomingRequest): Readonly<Record<string, string>> {
    const { header: read, rawHeaders } = incoming
    if (rawHeaders === undefined || read === undefined) return this.#create(request, incoming)
    for (const known of this.#known) if (this.#fits(known, rawHeaders, read)) return known.recorded
    const recorded = this.#create(request, incoming)
    const credentials = Object.keys(recorded)
      .filter(name => this.#isCredential(name))
      .map(name => {
        const value = read(name) ?? ''
        return { name, value, token: value.slice(value.indexOf(' ') + 1) }
      })
    if (credentials.every(({ token }) => this.#isToken(token))) {
      this.#known[this.#nextKnown] = { rawHeaders, credentials, recorded }
      this.#nextKnown = (this.#nextKnown + 1) % MAX_KNOWN
    }
    return recorded
  }

  /** Whether headers are the known ones, and their credentials are still those of the world. */
  #fits({ rawHeaders, credentials }: KnownHeaders, sent: readonly string[], read: HeaderReader): boolean {
    if (rawHeaders.length !== sent.length) return false
    for (let i = 0; i < sent.length; i++) if (rawHeaders[i] !== sent[i]) return false
    // A transport with several worlds rewrites tokens, and a token of the world may be deleted.
    for (const { name, value, token } of credentials) if (read(name) !== value || !this.#isToken(token)) return false
    return true
  }

  #isCredential(name: string): boolean {
    return this.#keyHeaders.has(name) || isSecretHeader(name)
  }

  #isToken(token: string): boolean {
    return this.#sim.world.store.tokenByValue(token) !== undefined
  }

  #create(request: Request, { header: read, headerFields: headers }: IncomingRequest): Record<string, string> {
    const recorded: Record<string, string> = {}
    const record = (sent: string, name: string) => {
      if (CONNECTION_HEADERS.has(name)) return
      const value = read === undefined ? sent : read(name)
      if (value === null) return
      recorded[name] = this.#isCredential(name) ? this.#recordCredential(value) : value
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

  /** Returns the path and query of a request, with a hash in place of each credential of the query. */
  recordPath(path: string): string {
    if (!path.includes('?')) return path
    return hideSecretsInQuery(path, value => {
      const credential = decodeQueryValue(value)
      return this.#isOwn(credential) ? value : encodeURIComponent(this.#hash(credential))
    })
  }

  /** Returns a body with a hash in place of each credential that the service compares by its hash, or does not read. */
  recordBody(method: string, target: string, text: string): string {
    const { api } = this.#sim
    if (api.lineNames === undefined && !mayHaveSecrets(text)) return text
    const replace = (credential: string) => {
      if (this.#isOwn(credential)) return undefined
      // Some lengths are limited.
      return hashCredential(credential).padEnd([...credential].length, '.')
    }
    const replaced = api.replaceCredentials({ method, target, text }, { isSecretName, replace })
    return replaced ?? this.#recordRefusedBody(text)
  }

  /**
   * Returns a body that is refused unread, with parts of hashes in place of its credentials: invalid JSON, or too deep or
   * too many values. The answer says where it is invalid, so this place has to stay.
   */
  #recordRefusedBody(text: string): string {
    const hashed = hideSecretsInText(text, value =>
      this.#isOwn(value) ? value : hashCredential(value).slice(0, value.length).padEnd(value.length, '.'),
    )
    const faultOf = (one: string) => {
      const parsed = parseJsonText(one)
      return 'fault' in parsed ? JSON.stringify(parsed.fault) : undefined
    }
    return faultOf(hashed) === faultOf(text) ? hashed : text
  }

  #recordCredential(value: string): string {
    const [, scheme = '', credential = ''] = /^(\S+\s+)?(.*)$/s.exec(value) ?? []
    // A scheme alone is not a credential.
    if (/^(?:bearer|basic)?$/i.test(credential) || this.#isOwn(credential) || this.#isOwn(value)) return value
    // Each word on its own: a credential with a space is refused in another way.
    return scheme + credential.replaceAll(/\S+/g, word => this.#hash(word))
  }

  /** Returns the hash of a credential. The answer to a scoped token tells which part of it is invalid, so parts stay. */
  #hash(credential: string): string {
    const [, readable = ''] = /^(jwt:[^.]*\.[^.]*\.)[^.]*$/.exec(credential) ?? /^(jwt:)/.exec(credential) ?? []
    let hash = this.#hashes.get(credential)
    if (hash === undefined) {
      hash = hashCredential(credential)
      if (this.#hashes.size < MAX_HASHES) this.#hashes.set(credential, hash)
    }
    return readable + hash
  }

  /** Returns whether a credential belongs to the world: a present or former token, or a scoped token of it. */
  #isOwn(credential: string): boolean {
    const { store, apiTokens, access } = this.#sim.world
    if (credential === 'null' || store.tokenByValue(credential) !== undefined) return true
    if (apiTokens.formerValues.includes(credential)) return true
    return typeof access.scopedTokens.read(credential) === 'object'
  }
}

/** Returns a value of a query as the service reads it. An invalid escape stays as it is. */
function decodeQueryValue(value: string): string {
  return new URLSearchParams(`value=${value}`).get('value') ?? value
}

const MAX_HASHES = 10_000
/** Clients whose headers are known. */
const MAX_KNOWN = 4
