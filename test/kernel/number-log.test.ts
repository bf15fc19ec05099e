import fc from 'fast-check'
import { expect, test } from 'vitest'
import { forkState } from '../../src/kernel/archive.ts'
import { NumberLog } from '../../src/kernel/number-log.ts'
import { forAll } from '../setup/for-all.ts'

function rowsOf(log: NumberLog): number[][] {
  return Array.from({ length: log.length }, (_, row) => [log.at(row, 0), log.at(row, 1)])
}

test('both sides of a fork read the rows as they were added, also after further rows of either side', () => {
  const row = fc.tuple(fc.integer(), fc.integer())
  const some = fc.array(row, { maxLength: 600 })
  forAll([some, some, some], { numRuns: 30 }, (before, mine, theirs) => {
    const log = new NumberLog(2)
    for (const one of before) log.push(one)
    const fork = new NumberLog(2)
    forkState([log], [fork])
    for (const [first, second] of mine) {
      expect(log.add()).toBe(log.length - 1)
      log.set(1, second)
      log.set(0, first)
    }
    for (const one of theirs) fork.push(one)
    expect(rowsOf(log)).toEqual([...before, ...mine])
    expect(rowsOf(fork)).toEqual([...before, ...theirs])
  })
})

test('both sides of a fork keep the newest rows, and at most one block more', { tags: 'slow' }, () => {
  forAll([fc.integer({ min: 1, max: 3 }), fc.nat(2_000), fc.nat(2_000)], { numRuns: 50 }, (blocks, count, more) => {
    const log = new NumberLog(2, blocks * 256)
    for (let i = 0; i < count; i++) log.push([i, -i])
    const fork = new NumberLog(2, blocks * 256)
    forkState([log], [fork])
    for (let i = count; i < count + more; i++) fork.push([i, -i])
    for (const [one, length] of [
      [log, count],
      [fork, count + more],
    ] as const) {
      expect(one.length).toBe(length)
      expect(length - one.oldest).toBeGreaterThanOrEqual(Math.min(length, blocks * 256))
      expect(length - one.oldest).toBeLessThanOrEqual((blocks + 1) * 256)
      const rows = Array.from({ length: length - one.oldest }, (_, i) => one.oldest + i)
      expect(rows.map(row => one.at(row, 0))).toEqual(rows)
      expect(rows.map(row => -one.at(row, 1))).toEqual(rows)
    }
  })
})
