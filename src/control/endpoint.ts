import { endpointsOf, type Operations, Refused, refuse } from '../api/endpoint.ts'
import { nearest } from '../kernel/nearest.ts'
import type { Simulator } from '../simulator.ts'
import type { TimelineLibrary } from '../timelines.ts'
import type { Worlds } from '../worlds.ts'

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
export const control = endpointsOf<ControlScope, true>()

/** What every declaration of the control plane has in common: none of it is the service's. */
export const OURS = { provenance: 'assumed', assumed: [] } as const

/**
 * Runs a command of the simulator; what it will not take becomes a refusal, and nothing has changed then.
 *
 * @example await attempt(() => sim.clock.advanceInSlices(body.by))
 */
export async function attempt<T>(command: () => T | Promise<T>, status = 400): Promise<T> {
  try {
    return await command()
  } catch (error) {
    if (error instanceof Refused) throw error
    // The simulator says what it will not take with a RangeError; an advance that fires too much has its own.
    if (error instanceof RangeError || (error as Error).name === 'EventCapError')
      refuse(status, (error as Error).message)
    throw error
  }
}

/** The verb of a path among those that exist, or a 404 that names the nearest. */
export function verbOf<Verb extends string>(word: string, verbs: readonly Verb[], what: string): Verb {
  const found = verbs.find(verb => verb === word)
  if (found !== undefined) return found
  const meant = nearest(word, verbs)
  return refuse(
    404,
    `Failed to '${word}' ${what}: there is no such verb. ${meant ? `Did you mean '${meant}'?` : `Verbs are ${verbs.join(', ')}.`}`,
  )
}
