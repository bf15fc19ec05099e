import { expect, test } from 'vitest'
import { observe } from './spot-pool.ts'

test('ten spot nodes are there for 80 to 92 % of 45 days of spot-2023, in the mean of four seeds', {
  tags: 'slow',
}, () => {
  const shares = [1, 2, 3, 4].map(seed => observe(10, { pack: 'spot-2023' }, 45, seed).share)
  const mean = shares.reduce((sum, share) => sum + share) / shares.length
  expect(mean).toBeGreaterThan(0.8)
  expect(mean).toBeLessThan(0.92)
})

const only = (correlation: number) => ({
  pack: 'spot',
  packs: { spot: { spot_preemptions_per_hour: 0.15, spot_correlation: correlation } },
})

test('up-times of a node have the mean of the pack and a small median', { tags: 'slow' }, () => {
  const { mean, median } = observe(1, only(0.6), 700)
  expect(mean).toBeGreaterThan(5.5)
  expect(mean).toBeLessThan(8)
  expect(mean / median).toBeGreaterThan(2)
  expect(mean / median).toBeLessThan(7)
})

test('most preemptions at a pool of 16 nodes take all of them, as in the published traces', { tags: 'slow' }, () => {
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
])('with a correlation of %i, a preemption takes %i of 4 nodes', { tags: 'slow' }, (correlation, nodes) => {
  const { losses } = observe(4, { ...only(correlation), spot_away: '1s' }, 60)
  expect(new Set(losses)).toEqual(new Set([nodes]))
})
