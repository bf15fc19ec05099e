import { expect, test } from 'vitest'
import { formatCount } from '../../src/lib/text/numbers.ts'

test('formatCount formats an integer as the locale "en" does', () => {
  for (const value of [0, 7, 999, 1_000, 16_000, 123_456, 1_000_000, Number.MAX_SAFE_INTEGER]) {
    expect(formatCount(value)).toBe(value.toLocaleString('en'))
  }
})
