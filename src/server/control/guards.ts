/**
 * Checks which requests may reach the server. Every web page that a developer opens can send requests to a simulator on
 * the same machine. These guards reject those of pages, rebound host names and forms.
 */
import { createHash, timingSafeEqual } from 'node:crypto'
import { isIP } from 'node:net'

/** The refusal of a guard. */
export interface GuardRefusal {
  readonly status: 401 | 403 | 415
  readonly message: string
}

/** The parts of a request that guards read: the original headers, because a URL can have another host. */
export interface GuardedRequest {
  readonly method?: string | undefined
  readonly url?: string | undefined
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>
}

export const CONTROL_TOKEN_HEADER = 'x-sim-control-token'

/**
 * Returns a guard that accepts loopback names, addresses, names of one label (which no public DNS has), and `allowed`
 * names.
 *
 * @param allowed further names; `.example.test` allows all its subdomains
 * @throws RangeError for a text that is not the name of a host
 */
export function hostGuard(allowed: readonly string[] = []): (host: string | undefined) => GuardRefusal | undefined {
  const names = allowed.map(name => name.toLowerCase())
  const wrong = names.findIndex(name => !isLocal(hostName(name)) && !/^\.?[\w-]+(\.[\w-]+)*$/.test(name))
  if (wrong >= 0) {
    throw new RangeError(
      `Failed to allow the host '${allowed[wrong]}': it is not a host name. Give it as in 'sim.example.test', without a port.`,
    )
  }
  // Almost all requests to a server have the same host.
  let lastAllowed: string | undefined
  return host => {
    if (host !== undefined && host === lastAllowed) return undefined
    const name = host === undefined ? '' : hostName(host)
    if (isLocal(name) || names.some(one => one === name || (one.startsWith('.') && name.endsWith(one)))) {
      lastAllowed = host
      return undefined
    }
    const message =
      `Failed to answer for the host '${printable(name)}': unknown name of this server. ` +
      'To allow it, start the server with --allow-host and the name.'
    return { status: 403, message }
  }
}

/** Rejects what a web page of another origin could send, with or without the knowledge of its user. */
export function originGuard(visitor: GuardedRequest): GuardRefusal | undefined {
  const { method, url, headers } = visitor
  const away = siteGuard(visitor)
  if (away !== undefined) return away
  if (method === 'GET' || method === 'HEAD' || method === 'OPTIONS') return undefined
  const type = headers['content-type']
  const hasBody = Number(headers['content-length'] ?? 0) > 0 || headers['transfer-encoding'] !== undefined
  if (type === undefined ? !hasBody : /^application\/json\s*(;|$)/i.test(String(type))) return undefined
  // A page could send a form, but a browser adds the origin to a form for another site.
  if (isUpload(url) && /^multipart\/form-data\s*;/i.test(String(type))) return undefined
  const message = `Failed to read the request: its content type is not application/json. Add -H 'content-type: application/json', or use curl --json.`
  return { status: 415, message }
}

/** Rejects a request that a browser sent for a page of another site. */
function siteGuard({ headers }: GuardedRequest): GuardRefusal | undefined {
  const site = headers['sec-fetch-site']
  if (site === 'cross-site' || site === 'same-site') {
    const message =
      'Failed to answer: the request came from a page of another site. Send it from a page of this server, or with curl.'
    return { status: 403, message }
  }
  const { origin } = headers
  if (typeof origin === 'string' && !isSameOrigin(origin, headers.host)) {
    const message = `Failed to answer the origin '${printable(origin)}': the server accepts requests of its own pages only.`
    return { status: 403, message }
  }
  return undefined
}

/**
 * Rejects a request to the service from a page of another site, unless it only reads or has an API token: a page cannot
 * send a token without a preflight, and the server grants none.
 */
export function serviceGuard(visitor: GuardedRequest, hasToken: () => boolean): GuardRefusal | undefined {
  const { method } = visitor
  if (method === 'GET' || method === 'HEAD' || method === 'OPTIONS') return undefined
  const away = siteGuard(visitor)
  return away === undefined || hasToken() ? undefined : away
}

/** Returns whether the path of a request takes an uploaded file. */
function isUpload(url: string | undefined): boolean {
  return /\/_sim\/snapshots\/[^/?]*\/import\/?(\?|$)/.test(url ?? '')
}

/** Returns a guard that requires the control token, as `x-sim-control-token` or as the bearer. */
export function tokenGuard(token: string): (visitor: GuardedRequest) => GuardRefusal | undefined {
  return ({ headers }) => {
    const sentToken = headers[CONTROL_TOKEN_HEADER] ?? /^bearer\s+(\S+)$/i.exec(headers.authorization as string)?.[1]
    if (typeof sentToken === 'string' && equalsInConstantTime(sentToken, token)) return undefined
    const message = `Failed to answer: other machines can reach this server, so its control plane requires a token. Send the token that the server printed as ${CONTROL_TOKEN_HEADER}.`
    return { status: 401, message }
  }
}

/** Returns whether only its own machine can reach a server with this host name or address. */
export function isLoopback(hostname: string): boolean {
  const name = hostName(hostname)
  return (
    name === 'localhost' ||
    name.endsWith('.localhost') ||
    name === '::1' ||
    (isIP(name) === 4 && name.startsWith('127.'))
  )
}

function isLocal(name: string): boolean {
  if (name === '') return false
  return isLoopback(name) || isIP(name) !== 0 || /^[a-z0-9_-]+$/.test(name)
}

/** Returns the host without port, brackets and final dot, in lower case. */
function hostName(host: string): string {
  const lower = host.toLowerCase()
  const bracketed = /^\[([^\]]*)\](?::\d*)?$/.exec(lower)
  if (bracketed) return bracketed[1]!
  // Colons first: the first call of isIP for IPv6 takes 4 ms.
  if (/:.*:/.test(lower) && isIP(lower) === 6) return lower
  return lower.replace(/:\d*$/, '').replace(/\.$/, '')
}

function isSameOrigin(origin: string, host: string | readonly string[] | undefined): boolean {
  return typeof host === 'string' && origin.toLowerCase().replace(/^https?:\/\//, '') === host.toLowerCase()
}

/** Compares two tokens in a time that does not depend on their common part. */
function equalsInConstantTime(sentToken: string, token: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest()
  return timingSafeEqual(digest(sentToken), digest(token))
}

/** Returns the first 100 characters of text of a client, with only printable ASCII. */
function printable(text: string): string {
  return text.replaceAll(/[^\x20-\x7e]/g, '?').slice(0, 100)
}
