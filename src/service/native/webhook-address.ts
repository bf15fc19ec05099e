/** The addresses that a webhook may have. */
import { isAddressAllowed } from '../../lib/ip-ranges.ts'
import { LIMITS } from '../../lib/limits.ts'

const LOOPBACK_RANGES = ['127.0.0.0/8', '::1/128']
/** A host name, an IPv4 address, or an IPv6 address in brackets; then a port. */
const HOST = /^(\[[\da-f:.]+\]|[^\s:/?#@[\]]+)(?::(\d{1,5}))?$/i

/** Returns whether a text is a host, or a host with a port, as in `hooks.example:8080`. */
export function isHost(text: string): boolean {
  const [, , port] = HOST.exec(text) ?? []
  return HOST.test(text) && (port === undefined || (Number(port) > 0 && Number(port) <= 65_535))
}

/**
 * Returns why results may not be sent to an address; undefined for an allowed one. No name is looked up, so only
 * `localhost`, loopback addresses and the named hosts are allowed.
 *
 * @param hosts further hosts, each with an optional port; without a port, every port is allowed
 */
export function webhookRefusal(address: string, hosts: readonly string[]): string | undefined {
  const url = URL.canParse(address) ? new URL(address) : undefined
  if (url === undefined || !/^https?:$/.test(url.protocol)) return 'it is not an http or https address'
  if (url.username !== '' || url.password !== '') return 'it has a user name or a password'
  const { hostname } = url
  const plainHost = hostname.replace(/^\[|\]$/g, '')
  if (hostname === 'localhost' || isAddressAllowed(plainHost, LOOPBACK_RANGES)) return undefined
  const port = url.port === '' ? (url.protocol === 'http:' ? '80' : '443') : url.port
  const isListed = hosts.some(host => {
    const [, listedName, listedPort = port] = HOST.exec(host.toLowerCase()) ?? []
    return listedName === hostname && listedPort === port
  })
  return isListed ? undefined : `its host ${hostname.slice(0, LIMITS.quotedCharacters)} is unknown`
}
