/** Hardware faults and spot capacity beside their publications, as docs/validation.md states them. */
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { observe, pool } from './spot-pool.ts'

const NODES = 2_048
const DAYS = 54
const FAULTS = new Set(['gpu.failed', 'node.crashed', 'node.drained'])

/** Returns the faults of 16,384 GPUs in 54 days. */
function faultsOf(seed: number): number {
  const sim = pool({ market: 'on-demand', count: NODES }, { weather: { pack: 'realistic' } }, seed)
  let faults = 0
  sim.journal.listen(({ kind }) => {
    if (FAULTS.has(kind)) faults++
  })
  sim.world.runTo(DAYS * 86_400_000_000)
  return faults
}

const PAGE = readFileSync('docs/validation.md', 'utf8').replaceAll('\n', ' ')

test('a fleet of 16,384 GPUs has as many hardware faults in 54 days as the page says', () => {
  const [, expected, low, high] = /predicts (\d+) failures.* gives (\d+) to (\d+) with seeds 1 to 6/.exec(PAGE)!
  expect(Number(expected)).toBe(Math.round(0.0065 * NODES * DAYS))
  const counts = [1, 2, 3, 4, 5, 6].map(faultsOf)
  expect([Math.min(...counts), Math.max(...counts)]).toEqual([Number(low), Number(high)])
  const mean = counts.reduce((sum, count) => sum + count) / counts.length
  expect(Math.abs(mean / Number(expected) - 1)).toBeLessThan(0.05)
}, 120_000)

test('ten spot nodes are there for as long as the page says', () => {
  const [, low, high, mean] = /seeds 1 to 20, ten nodes are available for (\d+) to (\d+) % of 45 days, (\d+) %/.exec(
    PAGE,
  )!
  const shares = Array.from({ length: 20 }, (_, i) => 100 * observe(10, { pack: 'spot-2023' }, 45, i + 1).share)
  const found = [Math.min(...shares), Math.max(...shares), shares.reduce((sum, share) => sum + share) / shares.length]
  expect(found.map(Math.round)).toEqual([low, high, mean].map(Number))
}, 120_000)
