/** What the lines of a batch run on: what live load leaves, what is lost and run again, and the wait for capacity. */

import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { OfferedLoadInput } from '../../src/data/offered-load.ts'
import type { FixturePatch } from '../../src/data/records/fixture.ts'
import { type Micros, SECOND } from '../../src/kernel/duration.ts'
import { EMPTY_FLOW, FlowState } from '../../src/simulation/load/request-flow.ts'
import { findSpareTime, spareSeconds } from '../../src/simulation/load/serving.ts'
import { forAll } from '../setup/for-all.ts'
import { anyLoad, anyStretch, curveOf } from './any-load.ts'
import { batchOf, linesIn, many } from './batch-world.ts'
import { runs, SLOWEST, SMALLEST } from './shared-capacity.ts'
import { pass, passUntil, stage, story } from './small-world.ts'

const LINES = 4000

/** A deployment of one 8B instance that runs, and a batch of lines on it. */
function busy(about: { load?: OfferedLoadInput; lines?: number; instances?: number; seed?: number } = {}) {
  const { load, lines = LINES, instances = 1, seed = 1 } = about
  const deployment = {
    model_name: 'acme/chat',
    status: 'running' as const,
    max_batch_size: 8,
    weights: { repo: 'acme/chat-8b' },
    settings: { min_instances: instances, max_instances: instances },
    ...(load && { load }),
  }
  const sim = stage([{ gpus: 1, count: 4 }], {}, { with: { deployments: [deployment] }, seed })
  const batch = batchOf(sim, many(lines, { model: 'acme/chat' }))
  const row = () => sim.world.deployments.read(sim.world.deployments.findLive('acme/chat')!.ordinal)
  return { sim, batch, row }
}

/** Microseconds from the first line to the last. */
function took({ sim, batch }: ReturnType<typeof busy>): Micros {
  passUntil(sim, () => batch.status === 'in_progress')
  return passUntil(sim, () => batch.status === 'finalizing', '25h')
}

const ALONE = took(busy())
/** Requests/s of the instance under a load of 500 tokens in and 200 out. */
const CAPACITY = busy({ load: { kind: 'constant', rps: 1 } }).row().load!.speed.requestsPerSecond

describe('a batch beside live load', () => {
  test.each([0, 0.25, 0.5, 0.9])('has what a constant load of %d of the capacity leaves', share => {
    const time = took(busy({ load: { kind: 'constant', rps: CAPACITY * share } }))
    expect(time / ALONE).toBeCloseTo(1 / (1 - share), 3)
  })

  test('has nothing while the load takes all, and goes on at the microsecond it does not', () => {
    const load: OfferedLoadInput = {
      kind: 'steps',
      steps: [
        { at: '0s', rps: 0 },
        { at: '1m', rps: CAPACITY },
        { at: '2h', rps: 0 },
      ],
    }
    const here = busy({ load })
    const { sim, batch } = here
    pass(sim, '61s')
    const { completed } = batch.toRecord().request_counts!
    expect(completed).toBeGreaterThan(0)
    const events = story(sim, batch.id).length
    pass(sim, '118m')
    expect(batch.toRecord().request_counts!.completed).toBe(completed)
    expect(story(sim, batch.id)).toHaveLength(events)
    passUntil(sim, () => batch.status === 'finalizing')
    const idle = 59 * 60 * SECOND + 3600 * SECOND
    const started = sim.world.clock.fromUnix(batch.toRecord().in_progress_at!)
    expect((sim.world.clock.now - started - idle) / ALONE).toBeCloseTo(1, 2)
  })

  test('waits until the queue of a rush is worked off', () => {
    const rush = (rps: number): OfferedLoadInput => ({
      kind: 'steps',
      steps: [
        { at: '0s', rps },
        { at: '60s', rps: 0 },
      ],
    })
    const calm = busy({ load: rush(CAPACITY) })
    const full = busy({ load: rush(3 * CAPACITY) })
    const done = ({ sim, batch }: typeof calm) => {
      pass(sim, '179s')
      return batch.toRecord().request_counts!.completed
    }
    expect(done(calm)).toBeGreaterThan(200)
    // Twice the capacity was left over for a minute: two minutes of work.
    expect(done(full)).toBe(0)
    pass(full.sim, '2s')
    expect(full.batch.toRecord().request_counts!.completed).toBeGreaterThan(0)
  })

  test('follows a load that rises and falls by its integral, with no event but those of its steps', () => {
    const here = busy({ load: { kind: 'wave', low: 0, high: CAPACITY, period: '1m', peak_at: '30s' }, lines: 10_000 })
    expect(took(here) / ((ALONE * 10_000) / LINES)).toBeCloseTo(2, 1)
    expect(story(here.sim, here.batch.id).filter(kind => kind === 'batch.progressed')).toHaveLength(100)
  })

  test('is the same with and without reads', () => {
    const load = { kind: 'wave', low: 0, high: 2 * CAPACITY, period: '10m', peak_at: '5m' } as const
    const [watched, alone] = [busy({ load }), busy({ load })]
    for (let i = 0; i < 500; i++) {
      pass(watched.sim, '7s')
      void watched.batch.toRecord()
    }
    pass(alone.sim, '3500s')
    expect(watched.batch.toRecord()).toEqual(alone.batch.toRecord())
    expect(watched.sim.digest).toBe(alone.sim.digest)
  })

  test('shares what is left with other batches evenly', () => {
    const here = busy({ load: { kind: 'constant', rps: CAPACITY / 2 } })
    const second = batchOf(here.sim, many(LINES, { model: 'acme/chat' }))
    passUntil(here.sim, () => second.status === 'in_progress')
    const from = here.sim.world.clock.now
    passUntil(here.sim, () => here.batch.status === 'finalizing' && second.status === 'finalizing', '10h')
    expect((here.sim.world.clock.now - from) / ALONE).toBeCloseTo(4, 1)
  })
})

