import { isIPv4, isIPv6 } from 'node:net'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { isAddressAllowed, isIpRange } from '../../src/lib/ip-ranges.ts'
import { forAll } from '../setup/for-all.ts'

test.each([
  ['203.0.113.7', '203.0.113.7', true],
  ['203.0.113.7', '203.0.113.8', false],
  ['203.0.113.7', '203.0.113.0/24', true],
  ['203.0.114.7', '203.0.113.0/24', false],
  ['10.255.255.255', '10.0.0.0/8', true],
  ['11.0.0.0', '10.0.0.0/8', false],
  ['10.1.2.3', '10.1.2.9/29', false],
  ['10.1.2.12', '10.1.2.9/29', true],
  ['8.8.8.8', '0.0.0.0/0', true],
  ['::1', '0.0.0.0/0', false],
  ['127.0.0.1', '::/0', true],
  ['::ffff:127.0.0.1', '127.0.0.1', true],
  ['::FFFF:7f00:1', '127.0.0.0/8', true],
  ['127.0.0.1', '::ffff:127.0.0.0/104', true],
  ['2001:db8::1', '2001:db8::/32', true],
  ['2001:db9::1', '2001:db8::/32', false],
  ['2001:db8:0:0:0:0:0:1', '2001:db8::1', true],
  ['fe80::1%eth0', 'fe80::/10', true],
  ['fe80::1', 'fe80::1', true],
  ['::', '::/128', true],
  ['fe80::1%eth0', 'fe80::1%eth1', true],
  ['fe80::1%eth0', 'fe80::%eth1/64', true],
  ['fe80::2%eth0', 'fe80::1', false],
  ['::ffff:10.0.0.1', '::ffff:0:0/96', true],
  ['10.0.0.1', '::ffff:a00:0/120', true],
  ['10.0.1.1', '::ffff:10.0.0.0/120', false],
  ['::10.0.0.1', '10.0.0.1', false],
  ['64:ff9b::10.0.0.1', '10.0.0.1', false],
  ['2001:db8::1', '0.0.0.0/0', false],
])('%s in %s: %s', (address, range, expected) => {
  expect(isAddressAllowed(address, [range])).toBe(expected)
})

test.each(['', 'localhost', '1.2.3', '1.2.3.4.5', '256.1.1.1', '1.2.3.4/33', '1.2.3.4/', '1.2.3.4/-1', '1.2.3.4/8/8'])(
  '%s is not a range and matches nothing',
  range => {
    expect(isIpRange(range)).toBe(false)
    expect(isAddressAllowed('1.2.3.4', [range])).toBe(false)
  },
)

test.each([
  ':',
  ':::',
  '1::2::3',
  '1:2:3:4:5:6:7',
  '1:2:3:4:5:6:7:8:9',
  '12345::',
  '::1.2.3.4.5',
  '1.2.3.4::',
  '::/129',
  '1.2.3.4%eth0',
  '1.2.3.4%eth0/8',
  'fe80::1%',
  '::ffff:1.2.3',
  '::ffff:01.2.3.4',
  '::ffff:0x1.2.3.4',
  '::ffff:256.2.3.4',
  '01.2.3.4',
  '0x7f.1',
  '127.1',
  '2130706433',
  ' 1.2.3.4',
  '[::1]',
])('%s is not a range', range => {
  expect(isIpRange(range)).toBe(false)
})

const v4 = fc.ipV4()
const v6 = fc.ipV6()

test('an address is in its own range of any length, and only parses when Node agrees', () => {
  forAll([v4, fc.integer({ min: 0, max: 32 })], (address, bits) => isAddressAllowed(address, [`${address}/${bits}`]))
  forAll([v6, fc.integer({ min: 0, max: 128 })], (address, bits) => isAddressAllowed(address, [`${address}/${bits}`]))
  forAll([fc.stringMatching(/^[0-9a-f:.]{0,24}$/)], text => {
    expect(isIpRange(text)).toBe(isIPv4(text) || isIPv6(text))
  })
})

test('a text is an address exactly when Node says so, near valid addresses too', { tags: 'slow' }, () => {
  const mutated = fc
    .tuple(
      fc.oneof(v4, v6),
      fc.nat(),
      fc.integer({ min: 0, max: 1 }),
      fc.constantFrom('', ':', '.', '0', 'f', '%', '::', '25'),
    )
    .map(([text, at, cut, piece]) => {
      const place = at % (text.length + 1)
      return text.slice(0, place) + piece + text.slice(place + cut)
    })
  forAll([mutated], { numRuns: 2000 }, text => {
    expect(isIpRange(text)).toBe(isIPv4(text) || isIPv6(text))
  })
})

test('a prefix decides by exactly its bits', () => {
  const number = fc.nat({ max: 0xffff_ffff })
  const dotted = (value: number) => [24, 16, 8, 0].map(shift => (value >>> shift) & 255).join('.')
  forAll([number, number, fc.integer({ min: 1, max: 32 })], (a, b, bits) => {
    const expected = a >>> (32 - bits) === b >>> (32 - bits)
    expect(isAddressAllowed(dotted(a), [`${dotted(b)}/${bits}`])).toBe(expected)
  })
})

test('an IPv4 address is the same when it comes wrapped', () => {
  forAll([v4, v4, fc.integer({ min: 0, max: 32 })], (a, b, bits) => {
    expect(isAddressAllowed(`::ffff:${a}`, [`${b}/${bits}`])).toBe(isAddressAllowed(a, [`${b}/${bits}`]))
  })
})
