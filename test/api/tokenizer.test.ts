import { countTokens as exactly } from 'gpt-tokenizer/encoding/o200k_base'
import { expect, test } from 'vitest'
import { countTokens, loadTokenizer } from '../../src/api/tokenizer.ts'

await loadTokenizer()

test('ordinary text is counted exactly, however long', () => {
  const text = 'The quick brown fox, 1234 times; naïve — 日本語のテキスト。\n'.repeat(300)
  expect(countTokens(text)).toBe(exactly(text))
})

test.each(['a', '🙂', '中', ' ', '!'])(
  'a run of %j without end is counted in pieces, near enough and in no time',
  unit => {
    const short = unit.repeat(2000)
    const counted = countTokens(short)
    expect(Math.abs(counted - exactly(short))).toBeLessThanOrEqual(8)
    // Two million of them would take minutes in one piece.
    const per = countTokens(unit.repeat(400_000)) / 400_000
    expect(per).toBeCloseTo(counted / 2000, 1)
  },
)
