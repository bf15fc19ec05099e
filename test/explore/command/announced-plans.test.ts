/** Explore tells a runner which single faults come next, so that it can begin with several. */
import { expect, onTestFinished, test } from 'vitest'
import { exploreRuns } from '../../../src/explore/explore.ts'
import type { Plan } from '../../../src/explore/plan/plan.ts'
import { createFlowRunner } from '../../../src/explore/run/flow-runner.ts'
import type { FlowRunner } from '../../../src/explore/run/runner.ts'

test('the single faults are run in the order in which they were announced', async () => {
  const runner = createFlowRunner({
    name: 'lists',
    options: { fixtures: 'empty' },
    run: async ({ fetch, url, token }) => {
      const { ok } = await fetch(`${url}/deploy/list`, { headers: { authorization: `Bearer ${token}` } })
      return ok
    },
  })
  onTestFinished(() => runner.dispose())
  const announced: Plan[] = []
  const run: Plan[] = []
  const watched: FlowRunner = {
    run: (plan, options) => {
      if (plan.length > 0) run.push(plan)
      return runner.run(plan, options)
    },
    announce: plans => announced.push(...plans),
    runs: 0,
    dispose: async () => {},
  }
  const { runsOf } = await exploreRuns(watched, { name: 'lists', faults: 'singles' })
  expect(runsOf.singles).toBeGreaterThan(5)
  expect(run).toEqual(announced)
})
