/** Whole explorations of clients that deploy a model. */
import { expect, test } from 'vitest'
import { shrink } from '../../../src/workbench/explore/shrink/shrink.ts'
import { careful, explore, naive } from './deploying-clients.ts'

test('a careful client survives every single fault, and the matrix says which', async () => {
  const report = await explore(careful, { faults: 'singles' })
  expect(report.findings).toEqual([])
  expect(report.stoppedBecause).toBe('done')
  // A list without an entry has no field that it could lack.
  expect(report.unreached).toMatchObject([
    { operation: 'listDeployments', class: 'drift', place: 'GET /deploy/list, 1' },
  ])
  const operations = new Set(report.matrix.map(({ operation }) => operation))
  expect(operations).toEqual(
    new Set([
      ...['listDeployments', 'createLlmDeployment', 'getDeployment'],
      ...['instance.placed', 'deployment.deploying', 'instance.warming', 'instance.ready'],
      ...['deployment.running', 'start'],
      'listDeployments | createLlmDeployment | getDeployment',
    ]),
  )
  // The last read lacks a field that it must have, and the client returns it so.
  const surfaced = report.matrix.filter(cell => cell.surfaced > 0)
  expect(surfaced).toMatchObject([{ operation: 'getDeployment', class: 'drift', surfaced: 1 }])
  const survived = report.matrix.reduce((sum, cell) => sum + cell.survived, 0)
  expect(survived).toBe(report.points - report.unreached.length - 1)
})

test('an exploration with a swarm gives the same report twice', async () => {
  const options = { budget: 120, classes: ['reset', 'hang'] } as const
  const [one, other] = [await explore(naive, options), await explore(naive, options)]
  expect(one).toEqual(other)
  expect(one.runsOf.swarm).toBeGreaterThan(0)
})

test('a naive client leaks if the answer to its create is lost, and each finding is small', async () => {
  const report = await explore(naive, {
    faults: 'singles',
    shrinker: { shrink },
  })
  const leak = report.findings.find(({ invariant }) => invariant === 'noLeak')!
  expect(leak.plan).toMatchObject([{ fault: { on: 'createLlmDeployment', nth: 1, fault: { effect: 'done' } } }])
  expect(leak.words).toContain('created it')
  for (const { plan, shrunk } of report.findings) {
    expect(plan).toHaveLength(1)
    expect(shrunk).toMatchObject({ isMinimal: true, isRepeatable: true })
  }
  expect(report.unreached).toEqual([])
})
