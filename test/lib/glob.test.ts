import fc from 'fast-check'
import { expect, test } from 'vitest'
import { globOf } from '../../src/lib/patterns.ts'
import { forAll } from '../setup/for-all.ts'

test('a pattern matches what the regular expression of it matches', { tags: 'slow' }, () => {
  const text = fc.string({ unit: fc.constantFrom('a', 'b', '.'), maxLength: 8 })
  const pattern = fc.string({ unit: fc.constantFrom('a', 'b', '.', '*'), maxLength: 6 })
  forAll([pattern, text], { numRuns: 2000 }, (pattern, text) => {
    const source = pattern.replaceAll('.', '\\.').replaceAll('*', '.*')
    expect(globOf(pattern)(text)).toBe(new RegExp(`^${source}$`).test(text))
  })
})

test('an asterisk matches an empty text, and a line break', () => {
  expect(globOf('*')('')).toBe(true)
  expect(globOf('a*b')('ab')).toBe(true)
  expect(globOf('a*a')('a')).toBe(false)
  expect(globOf('a*b')('a\nb')).toBe(true)
})

// A search that tries every place for every asterisk does not end on these.
test.each([
  [`${'*'.repeat(200)}!`, 'a'.repeat(10_000), false],
  [`${'a*'.repeat(200)}!`, 'a'.repeat(10_000), false],
  [`${'*a'.repeat(200)}*`, 'a'.repeat(10_000), true],
])('many asterisks do not multiply the work (%#)', (pattern, text, expected) => {
  expect(globOf(pattern)(text)).toBe(expected)
})
