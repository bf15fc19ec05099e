/**
 * Simulators that explore: `createSimulator` of the main entry. Simulators of lower levels know nothing of explore, so the
 * method is added here. Its code is loaded by the first call.
 */

import * as recordings from '../evidence/recording/record.ts'
import type { SimulatorOptions } from '../simulator/options.ts'
import { createSimulator as createBareSimulator, type Simulator } from '../simulator/simulator.ts'
import type { ExplorableSimulator } from './explorable-simulator.ts'

/**
 * Creates a simulator. It opens no port and starts no timer.
 *
 * @throws FixtureError for an invalid fixture, SnapshotError for a snapshot that cannot be read or that an option
 *   contradicts, RangeError for an invalid option, name or fault rule
 */
export function createSimulator(options: SimulatorOptions = {}): ExplorableSimulator {
  return toExplorable(createBareSimulator(options))
}

function toExplorable(sim: Simulator): ExplorableSimulator {
  const fork = sim.fork.bind(sim)
  const methods: Pick<ExplorableSimulator, 'explore' | 'fork' | 'record'> = {
    explore: async (flow, options = {}) => {
      const { exploreSimulator } = await import('#explore')
      return exploreSimulator(sim, flow, options)
    },
    record: options => recordings.recordSimulator(sim, options),
    fork: options => toExplorable(fork(options)),
  }
  return Object.assign(sim, methods)
}
