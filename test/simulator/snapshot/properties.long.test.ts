import fc from 'fast-check'
import { expect, test } from 'vitest'
import { describeRow, Generation, Row, type RowClass } from '../../../src/kernel/row.ts'
import { loadTokenizer } from '../../../src/service/openai/tokenizer.ts'
import { findViolations } from '../../../src/simulation/invariants/check-world.ts'
import { Snapshot } from '../../../src/simulator/checkpoint/snapshot.ts'
import { createSimulator, type Simulator } from '../../../src/simulator/simulator.ts'
import { forAll, forAllAsync } from '../../setup/for-all.ts'
import { type Action, action, perform } from '../../simulation/invariants/actions.ts'

const RUNS = Number(process.env.INVARIANT_RUNS ?? 3)

await loadTokenizer()

test('a restored world continues as the original and as a fork: same digest, events, money, answers and report', async () => {
  await forAllAsync(
    [fc.array(action, { maxLength: 15 }), fc.array(action, { maxLength: 8 }), fc.constantFrom('none', 'bad-week')],
    { numRuns: RUNS },
    async (before, after, weather) => {
      const sim = createSimulator({ fixtures: 'default', seed: 7, weather })
      await play(sim, before)
      const fork = sim.fork()
      const bytes = sim.snapshot().toBytes()
      const back = createSimulator({ fixtures: 'empty', check: true })
      back.restore(bytes)
      expect(seen(back)).toEqual(seen(sim))
      expect(Buffer.compare(back.snapshot().toBytes(), bytes)).toBe(0)
      const last = sim.world.journal.last
      for (const one of [sim, fork, back]) await play(one, after)
      expect(seen(back)).toEqual(seen(fork))
      for (const time of ['1h', '1d']) {
        for (const one of [sim, fork, back]) await one.clock.advance(time)
        expect(seen(back)).toEqual(seen(sim))
        expect(seen(fork)).toEqual(seen(sim))
      }
      expect(events(back, 0)).toEqual(events(sim, last))
      expect(findViolations(back.world)).toEqual([])
    },
  )
})

test('a copy of a row has all its fields', async () => {
  await forAllAsync([fc.array(action, { maxLength: 25 })], { numRuns: RUNS }, async actions => {
    const sim = createSimulator({ fixtures: 'default', seed: 7, weather: 'bad-week' })
    await play(sim, actions)
    const rows = sim.world.toArchive().state.flatMap(value => (Array.isArray(value) ? value : []))
    const kinds = new Set<string>()
    for (const row of rows) {
      if (!(row instanceof Row)) continue
      kinds.add(row.constructor.name)
      const { generation: _, ...fields } = row
      const { generation: __, ...copied } = describeRow(row.constructor as RowClass<Row>).copy(row, new Generation())
      expect(copied).toEqual(fields)
    }
    expect(kinds.size).toBeGreaterThan(8)
  })
})

async function play(sim: Simulator, actions: readonly Action[]): Promise<void> {
  for (const one of actions) await perform(sim, one)
}

/** What can be seen of a simulator, beside its journal. */
function seen(sim: Simulator): unknown {
  const { world } = sim
  return {
    digest: sim.digest,
    now: sim.clock.iso,
    planned: plannedEvents(world),
    ledger: sim.ledger.entries(),
    balance: sim.ledger.balance,
    report: sim.report(),
    nodes: sim.cluster.nodes(),
    deployments: world.deployments.list().map(one => one.toRecord()),
    batches: world.batches.list().map(one => one.toRecord()),
    files: world.files.list().map(one => [one.id, Buffer.concat(one.chunks()).toString('latin1')]),
  }
}

/** The events of the agenda, in the order in which they would fire. */
function plannedEvents(world: Simulator['world']): unknown[] {
  const agenda = world.agenda.fork()
  const events: unknown[] = []
  while (agenda.take()) events.push([agenda.time, agenda.kind, agenda.subject, agenda.arg])
  return events
}

function events(sim: Simulator, after: number): unknown[] {
  return sim.journal
    .entries({ after })
    .filter(({ kind }) => kind !== 'request')
    .map(({ time, kind, subject, fields }) => ({ time, kind, subject, fields }))
}

test('a snapshot with a changed byte at any place or a missing end is refused with the cause', () => {
  const whole = createSimulator({ fixtures: 'two-nodes' }).snapshot().toBytes()
  forAll([fc.nat(whole.length - 1), fc.integer({ min: 1, max: 255 })], { numRuns: 300 }, (at, flip) => {
    const bytes = whole.slice()
    bytes[at]! ^= flip
    const refused = /^Failed to read the snapshot: it (is|was) .*\. \w.*\.$/
    expect(() => Snapshot.from(bytes)).toThrow(refused)
    expect(() => Snapshot.from(whole.subarray(0, at))).toThrow(refused)
  })
})
