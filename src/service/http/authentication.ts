/** Authentication: API tokens in `Authorization`, `alt-api-key` or `x-api-key`, and the addresses that a token may be used from. */

import type { ApiToken } from '../../data/records/account.ts'
import { isAddressAllowed } from '../../lib/ip-ranges.ts'
import { type CallerToken, SCOPED_PREFIX, type ScopedTokens } from '../../simulation/account/access/scoped-tokens.ts'
import type { AuthRule } from '../endpoint.ts'
import { RefusalError } from '../refusals.ts'

/** Returns the value of a header, or null. A transport that rewrites headers has its own reader. */
export type HeaderReader = (name: string) => string | null

/** Takes a token if `Authorization` has none. A names profile can rename it. */
export const KEY_HEADER = 'alt-api-key'
/** Takes a token if the other two headers have none. */
export const SECOND_KEY_HEADER = 'x-api-key'
export const KEY_HEADERS = [KEY_HEADER, SECOND_KEY_HEADER] as const

/** What authentication needs of the account. */
export interface TokenLookup {
  tokenByValue(value: string): ApiToken | undefined
}

/** What authentication needs of scoped tokens. */
export type ScopedTokenLookup = Pick<ScopedTokens, 'read' | 'isExpired'>

/**
 * Returns the token of a request, or undefined if the endpoint needs none and the request has none.
 *
 * With several headers `Authorization` decides, then `alt-api-key`. An empty header and the word `null` count as absent.
 *
 * A scoped token gives the API token that signed it, with its scope.
 *
 * @param scoped undefined: the endpoint accepts no scoped tokens
 * @throws RefusalError 401 for a missing, malformed, unknown or expired token, 403 from an address outside `allowed_ips`,
 *   and for a scoped token that the endpoint does not accept
 */
export function authenticate(
  tokens: TokenLookup,
  request: { header: HeaderReader },
  rule: AuthRule,
  clientAddress: string,
  scoped?: ScopedTokenLookup,
): CallerToken | undefined {
  if (rule === 'none') return undefined
  const value = findCredential(request, KEY_HEADERS)
  if (value === undefined) {
    if (rule === 'optional') return undefined
    throw notAuthenticatedError()
  }
  const token = value.startsWith(SCOPED_PREFIX)
    ? readScopedToken(value, scoped)
    : value === MALFORMED_TOKEN
      ? undefined
      : tokens.tokenByValue(value)
  if (token === undefined) throw value === MALFORMED_TOKEN ? notAuthenticatedError() : notAuthorizedError()
  if (token.allowed_ips.length > 0 && !isAddressAllowed(clientAddress, token.allowed_ips)) {
    throw addressRefusedError(token, clientAddress)
  }
  return token
}

/**
 * Returns the token that a request presents, valid or not. A server selects the world by it.
 *
 * @param keyHeaders the vendor names of `alt-api-key` in the worlds
 */
export function presentedToken(header: HeaderReader, keyHeaders: readonly string[]): string | undefined {
  const value = findCredential({ header }, [...keyHeaders, SECOND_KEY_HEADER])
  return value === MALFORMED_TOKEN ? undefined : value
}

/** A credential that cannot be parsed; no token has spaces. */
const MALFORMED_TOKEN = ' '

/** Returns the credential of the first header that has one, `Authorization` before the key headers. */
function findCredential(request: { header: HeaderReader }, keyHeaders: readonly string[]): string | undefined {
  let value = parseBearerToken(request.header('authorization'))
  for (let i = 0; value === undefined && i < keyHeaders.length; i++) {
    value = parseKeyHeaderToken(request.header(keyHeaders[i]!))
  }
  return value
}

/** Returns the one token of `Bearer <token>`, or undefined if the header is missing or empty. */
function parseBearerToken(authorization: string | null): string | undefined {
  if (authorization === null) return undefined
  if (authorization.startsWith('Bearer ') && authorization.indexOf(' ', 7) < 0 && authorization.length > 7) {
    return authorization.slice(7)
  }
  if (authorization.trim() === '') return undefined
  return /^bearer[ \t]+(\S+)$/i.exec(authorization.trim())?.[1] ?? MALFORMED_TOKEN
}

function parseKeyHeaderToken(key: string | null): string | undefined {
  const value = key?.trim()
  if (value === undefined || value === '' || value === 'null') return undefined
  return /\s/.test(value) ? MALFORMED_TOKEN : value
}

/** Returns the API token that signed a scoped token, with its scope. */
function readScopedToken(value: string, scoped: ScopedTokenLookup | undefined): CallerToken {
  if (scoped === undefined) {
    const message = 'a scoped token can only send requests to models: use an API token'
    throw new RefusalError(403, message, undefined, { error: message })
  }
  const found = scoped.read(value)
  if (typeof found === 'string') throw scopedTokenError(`the scoped token is invalid: ${found}`)
  if (scoped.isExpired(found.scope)) throw scopedTokenError('the scoped token has expired')
  return { ...found.signer, scope: found.scope }
}

function scopedTokenError(detail: string): RefusalError {
  return new RefusalError(401, detail, { 'www-authenticate': 'Bearer' }, { detail })
}

function addressRefusedError({ name, allowed_ips }: ApiToken, clientAddress: string): RefusalError {
  const message = `token '${name}' is not allowed from ${clientAddress}; its allowed_ips are ${allowed_ips.join(', ')}`
  return new RefusalError(403, message, undefined, { error: message })
}

export function notAuthenticatedError(): RefusalError {
  const body = { detail: { error: 'not authenticated' } }
  return new RefusalError(401, 'not authenticated', { 'www-authenticate': 'Bearer' }, body)
}

function notAuthorizedError(): RefusalError {
  const body = { detail: 'User is not authorized to access this resource' }
  return new RefusalError(401, body.detail, { 'www-authenticate': 'Bearer' }, body)
}
