import fc from 'fast-check'
import { expect, test } from 'vitest'
import { describeRow, Generation, Row, type RowClass } from '../../src/kernel/row.ts'
import { Table } from '../../src/kernel/table.ts'
import { ROW_CLASSES } from '../../src/simulation/archived-classes.ts'
import { forAll } from '../setup/for-all.ts'

const HASH_WORDS = ['h0', 'h1', 'h2', 'h3']

class Tally {
  value: number
  constructor(value = 0) {
    this.value = value
  }
  copy(): Tally {
    return new Tally(this.value)
  }
}

class Machine extends Row {
  declare readonly model: string
  starts = this.int32(0)
  startedAt = this.number(-1)
  isReady = this.boolean(false)
  tags = this.reference<readonly string[]>([])
  uses = this.owned(new Tally())

  constructor(generation: Generation, id: string, initial: Pick<Machine, 'model'>) {
    super(generation, id)
    this.model = this.reference(initial.model)
  }
}

const machine = () => new Machine(new Generation(), 'machine-1', { model: 'a' })

test('a class of rows is described by the lines that declare its fields', () => {
  expect(describeRow(Machine).fields.filter(({ name }) => !HASH_WORDS.includes(name))).toEqual([
    { name: 'id', storage: 'reference' },
    { name: 'starts', storage: 'int32' },
    { name: 'startedAt', storage: 'number' },
    { name: 'isReady', storage: 'boolean' },
    { name: 'tags', storage: 'reference' },
    { name: 'uses', storage: 'owned' },
    { name: 'model', storage: 'reference' },
  ])
})

test('a table refuses a class when a field has no kind of storage', () => {
  class Forgetful extends Machine {
    forgotten = 0
  }
  class ForgetfulConstructor extends Row {
    declare readonly given: string
    constructor(generation: Generation, id: string, initial: Pick<ForgetfulConstructor, 'given'>) {
      super(generation, id)
      this.given = initial.given
    }
  }
  expect(() => new Table(Forgetful, { generation: new Generation() })).toThrow(
    /^Failed to describe Forgetful: 'forgotten' has no kind of storage\. Give it its first value by int32\(\)/,
  )
  expect(() => describeRow(ForgetfulConstructor)).toThrow("'given' has no kind of storage")
})

test('a table refuses a class when a field has two kinds of storage', () => {
  class Doubtful extends Row {
    size = this.int32(this.number(0))
  }
  expect(() => describeRow(Doubtful)).toThrow('it has 6 fields and 7 kinds of storage. Give each field one.')
})

test('a table refuses a class when its constructor reads deeper than the given fields', () => {
  class Deep extends Row {
    size: number
    constructor(generation: Generation, id: string, initial: { plan: { size: number } }) {
      super(generation, id)
      this.size = this.number(initial.plan.size)
    }
  }
  expect(() => describeRow(Deep as unknown as RowClass<Row>)).toThrow(
    'Failed to describe Deep: its constructor throws without its given fields. Read only fields of its last argument.',
  )
})

test('a row is refused when it got a field later that its class does not declare', () => {
  class Late extends Row {
    note: string | undefined
  }
  const row = new Late(new Generation(), 'late')
  row.note = 'later'
  expect(() => describeRow(Late).assertStorage(row)).toThrow("'note' has no kind of storage")
})

test('a copy shares references and has its own owned values', () => {
  const row = machine()
  row.tags = ['x']
  row.uses.value = 3
  const generation = new Generation()
  const copy = describeRow(Machine).copy(row, generation)
  expect(copy).toBeInstanceOf(Machine)
  expect(copy.generation).toBe(generation)
  expect(copy.tags).toBe(row.tags)
  copy.uses.value++
  expect([row.uses.value, copy.uses.value]).toEqual([3, 4])
})

test.each([
  ['starts', 2 ** 31, '2147483648 does not fit int32'],
  ['starts', 0.5, '0.5 does not fit int32'],
  ['starts', -0, '-0 does not fit int32'],
  ['starts', undefined, 'a value of type undefined does not fit int32'],
  ['startedAt', '1', 'a value of type string does not fit number'],
  ['isReady', 1, '1 does not fit boolean'],
  ['uses', undefined, 'a value of type undefined does not fit owned'],
])('%s of %s is refused', (name, value, message) => {
  const row = Object.assign(machine(), { [name]: value })
  expect(() => describeRow(Machine).assertStorage(row)).toThrow(
    `Failed to store '${name}' of Machine: ${message}. Declare the field by another kind of storage.`,
  )
})

test.each(Object.entries(ROW_CLASSES) as [string, RowClass<Row>][])(
  'a copy and a restored row of %s have every field',
  { tags: 'slow' },
  (_, rowClass) => {
    const layout = describeRow(rowClass)
    const values = fc.record({
      int32: fc.integer(),
      number: fc.double({ noNaN: true }),
      boolean: fc.boolean(),
      reference: fc.anything(),
      owned: fc.integer().map(value => new Tally(value)),
    })
    const rows = fc.tuple(...layout.fields.map(({ storage }) => values.map(value => value[storage])))
    forAll([rows], { numRuns: 20 }, fieldValues => {
      const fields = Object.fromEntries(layout.names.map((name, i) => [name, fieldValues[i]])) as unknown as Row
      const restored = layout.restore(fields)
      const generation = new Generation()
      const copy = layout.copy(restored, generation)
      expect(restored).toBeInstanceOf(rowClass)
      expect(copy).toBeInstanceOf(rowClass)
      expect(layout.valuesOf(restored)).toEqual(fieldValues)
      expect(layout.valuesOf(copy)).toEqual(fieldValues)
      expect(copy.generation).toBe(generation)
      layout.assertStorage(copy)
    })
  },
)
