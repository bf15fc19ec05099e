import { expect, test } from 'vitest'
import { parseJsonText } from '../../src/lib/json-text.ts'

test.each([
  ['{"a": "b" "c"}', { line: 1, column: 11, reason: `expected ',' or '}', got '"'` }],
  ['{"a": "b\n"}', { line: 1, column: 7, reason: `expected a string that ends on its line, got '"'` }],
  ['["\\u00e9\\n", "\\x"]', { line: 1, column: 14, reason: `expected a string that ends on its line, got '"'` }],
  ['{a: 1}', { line: 1, column: 2, reason: "expected a field name in double quotes, got 'a'" }],
  ['{"a":\n 01}', { line: 2, column: 3, reason: "expected ',' or '}', got '1'" }],
  ['["open', { line: 1, column: 2, reason: `expected a string that ends on its line, got '"'` }],
])('parseJsonText names the place of the error in %j', (text, fault) => {
  expect(parseJsonText(text)).toEqual({ fault })
})

test('parseJsonText ignores a byte order mark', () => {
  expect(parseJsonText('\ufeff{"a": 1}')).toEqual({ value: { a: 1 } })
  expect(parseJsonText('\ufeff{"a" 1}')).toEqual({ fault: { line: 1, column: 6, reason: "expected ':', got '1'" } })
})

test('parseJsonText refuses a key that an object has twice, if the caller asks for that', () => {
  const text = '{"a": {"b": 1},\n "b": [{"a": 1}, {"a": 2}],\n  "a": 3}'
  expect(parseJsonText(text)).toEqual({ value: { a: 3, b: [{ a: 1 }, { a: 2 }] } })
  expect(parseJsonText(text, true)).toEqual({
    fault: { line: 3, column: 3, reason: 'the key "a" is there twice' },
  })
  expect(parseJsonText('{"a_b": 1, "a\\u005fb": 2}', true)).toEqual({
    fault: { line: 1, column: 12, reason: 'the key "a_b" is there twice' },
  })
  expect(parseJsonText('{"a": {"b": 1}, "b": 2}', true)).toEqual({ value: { a: { b: 1 }, b: 2 } })
})

test('parseJsonText names the place after a string of 20 million characters', { tags: 'slow' }, () => {
  const text = `["${'a'.repeat(20_000_000)}" 1]`
  expect(parseJsonText(text)).toEqual({
    fault: { line: 1, column: 20_000_005, reason: "expected ',' or ']', got '1'" },
  })
})

test('parseJsonText returns an error for lists of 200,000 levels', () => {
  expect(parseJsonText('['.repeat(200_000))).toHaveProperty('fault.line', 1)
})
