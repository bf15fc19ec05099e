import fc from 'fast-check'
import { expect, test } from 'vitest'
import { RecentLog } from '../../src/kernel/recent-log.ts'

test('the newest items are kept in order, and at most a block more', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 3 }), fc.integer({ min: 0, max: 9_000 }), (blocks, count) => {
      const log = new RecentLog<number>(blocks * 1024)
      for (let i = 0; i < count; i++) log.push(i)
      const kept = [...log]
      expect(kept).toEqual(Array.from({ length: kept.length }, (_, i) => count - kept.length + i))
      expect(kept.length).toBeGreaterThanOrEqual(Math.min(count, log.most))
      expect(kept.length).toBeLessThanOrEqual(log.most + 1024)
    }),
    { numRuns: 50 },
  )
})

test('a fork goes on by itself', () => {
  const log = new RecentLog<number>(1024)
  for (let i = 0; i < 1500; i++) log.push(i)
  const before = [...log]
  const fork = log.fork()
  for (let i = 0; i < 3000; i++) fork.push(-i)
  expect([...log]).toEqual(before)
  log.push(7)
  expect([...fork]).not.toContain(7)
  expect([...log]).toEqual([...before, 7])
})
