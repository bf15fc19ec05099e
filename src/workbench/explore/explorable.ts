/**
 * `createSimulator` of the main entry: simulators that verify, explain, judge and explore. Simulators of lower levels know
 * nothing of these, so the methods are added here. Their code is loaded or evaluated by the first call.
 */

import * as explanations from '../../simulator/explain/explain.ts'
import * as recordings from '../../simulator/history/record.ts'
import * as judging from '../../simulator/judge/judge.ts'
import type { SimulatorOptions } from '../../simulator/options.ts'
import * as find from '../../simulator/requests/find.ts'
import * as verify from '../../simulator/requests/verify.ts'
import { createSimulator as createBareSimulator, type Simulator } from '../../simulator/simulator.ts'
import type { ExplorableSimulator, SimulatorExploreOptions } from './explorable-simulator.ts'
import type { FlowFunction } from './flow.ts'

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
  const methods: Omit<ExplorableSimulator, keyof Simulator> & Pick<ExplorableSimulator, 'fork'> = {
    explain: subject => explanations.explain(sim, subject),
    explore: async (flow, options = {}) => {
      const { exploreSimulator } = await import('#explore')
      return exploreSimulator(sim, flow as FlowFunction, options as SimulatorExploreOptions)
    },
    judge: options => judging.judge(sim, options),
    findRequests: filter => find.findRequests(sim, filter).requests,
    verify: (expected, options) => verify.verifyRequests(sim, expected, options),
    record: options => recordings.recordSimulator(sim, options),
    fork: options => toExplorable(fork(options)),
  }
  return Object.assign(sim, methods)
}
