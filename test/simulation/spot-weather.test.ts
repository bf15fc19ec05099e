import { expect, test } from 'vitest'
import type { ProfileInput } from '../../src/data/profiles/load.ts'
import { countReady, pool } from './spot-pool.ts'

const HOUR = 3_600_000_000
const DAY = 24 * HOUR

/** Returns the share of the time that the nodes of a pool are usable, up-times in hours, and the nodes lost at each moment. */
function observe(count: number, weather: NonNullable<ProfileInput['weather']>, days: number, seed = 1) {
  const timings = { node_provisioning: '3m' }
  const sim = pool({ count, min: count, max: count }, { weather, timings }, seed)
  const since = new Map(Array.from({ length: count }, (_, i) => [`spot-${i}`, 0]))
  const upTimes: number[] = []
  const losses = new Map<number, number>()
  sim.journal.listen(({ kind, time, subject }) => {
    if (kind === 'node.ready') since.set(subject, time)
    if (kind !== 'node.preemptionNoticed') return
    upTimes.push((time - since.get(subject)!) / HOUR)
    losses.set(time, (losses.get(time) ?? 0) + 1)
  })
  let nodeTime = 0
  let before = count
  for (let at = 0; at < days * DAY && sim.world.next(); ) {
    nodeTime += before * (sim.world.clock.now - at)
    before = countReady(sim)
    at = sim.world.clock.now
  }
  upTimes.sort((a, b) => a - b)
  const mean = upTimes.reduce((sum, hours) => sum + hours, 0) / upTimes.length
  const median = upTimes[Math.floor(upTimes.length / 2)]!
  return { share: nodeTime / count / sim.world.clock.now, mean, median, losses: [...losses.values()] }
}

test.each([1, 3, 4])('ten spot nodes are there for 80 to 92 % of 45 days of spot-2023: seed %i', seed => {
  const { share } = observe(10, { pack: 'spot-2023' }, 45, seed)
  expect(share).toBeGreaterThan(0.8)
  expect(share).toBeLessThan(0.92)
})

const only = (correlation: number) => ({
  pack: 'spot',
  packs: { spot: { spot_preemptions_per_hour: 0.15, spot_correlation: correlation } },
})

test('up-times of a node have the mean of the pack and a small median', () => {
  const { mean, median } = observe(1, only(0.6), 700)
  expect(mean).toBeGreaterThan(5.5)
  expect(mean).toBeLessThan(8)
  expect(mean / median).toBeGreaterThan(2)
  expect(mean / median).toBeLessThan(7)
})

test('most preemptions at a pool of 16 nodes take all of them, as in the published traces', () => {
  const { losses, mean } = observe(16, only(0.6), 400)
  const lost = losses.reduce((sum, nodes) => sum + nodes, 0)
  expect(lost / losses.length).toBeGreaterThan(6.7)
  expect(lost / losses.length).toBeLessThan(11.1)
  expect(mean).toBeGreaterThan(5)
  expect(mean).toBeLessThan(9)
})

test.each([
  [0, 1],
  [1, 4],
])('with a correlation of %i, a preemption takes %i of 4 nodes', (correlation, nodes) => {
  const { losses } = observe(4, { ...only(correlation), spot_away: '1s' }, 60)
  expect(new Set(losses)).toEqual(new Set([nodes]))
})
