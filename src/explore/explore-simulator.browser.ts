import type { exploreSimulator as exploreInNode } from './explore-simulator.ts'

/** Rejects: runs replace timers of the process, and a browser has none of Node's. */
export const exploreSimulator: typeof exploreInNode = async () => {
  throw new RangeError('Failed to explore: explorations need Node. Run them in a test of Node.')
}
