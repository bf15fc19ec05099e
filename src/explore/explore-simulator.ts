/** Explores a flow in the world of a simulator. */

import { assertKnownKeys } from '../lib/known-keys.ts'
import { quote } from '../lib/quote.ts'
import type { Simulator } from '../simulator/simulator-interface.ts'
import type { SimulatorExploreOptions } from './explorable-simulator.ts'
import { explore, type FlowReport } from './explore-flow.ts'
import type { FlowFunction, NamedFlow } from './flow.ts'

const OPTIONS: readonly (keyof SimulatorExploreOptions)[] = [
  ...(['name', 'invariants', 'own', 'lines', 'budget', 'faults', 'classes', 'exhaustive'] as const),
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
  assertKnownKeys(options, OPTIONS, 'Failed to explore')
  const { name = run.name || 'the flow', invariants = {}, own, lines, ...settings } = options
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
  return explore(flow, settings)
}