describe('spare capacity', () => {
  const spareOf = (load: Parameters<typeof curveOf>[0], capacity: number, backlog = 0, queueLimit = 50) => ({
    curve: curveOf(load),
    capacity,
    backlog,
    queueLimit,
  })

  test('is what the load does not take, by hand', () => {
    expect(spareSeconds(spareOf({ kind: 'constant', rps: 20 }, 40), 0, 60 * SECOND)).toBeCloseTo(30, 9)
    expect(spareSeconds(spareOf({ kind: 'constant', rps: 20 }, 40, 40), 0, 60 * SECOND)).toBeCloseTo(29, 9)
    expect(spareSeconds(spareOf({ kind: 'constant', rps: 60 }, 40), 0, 60 * SECOND)).toBe(0)
    expect(findSpareTime(spareOf({ kind: 'constant', rps: 20 }, 40, 40), 5, 0, 60 * SECOND)).toBe(12 * SECOND)
    expect(findSpareTime(spareOf({ kind: 'constant', rps: 20 }, 40), 31, 0, 60 * SECOND)).toBe(Number.POSITIVE_INFINITY)
  })

  test('and what was served are together what the instances can do', () => {
    const speed = { requestsPerSecond: 40 } as Parameters<FlowState['advance']>[1]
    forAll([anyLoad(), anyStretch(), fc.nat(80)], (load, [from, to], backlog) => {
      const curve = curveOf(load)
      const state = { ...EMPTY_FLOW, arrived: backlog, backlog }
      const { served } = new FlowState(state).advance(curve, speed, 1, 50, from, to)
      const spared = spareSeconds({ curve, capacity: 40, backlog, queueLimit: 50 }, from, to)
      expect(served / 40 + spared).toBeCloseTo((to - from) / SECOND, 5)
    })
  })

  test('is found at the first microsecond that has it', () => {
    forAll([anyLoad(), anyStretch(), fc.integer({ min: 1, max: 999 })], (load, [from, to], part) => {
      const live = { curve: curveOf(load), capacity: 40, backlog: 10, queueLimit: 50 }
      const wanted = (spareSeconds(live, from, to) * part) / 1000
      fc.pre(wanted > 1e-3)
      const at = findSpareTime(live, wanted, from, to)
      expect(at).toBeLessThanOrEqual(to)
      expect(spareSeconds(live, from, at)).toBeGreaterThanOrEqual(wanted - 1e-9)
      expect(spareSeconds(live, from, at - 1)).toBeLessThan(wanted + 1e-9)
    })
  })
})

