import fc from 'fast-check'
import { expect, test } from 'vitest'
import { NumberLog } from '../../src/kernel/number-log.ts'

function rowsOf(log: NumberLog): number[][] {
  return Array.from({ length: log.length }, (_, row) => [log.at(row, 0), log.at(row, 1)])
}

test('rows are read as they were pushed, by both sides of a fork, whatever either pushes after', () => {
  const row = fc.tuple(fc.integer(), fc.integer())
  const some = fc.array(row, { maxLength: 600 })
  fc.assert(
    fc.property(some, some, some, (before, mine, theirs) => {
      const log = new NumberLog(2)
      for (const one of before) log.push(one)
      const fork = log.fork()
      for (const one of mine) log.push(one)
      for (const one of theirs) fork.push(one)
      expect(rowsOf(log)).toEqual([...before, ...mine])
      expect(rowsOf(fork)).toEqual([...before, ...theirs])
    }),
    { numRuns: 30 },
  )
})
