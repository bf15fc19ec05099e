import fc from 'fast-check'
import { expect, test } from 'vitest'
import { describeRow, Generation, Row, type RowClass } from '../../../src/kernel/row.ts'
import { concatBytes } from '../../../src/lib/bytes.ts'
import { ByteWriter } from '../../../src/simulator/checkpoint/codec/bytes.ts'
import type { SerializableClasses } from '../../../src/simulator/checkpoint/codec/graph-forms.ts'
import { decodeGraph } from '../../../src/simulator/checkpoint/codec/graph-reader.ts'
import { encodeGraph } from '../../../src/simulator/checkpoint/codec/graph-writer.ts'
import { forAll } from '../../setup/for-all.ts'

class Point {
  x = 0
  tags: readonly unknown[] = []
}

class Sum {
  readonly #whole: number
  constructor(whole: number) {
    this.#whole = whole
  }
  get whole(): number {
    return this.#whole
  }
}

const CLASSES: SerializableClasses = {
  Point: { of: Point },
  Sum: {
    of: Sum,
    take: sum => [(sum as Sum).whole],
    make: ([whole]) => new Sum(whole as number),
  },
}

function again<T extends object>(value: T): T {
  return decodeGraph(concatBytes(encodeGraph(value, CLASSES)), CLASSES) as T
}

const anything = fc.anything({
  withBigInt: true,
  withDate: true,
  withMap: true,
  withSet: true,
  withSparseArray: false,
  maxDepth: 4,
  values: [
    fc.double(),
    fc.integer(),
    fc.constantFrom(0, -0, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 31, -(2 ** 31) - 1, 127, 128, -129, 32_768),
    fc.constantFrom('', 'x', '\ud800', '\udc00', 'ä', '🚀', '__proto__', '\ufeff', '\0'),
    fc.string({ unit: fc.constantFrom('a', 'é', 'e\u0301', '中', '🙂', '\u{1f469}\u200d\u{1f4bb}', '\0', '\ud800') }),
    fc.boolean(),
    fc.constantFrom(undefined, null),
    fc.oneof(fc.uint8Array({ maxLength: 9 }), fc.float64Array({ maxLength: 3 }), fc.int16Array({ maxLength: 3 })),
  ],
})

test('a value is read as it was written beside any other values', { tags: 'slow' }, () => {
  forAll([fc.array(anything, { maxLength: 30 })], values => {
    expect(again({ values })).toStrictEqual({ values: values.map(withPlainPrototypes) })
  })
})

test('a column keeps its order for any mixture and any run of values', { tags: 'slow' }, () => {
  const item = fc.constantFrom(0, -0, 1, 300, 0.5, 'a', 'b', undefined, null, true, false, 7n)
  const runs = fc.array(fc.tuple(item, fc.integer({ min: 1, max: 70 })), { maxLength: 20 })
  forAll([runs], pairs => {
    const values = pairs.flatMap(([value, times]) => new Array(times).fill(value))
    const things = values.map(value => Object.assign(new Point(), { x: value }))
    expect(again({ values, things })).toStrictEqual({ values, things })
  })
})

test('texts are complete for any number of them', () => {
  for (const count of [1, 63, 64, 65, 66, 1000]) {
    const texts = Array.from({ length: count * 3 }, (_, i) => `text ${i % count}${i % 7 === 0 ? '\ud83d' : ''}`)
    expect(again({ texts })).toEqual({ texts })
  }
})

test('shared references stay shared, and empty lists are separate', () => {
  const shared = { deep: [1] }
  const points = Array.from({ length: 3 }, () => new Point())
  const read = again({ a: shared, b: [shared, shared], points, sums: [new Sum(3), new Sum(-0)] })
  expect(read.b[0]).toBe(read.a)
  expect(read.b[1]).toBe(read.a)
  expect(read.points[0]).toBeInstanceOf(Point)
  expect(read.points[0]!.tags).toEqual([])
  expect(read.points[0]!.tags).not.toBe(read.points[1]!.tags)
  expect(read.sums.map(({ whole }) => whole)).toEqual([3, -0])
})

test('objects of one form may contain each other in any order', () => {
  interface Node {
    readonly name: string
    readonly within: Node | readonly Node[] | undefined
  }
  const node = (name: string, within: Node['within']): Node => ({ name, within })
  const leaf = node('leaf', undefined)
  const tree = node('root', [node('left', leaf), node('right', [leaf, node('last', [])])])
  expect(again({ first: leaf, tree })).toEqual({ first: leaf, tree })
  expect(again({ tree, last: leaf })).toEqual({ tree, last: leaf })
})

test('a field may be called __proto__', () => {
  const given = JSON.parse('[{"__proto__": {"a": 1}, "b": 2}, {"__proto__": {"a": 5}, "b": 3}]') as object[]
  const read = again({ given }).given
  expect(JSON.stringify(read)).toBe(JSON.stringify(given))
  expect(Object.getPrototypeOf(read[0])).toBe(Object.prototype)
})

test('encodeGraph throws when a class or a value is not serializable', () => {
  class Unlisted {}
  expect(() => encodeGraph({ one: new Unlisted() }, CLASSES)).toThrow('Unlisted is not a serializable class')
  expect(() => encodeGraph({ one: () => 1 }, CLASSES)).toThrow('it cannot contain a function')
  const bytes = concatBytes(encodeGraph({ one: new Point() }, CLASSES))
  expect(() => decodeGraph(bytes, {})).toThrow("there is no class 'Point'")
})

