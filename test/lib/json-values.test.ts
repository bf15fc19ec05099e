import { expect, test } from 'vitest'
import { matchesJsonSubset } from '../../src/lib/json-values.ts'

test.each<[asked: unknown, value: unknown, expected: boolean]>([
  ['running', 'running', true],
  [null, null, true],
  [null, undefined, false],
  [{}, { a: 1 }, true],
  [{}, [], false],
  [{ a: { b: 1 } }, { a: { b: 1, c: 2 }, d: 3 }, true],
  [{ a: { b: 1 } }, { a: { c: 2 } }, false],
  [{ a: { b: 1 } }, { a: null }, false],
  [[{ a: 1 }], [{ a: 1, b: 2 }], true],
  [[{ a: 1 }], [{ a: 2 }, { a: 1, b: 2 }], true],
  [[{ a: 1 }, { a: 3 }], [{ a: 2 }, { a: 1 }], false],
  [{ data: ['b', 'a'] }, { data: ['a', 'b', 'c'] }, true],
  [[{}], [], false],
  [[], [], true],
  [[], [1], false],
  [[], {}, false],
  [{ length: 1 }, [1], false],
  [{ toString: null }, {}, false],
  ['50..', 50, true],
  ['50..', 49, false],
  [{ done: '..20' }, { done: 20 }, true],
  ['3..20', 21, false],
  ['50..', '50..', true],
  ['50..', null, false],
])('%j asked of %j is %s', (asked, value, expected) => {
  expect(matchesJsonSubset(value, asked)).toBe(expected)
})
