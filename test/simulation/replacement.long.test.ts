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
    '9 9 0 0 10 6 10 10 0 0 5 0 0 0 0 10 0 10 5 0 9 2 0 10 10 0 0 0',
    '8 10 0 0 10 0 10 10 10 10 10 10 10 10 10 10 10 10 10 10 10 10 10 10 10 10 10 10',
    '10 10 10 10 10 10 10 10 10 10 10 10 10 10 10 4 0 0 0 10 0 0 10 10 0 0 8 9',
    '10 0 10 10 10 0 0 10 1 10 10 2 10 0 0 10 0 10 10 0 0 10 10 10 0 1 10 10',
    '10 10 0 9 10 9 10 10 10 10 0 0 0 7 10 10 0 10 8 10 10 8 0 10 10 0 0 0',
    '10 10 2 10 10 10 10 10 10 10 10 10 10 10 10 10 10 10 10 10 10 10 10 10 10 10 10 10',
    '10 10 10 10 0 10 10 0 0 0 0 0',
  ]

  test.each([14, 45])('comes back after each loss when nothing waits: %i days', async days => {
    const sim = pool({ count: 10, min: 10, max: 10 }, { weather: { pack: 'rough' } })
    expect(await seriesOf(sim, days)).toEqual(weeks.slice(0, Math.ceil(days / 7)))
  })

  test('comes back to `min` in the world `fleet`', async () => {
    expect(await seriesOf(createSimulator({ fixtures: 'fleet', weather: 'rough' }), 14)).toEqual([
      '0 5 1 0 5 5 0 0 1 0 0 5 5 3 5 5 5 0 3 5 0 0 0 5 5 5 13 5',
      '5 5 11 5 5 5 5 5 5 5 5 5 5 5 5 5 5 5 11 5 5 5 5 5 5 5 5 5',
    ])
  })
})

test.each([1, 2, 3])('a pool is complete within 15 min after the last return of spot capacity: seed %i', seed => {
  const weather = { pack: 'spot', packs: { spot: { spot_preemptions_per_hour: 0.05, spot_correlation: 0.2 } } }
  const timings = { node_provisioning: { median: '3m', sigma: 0.6, cap: '15m' } }
  const sim = pool({ count: 10 }, { weather, timings }, seed)
  let completeAt = 0
  let quietReturns = 0
  sim.journal.listen(({ kind, time }) => {
    if (kind === 'node.preemptionNoticed') completeAt = 0
    if (kind === 'pool.spotReturned') completeAt = time + 15 * 60e6
  })
  for (let day = 0; day < 90; day += 1 / 144) {
    sim.world.runTo(day * 86_400e6)
    if (completeAt === 0 || sim.world.clock.now < completeAt) continue
    expect(countReady(sim)).toBe(10)
    quietReturns++
    completeAt = 0
  }
  expect(quietReturns).toBeGreaterThan(20)
})