/** A graph by hand: its forms, and numbers in a row, each as how many there are and the one that they all are. */
function graphOf(forms: unknown, numbers: readonly (readonly [count: number, value: number])[]) {
  const out = new ByteWriter()
  out.text(JSON.stringify(forms))
  for (const [count, value] of numbers) {
    out.count(count)
    out.u8(value === HUGE ? 3 : 4)
    if (value === HUGE) out.raw(Float64Array.of(value))
    else if (count > 0) out.u8(value)
  }
  // One text without characters, for the graphs that come so far.
  out.text('')
  out.u8(1)
  return concatBytes(out.finish())
}

const HUGE = 100_000_000
const FORM = { sort: 'fields', name: '', keys: [] as string[], count: 1, columns: 0 }
const BYTES = { ...FORM, sort: 'bytes', name: 'Uint8Array' }
const COLUMN = { ...FORM, keys: ['a'], columns: 1 }
const [none, one] = [[0, 0] as const, [1, 0] as const]

test.each<[what: string, bytes: Uint8Array, reason: string]>([
  ['things', graphOf([{ ...FORM, count: HUGE }], [[HUGE, 0], none]), 'bytes cannot hold'],
  ['things of a form', graphOf([{ ...FORM, count: HUGE }], [one, none]), 'another number'],
  ['forms', graphOf({ length: HUGE }, [one, none]), 'the forms are not a list'],
  ['columns', graphOf([{ ...FORM, columns: HUGE }], [one, none]), 'more values than bytes'],
  ['lengths', graphOf([BYTES], [one, [HUGE, 0]]), 'another number of lengths'],
  ['arrays of numbers', graphOf([{ ...BYTES, count: HUGE }], [one, [HUGE, 0]]), 'another number of things'],
  ['items', graphOf([{ ...FORM, sort: 'list', columns: 1 }], [one, [1, HUGE], [HUGE, 2], none, none]), 'more values'],
  ['texts', graphOf([COLUMN], [one, none, [1, 1], none, [HUGE, 0]]), 'texts of 0 characters'],
  ['values of a column', graphOf([COLUMN], [one, none, [HUGE, 0], [HUGE, 0], none]), 'a column has'],
  ['digits of a count', new Uint8Array(500).fill(255), 'a count is not a safe integer'],
])('decodeGraph rejects an absurd number of %s before it allocates memory', (_, bytes, reason) => {
  expect(() => decodeGraph(bytes, CLASSES)).toThrow(reason)
})

test('an empty text is read among many others', () => {
  const many = ['', '', '', ...Array.from({ length: 100 }, (_, i) => `${i}`), '', '']
  expect(again({ many, empty: [''], ones: [...'abc'] })).toEqual({ many, empty: [''], ones: [...'abc'] })
})

/** An object without a prototype is read as a plain one; a buffer is of Uint8Array. */
function withPlainPrototypes(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withPlainPrototypes)
  if (value instanceof Map) return new Map([...value].map(pair => pair.map(withPlainPrototypes) as [unknown, unknown]))
  if (value instanceof Set) return new Set([...value].map(withPlainPrototypes))
  if (typeof value !== 'object' || value === null || value instanceof Date || ArrayBuffer.isView(value)) return value
  const plain = {}
  for (const [key, item] of Object.entries(value)) {
    const own = { configurable: true, enumerable: true, writable: true, value: withPlainPrototypes(item) }
    Object.defineProperty(plain, key, own)
  }
  return plain
}

class Gauge extends Row {
  level = this.int32(0)
  label = this.reference<unknown>('')
}

class WiderGauge extends Row {
  level = this.int32(0)
  label = this.reference<unknown>('')
  unit = this.reference('')
}

class TextGauge extends Row {
  level = this.reference<unknown>('')
  label = this.reference<unknown>('')
}

const rowsOf = (rowClass: RowClass<Row>): SerializableClasses => ({
  Gauge: { of: rowClass, declared: describeRow(rowClass) },
})
const GAUGES = rowsOf(Gauge)

test('a row is read with the fields that it declares, and belongs to no table', () => {
  const gauge = new Gauge(new Generation(), 'g1')
  gauge.level = -7
  gauge.label = { deep: [gauge.level] }
  const { row } = decodeGraph(concatBytes(encodeGraph({ row: gauge }, GAUGES)), GAUGES) as { row: Gauge }
  expect(row).toBeInstanceOf(Gauge)
  expect({ ...row, generation: undefined }).toEqual({ ...gauge, generation: undefined })
  expect(row.generation).not.toBe(gauge.generation)
})

test('encodeGraph throws when a value of a row does not fit its storage', () => {
  const gauge = new Gauge(new Generation(), 'g1')
  gauge.level = 2 ** 31
  expect(() => encodeGraph({ gauge }, GAUGES)).toThrow(
    "Failed to store 'level' of Gauge: 2147483648 does not fit int32. Declare the field by another kind of storage.",
  )
})

test('decodeGraph throws when a row has other fields or a value that does not fit', () => {
  const gauge = new Gauge(new Generation(), 'g1')
  const bytes = concatBytes(encodeGraph({ gauge }, GAUGES))
  expect(() => decodeGraph(bytes, rowsOf(WiderGauge))).toThrow('Gauge has other fields')
  const text = concatBytes(encodeGraph({ gauge: new TextGauge(new Generation(), 'g1') }, rowsOf(TextGauge)))
  expect(() => decodeGraph(text, GAUGES)).toThrow("'level' of Gauge: a value of type string does not fit int32")
})
