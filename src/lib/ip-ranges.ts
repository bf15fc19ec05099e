/**
 * IP addresses and CIDR ranges, IPv4 and IPv6, as in `allowed_ips` of a token. Runs in a browser, so without `node:net`.
 * Decision 0017 compares libraries.
 */

/** An address as its eight 16-bit groups. An IPv4 address is its IPv4-mapped IPv6 address. */
type Groups = readonly number[]

/** A zone id of an IPv6 address, as Node accepts it. */
const ZONE_ID = /%[\da-z.:-]+$/i

/**
 * Returns whether an address lies in one of the ranges. Zone ids are ignored. An invalid address or range matches
 * nothing.
 *
 * @example isAddressAllowed('203.0.113.7', ['203.0.113.0/24']) // true
 * @example isAddressAllowed('::ffff:10.0.0.1', ['10.0.0.1']) // true
 */
export function isAddressAllowed(address: string, ranges: readonly string[]): boolean {
  const groups = parseAddress(address)
  return groups !== undefined && ranges.some(range => rangeContains(range, groups))
}

/** Returns whether a text is an address or a CIDR range. */
export function isIpRange(range: string): boolean {
  return parseRange(range) !== undefined
}

function rangeContains(range: string, address: Groups): boolean {
  const parsed = parseRange(range)
  if (parsed === undefined) return false
  const { groups, bits } = parsed
  const wholeGroups = bits >> 4
  for (let i = 0; i < wholeGroups; i++) if (groups[i] !== address[i]) return false
  const remainingBits = bits & 15
  return remainingBits === 0 || (groups[wholeGroups]! ^ address[wholeGroups]!) >> (16 - remainingBits) === 0
}

function parseRange(range: string): { groups: Groups; bits: number } | undefined {
  const slash = range.indexOf('/')
  const base = slash < 0 ? range : range.slice(0, slash)
  const groups = parseAddress(base)
  if (groups === undefined) return undefined
  if (slash < 0) return { groups, bits: 128 }
  const prefix = range.slice(slash + 1)
  if (!/^\d{1,3}$/.test(prefix)) return undefined
  const isV4 = !base.includes(':')
  if (Number(prefix) > (isV4 ? 32 : 128)) return undefined
  return { groups, bits: isV4 ? 96 + Number(prefix) : Number(prefix) }
}

function parseAddress(address: string): Groups | undefined {
  if (!address.includes(':')) {
    const pair = parseV4(address)
    return pair && [0, 0, 0, 0, 0, 0xffff, ...pair]
  }
  const halves = address.replace(ZONE_ID, '').split('::')
  if (halves.length > 2) return undefined
  const head = parseGroups(halves[0]!, halves.length === 1)
  const tail = halves.length === 2 ? parseGroups(halves[1]!, true) : []
  if (head === undefined || tail === undefined) return undefined
  if (halves.length === 1) return head.length === 8 ? head : undefined
  // `::` is at least one group of zeros.
  const zeros = 8 - head.length - tail.length
  return zeros < 1 ? undefined : [...head, ...new Array<number>(zeros).fill(0), ...tail]
}

/** Returns the groups between colons. The last may be an IPv4 address, which fills two groups. */
function parseGroups(text: string, mayEndInV4: boolean): number[] | undefined {
  if (text === '') return []
  const groups: number[] = []
  const words = text.split(':')
  for (const [i, word] of words.entries()) {
    if (/^[0-9a-f]{1,4}$/i.test(word)) groups.push(Number.parseInt(word, 16))
    else {
      const pair = mayEndInV4 && i === words.length - 1 ? parseV4(word) : undefined
      if (pair === undefined) return undefined
      groups.push(...pair)
    }
  }
  return groups
}

function parseV4(text: string): [number, number] | undefined {
  // Some programs read a leading zero as octal, so the address would be ambiguous.
  const match = /^(0|[1-9]\d{0,2})\.(0|[1-9]\d{0,2})\.(0|[1-9]\d{0,2})\.(0|[1-9]\d{0,2})$/.exec(text)
  if (match === null) return undefined
  const [a, b, c, d] = match.slice(1).map(Number) as [number, number, number, number]
  return a > 255 || b > 255 || c > 255 || d > 255 ? undefined : [(a << 8) | b, (c << 8) | d]
}
