/** Who is asking: API tokens in `Authorization` or `alt-api-key`, and the addresses a token may be used from. */

import type { ApiToken } from '../../data/records/account.ts'
import { isAddressAllowed } from '../../lib/ip-ranges.ts'
import { type AuthRule, RefusalError } from '../endpoint.ts'

/** The first header of a name, or null; a door that rewrites headers hands in its own. */
export type HeaderReader = (name: string) => string | null

/** Takes a token where `Authorization` has none. */
export const KEY_HEADER = 'alt-api-key'

/** What authentication asks of the account. */
export interface TokenLookup {
  tokenByValue(value: string): ApiToken | undefined
}

/**
 * The token of a request, undefined where the endpoint asks for none and none was sent.
 *
 * With both headers `Authorization` decides. An empty header and the word `null` count as absent.
 *
 * @throws Refused 401 without a usable token or with an unknown one, 403 from an address outside `allowed_ips`
 */
export function authenticate(
  tokens: TokenLookup,
  rule: AuthRule,
  header: HeaderReader,
  clientAddress: string,
): ApiToken | undefined {
  if (rule === 'none') return undefined
  const value = parseBearerToken(header('authorization')) ?? parseKeyHeaderToken(header(KEY_HEADER))
  if (value === undefined) {
    if (rule === 'optional') return undefined
    throw notAuthenticatedError()
  }
  const token = value === MALFORMED_TOKEN ? undefined : tokens.tokenByValue(value)
  if (token === undefined) throw value === MALFORMED_TOKEN ? notAuthenticatedError() : notAuthorizedError()
  if (token.allowed_ips.length > 0 && !isAddressAllowed(clientAddress, token.allowed_ips)) {
    throw new RefusalError(403, '', undefined, {
      error:
        `token '${token.name}' is not allowed from ${clientAddress}; its allowed_ips are ` +
        `${token.allowed_ips.join(', ')}. Behind a proxy, serve with --trust-proxy`,
    })
  }
  return token
}

/**
 * The token that a request names, judged by nobody yet: what a door tells the worlds of a server apart by.
 *
 * @param keyHeaders names that the worlds have for `alt-api-key`
 */
export function presentedToken(header: HeaderReader, keyHeaders: readonly string[] = [KEY_HEADER]): string | undefined {
  const keyHeaderToken = () =>
    keyHeaders.map(name => parseKeyHeaderToken(header(name))).find(value => value !== undefined)
  const value = parseBearerToken(header('authorization')) ?? keyHeaderToken()
  return value === MALFORMED_TOKEN ? undefined : value
}

/** Stands for a credential that cannot be read; no token has spaces. */
const MALFORMED_TOKEN = ' '

/** The token of `Bearer <token>`, exactly one; undefined when the header is absent. */
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

function notAuthenticatedError(): RefusalError {
  const body = { detail: { error: 'not authenticated' } }
  return new RefusalError(401, 'not authenticated', { 'www-authenticate': 'Bearer' }, body)
}

function notAuthorizedError(): RefusalError {
  const body = { detail: 'User is not authorized to access this resource' }
  return new RefusalError(401, body.detail, { 'www-authenticate': 'Bearer' }, body)
}
