import { describe, expect, test } from 'vitest'
import { createSimulator, type Simulator } from '../../src/simulator/simulator.ts'
import { countReady, pool } from './spot-pool.ts'

/** Returns the usable nodes of the pool at the end of each six hours, a week in a line. */
async function seriesOf(sim: Simulator, days: number): Promise<string[]> {
  const weeks: string[] = []
  for (let i = 0; i < days * 4; i++) {
    await sim.clock.advance('6h')
    const week = Math.floor(i / 28)
    weeks[week] = `${weeks[week] ?? ''} ${countReady(sim)}`.trim()
  }
  return weeks
}

describe('a pool of spot nodes in rough weather', () => {
  const weeks = [
    '2 5 7 4 1 1 0 2 2 1 9 3 0 2 1 0 0 4 7 2 3 1 2 7 10 1 7 2',
    '4 10 5 5 6 2 10 2 1 3 5 7 5 10 5 1 5 1 3 0 7 2 0 4 6 0 3 4',
    '1 2 5 10 3 1 9 3 3 9 3 10 7 8 6 9 0 6 3 1 3 3 8 7 10 2 3 5',
    '1 0 4 0 7 8 1 2 1 5 0 3 5 2 2 5 0 5 3 3 0 6 7 10 8 8 1 2',
    '4 9 3 4 9 10 2 7 1 9 1 5 1 4 4 7 2 10 6 4 3 3 0 2 0 0 0 0',
    '5 7 7 0 5 1 5 3 2 1 9 7 2 0 4 6 1 3 1 9 2 0 4 0 1 5 10 9',
    '0 5 7 0 0 6 0 4 1 1 2 4',
  ]

  test.each([14, 45])('comes back after each loss when nothing waits: %i days', async days => {
    const sim = pool({ count: 10, min: 10, max: 10 }, { weather: { pack: 'rough' } })
    expect(await seriesOf(sim, days)).toEqual(weeks.slice(0, Math.ceil(days / 7)))
  })

  test('comes back to `min` in the world `fleet`', async () => {
    expect(await seriesOf(createSimulator({ fixtures: 'fleet', weather: 'rough' }), 14)).toEqual([
      '2 5 2 2 5 4 1 1 0 0 0 5 1 1 2 2 1 5 2 1 1 5 5 5 2 2 3 3',
      '1 0 0 4 4 2 5 1 5 3 1 5 4 4 0 4 2 3 9 4 1 2 1 0 4 1 5 1',
    ])
  })
})

test.each([1, 2, 3])('a pool is complete within 15 min after the last return of spot capacity: seed %i', seed => {
  const weather = { pack: 'spot', packs: { spot: { spot_preemptions_per_hour: 0.05 } } }
  const timings = { node_provisioning: { median: '3m', sigma: 0.6, cap: '15m' } }
  const sim = pool({ count: 10 }, { weather, timings }, seed)
  let completeAt = 0
  let quietReturns = 0
  sim.journal.listen(({ kind, time }) => {
    if (kind === 'node.preemptionNoticed') completeAt = 0
    if (kind === 'pool.spotReturned') completeAt = time + 15 * 60e6
  })
  for (let day = 0; day < 90 && sim.world.next(); ) {
    day = sim.world.clock.now / 86_400e6
    if (completeAt === 0 || sim.world.clock.now < completeAt) continue
    expect(countReady(sim)).toBe(10)
    quietReturns++
    completeAt = 0
  }
  expect(quietReturns).toBeGreaterThan(20)
})
