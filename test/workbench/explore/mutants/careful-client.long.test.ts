/** Acceptance of explore: a careful client breaks nothing. Its mutants are in `mutants.long.test.ts`. */
import { expect, test } from 'vitest'
import { exploreRuns, prepare } from '../../../../src/workbench/explore/explore.ts'
import { createFlowRunner } from '../../../../src/workbench/explore/run/flow-runner.ts'
import { runSeed } from '../../../../src/workbench/explore/stages/swarm.ts'
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

test('a careful client breaks nothing under pairs of all faults and in the swarm, as far as 800 runs go', async () => {
  const runner = createFlowRunner(assistantFlow())
  const { findings, runsOf } = await exploreRuns(runner, { name: 'careful', faults: 'swarm', budget: 800 })
  expect(findings).toEqual([])
  expect(runsOf.pairs).toBeGreaterThan(100)
  expect(runsOf.swarm).toBeGreaterThan(100)
}, 300_000)

test('a careful client breaks nothing under 150 random plans', async () => {
  const runner = createFlowRunner(assistantFlow())
  const prepared = await prepare(runner, { name: 'careful' })
  for (let seed = 1; seed <= 150; seed++) {
    const { result, plan } = await runSeed(runner, prepared, seed)
    expect([plan, result.broken.filter(({ maySurface }) => maySurface === undefined)]).toEqual([plan, []])
  }
}, 300_000)
