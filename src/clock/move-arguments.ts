/** What may be asked of a clock: moves that make sense, refused before anything has moved. */
import { type Clock, MAX_WORLD_AGE } from '../kernel/clock.ts'
import type { Micros } from '../kernel/duration.ts'

/**
 * A moment to move to, in microseconds of a world.
 *
 * @throws RangeError for what is no moment, has passed, or lies after the end of the clock's days
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
      `Failed to advance to '${isDate ? time.toISOString() : time}': it is ${clock.iso()} already, and time never goes back. Give a later moment, or begin anew with reset().`,
    )
  }
  return requireWithinMaxAge(target)
}

/** A moment that the clock can tell. Throws RangeError for one after the end of its days. */
export function requireWithinMaxAge(target: Micros): Micros {
  if (target <= MAX_WORLD_AGE) return target
  throw new RangeError(
    'Failed to move time: that is more than 200 years after the world began, and its clock tells no more. ' +
      'Move it less far, or begin anew with reset().',
  )
}

/** Throws TypeError for what cannot say whether it is over. */
export function assertPredicate(predicate: unknown): void {
  if (typeof predicate === 'function') return
  throw new TypeError(
    "Failed to move time: until takes a function that says whether it is over. Give one, as in until(() => status === 'running').",
  )
}
