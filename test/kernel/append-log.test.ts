import fc from 'fast-check'
import { expect, test } from 'vitest'
import { forkState } from '../../src/kernel/archive.ts'
import { AppendLog } from '../../src/kernel/layered-map.ts'
import { forAll } from '../setup/for-all.ts'

test('the newest items stay in order and at their positions, and at most one block more', { tags: 'slow' }, () => {
  forAll([fc.integer({ min: 1, max: 3 }), fc.integer({ min: 0, max: 9_000 })], { numRuns: 50 }, (blocks, count) => {
    const log = new AppendLog<number>(blocks * 1024)
    const positions = Array.from({ length: count }, (_, i) => log.push(i))
    expect(positions).toEqual(Array.from({ length: count }, (_, i) => i))
    const kept = [...log]
    expect(kept).toEqual(Array.from({ length: kept.length }, (_, i) => count - kept.length + i))
    expect(kept.length).toBeGreaterThanOrEqual(Math.min(count, log.limit))
    expect(kept.length).toBeLessThanOrEqual(log.limit + 1024)
    expect(log.length).toBe(count)
    for (const i of [0, count - kept.length - 1, count - kept.length, count >> 1, count - 1]) {
      expect(log.at(i)).toBe(kept.includes(i) ? i : undefined)
    }
  })
})

test('a fork is independent, and drops as many items', () => {
  const log = new AppendLog<number>(1024)
  for (let i = 0; i < 2500; i++) log.push(i)
  const before = [...log]
  const fork = new AppendLog<number>(1024)
  forkState([log], [fork])
  for (let i = 0; i < 3000; i++) fork.push(-i)
  expect([...log]).toEqual(before)
  log.push(7)
  expect([...fork]).not.toContain(7)
  expect([...log]).toEqual([...before, 7])
  expect([fork.length, fork.at(5499), [...fork].length]).toEqual([5500, -2999, 1404])
})

test('what is dropped before a position are whole blocks, and both sides of a fork keep their own', () => {
  forAll([fc.nat(5_000), fc.nat(5_000)], { numRuns: 50 }, (count, position) => {
    const log = new AppendLog<number>()
    for (let i = 0; i < count; i++) log.push(i)
    const fork = new AppendLog<number>()
    forkState([log], [fork])
    log.dropBefore(Math.min(position, count))
    const kept = [...log]
    expect(kept).toEqual(Array.from({ length: kept.length }, (_, i) => count - kept.length + i))
    expect(count - kept.length).toBeLessThanOrEqual(position)
    expect(Math.min(position, count) - (count - kept.length)).toBeLessThanOrEqual(1024)
    expect([log.push(count), log.at(count), [...fork].length]).toEqual([count, count, count])
  })
})
