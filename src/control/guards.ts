/**
 * Who may speak to the server at all. A simulator on a developer's machine is in reach of every web page that the
 * developer opens; these rules keep pages, rebound names and forms away from it.
 */
import { createHash, timingSafeEqual } from 'node:crypto'
import { isIP } from 'node:net'

/** A request that a guard turned away. */
export interface GuardRefusal {
  readonly status: 401 | 403 | 415
  readonly message: string
}

/** What the guards look at: the headers as they came, for a URL can hold another host. */
export interface GuardedRequest {
  readonly method?: string | undefined
  readonly url?: string | undefined
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>
}

export const CONTROL_TOKEN_HEADER = 'x-sim-control-token'

/**
 * The names that the server answers to: loopback names, addresses, names of one label (which no public DNS has), and
 * those that were allowed.
 *
 * @param allowed further names; `.example.test` allows everything below one
 */
export function hostGuard(allowed: readonly string[] = []): (host: string | undefined) => GuardRefusal | undefined {
  const names = allowed.map(name => name.toLowerCase())
  // Nearly all requests of a server's life name the same host.
  let lastAllowed: string | undefined
  return host => {
    if (host !== undefined && host === lastAllowed) return undefined
    const name = host === undefined ? '' : hostName(host)
    if (isLocal(name) || names.some(one => one === name || (one.startsWith('.') && name.endsWith(one)))) {
      lastAllowed = host
      return undefined
    }
    return {
      status: 403,
      message:
        `Failed to answer for the host '${printable(name)}': this server does not go by that name. ` +
        'If it should, start it with --allow-host and the name.',
    }
  }
}

/** Turns away what a web page of another origin could send, with or without its user's knowledge. */
export function originGuard(visitor: GuardedRequest): GuardRefusal | undefined {
  const { method, url, headers } = visitor
  const away = siteGuard(visitor)
  if (away !== undefined) return away
  if (method === 'GET' || method === 'HEAD' || method === 'OPTIONS') return undefined
  const type = headers['content-type']
  const hasBody = Number(headers['content-length'] ?? 0) > 0 || headers['transfer-encoding'] !== undefined
  if (type === undefined ? !hasBody : /^application\/json\s*(;|$)/i.test(String(type))) return undefined
  // A page could send a form, and no browser sends one to somebody else without saying where it comes from.
  if (isUpload(url) && /^multipart\/form-data\s*;/i.test(String(type))) return undefined
  return {
    status: 415,
    message: `Failed to read the command: its content type is not application/json. Add -H 'content-type: application/json', or use curl --json.`,
  }
}

/** Rejects a request that a browser sent for a page of another site. */
function siteGuard({ headers }: GuardedRequest): GuardRefusal | undefined {
  const site = headers['sec-fetch-site']
  if (site === 'cross-site' || site === 'same-site') {
    return { status: 403, message: 'Failed to answer: another site asked. Ask from a page of this server, or by curl.' }
  }
  const { origin } = headers
  if (typeof origin === 'string' && !isSameOrigin(origin, headers.host)) {
    return {
      status: 403,
      message: `Failed to answer the origin '${printable(origin)}': the server takes commands from its own pages only.`,
    }
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

/** Whether a request goes where files are taken. */
function isUpload(url: string | undefined): boolean {
  return /\/_sim\/snapshots\/[^/?]*\/import\/?(\?|$)/.test(url ?? '')
}

/** Asks for the control token, as `x-sim-control-token` or as the bearer. */
export function tokenGuard(token: string): (visitor: GuardedRequest) => GuardRefusal | undefined {
  return ({ headers }) => {
    const sentToken = headers[CONTROL_TOKEN_HEADER] ?? /^bearer\s+(\S+)$/i.exec(headers.authorization as string)?.[1]
    if (typeof sentToken === 'string' && equalsInConstantTime(sentToken, token)) return undefined
    return {
      status: 401,
      message: `Failed to answer: other machines reach this server, so its control plane asks for a token. Send the one it printed as ${CONTROL_TOKEN_HEADER}.`,
    }
  }
}

/** Whether a server bound to this name or address is in reach of its own machine only. */
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

/** Without port, brackets and final dot, in lower case. */
function hostName(host: string): string {
  const lower = host.toLowerCase()
  const bracketed = /^\[([^\]]*)\](?::\d*)?$/.exec(lower)
  if (bracketed) return bracketed[1]!
  // The look for colons first: what Node knows of IPv6 takes 4 ms to be made ready, at the first request of all.
  if (/:.*:/.test(lower) && isIP(lower) === 6) return lower
  return lower.replace(/:\d*$/, '').replace(/\.$/, '')
}

function isSameOrigin(origin: string, host: string | readonly string[] | undefined): boolean {
  return typeof host === 'string' && origin.toLowerCase().replace(/^https?:\/\//, '') === host.toLowerCase()
}

/** Compares without telling by its time how much was right. */
function equalsInConstantTime(sentToken: string, token: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest()
  return timingSafeEqual(digest(sentToken), digest(token))
}

/** What came over the wire may hold anything; a message shows the harmless start of it. */
function printable(text: string): string {
  return text.replaceAll(/[^\x20-\x7e]/g, '?').slice(0, 100)
}
