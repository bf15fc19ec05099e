/** Headers of a request as a recording keeps them. A credential that is no token of the world becomes a hash. */

import { sha256 } from '@noble/hashes/sha2.js'
import { bytesToHex } from '@noble/hashes/utils.js'
import type { IncomingRequest } from '../../service/http/incoming-request.ts'
import type { Simulator } from '../../simulator/simulator-interface.ts'

/** Headers that say nothing about the request, only about its connection. */
const CONNECTION_HEADERS: ReadonlySet<string> = new Set([
  ...['host', 'connection', 'keep-alive', 'accept-encoding', 'accept-language', 'upgrade', 'te', 'trailer'],
  ...['sec-fetch-mode', 'sec-fetch-site', 'sec-fetch-dest', 'sec-fetch-user', 'forwarded', 'via'],
  ...['x-forwarded-for', 'x-forwarded-host', 'x-forwarded-proto'],
])

/** Headers with credentials beside those that the service reads. */
const CREDENTIAL_HEADERS = ['authorization', 'proxy-authorization', 'cookie', 'x-sim-control-token']

/** Returns the headers of a request for a recording. `read` is the reader of a transport that rewrites headers. */
export class HeaderRecorder {
  readonly #sim: Simulator
  readonly #credentialHeaders: ReadonlySet<string>
  /** Hashes by credential: a client sends the same one again and again. */
  readonly #hashes = new Map<string, string>()

  constructor(sim: Simulator) {
    this.#sim = sim
    const keyHeaders = ['alt-api-key', 'x-api-key', ...sim.api.keyHeaders]
    this.#credentialHeaders = new Set([...CREDENTIAL_HEADERS, ...keyHeaders].map(name => name.toLowerCase()))
  }

  record(request: Request, { header: read, headerFields: headers }: IncomingRequest): Record<string, string> {
    const recorded: Record<string, string> = {}
    const record = (sent: string, name: string) => {
      if (CONNECTION_HEADERS.has(name)) return
      const value = read === undefined ? sent : read(name)
      if (value === null) return
      recorded[name] = this.#credentialHeaders.has(name) ? this.#recordCredential(value) : value
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

  #recordCredential(value: string): string {
    const [, scheme = '', credential = ''] = /^(\S+\s+)?(.*)$/s.exec(value) ?? []
    if (credential === '' || this.#isOwn(credential) || this.#isOwn(value)) return value
    // Each word on its own: a credential with a space is refused in another way.
    return scheme + credential.replaceAll(/\S+/g, word => this.#hash(word))
  }

  /** Returns the hash of a credential. The answer to a scoped token tells which part of it is invalid, so parts stay. */
  #hash(credential: string): string {
    const [, readable = ''] = /^(jwt:[^.]*\.[^.]*\.)[^.]*$/.exec(credential) ?? /^(jwt:)/.exec(credential) ?? []
    let hash = this.#hashes.get(credential)
    if (hash === undefined) {
      hash = `sha256-${bytesToHex(sha256(new TextEncoder().encode(credential))).slice(0, 32)}`
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

const MAX_HASHES = 10_000
