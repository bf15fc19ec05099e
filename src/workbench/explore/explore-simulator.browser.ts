import type { explore as exploreInNode, replayPlan as replayInNode } from './explore-flow.ts'
import type { exploreSimulator as exploreSimulatorInNode } from './explore-simulator.ts'

/** Runs replace timers of the process, and a browser has none of Node's. */
async function reject(): Promise<never> {
  throw new RangeError('Failed to explore: explorations need Node. Run them in a test of Node.')
}

export const exploreSimulator: typeof exploreSimulatorInNode = reject
export const explore: typeof exploreInNode = reject
export const replayPlan: typeof replayInNode = reject
