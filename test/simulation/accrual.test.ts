import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { DAY, HOUR } from '../../src/kernel/duration.ts'
import { Accrual } from '../../src/simulation/account/accrual.ts'
import { forAll } from '../setup/for-all.ts'

/** Up to 4,000 GPUs at $2.50 an hour: what the sums below 2^53 micro-cents, $90 M, are made of. */
const rate = fc.oneof(fc.integer({ min: 0, max: 10_000_000_000 }), fc.integer({ min: 0, max: 1e12 }))
const micros = fc.oneof(
  fc.integer({ min: 0, max: 5_000_000 }),
  fc.integer({ min: 0, max: HOUR }),
  fc.integer({ min: 0, max: 3 * DAY }),
)
const stretches = fc.array(fc.record({ rate, micros }), { maxLength: 12 })

function accrued(parts: readonly { rate: number; micros: number }[]): { sum: Accrual; exact: bigint } {
  const sum = new Accrual()
  let exact = 0n
  for (const { rate, micros } of parts) {
    sum.add(rate, micros)
    exact += BigInt(rate) * BigInt(micros)
  }
  return { sum, exact }
}

describe('what runs adds up exactly', () => {
  test('to the micro-cent, as with integers of any size', () => {
    forAll([stretches, rate, micros], (parts, rate, more) => {
      const { sum, exact } = accrued(parts)
      expect(sum.wholeMicrocents).toBe(Number(exact / BigInt(HOUR)))
      const later = exact + BigInt(rate) * BigInt(more)
      expect(sum.wholeMicrocentsAfter(rate, more)).toBe(Number(later / BigInt(HOUR)))
      expect(sum.wholeMicrocents).toBe(Number(exact / BigInt(HOUR)))
    })
  })

  test('and reaches an amount at the first microsecond that does', () => {
    forAll([stretches, rate, fc.integer({ min: -10, max: 1e14 })], (parts, rate, more) => {
      const { sum, exact } = accrued(parts)
      const amount = sum.wholeMicrocents + more
      const missing = BigInt(amount) * BigInt(HOUR) - exact
      const expected =
        missing <= 0n ? 0 : rate === 0 ? Number.POSITIVE_INFINITY : Number((missing + BigInt(rate) - 1n) / BigInt(rate))
      const micros = sum.timeUntil(amount, rate)
      // Beyond 2^53 there are no single microseconds.
      if (expected <= Number.MAX_SAFE_INTEGER || expected === Number.POSITIVE_INFINITY) expect(micros).toBe(expected)
      else expect(micros / expected).toBeCloseTo(1, 12)
    })
  })

  test('a copy goes on by itself', () => {
    const one = new Accrual()
    one.add(3, HOUR / 2)
    const other = one.copy()
    other.add(1, HOUR / 2)
    expect([one.wholeMicrocents, other.wholeMicrocents]).toEqual([1, 2])
  })
})
