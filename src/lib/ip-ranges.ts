/** Addresses and CIDR ranges, IPv4 and IPv6, without a module of Node's: the token's `allowed_ips`. */

/** An address as its eight 16-bit groups; IPv4 stands at `::ffff:0:0/96`, so both families compare alike. */
type Groups = readonly number[]

/**
 * Whether an address lies in one of the ranges. What cannot be read as an address or range matches nothing.
 *
 * @example isAllowed('203.0.113.7', ['203.0.113.0/24']) // true
 * @example isAllowed('::ffff:10.0.0.1', ['10.0.0.1']) // true
 */
export function isAddressAllowed(address: string, ranges: readonly string[]): boolean {
  const groups = parseAddress(address)
  return groups !== undefined && ranges.some(range => rangeContains(range, groups))
}

/** Whether a text is an address or a CIDR range. */
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
  const zone = address.indexOf('%')
  const withoutZone = zone < 0 ? address : address.slice(0, zone)
  if (!withoutZone.includes(':')) {
    const pair = parseV4(withoutZone)
    return pair && [0, 0, 0, 0, 0, 0xffff, ...pair]
  }
  const halves = withoutZone.split('::')
  if (halves.length > 2) return undefined
  const head = parseGroups(halves[0]!, halves.length === 1)
  const tail = halves.length === 2 ? parseGroups(halves[1]!, true) : []
  if (head === undefined || tail === undefined) return undefined
  if (halves.length === 1) return head.length === 8 ? head : undefined
  // `::` stands for at least one group of zeros.
  const zeros = 8 - head.length - tail.length
  return zeros < 1 ? undefined : [...head, ...new Array<number>(zeros).fill(0), ...tail]
}

/** Groups between colons; the last may be an IPv4 address, which fills two. */
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
  // No leading zeros: some read them as octal, so nobody knows which address is meant.
  const match = /^(0|[1-9]\d{0,2})\.(0|[1-9]\d{0,2})\.(0|[1-9]\d{0,2})\.(0|[1-9]\d{0,2})$/.exec(text)
  if (match === null) return undefined
  const [a, b, c, d] = match.slice(1).map(Number) as [number, number, number, number]
  return a > 255 || b > 255 || c > 255 || d > 255 ? undefined : [(a << 8) | b, (c << 8) | d]
}
