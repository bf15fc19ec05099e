/** The world of a flow. */

import type { SimulatorOptions } from '../../simulator/simulator.ts'
import type { InvariantSettings } from './invariants.ts'

/** The options of the world of a flow. */
export type FlowWorld = Pick<SimulatorOptions, 'fixtures' | 'with' | 'seed' | 'profile' | 'weather' | 'endpoints'>

/** What is in place of parts of the world of a flow. */
export type WorldChange = { readonly [Name in keyof FlowWorld]?: FlowWorld[Name] | undefined }

/** Returns the options of a world that have a value. */
export function worldOf(options: WorldChange): FlowWorld {
  const { fixtures, with: patch, seed, profile, weather, endpoints } = options
  return {
    ...(fixtures !== undefined && { fixtures }),
    ...(patch !== undefined && { with: patch }),
    ...(seed !== undefined && { seed }),
    ...(profile !== undefined && { profile }),
    ...(weather !== undefined && { weather }),
    ...(endpoints !== undefined && { endpoints }),
  }
}

/** Returns the pace of answers that the invariants of a flow need. A client can leave only a stream that takes time. */
export function paceOf({ finishesStreams }: InvariantSettings = {}): Pick<SimulatorOptions, 'inferencePace'> {
  return finishesStreams === true ? { inferencePace: 'clock' } : {}
}
