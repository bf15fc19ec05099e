import { describe, expect, test } from 'vitest'
import type { OfferedLoadInput } from '../../src/data/offered-load.ts'
import { pass, passUntil, stageLoad } from './small-world.ts'

const loaded = (load: OfferedLoadInput, settings = { min_instances: 1, max_instances: 8 }) =>
  stageLoad(load, settings, { count: 4 })

describe('the autoscaler', () => {
  test('follows a daily wave up and down within its settings', () => {
    const { sim, chat } = loaded({ kind: 'wave', low: 1, high: 15, period: '24h', peak_at: '12h' })
    const seen: number[] = []
    for (let hour = 0; hour < 24; hour++) {
      pass(sim, '1h')
      seen.push(chat.toRecord().instances.running)
    }
    expect(Math.max(...seen)).toBeGreaterThan(4)
    expect(seen[0]).toBeLessThan(3)
    expect(seen[23]).toBeLessThan(3)
    const peak = seen.indexOf(Math.max(...seen))
    expect(peak).toBeGreaterThan(7)
    expect(peak).toBeLessThan(16)
  })

  test('works off the queue that a load left behind, then goes to zero, and does not look again and again', () => {
    const { sim, row } = loaded(
      {
        kind: 'steps',
        steps: [
          { at: '0s', rps: 50 },
          { at: '10m', rps: 0 },
        ],
      },
      { min_instances: 0, max_instances: 1 },
    )
    pass(sim, '10m')
    const waiting = sim.world.autoscaler.wholeRequests(row()).backlog
    expect(waiting).toBeGreaterThan(900)
    const end = sim.world.clock.now + 3_600_000_000
    let events = 0
    while (sim.world.next(end)) events++
    expect(events).toBeLessThan(20)
    // In whole requests one may count as waiting of which only a part was served or refused.
    expect(sim.world.autoscaler.wholeRequests(row()).backlog).toBeLessThanOrEqual(1)
    expect(row().flow.backlog).toBeLessThan(1e-6)
    expect(row().desired).toBe(0)
  })

  test('waits 30 s before it asks for more, and five minutes before it gives one up', () => {
    const { sim, row } = loaded({
      kind: 'steps',
      steps: [
        { at: '0s', rps: 1 },
        { at: '10m', rps: 9 },
        { at: '40m', rps: 1 },
      ],
    })
    pass(sim, '10m29s')
    expect(row().desired).toBe(1)
    pass(sim, '1s')
    const more = row().desired
    expect(more).toBeGreaterThan(2)
    pass(sim, '34m29s')
    expect(row().desired).toBe(more)
    pass(sim, '1s')
    expect(row().desired).toBe(1)
  })

  test('does not follow a burst that is over before the delay is', () => {
    const { sim, row } = loaded({ kind: 'burst', base: 1, peak: 15, every: '1h', lasts: '20s' })
    pass(sim, '6h')
    expect(row().desired).toBe(1)
    expect([...sim.world.journal.counts.keys()]).not.toContain('deployment.scaledUp')
  })

  test('never goes beyond max_instances; what comes beyond that queues and is refused', () => {
    const { sim, chat, row } = loaded({ kind: 'constant', rps: 40 }, { min_instances: 1, max_instances: 2 })
    pass(sim, '1h')
    expect(chat.toRecord().instances.running).toBe(2)
    const { arrived, served, refused, backlog } = sim.world.autoscaler.wholeRequests(row())
    // In whole requests: a request under way is reported when it ends.
    expect(144_000 - arrived).toBeLessThanOrEqual(2)
    expect(refused).toBeGreaterThan(50_000)
    // In whole requests: what is partly served or refused still waits.
    expect(backlog - 1000).toBeLessThanOrEqual(1)
    expect(served + refused + backlog).toBe(arrived)
  })

  test('goes to zero after five minutes without requests, and starts with the next request', () => {
    const { sim, chat } = loaded(
      {
        kind: 'steps',
        steps: [
          { at: '0s', rps: 1 },
          { at: '10m', rps: 0 },
          { at: '2h', rps: 1 },
        ],
      },
      { min_instances: 0, max_instances: 2 },
    )
    pass(sim, '9m')
    expect(chat.toRecord().instances.running).toBe(1)
    pass(sim, '10m')
    expect(chat.toRecord()).toMatchObject({ status: 'running', instances: { running: 0, pending: 0 } })
    pass(sim, '101m')
    expect(chat.toRecord().instances.pending).toBe(1)
    passUntil(sim, () => chat.toRecord().instances.running === 1, '10m')
  })

  test('wakes only when its decision can change: a constant load costs no event', () => {
    const { sim } = loaded({ kind: 'constant', rps: 1 })
    pass(sim, '1m')
    expect(sim.world.runTo(sim.world.clock.now + 30 * 86_400e6)).toBe(0)
  })

  test('serves less while a node is slow, and the queue tells', () => {
    const { sim, chat, row } = loaded({ kind: 'constant', rps: 2.5 }, { min_instances: 1, max_instances: 1 })
    pass(sim, '10m')
    expect(sim.world.autoscaler.wholeRequests(row()).backlog).toBe(0)
    sim.cluster.nodeOf(chat.deploy_id).degrade(5)
    pass(sim, '5m')
    expect(sim.world.autoscaler.wholeRequests(row()).backlog).toBeGreaterThan(100)
    sim.cluster.nodeOf(chat.deploy_id).recover()
    pass(sim, '30m')
    expect(sim.world.autoscaler.wholeRequests(row()).backlog).toBe(0)
  })

  test('asks for more instances when theirs are slow: the same concurrency is reached at fewer requests', () => {
    const { sim, chat, row } = loaded({ kind: 'constant', rps: 2 }, { min_instances: 1, max_instances: 6 })
    pass(sim, '30m')
    const before = chat.toRecord().instances.running
    for (const { name } of sim.cluster.nodes()) sim.cluster.node(name).degrade(3)
    pass(sim, '1h')
    expect(chat.toRecord().instances.running).toBeGreaterThan(before)
    expect(sim.world.autoscaler.wholeRequests(row()).backlog).toBeLessThanOrEqual(1)
    for (const { name } of sim.cluster.nodes()) sim.cluster.node(name).recover()
    pass(sim, '1h')
    expect(chat.toRecord().instances.running).toBe(before)
  })
})
