/** Explores a flow in the world of a simulator. */

import { assertKnownKeys } from '../lib/known-keys.ts'
import { quote } from '../lib/quote.ts'
import type { Simulator } from '../simulator/simulator-interface.ts'
import type { SimulatorExploreOptions } from './explorable-simulator.ts'
import { type ExploreReport, exploreRuns } from './explore.ts'
import type { FlowFunction, NamedFlow } from './flow.ts'
import { assertInvariants } from './invariants.ts'
import { createFlowRunner } from './run/flow-runner.ts'
import { shrink } from './shrink/shrink.ts'
import { OracleCheck } from './stages/oracle-check.ts'

const OPTIONS: readonly (keyof SimulatorExploreOptions)[] = [
  ...(['name', 'invariants', 'own', 'lines', 'budget', 'faults', 'classes', 'exhaustive'] as const),
  ...(['signal', 'onProgress'] as const),
]

/** See `ExplorableSimulator.explore`. */
export async function exploreSimulator<Result>(
  sim: Simulator,
  run: FlowFunction<Result>,
  options: SimulatorExploreOptions<Result>,
): Promise<ExploreReport> {
  if (typeof run !== 'function') {
    const found = quote(run)
    throw new RangeError(
      `Failed to explore: the flow is ${found}. Give a function, as in sim.explore(async ({ fetch }) => …).`,
    )
  }
  assertKnownKeys(options, OPTIONS, 'Failed to explore')
  const { name = run.name || 'the flow', invariants = {}, own, lines, ...explore } = options
  assertInvariants(invariants, `Failed to explore ${name}`)
  // The runner moves the clock of its worlds itself.
  const origin = sim.fork({ clock: 'manual' })
  const flow: NamedFlow<Result> = {
    name,
    options: {
      fixtures: origin.snapshot(),
      invariants,
      ...(own !== undefined && { own }),
      ...(lines !== undefined && { lines }),
    },
    run,
  }
  await origin[Symbol.asyncDispose]()
  const runner = createFlowRunner(flow as NamedFlow)
  try {
    const oracle = new OracleCheck(createFlowRunner)
    return await exploreRuns(runner, {
      ...explore,
      name,
      invariants,
      oracle,
      shrinker: { shrink: (plan, signature, runs) => shrink({ runner: runs, plan, signature }) },
    })
  } finally {
    await runner.dispose()
  }
}