describe('an instance that is lost', () => {
  test('has its lines in flight run again: later by half of them, charged and answered once', () => {
    const here = busy({ instances: 2 })
    const other = busy({ instances: 2 })
    for (const { sim, batch } of [here, other])
      passUntil(sim, () => (batch.toRecord().request_counts?.completed ?? 0) > 1000)
    // One loses its instance, the other gives it back: both go on with one, with none to come.
    for (const { sim } of [here, other]) {
      sim.cluster.stockOut('H100-80GB')
      pass(sim, '1s')
    }
    const node = here.sim.cluster.nodeOf(here.row().id)
    const nth = here.batch.toRecord().request_counts!.completed
    node.crash()
    const { deployments, instances } = other.sim.world
    instances.release(other.row().instances[0]!)
    deployments.scaling.replenish(deployments.ordinalOf(other.row().id)!)
    const retried = here.sim.journal.entries().find(entry => entry.kind === 'batch.linesRetried')!
    expect(retried.fields).toEqual({ lines: 8 })
    expect(here.batch.toRecord().request_counts!.completed).toBe(nth)
    const time = ({ sim, batch }: typeof here) => passUntil(sim, () => batch.status === 'finalizing', '10h')
    const later = time(here) - time(other)
    // Eight lines of some 70 tokens, half of each again, at the rate of the instance that is left.
    expect(later / ((ALONE / LINES) * 4)).toBeGreaterThan(0.6)
    expect(later / ((ALONE / LINES) * 4)).toBeLessThan(1.6)
    passUntil(here.sim, () => here.batch.status === 'completed')
    const output = linesIn(here.sim, here.batch.toRecord().output_file_id)
    expect(new Set(output.map(line => line.custom_id)).size).toBe(LINES)
    expect(here.sim.ledger.entries().filter(entry => entry.kind === 'tokens')).toEqual([])
  })

  test('had no line of the batch where live load takes every place', () => {
    const { sim, row } = busy({ load: { kind: 'constant', rps: 10 * CAPACITY } })
    pass(sim, '1m')
    sim.cluster.nodeOf(row().id).crash()
    expect(sim.journal.entries().some(entry => entry.kind === 'batch.linesRetried')).toBe(false)
  })

  test('loses no more than had been done', () => {
    const { sim, batch, row } = busy()
    passUntil(sim, () => batch.status === 'in_progress')
    sim.cluster.nodeOf(row().id).crash()
    pass(sim, '1s')
    const [, { retryTokens }] = [...sim.world.batches.entries()][0]!
    expect(retryTokens).toBe(0)
  })
})

describe('any moment', () => {
  test('shows the lines that are over by then, and ends with them: an expiry between two steps loses none', () => {
    const line = ALONE / LINES
    const { sim, batch } = busy()
    passUntil(sim, () => (batch.toRecord().request_counts?.completed ?? 0) > 1000)
    const step = batch.toRecord().request_counts!.completed
    pass(sim, `${Math.round(line * 17)}us`)
    const { completed } = batch.toRecord().request_counts!
    expect(completed - step).toBeGreaterThan(12)
    expect(completed - step).toBeLessThan(22)
    batch.cancel()
    expect(batch.toRecord().request_counts!.completed).toBe(completed)
    passUntil(sim, () => batch.status === 'cancelled', '1m')
    expect(linesIn(sim, batch.toRecord().output_file_id)).toHaveLength(completed)
  })

  test('a fork goes on by itself', () => {
    const { sim, batch } = busy()
    passUntil(sim, () => (batch.toRecord().request_counts?.completed ?? 0) > 1000)
    const before = batch.toRecord()
    const fork = sim.world.fork()
    fork.runTo(fork.clock.now + 3600 * SECOND)
    expect(fork.batches.get(batch.id)!.toRecord().status).toBe('completed')
    expect(batch.toRecord()).toEqual(before)
    pass(sim, '1h')
    expect(fork.batches.get(batch.id)!.toRecord()).toEqual(batch.toRecord())
    expect(fork.digest).toBe(sim.digest)
  })
})

