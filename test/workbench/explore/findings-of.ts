/** What single faults of a few classes find in a client. */
import { exploreRuns } from '../../../src/workbench/explore/explore.ts'
import { withOptions } from '../../../src/workbench/explore/explore-flow.ts'
import type { FlowContext, FlowOptions } from '../../../src/workbench/explore/flow.ts'
import type { FaultClassName } from '../../../src/workbench/explore/plan/classes.ts'
import { createRunner } from '../../../src/workbench/explore/run/create-runner.ts'

/** Returns the names of the invariants that single faults break. */
export async function findingsOf(
  run: (context: FlowContext) => Promise<unknown>,
  options: FlowOptions = {},
  classes: readonly FaultClassName[] = ['status503', 'truncated', 'latency'],
) {
  const flow = withOptions({ name: 'client', options: { fixtures: 'empty', ...options }, run }, {})
  const runner = await createRunner(flow)
  try {
    const { findings, card } = await exploreRuns(runner, { name: 'client', faults: 'singles', classes })
    return { invariants: [...new Set(findings.map(({ invariant }) => invariant))], card, findings }
  } finally {
    await runner.dispose()
  }
}
