/** Explores a flow in the world of a simulator. */

import { given } from '../../lib/fields.ts'
import { quote } from '../../lib/quote.ts'
import type { Simulator } from '../../simulator/simulator-interface.ts'
import type { SimulatorExploreOptions } from './explorable-simulator.ts'
import { explore, type FlowReport, replayPlan } from './explore-flow.ts'
import type { FlowFunction } from './flow.ts'
import { assertOptions } from './invariants.ts'
import { assertInputs } from './values.ts'

export { explore, replayPlan }

const OPTIONS: readonly (keyof SimulatorExploreOptions)[] = [
  ...(['name', 'invariants', 'own', 'lines', 'inputs', 'budget', 'faults', 'classes', 'exhaustive'] as const),
  ...(['signal', 'onProgress'] as const),
]

/** See `ExplorableSimulator.explore`. */
export async function exploreSimulator<Result>(
  sim: Simulator,
  run: FlowFunction<Result>,
  options: SimulatorExploreOptions<Result>,
): Promise<FlowReport> {
  if (typeof run !== 'function') {
    const found = quote(run)
    throw new RangeError(
      `Failed to explore: the flow is ${found}. Give a function, as in sim.explore(async ({ fetch }) => …).`,
    )
  }
  assertOptions(options, OPTIONS, 'Failed to explore')
  const { name = run.name || 'flow', invariants = {}, own, lines, inputs, ...others } = options
  if (inputs !== undefined) assertInputs(inputs, `Failed to explore ${name}`)
  // The runner moves the clock of its worlds itself.
  const origin = sim.fork({ clock: 'manual' })
  const fixtures = origin.snapshot()
  await origin[Symbol.asyncDispose]()
  const { endpoints } = sim.options
  const flowOptions = { fixtures, invariants, ...given({ endpoints, own, lines, inputs }) }
  return explore({ name, options: flowOptions, run }, others)
}