describe('the shared capacity of catalog models', () => {
  test('gives a model of 3 billion parameters 20 times as much as one of 671 billion', () => {
    const still = { batch_shared_tokens_per_second: 500, batch_shared_day_swing: 0, batch_shared_shortest: '0s' }
    const [small, large] = [runs(1, 100, SMALLEST, still), runs(1, 100, SLOWEST, still)]
    expect(large.seconds / small.seconds).toBeGreaterThan(19)
    expect(large.seconds / small.seconds).toBeLessThan(22)
  })

  test('depends on the hour: least in the afternoon, most before the morning', () => {
    const profile = { batch_shared_tokens_per_second: 500, batch_shared_shortest: '0s' }
    const night = runs(1, 100, SMALLEST, profile, { at: '4h' })
    const afternoon = runs(1, 100, SMALLEST, profile, { at: '16h' })
    expect(afternoon.seconds / night.seconds).toBeCloseTo(1.4 / 0.6, 1)
  })

  test('changes within a batch when the hour changes', () => {
    const profile = { batch_shared_tokens_per_second: 10, batch_shared_shortest: '0s' }
    const sim = stage([], {}, { profile: { timings: profile } })
    const batch = batchOf(sim, many(5_000))
    const doneAt = (time: Parameters<typeof pass>[1]) => {
      pass(sim, time)
      return batch.toRecord().request_counts?.completed ?? 0
    }
    const first = doneAt('1h')
    const fourth = -doneAt('2h') + doneAt('1h')
    expect(fourth / first).toBeCloseTo((1 + 0.4 * (11 / 6 - 1)) / (1 + 0.4 * (8 / 6 - 1)), 1)
  })

  test('runs no batch faster than the shortest time of the profile', () => {
    expect(runs(1, 5, SMALLEST).seconds).toBeCloseTo(30, 0)
    expect(runs(1, 5, SMALLEST, { batch_shared_shortest: '0s' }).seconds).toBeLessThan(1)
  })

  test('frees the share of a batch that ends, and of one that is cancelled', () => {
    const profile = { batch_shared_tokens_per_second: 500, batch_shared_day_swing: 0, batch_shared_others: 0 }
    const sim = stage([], {}, { profile: { timings: profile } })
    const [one, other] = [batchOf(sim, many(3_000)), batchOf(sim, many(3_000))]
    pass(sim, '1m')
    const before = one.toRecord().request_counts!.completed
    pass(sim, '1m')
    const shared = one.toRecord().request_counts!.completed - before
    other.cancel()
    pass(sim, '1m')
    const alone = one.toRecord().request_counts!.completed - before - shared
    expect(alone / shared).toBeGreaterThan(1.8)
    expect(alone / shared).toBeLessThan(2.2)
  })
})

describe('weather', () => {
  const shares = { none: 0, short: 0, long: 0, day: 0, forever: 0 }
  const waiting = (kind: keyof typeof shares, deployments: NonNullable<FixturePatch['deployments']> = []) =>
    stage(
      [{}],
      {},
      {
        with: { deployments },
        profile: {
          timings: { batch_shared_tokens_per_second: 250, batch_shared_day_swing: 0, batch_shared_shortest: '0s' },
          weather: {
            pack: 'queue',
            packs: { queue: { batch_wait_shares: { ...shares, [kind]: 1 } } },
            batch_wait_short: '12m',
            batch_wait_long: '3h',
            batch_wait_day: '23h',
          },
        },
      },
    )

  test.each([
    ['none', 0],
    ['short', 12 * 60],
    ['long', 3 * 3600],
  ] as const)('makes a batch of the catalog wait: %s', (kind, seconds) => {
    const sim = waiting(kind)
    const batch = batchOf(sim, many(100))
    passUntil(sim, () => batch.status === 'in_progress')
    const from = sim.world.clock.now
    passUntil(sim, () => batch.toRecord().request_counts!.completed > 0, '4h')
    expect((sim.world.clock.now - from) / SECOND).toBeGreaterThan(seconds)
    expect((sim.world.clock.now - from) / SECOND).toBeLessThan(seconds + 10)
    expect(story(sim, batch.id).includes('batch.waiting')).toBe(kind !== 'none')
    passUntil(sim, () => batch.status === 'completed')
  })

  test('for most of a day: it expires with what was done in the rest, to the line, which is charged', () => {
    const sim = waiting('day')
    const batch = batchOf(sim, many(20_000))
    pass(sim, '24h')
    const { status, request_counts, output_file_id } = batch.toRecord()
    expect(status).toBe('expired')
    const output = linesIn(sim, output_file_id)
    expect(output).toHaveLength(request_counts!.completed)
    // An hour at 250 tokens/s, less validation: all but the line that was running when the window closed.
    const tokens = output.reduce((sum, line) => sum + line.response!.body.usage.total_tokens!, 0)
    const { in_progress_at, expired_at } = batch.toRecord()
    const possible = (expired_at! - in_progress_at! - 23 * 3600 + 1) * 250
    expect(tokens).toBeLessThanOrEqual(possible)
    expect(tokens).toBeGreaterThan(possible - 1000)
  })

  test('makes no batch on an own deployment wait', () => {
    const deployment = { model_name: 'acme/chat', status: 'running' as const, weights: { repo: 'acme/chat-8b' } }
    const sim = waiting('forever', [deployment])
    const batch = batchOf(sim, many(100, { model: 'acme/chat' }))
    passUntil(sim, () => batch.status === 'completed', '5m')
  })
})
