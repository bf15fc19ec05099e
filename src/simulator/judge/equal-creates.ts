/** Creates that ask for the same work, and took effect more than once. */

import { BATCH_LIFECYCLE, type BatchStatus } from '../../data/records/enums.ts'
import { groupBy } from '../../lib/group-by.ts'
import { canonical, inputText } from './batch-rows.ts'
import type { BaseObservation, Conduct, CreatedKind, CreatedThing } from './observation.ts'

/** Fields of a create that name the new thing. Two things with other names can still be the same work. */
const NAME_FIELDS: ReadonlySet<string> = new Set(['model_name', 'name', 'metadata', 'input_file_id'])

/** Tells whether a thing is alive, or is a batch that was charged and ran to its end. */
export function countsAsEffect({ kind, isAlive, microcents, status }: CreatedThing): boolean {
  const isCharged = kind === 'batch' && microcents > 0
  return isAlive || (isCharged && (status === 'completed' || !BATCH_LIFECYCLE.terminal.has(status as BatchStatus)))
}

/** Returns how many things of a kind the base run has alive, or charged if they are batches. */
export function effectsInBase({ created }: BaseObservation, kind: CreatedKind): number {
  return created.filter(thing => thing.kind === kind && (thing.isAlive || (kind === 'batch' && thing.microcents > 0)))
    .length
}

/**
 * Returns the groups of two or more things that count as effects of equal creates of one start of the client. Creates
 * are equal if their bodies are, names and metadata excepted, and those of batches also if their input has the same
 * text. The base run has no groups, and the things of a kind that it has are not repetitions.
 */
export function repeatedEffects(observation: Conduct): readonly (readonly CreatedThing[])[] {
  const { base, created } = observation
  if (base === undefined || created.length < 2) return []
  const byKind = groupBy(created.filter(countsAsEffect), ({ kind }) => kind)
  return [...byKind].flatMap(([kind, effects]) => {
    if (effects.length < 2 || effects.length <= effectsInBase(base, kind)) return []
    const groups = groupBy(effects, thing => keyOf(observation, thing))
    return [...groups.values()].filter(group => group.length > 1)
  })
}

function keyOf({ sim }: Conduct, { kind, id, request }: CreatedThing): string {
  const { operation, body, start } = request
  const input = kind === 'batch' ? inputText(sim, id) : ''
  return JSON.stringify([kind, operation, start, canonical(withoutNames(body)), input])
}

function withoutNames(body: unknown): unknown {
  if (typeof body !== 'object' || body === null) return body
  return Object.fromEntries(Object.entries(body).filter(([name]) => !NAME_FIELDS.has(name)))
}
