import fc from 'fast-check'
import encoding, { encode, countTokens as exactly } from 'gpt-tokenizer/encoding/o200k_base'
import { expect, test } from 'vitest'
import { CountedTexts, countTokens, decodeTokens, loadTokenizer } from '../../src/service/openai/tokenizer.ts'
import { type BytePairCore, mergeBytePairs } from '../../src/service/tokens/byte-pairs.ts'
import { loadEncoding } from '../../src/service/tokens/encoding.ts'
import { forAll } from '../setup/for-all.ts'

await loadTokenizer()

/** The encoding of gpt-tokenizer, whose ranks are strings in a Map. */
const { bytePairEncodingCoreProcessor: reference } = encoding as unknown as {
  readonly bytePairEncodingCoreProcessor: BytePairCore
}

test('each token has the text, the bytes and the rank that it has in gpt-tokenizer', async () => {
  const core = await loadEncoding()
  const differing: number[] = []
  for (let token = 0; token < 200_020; token++) {
    const content = reference.tryDecodeToken(token)
    if (content === undefined) {
      if (core.tryDecodeToken(token) !== undefined) differing.push(token)
      continue
    }
    const bytes = Buffer.from(content as string)
    const views = [core, reference].map(one => [
      Buffer.from(one.tryDecodeToken(token) as string).toString('hex'),
      typeof one.tryDecodeToken(token),
      one.getBpeRankFromString(bytes.toString()),
      one.getBpeRankFromBytes(bytes),
    ])
    if (views[0]!.join() !== views[1]!.join()) differing.push(token)
  }
  expect(differing).toEqual([])
})

test('any text has the tokens of gpt-tokenizer, with marks of the byte order and halves of characters', async () => {
  const core = await loadEncoding()
  const unit = fc.constantFrom(
    ...'abc XYZ019-_=.\n\t',
    'é',
    '中',
    'ก',
    '🙂',
    '\u0301',
    '\ufeff',
    '\ud800',
    '\udc00',
    '\ufffd',
  )
  forAll([fc.string({ unit, maxLength: 60 })], { numRuns: 2_000 }, text => {
    expect(core.encodeNative(text, new Set())).toEqual(reference.encodeNative(text, new Set()))
  })
})

test('ordinary text of any length is counted exactly', () => {
  const text = 'The quick brown fox, 1234 times; naïve — 日本語のテキスト。\n'.repeat(300)
  expect(countTokens(text)).toBe(exactly(text))
})

test.each(['a', '🙂', '中', ' ', '!'])(
  'a long run of %j is counted in pieces, nearly exactly and in linear time',
  unit => {
    const short = unit.repeat(2000)
    const counted = countTokens(short)
    expect(Math.abs(counted - exactly(short))).toBeLessThanOrEqual(8)
    // In one piece, it would take minutes.
    const per = countTokens(unit.repeat(100_000)) / 100_000
    expect(per).toBeCloseTo(counted / 2000, 1)
  },
)

test('countTokens equals the count of the tokenizer when a text has long words of any script', () => {
  const unit = fc.constantFrom(...'abcdeXYZ019-_=', 'é', 'ß', '中', '文', '字', 'ก', '🙂', '\u0301')
  const word = fc.string({ unit, minLength: 1, maxLength: 900 })
  forAll([fc.array(word, { minLength: 1, maxLength: 4 })], { numRuns: 60 }, words => {
    const text = words.join(' ')
    expect(countTokens(text)).toBe(exactly(text))
  })
})

test('texts that spell special tokens are counted as plain text', () => {
  const text = 'a<|endoftext|>b<|im_start|>'
  expect(countTokens(text)).toBe(exactly(text, { disallowedSpecial: new Set() }))
})

test('a text that comes again is not counted again, until other texts have filled both halves', () => {
  const counted: string[] = []
  const counts = new CountedTexts(text => {
    counted.push(text)
    return text.length
  }, 10)
  const texts = ['aaaa', 'bbbb', 'aaaa', 'cccc', 'aaaa', 'dddd', 'eeee', 'ffff', 'aaaa', 'bbbb']
  expect(texts.map(text => counts.count(text))).toEqual(texts.map(() => 4))
  expect(counted).toEqual(['aaaa', 'bbbb', 'cccc', 'dddd', 'eeee', 'ffff', 'aaaa', 'bbbb'])
  expect(counts.count('x'.repeat(11))).toBe(11)
  expect(counts.count('x'.repeat(11))).toBe(11)
  expect(counted.slice(8)).toEqual(['x'.repeat(11), 'x'.repeat(11)])
})

test('calls at the same time load the tokenizer once', () => {
  // Each load takes 30 ms, and 200 first chats came at once.
  expect(loadTokenizer()).toBe(loadTokenizer())
})

test('of many short texts, the last five hundred at least are not counted again', () => {
  let counted = 0
  const counts = new CountedTexts(() => ++counted)
  const count = (from: number, to: number) => {
    for (let i = from; i < to; i++) counts.count(String(i))
    return counted
  }
  expect(count(0, 10_000)).toBe(10_000)
  expect(count(9_500, 10_000)).toBe(10_000)
  expect(count(0, 1)).toBe(10_001)
})

test('mergeBytePairs takes a number of steps near the length of the piece', () => {
  // A search of all pairs for each merge would take 10^12 steps here.
  const length = 2 ** 20
  let steps = 0
  const tokens = mergeBytePairs(length, (start, end) => {
    steps++
    return end - start <= 8 && [1, 2, 4, 8].includes(end - start) ? end - start : undefined
  })
  expect(tokens).toEqual(Array(length / 8).fill(8))
  expect(steps).toBeLessThan(6 * length)
})

test('the text of tokens does not depend on the tokens that were decoded before', async () => {
  const whole = encode('Sunny 🫠')
  expect(decodeTokens(whole)).toBe('Sunny 🫠')
  // The last token has the last bytes of the character.
  expect(decodeTokens(whole.slice(0, -1))).toMatch(/\ufffd$/)
  expect(decodeTokens(whole)).toBe('Sunny 🫠')
  expect(decodeTokens([1e9])).toBeUndefined()
})
