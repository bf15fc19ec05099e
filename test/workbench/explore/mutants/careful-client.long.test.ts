/** Acceptance of explore: a careful client breaks nothing. Its mutants are in `mutants.long.test.ts`. */
import { expect, test } from 'vitest'
import { exploreRuns } from '../../../../src/workbench/explore/explore.ts'
import { createFlowRunner } from '../../../../src/workbench/explore/run/flow-runner.ts'
import { assistantFlow } from './flow.ts'

test('a careful client breaks nothing under any single fault', async () => {
  const runner = createFlowRunner(assistantFlow())
  const { findings, runsOf } = await exploreRuns(runner, { name: 'careful', faults: 'singles', budget: 10_000 })
  expect(findings).toEqual([])
  expect(runsOf.singles).toBeGreaterThan(250)
}, 300_000)

test('a careful client breaks nothing under pairs of lost answers and old reads', async () => {
  const runner = createFlowRunner(assistantFlow())
  const classes = ['resetDone', 'stale'] as const
  const { findings, runsOf } = await exploreRuns(runner, { name: 'careful', faults: 'pairs', classes, budget: 10_000 })
  expect(findings).toEqual([])
  expect(runsOf.pairs).toBeGreaterThan(100)
}, 300_000)
