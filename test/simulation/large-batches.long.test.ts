/** Batches with very many lines. */
import { expect, test } from 'vitest'
import { batchOf, many } from './batch-world.ts'
import { runs, SLOWEST } from './shared-capacity.ts'
import { pass, stage } from './small-world.ts'

test('shared capacity completes 30,000 lines of 900 tokens on the slowest model within the day, and 20 such batches slow each other', () => {
  const { models } = stage().world.store
  const sizes = models.all().map(({ parameters_b }) => parameters_b)
  expect(Math.max(...sizes)).toBe(models.get(SLOWEST)!.parameters_b)
  // A tenth of the lines at a tenth of the capacity takes the same time.
  const scaled = { batch_shared_tokens_per_second: 2500 }
  const alone = runs(1, 3_000, SLOWEST, scaled)
  expect(alone.all[0]!.status).toBe('finalizing')
  expect(alone.seconds).toBeLessThan(86_000)
  const crowd = runs(20, 300, SLOWEST, { batch_shared_tokens_per_second: 250 })
  expect(crowd.all.map(one => one.status)).not.toContain('expired')
  expect(crowd.seconds).toBeLessThan(86_000)
  expect(crowd.seconds / alone.seconds).toBeGreaterThan(2)
})

test.each([
  { kind: 'valid', lines: many(50_001) },
  { kind: 'broken', lines: Array.from({ length: 50_001 }, () => '{') },
])('a batch of more than 50,000 $kind lines fails with too_many_lines alone', ({ lines }) => {
  const sim = stage()
  const batch = batchOf(sim, lines)
  pass(sim, '10s')
  expect(batch.toRecord().errors!.data).toMatchObject([{ code: 'too_many_lines', line: null }])
})
