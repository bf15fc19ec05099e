import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { exp, ln, normalQuantile } from '../../src/kernel/exact-math.ts'
import { ByteHash, Chance, hash32, hash32Pair, philox, purpose, TextHasher } from '../../src/kernel/random.ts'
import { anyText } from '../lib/any-text.ts'
import { forAll } from '../setup/for-all.ts'

const DRAW = purpose('test.draw')

describe('chance', () => {
  test('is Philox4x32-10: the known answers of its authors', () => {
    const out = new Uint32Array(4)
    const hex = () => [...out].map(word => word.toString(16).padStart(8, '0'))
    philox(out, 0, 0, 0, 0, 0, 0)
    expect(hex()).toEqual(['6627e8d5', 'e169c58d', 'bc57ac4c', '9b00dbd8'])
    philox(out, 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff)
    expect(hex()).toEqual(['408f276d', '41c83b0e', 'a20bc7c6', '6d5451fd'])
    philox(out, 0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344, 0xa4093822, 0x299f31d0)
    expect(hex()).toEqual(['d16cfe09', '94fdcceb', '5001e420', '24126ea1'])
  })

  test('a draw depends only on seed, entity, purpose and index, and not on earlier draws', () => {
    const chance = new Chance('7')
    const key = chance.key('deployment', 'acme/chat', 0)
    const alone = chance.unit(key, DRAW, 3)
    for (let i = 0; i < 100; i++) chance.unit(chance.key('node', `n${i}`), DRAW, i)
    expect(chance.unit(key, DRAW, 3)).toBe(alone)
    expect(new Chance('7').unit(key, DRAW, 3)).toBe(alone)
    const others = [
      new Chance('8').unit(key, DRAW, 3),
      chance.unit(chance.key('deployment', 'acme/chat', 1), DRAW, 3),
      chance.unit(key, purpose('test.other'), 3),
      chance.unit(key, DRAW, 4),
    ]
    expect(others).not.toContain(alone)
  })

  test('hash32Pair and keys are equal to hash32 by each seed', () => {
    forAll([anyText, fc.nat(), fc.nat()], (text, hi, lo) => {
      expect(hash32Pair(text, hi, lo)).toEqual({ hi: hash32(text, hi), lo: hash32(text, lo) })
      const hasher = new TextHasher(hi, lo)
      hasher.hash('another text')
      hasher.hash(text)
      expect([hasher.hi >>> 0, hasher.lo >>> 0]).toEqual([hash32(text, hi), hash32(text, lo)])
      const joined = `kind\u0000${text}\u00003`
      const key = { hi: hash32(joined, 0x243f6a88) | 0, lo: hash32(joined, 0x85a308d3) | 0 }
      expect(new Chance(1).key('kind', text, 3)).toEqual(key)
    })
  })

  test('is uniform: 100,000 draws fill ten bins within 3 %', () => {
    const chance = new Chance(1)
    const key = chance.key('thing', 'bins')
    const bins = new Array<number>(10).fill(0)
    for (let i = 0; i < 100_000; i++) bins[Math.floor(chance.unit(key, DRAW, i) * 10)]! += 1
    for (const count of bins) expect(Math.abs(count - 10_000)).toBeLessThan(300)
  })

  test('a lognormal has its median in the middle and its sigma in its logarithm', () => {
    const chance = new Chance(1)
    const key = chance.key('thing', 'lognormal')
    const draws = Array.from({ length: 20_001 }, (_, i) => chance.lognormal(45, 0.35, key, DRAW, i)).sort(
      (a, b) => a - b,
    )
    expect(draws[10_000]!).toBeCloseTo(45, 0)
    const logs = draws.map(draw => Math.log(draw / 45))
    const sigma = Math.sqrt(logs.reduce((sum, log) => sum + log * log, 0) / logs.length)
    expect(sigma).toBeCloseTo(0.35, 2)
  })

  test('an exponential has its mean', () => {
    const chance = new Chance(1)
    const key = chance.key('thing', 'exponential')
    let sum = 0
    for (let i = 0; i < 50_000; i++) sum += chance.exponential(10, key, DRAW, i)
    expect(sum / 50_000).toBeGreaterThan(9.8)
    expect(sum / 50_000).toBeLessThan(10.2)
  })

  test('ids have their length and alphabet', () => {
    const chance = new Chance(1)
    expect(chance.letters(16, chance.key('d', 'a'), DRAW)).toMatch(/^[A-Za-z0-9]{16}$/)
    expect(chance.hex(64, chance.key('d', 'a'), DRAW)).toMatch(/^[0-9a-f]{64}$/)
  })
})

describe('portable arithmetic', () => {
  test('exp and ln differ from those of the engine by at most 1e-12', () => {
    forAll([fc.double({ min: -30, max: 30, noNaN: true })], x => {
      expect(Math.abs(exp(x) / Math.exp(x) - 1)).toBeLessThan(1e-12)
    })
    forAll([fc.double({ min: 1e-12, max: 1e12, noNaN: true })], x => {
      expect(Math.abs(ln(x) - Math.log(x))).toBeLessThan(1e-11)
    })
  })

  test('the normal quantile has its known values', () => {
    expect(normalQuantile(0.5)).toBeCloseTo(0, 9)
    expect(normalQuantile(0.975)).toBeCloseTo(1.959964, 5)
    expect(normalQuantile(0.001)).toBeCloseTo(-3.090232, 5)
    expect(Number.isFinite(normalQuantile(0))).toBe(true)
  })
})

describe('the hash of bytes', () => {
  test('does not depend on the division of the bytes into calls', () => {
    forAll([fc.uint8Array({ maxLength: 200 }), fc.array(fc.nat(200), { maxLength: 6 })], (bytes, cuts) => {
      const whole = new ByteHash()
      whole.update(bytes)
      const pieces = new ByteHash()
      let from = 0
      for (const cut of [...cuts].sort((a, b) => a - b)) {
        const to = Math.min(bytes.length, cut)
        pieces.update(bytes.subarray(from, Math.max(from, to)))
        from = Math.max(from, to)
      }
      pieces.update(bytes.subarray(from))
      expect(pieces.digest()).toBe(whole.digest())
    })
  })

  test('changes with each bit', () => {
    const hashes = new Set<string>()
    for (let bit = 0; bit < 256; bit++) {
      const bytes = new Uint8Array(32)
      bytes[bit >> 3] = 1 << (bit & 7)
      const hash = new ByteHash()
      hash.update(bytes)
      hashes.add(hash.digest())
    }
    expect(hashes.size).toBe(256)
  })
})
