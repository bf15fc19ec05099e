/** What a client left in the world without an owner: the common ground of three rules. */

import { endsThing, isTerminalStatus, knewId, lastStartOf, showsEnd, statusSince } from './facts.ts'
import type { BaseObservation, CreatedKind, CreatedThing, Observation } from './observation.ts'

/**
 * Whose fault it is that a thing was left behind. Each thing has one reason, so that one rule reports it:
 * - `given up`: the client threw, although it had read the id. It could have deleted the thing, or named it.
 * - `forgotten`: an earlier start of the client created it, and the restarted client did not take it over.
 * - `leaked`: the client returned without it, or ended or waits without ever having read its id.
 */
export type LeftReason = 'given up' | 'forgotten' | 'leaked'

/** Returns the things that the client created, that are not owned and that cost money, with the reason of each. */
export function thingsLeftBehind(
  observation: Observation,
): readonly { readonly thing: CreatedThing; readonly reason: LeftReason }[] {
  return observation.created.flatMap(thing => {
    if (observation.owned.has(thing.id) || !costsMoney(observation, thing)) return []
    const reason = reasonOf(observation, thing)
    return reason === undefined ? [] : [{ thing, reason }]
  })
}

/** Tells whether a thing is alive, or is a batch that was charged and not cancelled. */
export function countsAsEffect({ kind, isAlive, microcents, status }: CreatedThing): boolean {
  return isAlive || (kind === 'batch' && microcents > 0 && (status === 'completed' || !isTerminalStatus(kind, status)))
}

/** Returns how many things of a kind the base run has alive, or charged if they are batches. */
export function effectsInBase({ created }: BaseObservation, kind: CreatedKind): number {
  return created.filter(thing => thing.kind === kind && (thing.isAlive || (kind === 'batch' && thing.microcents > 0)))
    .length
}

/** A thing costs money while it is alive. A batch did so too if it was charged and its end was not read. */
function costsMoney(observation: Observation, thing: CreatedThing): boolean {
  if (thing.isAlive) return true
  if (thing.kind !== 'batch' || thing.microcents === 0 || thing.status === 'cancelled') return false
  const endedAt = statusSince(observation, thing)
  return !observation.requests.some(request => showsEnd(request, thing, endedAt) || endsThing(request, thing.id))
}

function reasonOf(observation: Observation, { id, request }: CreatedThing): LeftReason | undefined {
  const { end } = observation
  const isKnown = knewId(observation, id)
  if (end.kind === 'threw' && isKnown) return 'given up'
  // The client may still take it over: the rule `settles` reports that it does not end.
  if (end.kind === 'unsettled' && isKnown) return undefined
  return request.start < lastStartOf(observation) ? 'forgotten' : 'leaked'
}
