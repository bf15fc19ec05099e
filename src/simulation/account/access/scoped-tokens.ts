import { hmac } from '@noble/hashes/hmac.js'
import { sha256 } from '@noble/hashes/sha2.js'
import type { ApiToken } from '../../../data/records/account.ts'
import type { Archive } from '../../../kernel/archive.ts'
import { LayeredMap } from '../../../kernel/layered-map.ts'
import { purpose } from '../../../kernel/random.ts'
import { fromBase64url, toBase64url } from '../../../lib/bytes.ts'
import { tryParseRecord } from '../../../lib/json-text.ts'
import { isCredential } from '../../../lib/text/secrets.ts'
import { Part } from '../../part.ts'
import type { LedgerParts } from '../ledger.ts'
import { MICROCENTS_PER_USD, type Microcents } from '../money.ts'

const ID = purpose('scopedToken.id')

/** What a scoped token begins with; no API token does. */
export const SCOPED_PREFIX = 'jwt:'

/** Most characters of a scoped token. */
const MAX_LENGTH = 16_384

/** What a scoped token allows. */
export interface TokenScope {
  /** The key of its spending. */
  readonly id: string
  /** Names of models; undefined for all. */
  readonly models: readonly string[] | undefined
  /** Unix seconds. */
  readonly expiresAt: number
  /** US dollars; undefined for no limit. */
  readonly spendingLimit: number | undefined
}

/** An API token, or one with the scope of a token that it signed. */
export type CallerToken = ApiToken & { readonly scope?: TokenScope }

/** A scoped token with the API token that signed it. */
export interface ReadScopedToken {
  readonly signer: ApiToken
  readonly scope: TokenScope
}

/**
 * JSON Web Tokens that an API token signs with HS256: its value is the secret. The header `kid` has the id of the account
 * and the name of the API token in base64. A client can sign such a token by itself.
 */
export class ScopedTokens extends Part<LedgerParts> {
  /** Micro-cents that were spent with each scoped token that has a spending limit. */
  readonly #spent = new LayeredMap<Microcents>()

  archive(archive: Archive): void {
    this.#spent.archive(archive)
  }

  /** Creates a token that is valid at once. The input was validated. */
  create(signer: ApiToken, scope: Omit<TokenScope, 'id'>): string {
    const { chance, store } = this.context
    const { name, token_id, token: secret } = signer
    const id = chance.letters(24, this.context.newKey('scopedToken', name), ID)
    const { models, expiresAt, spendingLimit } = scope
    const { uid } = store.account
    const payload = {
      ...{ sub: uid, exp: expiresAt, jti: id },
      ...(models !== undefined && { models }),
      ...(spendingLimit !== undefined && { spending_limit: spendingLimit }),
    }
    this.context.record(this.parts.ledger.account, 'scopedToken.created', { token_id, scope: id })
    return signScopedToken(name, secret, payload)
  }

  /** Returns the signer and the scope of a token, expired or not. Returns the mistake of an invalid one. */
  read(text: string): ReadScopedToken | string {
    const parts = text.slice(SCOPED_PREFIX.length).split('.')
    if (!text.startsWith(SCOPED_PREFIX) || parts.length !== 3 || text.length > MAX_LENGTH)
      return 'it is not a token of the form jwt:…'
    const [headerText, payloadText, signature] = parts as [string, string, string]
    const header = decodeJson(headerText)
    const payload = decodeJson(payloadText)
    if (header === undefined || payload === undefined) return 'its header or payload is not a JSON object'
    if (header.alg !== 'HS256') return 'its alg is not HS256'
    const signer = this.#signerOf(header.kid)
    if (signer === undefined) return 'its kid names no API token of the account'
    if (!isCredential(sign(signer.token, `${headerText}.${payloadText}`), signature)) return 'its signature is wrong'
    return this.#readPayload(payload, signature, signer)
  }

  /** Whether the time of a scope is over. */
  isExpired({ expiresAt }: TokenScope): boolean {
    return this.context.clock.unix() >= expiresAt
  }

  /** Whether the requests of a scoped token have cost its spending limit. */
  isSpent({ id, spendingLimit }: TokenScope): boolean {
    if (spendingLimit === undefined) return false
    return (this.#spent.get(id) ?? 0) >= Math.round(spendingLimit * MICROCENTS_PER_USD)
  }

  /** Counts the cost of a request to its scoped token. */
  addCost(scopeId: string, microcents: Microcents): void {
    if (microcents > 0) this.#spent.set(scopeId, (this.#spent.get(scopeId) ?? 0) + microcents)
  }

  #signerOf(kid: unknown): ApiToken | undefined {
    const { uid } = this.context.store.account
    if (typeof kid !== 'string' || !kid.startsWith(`${uid}:`)) return undefined
    const bytes = fromBase64url(kid.slice(uid.length + 1))
    const name = bytes && new TextDecoder().decode(bytes)
    return this.context.store.tokens.all().find(token => token.name === name)
  }

  #readPayload(payload: Record<string, unknown>, signature: string, signer: ApiToken): ReadScopedToken | string {
    const { sub, exp, jti, model, spending_limit } = payload
    const models = payload.models ?? (model === undefined ? undefined : [model])
    if (sub !== this.context.store.account.uid) return 'its sub is not the account'
    if (typeof exp !== 'number' || !Number.isFinite(exp)) return 'its exp is not a time'
    if (models !== undefined && !isTexts(models)) return 'its models are not a list of names'
    if (spending_limit !== undefined && !(typeof spending_limit === 'number' && spending_limit >= 0)) {
      return 'its spending_limit is not an amount'
    }
    const id = typeof jti === 'string' ? jti : signature
    return { signer, scope: { id, models, expiresAt: exp, spendingLimit: spending_limit } }
  }
}

/** Returns the scoped token of a payload. `sub` is the id of the account; the API token signs it by its name and value. */
export function signScopedToken(name: string, secret: string, payload: { readonly sub: string }): string {
  const header = { alg: 'HS256', kid: `${payload.sub}:${btoa(encodeText(name))}`, typ: 'JWT' }
  const signed = `${encodeJson(header)}.${encodeJson(payload)}`
  return `${SCOPED_PREFIX}${signed}.${sign(secret, signed)}`
}

function isTexts(value: unknown): value is string[] {
  return Array.isArray(value) && value.every(one => typeof one === 'string')
}

function sign(secret: string, text: string): string {
  const encoder = new TextEncoder()
  return toBase64url(hmac(sha256, encoder.encode(secret), encoder.encode(text)))
}

function encodeJson(value: object): string {
  return toBase64url(new TextEncoder().encode(JSON.stringify(value)))
}

function decodeJson(text: string): Record<string, unknown> | undefined {
  const bytes = fromBase64url(text)
  return bytes && tryParseRecord(new TextDecoder().decode(bytes))
}

/** Returns the UTF-8 bytes of a text as characters, for `btoa`. */
function encodeText(text: string): string {
  return String.fromCharCode(...new TextEncoder().encode(text))
}
