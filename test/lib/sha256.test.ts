import { createHash, createHmac } from 'node:crypto'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { fromBase64url, toBase64url } from '../../src/lib/base64url.ts'
import { hmacSha256, sha256 } from '../../src/lib/sha256.ts'

test('hashes equal those of node:crypto for every length around a block', () => {
  for (let length = 0; length < 200; length++) {
    const bytes = Uint8Array.from({ length }, (_, i) => (i * 37 + length) & 255)
    expect(Buffer.from(sha256(bytes)).toString('hex')).toBe(createHash('sha256').update(bytes).digest('hex'))
  }
})

test('keyed hashes equal those of node:crypto', () => {
  const bytes = fc.uint8Array({ maxLength: 300 })
  fc.assert(
    fc.property(bytes, bytes, (key, message) => {
      const expected = createHmac('sha256', key).update(message).digest('base64url')
      expect(toBase64url(hmacSha256(key, message))).toBe(expected)
      expect(Buffer.from(fromBase64url(expected)!).toString('base64url')).toBe(expected)
    }),
    { seed: 7 },
  )
})

test('a text that is no base64url has no bytes', () => {
  expect([fromBase64url('a b'), fromBase64url('abcde'), fromBase64url('===')]).toEqual([
    undefined,
    undefined,
    undefined,
  ])
})
