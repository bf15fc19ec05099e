/** Entries in columns are the entries that the other form has, without tokens. */

import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Entry } from '../../../src/kernel/journal.ts'
import { toEntryColumns, toJournalView } from '../../../src/server/control/event-views.ts'
import { readEntryColumns } from '../../../src/server/page/store/feed.ts'
import { createSimulator } from '../../../src/simulator/simulator.ts'
import { forAll } from '../../setup/for-all.ts'

const sim = createSimulator({ fixtures: 'empty', epoch: '2027-03-04T05:06:07Z' })
const scoped = 'jwt:eyJh.eyJp.c2ln1234'
const anyText = fc.oneof(
  fc.string(),
  fc.constantFrom(sim.token, `/deploy/${sim.token}?x=1`, scoped, `a ${scoped}`, 'line\nline'),
)
const anyValue = fc.oneof(anyText, fc.integer(), fc.double({ noNaN: true, noDefaultInfinity: true }), fc.boolean())
/** Names that a JSON object keeps in their order. */
const anyName = fc.string({ minLength: 1 }).filter(name => !/^\d|^__/.test(name))
const anyEntry = fc.record({
  time: fc.nat({ max: 10 ** 15 }),
  kind: fc.constantFrom('instance.ready', 'deployment.scaledUp', 'node.crashed'),
  subject: anyText,
  cause: fc.nat(),
  fields: fc.option(fc.dictionary(anyName, fc.oneof(anyValue, fc.constant(null))), { nil: undefined }),
})

test('entries in columns have every entry, its time as text, and no token', { tags: 'slow' }, () => {
  const send = (value: unknown) => sim.world.apiTokens.hideSecrets(JSON.stringify(value))
  forAll([fc.array(fc.tuple(fc.integer({ min: 1, max: 9 }), anyEntry))], steps => {
    let seq = 0
    const entries = steps.map(([step, entry]): Entry => {
      seq += step
      return { seq, ...entry }
    })
    const text = send(toEntryColumns(entries, sim))
    expect(text).not.toContain(sim.token)
    const read = readEntryColumns(JSON.parse(text))
    const plain = JSON.parse(send(entries.map(entry => toJournalView(entry, sim))))
    const shown = read.map(({ seq, time, at, kind, subject, cause, fields }) => ({
      ...{ seq, time, at, kind, subject, cause },
      ...(fields !== undefined && { fields }),
    }))
    expect(shown).toEqual(plain)
  })
})

test('a time of an entry has the microseconds of the world', () => {
  const [entry] = readEntryColumns({
    ...{ epoch: sim.world.clock.iso(0), seq: [1], time: [1_000_001], kind: [0], kinds: ['node.crashed'] },
    ...{ subject: ['h100-0'], cause: [0], fields: {} },
  })
  expect(entry!.at).toBe('2027-03-04T05:06:08.000001+00:00')
})
