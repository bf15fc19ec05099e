/** The world of a flow. */

import type { SimulatorOptions } from '../simulator/simulator.ts'

/** The options of the world of a flow. */
export type FlowWorld = Pick<SimulatorOptions, 'fixtures' | 'with' | 'seed' | 'profile'>

/** Returns the options of a world that have a value. */
export function worldOf(options: { readonly [Name in keyof FlowWorld]?: FlowWorld[Name] | undefined }): FlowWorld {
  const { fixtures, with: patch, seed, profile } = options
  return {
    ...(fixtures !== undefined && { fixtures }),
    ...(patch !== undefined && { with: patch }),
    ...(seed !== undefined && { seed }),
    ...(profile !== undefined && { profile }),
  }
}
