/** Validates the arguments of moves, before anything has moved. */
import { type Clock, MAX_WORLD_AGE } from '../../../kernel/clock.ts'
import type { Micros } from '../../../kernel/duration.ts'
import { EventCapError } from '../../../kernel/loop.ts'
import { LIMITS } from '../../../lib/limits.ts'

/**
 * Returns the time to move to in microseconds since the epoch of the world.
 *
 * @throws RangeError for an invalid time, a time in the past, or one after the last time of the clock
 */
export function toFutureTime(clock: Clock, time: string | Date): Micros {
  const isDate = time instanceof Date
  const target = clock.elapsedAt(time)
  if (!Number.isFinite(target)) {
    throw new RangeError(
      `Failed to advance to ${isDate ? String(time) : `'${time}'`}: no time with an offset. ` +
        "Give ISO 8601 with an offset, as in '2026-01-02T00:00:00Z'.",
    )
  }
  if (target < clock.now) {
    throw new RangeError(
      `Failed to advance to '${isDate ? time.toISOString() : time}': it is ${clock.iso()} already, and time never goes back. Give a later time, or start again with reset().`,
    )
  }
  return requireWithinMaxAge(target)
}

/** Returns `target`. Throws RangeError if it is after the last time of the clock. */
export function requireWithinMaxAge(target: Micros): Micros {
  if (target <= MAX_WORLD_AGE) return target
  throw new RangeError(
    'Failed to move time: the end is more than 200 years after the world began. ' +
      'Move it less far, or start again with reset().',
  )
}

/** Throws TypeError if `predicate` is not a function. */
export function assertPredicate(predicate: unknown): void {
  if (typeof predicate === 'function') return
  throw new TypeError(
    "Failed to move time: until takes a function that returns a boolean. Give one, as in until(() => status === 'running').",
  )
}

/**
 * Bounds a move to the next change. Without a bound, a world whose events no client can see would move on for ever.
 *
 * @throws EventCapError if so many events have left no change. They stay.
 */
export function assertFewSilentEvents(count: number, visible: boolean): void {
  if (count < LIMITS.silentEvents) return
  const change = visible ? 'a change that a client could see' : 'an entry of the journal'
  throw new EventCapError(
    `Failed to move to the next change: ${count} events were fired without ${change}. ` +
      'Give the longest wait, as in next({ within: "1h" }), or advance by a duration.',
  )
}
