import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { forkState } from '../../src/kernel/archive.ts'
import { LayeredMap } from '../../src/kernel/layered-map.ts'
import { Generation, Row } from '../../src/kernel/row.ts'
import { Table } from '../../src/kernel/table.ts'
import { forAll } from '../setup/for-all.ts'

class Counter extends Row {
  value = this.number(0)
}

type Step =
  | { do: 'add'; value: number }
  | { do: 'write'; which: number; value: number }
  | { do: 'remove'; which: number }
  | { do: 'fork' }

const step: fc.Arbitrary<Step & { in: number }> = fc.oneof(
  fc.record({ do: fc.constant('add' as const), in: fc.nat(8), value: fc.nat() }),
  fc.record({ do: fc.constant('write' as const), in: fc.nat(8), which: fc.nat(30), value: fc.nat() }),
  fc.record({ do: fc.constant('remove' as const), in: fc.nat(8), which: fc.nat(30) }),
  fc.record({ do: fc.constant('fork' as const), in: fc.nat(8) }),
)

describe('tables', () => {
  test('share rows with their forks, and are independent of the writes of forks', () => {
    forAll([fc.array(step, { maxLength: 80 })], { numRuns: 60 }, steps => {
      const first = { generation: new Generation() }
      const tables: { table: Table<Counter>; owner: { generation: Generation }; model: Map<number, number> }[] = [
        { table: new Table(Counter, first), owner: first, model: new Map() },
      ]
      for (const one of steps) {
        const { table, owner, model } = tables[one.in % tables.length]!
        const alive = [...model.keys()]
        if (one.do === 'add') {
          const row = new Counter(table.generation, 'x')
          row.value = one.value
          model.set(table.add(row), one.value)
        } else if (one.do === 'fork') {
          const forkOwner = { generation: new Generation() }
          const fork = new Table(Counter, forkOwner)
          forkState([table], [fork])
          owner.generation = new Generation()
          tables.push({ table: fork, owner: forkOwner, model: new Map(model) })
        } else if (alive.length > 0) {
          const ordinal = alive[one.which % alive.length]!
          if (one.do === 'write') {
            table.writable(ordinal).value = one.value
            model.set(ordinal, one.value)
          } else {
            table.remove(ordinal)
            model.delete(ordinal)
          }
        }
        for (const other of tables) {
          const seen = new Map([...other.table.entries()].map(([ordinal, row]) => [ordinal, row.value]))
          expect(seen).toEqual(other.model)
          expect(other.table.count).toBe(other.model.size)
        }
      }
    })
  })

  test('a slot that is used again counts its uses', () => {
    const table = new Table(Counter, { generation: new Generation() })
    const first = table.add(new Counter(table.generation, 'a'))
    expect(table.useCount(first)).toBe(1)
    table.remove(first)
    expect(() => table.read(first)).toThrow('it was removed from its table')
    expect(table.add(new Counter(table.generation, 'b'))).toBe(first)
    expect(table.useCount(first)).toBe(2)
  })
})

describe('layers', () => {
  test('are maps that fork', { tags: 'slow' }, () => {
    const change = fc.record({
      in: fc.nat(8),
      do: fc.constantFrom('set', 'delete', 'fork'),
      key: fc.constantFrom('a', 'b', 'c', 'd'),
      value: fc.nat(),
    })
    forAll([fc.array(change, { maxLength: 120 })], changes => {
      const all = [{ layers: new LayeredMap<number>(), model: new Map<string, number>() }]
      for (const one of changes) {
        const { layers, model } = all[one.in % all.length]!
        if (one.do === 'set') {
          layers.set(one.key, one.value)
          model.set(one.key, one.value)
        } else if (one.do === 'delete') {
          layers.delete(one.key)
          model.delete(one.key)
        } else {
          const fork = new LayeredMap<number>()
          forkState([layers], [fork])
          all.push({ layers: fork, model: new Map(model) })
        }
        for (const other of all) {
          for (const key of ['a', 'b', 'c', 'd']) expect(other.layers.get(key)).toBe(other.model.get(key))
        }
      }
    })
  })
})
