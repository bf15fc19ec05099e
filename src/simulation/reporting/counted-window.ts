import type { Micros } from '../../kernel/duration.ts'

/** A window without its start. A window that begins at the epoch of the world includes its start. */
export interface CountedWindow {
  readonly from: Micros
  readonly to: Micros
  /** The last time before the window: `from`, or -1 for the epoch. */
  readonly after: Micros
}

/** Returns the last time before a window that begins at `from`. */
export function exclusiveStart(from: Micros): Micros {
  return from === 0 ? -1 : from
}

/** Whether a time is in the window. */
export function isWithin({ after, to }: CountedWindow, at: Micros): boolean {
  return at > after && at <= to
}
