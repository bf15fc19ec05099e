/** The world of a flow. */

import type { SimulatorOptions } from '../../simulator/simulator.ts'
import type { InvariantSettings } from './invariants.ts'

/** The names of the options of the world of a flow. */
export const WORLD_OPTIONS = [
  ...(['fixtures', 'with', 'seed', 'profile', 'weather', 'endpoints', 'names'] as const),
] as const satisfies readonly (keyof SimulatorOptions)[]

/** The options of the world of a flow. */
export type FlowWorld = Pick<SimulatorOptions, (typeof WORLD_OPTIONS)[number]>

/** What is in place of parts of the world of a flow. */
export type WorldChange = { readonly [Name in keyof FlowWorld]?: FlowWorld[Name] | undefined }

/** Returns the options of a world that have a value. */
export function worldOf(options: WorldChange): FlowWorld {
  return Object.fromEntries(WORLD_OPTIONS.map(name => [name, options[name]]).filter(([, value]) => value !== undefined))
}

/** Returns the pace of answers that the invariants of a flow need. A client can leave only a stream that takes time. */
export function paceOf({ finishesStreams }: InvariantSettings = {}): Pick<SimulatorOptions, 'inferencePace'> {
  return finishesStreams === true ? { inferencePace: 'clock' } : {}
}
