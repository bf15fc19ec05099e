/** Moments of a past from which its world can go on again. */

import type { Micros } from '../../../kernel/duration.ts'
import type { Snapshot } from '../../checkpoint/snapshot.ts'
import { optionsOutsideSnapshot } from '../../option-fields.ts'
import { createSimulator, type Simulator } from '../../simulator.ts'
import type { Position } from '../lines.ts'

/** A moment without open requests. */
export interface Checkpoint {
  readonly snapshot: Snapshot
  /** The causes of the events to come, which a snapshot does not have. */
  readonly causes: Float64Array
  readonly at: Position
  /** Position of the newest journal entry. */
  readonly entry: number
  /** The number of lines before it, since the past began. */
  readonly lines: number
  /** The number of inputs before it. */
  readonly inputs: number
}

/** A moment of a past: a time, right after a journal entry, right after the answer to a request, or right before it. */
export type Moment =
  | { readonly time: Micros }
  | { readonly entry: number }
  /** Position of the journal entry of a request. */
  | { readonly request: number }
  /** The same. The moment is that at which the request took its first step in the world. */
  | { readonly before: number }

/** Returns the position of the journal entry that a moment names; undefined for a time. */
export function entryOf(moment: Moment): number | undefined {
  if ('time' in moment) return undefined
  if ('entry' in moment) return moment.entry
  return 'before' in moment ? moment.before : moment.request
}

/** Whether a moment comes after a checkpoint, or at it. */
export function isReached(checkpoint: Checkpoint, moment: Moment): boolean {
  return 'time' in moment ? checkpoint.at[0] <= moment.time : checkpoint.entry < entryOf(moment)!
}

/** Returns a simulator that goes on from a checkpoint, with a manual clock. It delivers no webhooks. */
export function createFromCheckpoint({ snapshot, causes, entry }: Checkpoint, origin: Simulator): Simulator {
  const options = optionsOutsideSnapshot(origin.options)
  const sim = createSimulator({ ...options, fixtures: snapshot, clock: 'manual', timers: 'ignore' })
  sim.world.journal.continueAfter(entry)
  sim.world.agenda.causes = causes
  // The recorded past has the outcomes.
  sim.world.webhooks.sender = undefined
  return sim
}
