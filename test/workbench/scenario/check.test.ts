import { expect, test } from 'vitest'
import { type Difference, differences } from '../../../src/lib/differences.ts'
import { type Check, flattenExpected, jsonLines } from '../../../src/workbench/scenario/check.ts'

function lines(actual: unknown, expected: unknown): string[] {
  return differences(actual, expected).map(
    ({ path, ...rest }: Difference) => `${path}: ${rest.expected} / ${rest.found}`,
  )
}

test('a field without an expectation is ignored', () => {
  expect(lines({ a: 1, b: { c: 2, d: 3 } }, { b: { d: 3 } })).toEqual([])
  expect(lines([{ id: 1, x: 2 }], [{ id: 1 }])).toEqual([])
  expect(lines({ a: 1 }, {})).toEqual([])
})

test('each different path is reported with the expected and the actual value', () => {
  expect(
    lines({ status: 'running', instances: { running: 0 } }, { status: 'stopped', instances: { running: 1 } }),
  ).toEqual(['status: "stopped" / "running"', 'instances.running: 1 / 0'])
  expect(lines({ data: [{ code: 'a' }] }, { data: [{ code: 'b' }] })).toEqual(['data[0].code: "b" / "a"'])
  expect(lines({ 'odd key': 1 }, { 'odd key': 2 })).toEqual(['"odd key": 2 / 1'])
})

test('a list matches only in full length', () => {
  expect(lines([1, 2, 3], [1, 2])).toEqual(['length: 2 / 3: [1,2,3]'])
  expect(lines([], [{ id: 1 }])).toEqual(['length: 1 / 0: []'])
  expect(lines({ list: {} }, { list: [1] })).toEqual(['list: a list of 1 / {}'])
  expect(lines([1], { length: 1 })).toEqual([': {"length":1} / [1]'])
})

test('null, undefined and zero differ', () => {
  expect(lines({ a: null }, { a: undefined })).toEqual(['a: nothing / null'])
  expect(lines({}, { a: undefined })).toEqual([])
  expect(lines({}, { a: null })).toEqual(['a: null / nothing'])
  expect(lines(0, -0)).toEqual([': -0 / 0'])
  expect(lines(Number.NaN, Number.NaN)).toEqual([])
  expect(lines(null, { a: 1 })).toEqual([': {"a":1} / null'])
})

test('a pattern matches text only, each time from its start', () => {
  const pattern = /lost/g
  expect(lines('a node was lost', pattern)).toEqual([])
  expect(lines('a node was lost', pattern)).toEqual([])
  expect(lines('fine', /lost/i)).toEqual([': text like /lost/i / "fine"'])
  expect(lines(7, /7/)).toEqual([': text like /7/ / 7'])
})

test('an expectation cannot be a function', () => {
  expect(() => lines({ a: 1 }, { a: (n: number) => n > 0 })).toThrow(
    'Failed to check a: an expectation cannot be a function. Give the value or a pattern, or check(condition, true).',
  )
})

test('long values are cut, and unusual values are shown', () => {
  const [line] = lines('x'.repeat(1000), 'y')
  expect(line!.length).toBeLessThan(230)
  expect(lines(10n, 11n)).toEqual([': 11 / 10'])
  const loop: { self?: unknown } = {}
  loop.self = loop
  expect(lines(loop, 1)).toEqual([': 1 / [object Object]'])
})

test('a trace shows the leaves of an expectation', () => {
  expect(flattenExpected({ status: 'running', instances: { running: 1 }, tags: [] })).toEqual({
    status: 'running',
    'instances.running': 1,
    tags: '[]',
  })
  expect(flattenExpected(402)).toEqual({ is: 402 })
  expect(flattenExpected([{ id: /x/ }])).toEqual({ '[0].id': '/x/' })
})

test('lines of a file are read one by one', () => {
  expect(jsonLines('{"a":1}\n\n{"a":2}\n')).toEqual([{ a: 1 }, { a: 2 }])
  expect(jsonLines('')).toEqual([])
  expect(() => jsonLines('{"a":1}\n{')).toThrow(/^Failed to read line 2: /)
})

test('an expectation has the type of its value', () => {
  const check = (() => {}) as Check
  const value: { status: 'running' | 'stopped'; list: { id: string }[] } = { status: 'running', list: [] }
  check(value, { status: /run/, list: [{ id: 'a' }] })
  // @ts-expect-error a status that does not exist
  check(value, { status: 'sleeping' })
  // @ts-expect-error a field that does not exist
  check(value, { state: 'running' })
})
