import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { formatTraceLine } from '../../src/kernel/entry.ts'
import { Journal } from '../../src/kernel/journal.ts'
import { Generation, Row } from '../../src/kernel/row.ts'
import { forAll } from '../setup/for-all.ts'

class Thing extends Row {}

const generation = new Generation()
const kinds = ['thing.made', 'thing.moved', 'thing.gone']

describe('the digest', () => {
  test('depends on the order of the events of one subject, and not on the order of subjects', () => {
    const event = fc.record({ thing: fc.nat(4), kind: fc.constantFrom(...kinds), value: fc.integer() })
    forAll([fc.array(event, { minLength: 1, maxLength: 40 }), fc.infiniteStream(fc.nat(1000))], (events, order) => {
      // Shuffled, but what happens to one thing keeps its order.
      const queues = new Map<number, typeof events>()
      for (const one of events) queues.set(one.thing, [...(queues.get(one.thing) ?? []), one])
      const shuffled: typeof events = []
      while (queues.size > 0) {
        const things = [...queues.keys()]
        const thing = things[order.next().value! % things.length]!
        const [first, ...rest] = queues.get(thing)!
        shuffled.push(first!)
        if (rest.length > 0) queues.set(thing, rest)
        else queues.delete(thing)
      }
      expect(digestOf(shuffled)).toBe(digestOf(events))
    })
    const one = { thing: 1, kind: 'thing.made', value: 1 }
    const other = { thing: 1, kind: 'thing.moved', value: 1 }
    expect(digestOf([one, other])).not.toBe(digestOf([other, one]))
  })

  test('depends on the name, the value and the type of every field', () => {
    const digests = [
      digestOf([{ thing: 1, kind: 'thing.made', value: 1 }]),
      digestOf([{ thing: 1, kind: 'thing.made', value: 2 }]),
      digestOf([{ thing: 1, kind: 'thing.made', value: 2 ** 40 }]),
      digestOf([{ thing: 1, kind: 'thing.made', value: 0.5 }]),
      digestOf([{ thing: 2, kind: 'thing.made', value: 1 }]),
      digestOf([{ thing: 1, kind: 'thing.moved', value: 1 }]),
      digestOf([]),
    ]
    expect(new Set(digests).size).toBe(digests.length)
    expect(digests[6]).toBe('0'.repeat(32))
  })

  test('continues in a fork, whose journal is empty', () => {
    const journal = new Journal()
    const thing = new Thing(generation, 'a')
    journal.record(thing, 5, 'thing.made')
    const fork = journal.fork()
    expect([fork.digest, fork.entries()]).toEqual([journal.digest, []])
  })
})

describe('the journal', () => {
  test('keeps the newest entries, counts all, and reports the dropped ones', () => {
    const journal = new Journal(3)
    const thing = new Thing(generation, 'a')
    for (let i = 0; i < 10; i++) journal.record(thing, i, 'thing.moved', { i })
    expect(journal.entries().map(entry => entry.seq)).toEqual([8, 9, 10])
    expect([journal.dropped, journal.last, journal.counts.get('thing.moved')]).toEqual([7, 10, 10])
    expect(journal.entries(9).map(entry => entry.time)).toEqual([9])
  })

  test('returns the fields of every entry as they were recorded, whatever their names, number and values', () => {
    const value = fc.oneof(fc.string(), fc.integer(), fc.double({ noNaN: true }), fc.boolean(), fc.constant(null))
    const name = fc.constantFrom('gpu', 'node', 'reason', 'from', 'to', 'image', 'weights')
    const fields = fc.option(fc.dictionary(name, value, { maxKeys: 7, noNullPrototype: true }), { nil: undefined })
    forAll([fc.array(fc.tuple(fc.constantFrom(...kinds), fields), { maxLength: 60 }), fc.nat(60)], (events, kept) => {
      const journal = new Journal(kept + 1)
      const thing = new Thing(generation, 'a')
      const heard: unknown[] = []
      journal.listen(entry => heard.push([entry.kind, entry.fields]))
      const watched: number[] = []
      const stop = journal.watch(seq => watched.push(seq))
      for (const [i, [kind, given]] of events.entries()) journal.record(thing, i, kind, given)
      const entries = journal.entries().map(entry => [entry.kind, entry.fields])
      expect(entries).toEqual(events.slice(-(kept + 1)))
      expect(heard).toEqual(events)
      expect(watched).toEqual(events.map((_, i) => i + 1))
      stop()
      journal.record(thing, events.length, 'thing.moved')
      expect(watched).toHaveLength(events.length)
      const names = (of: readonly unknown[]) => of.map(one => Object.keys((one as [string, object])[1] ?? {}))
      expect(names(entries)).toEqual(names(events.slice(-(kept + 1))))
    })
  })

  test('shows the outcome of a request that ended after it was recorded, until its place has another entry', () => {
    const journal = new Journal(2)
    const thing = new Thing(generation, 'a')
    const request = journal.recordRequest(0, 'makeThing', 'POST /things')
    request.fields.status = 201
    expect(journal.entries()[0]?.fields).toEqual({ operation: 'makeThing', status: 201, decidedBy: 'none' })
    journal.record(thing, 1, 'thing.made', { size: 1 })
    journal.record(thing, 2, 'thing.moved')
    expect(journal.entries().map(entry => entry.fields)).toEqual([{ size: 1 }, undefined])
  })

  test('refuses to explain an unknown or dropped entry', () => {
    const journal = new Journal(2)
    expect(() => journal.chain(99)).toThrow('Failed to explain entry 99 of the journal: the journal is empty.')
    for (let i = 0; i < 5; i++) journal.recordUndigested(i, 'thing.made', 'a')
    expect(journal.chain(4)).toHaveLength(1)
    expect(() => journal.chain(99)).toThrow('entries have the numbers 4 to 5')
    expect(() => journal.chain(0)).toThrow('entries have the numbers 4 to 5')
    expect(() => journal.chain(3)).toThrow('the oldest 3 entries are dropped. Set a higher journalLimit.')
  })

  test('returns the chain of causes, nearest first', () => {
    const journal = new Journal()
    const thing = new Thing(generation, 'a')
    const request = journal.recordRequest(0, 'makeThing', 'POST /things')
    journal.cause = request.seq
    const made = journal.record(thing, 0, 'thing.made')
    journal.cause = made
    const moved = journal.record(thing, 9, 'thing.moved')
    expect(journal.chain(moved).map(entry => entry.kind)).toEqual(['thing.moved', 'thing.made', 'request'])
  })

  test('is formatted as a trace: seconds, kind, subject, fields by name', () => {
    const entry = { seq: 1, time: 12_500_000, kind: 'node.crashed', subject: 'h100-0', cause: 0 }
    expect(formatTraceLine({ ...entry, fields: { zone: 'a', lost: 2, reason: 'power supply' } })).toBe(
      '12.500000 node.crashed h100-0 lost=2 reason="power supply" zone=a',
    )
    expect(formatTraceLine({ ...entry, fields: undefined })).toBe('12.500000 node.crashed h100-0')
  })
})

function digestOf(events: readonly { thing: number; kind: string; value: number }[]): string {
  const journal = new Journal()
  const things = new Map<number, Thing>()
  for (const { thing, kind, value } of events) {
    const row = things.get(thing) ?? new Thing(generation, `thing-${thing}`)
    things.set(thing, row)
    journal.record(row, 1, kind, { value })
  }
  return journal.digest
}
