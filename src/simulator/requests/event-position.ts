/** Positions in the live events of a simulator, which clients send back to continue. */

import type { Simulator } from '../simulator-interface.ts'

/** What a reader has read. */
export interface EventPosition {
  /** Which world of the simulator, from 1: a reset or a restore begins another one. */
  world: number
  /** Position of the newest journal entry that it has read. */
  entry: number
  /** Number of the newest request that it has read. */
  request: number
}

/** Formats a position as the id of an event, as in `1-4711-28`. */
export function formatPosition({ world, entry, request }: EventPosition): string {
  return `${world}-${entry}-${request}`
}

/**
 * Reads where a reader begins: `now`, `start` for the oldest event that is kept, or the id of an event.
 *
 * @throws RangeError for any other text
 */
export function parsePosition({ world, requestLog }: Simulator, text: string): EventPosition {
  const now = { world: requestLog.worlds, entry: world.journal.last, request: requestLog.total }
  const trimmed = text.trim()
  if (trimmed === 'now') return now
  if (trimmed === 'start') return { ...now, entry: world.journal.dropped, request: requestLog.dropped }
  const id = /^(\d{1,15})-(\d{1,15})-(\d{1,15})$/.exec(trimmed)
  if (id === null) {
    throw new RangeError(
      `Failed to read events: invalid position '${trimmed.slice(0, 100)}'. Give 'now', 'start', or the id of an event.`,
    )
  }
  const position = { world: Number(id[1]), entry: Number(id[2]), request: Number(id[3]) }
  // An id of a server that has been started again: nothing of it is known.
  const isAhead = position.world > now.world || (position.world === now.world && isAfter(position, now))
  return isAhead ? { ...position, world: 0 } : position
}

function isAfter(one: EventPosition, other: EventPosition): boolean {
  return one.entry > other.entry || one.request > other.request
}
