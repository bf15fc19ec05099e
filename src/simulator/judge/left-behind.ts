/** What a client left in the world without an owner: the common ground of three rules. */

import { isOwnRecord } from './created-things.ts'
import { repeatedEffects } from './equal-creates.ts'
import { endsThing, knewId, lastStartOf } from './facts.ts'
import { statusSince } from './lifecycles.ts'
import { tellsEnd } from './list-reads.ts'
import type { CreatedThing, Observation } from './observation.ts'

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
  const unowned = observation.created.filter(
    thing => !observation.owned.has(thing.id) && costsMoney(observation, thing),
  )
  if (unowned.length === 0) return []
  // The rule `noDouble` reports a batch that was charged twice.
  const repeated = new Set(repeatedEffects(observation).flat())
  return unowned.flatMap(thing => {
    const reason = !thing.isAlive && repeated.has(thing) ? undefined : reasonOf(observation, thing)
    return reason === undefined ? [] : [{ thing, reason }]
  })
}

/**
 * A thing costs money while it is alive, a record of a user's own only if it has a price. A batch did so too if it was
 * charged and its end was not read.
 */
function costsMoney(observation: Observation, thing: CreatedThing): boolean {
  const { sim } = observation
  const isFree = isOwnRecord(thing) && thing.microcents === 0 && sim.world.ledger.meters.rateOf(thing.id) === 0
  if (thing.isAlive) return !isFree
  if (thing.kind !== 'batch' || thing.microcents === 0 || thing.status === 'cancelled') return false
  const endedAt = statusSince(observation, thing)
  return !observation.requests.some(
    request => tellsEnd(observation, request, thing, endedAt) || endsThing(observation, request, thing.id),
  )
}

function reasonOf(observation: Observation, { id, request }: CreatedThing): LeftReason | undefined {
  const { end } = observation
  const isKnown = knewId(observation, id)
  if (end.kind === 'threw' && isKnown) return 'given up'
  // The client may still take it over: the rule `settles` reports that it does not end.
  if (end.kind === 'unsettled' && isKnown) return undefined
  return request.start < lastStartOf(observation) ? 'forgotten' : 'leaked'
}
