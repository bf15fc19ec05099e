import { createEndpointFactory, type Operations, RefusalError, refuse } from '../service/endpoint.ts'
import type { Simulator } from '../simulator/simulator.ts'
import type { TimelineLibrary } from '../simulator/timelines.ts'
import type { Worlds } from '../simulator/worlds.ts'

/** What handlers of the control plane get besides their input. */
export interface ControlScope {
  sim: Simulator
  /** The worlds of the server, `sim`'s among them. */
  worlds: Worlds
  /** The scenarios whose timelines it can play. */
  library: TimelineLibrary
  /** Every operation of the control plane. */
  operations: Operations
}

/** Declares an endpoint of the control plane; its export name is its operation id. */
export const control = createEndpointFactory<ControlScope, true>()

/** What every declaration of the control plane has in common: none of it is the service's. */
export const CONTROL_PROVENANCE = { provenance: 'assumed', assumptions: [] } as const

/**
 * Runs a command of the simulator; what it will not take becomes a refusal, and nothing has changed then.
 *
 * @example await attempt(() => sim.clock.advanceInSlices(body.by))
 */
export async function refuseInvalid<T>(command: () => T | Promise<T>, status = 400): Promise<T> {
  try {
    return await command()
  } catch (error) {
    if (error instanceof RefusalError) throw error
    // The simulator says what it will not take with a RangeError; an advance that fires too much has its own.
    if (error instanceof RangeError || (error as Error).name === 'EventCapError')
      refuse(status, (error as Error).message)
    throw error
  }
}
