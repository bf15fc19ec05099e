import { LIMITS } from '../lib/limits.ts'
import { formatIsoTime } from '../lib/text/iso-time.ts'
import type { Archive } from './archive.ts'
import { DAY, type Micros } from './duration.ts'

/** Default epoch of a world: 2026-01-01T00:00:00Z. It does not depend on the real time. */
export const DEFAULT_EPOCH_MS = 1_767_225_600_000

/** Latest time of a world: 200 years after its epoch. Its microseconds are a safe integer. */
export const MAX_WORLD_AGE: Micros = LIMITS.worldAge * 365 * DAY

/**
 * The time of one world: integer microseconds since its epoch. It never goes back.
 *
 * @example clock.iso(30_000_000) === '2026-01-01T00:00:30.000000+00:00'
 */
export class Clock {
  readonly epochMs: number
  #now: Micros
  /** The time that was formatted last. A creation often needs the same time twice. */
  #cachedIsoAt: Micros = Number.NaN
  #cachedIso = ''

  constructor(epochMs: number = DEFAULT_EPOCH_MS, now: Micros = 0) {
    this.epochMs = epochMs
    this.#now = now
  }

  /** Microseconds since the epoch of the world. */
  get now(): Micros {
    return this.#now
  }

  /** Moves to `time`. Only the loop that fires events calls this, and what copies a world to look ahead. */
  moveTo(time: Micros): void {
    if (time < this.#now)
      throw new Error(`Failed to move the clock: ${time} lies before ${this.#now}. Time never goes back.`)
    this.#now = time
  }

  /** Returns the integer Unix seconds of a time, rounded down. */
  unix(at: Micros = this.#now): number {
    return Math.floor((this.epochMs * 1000 + at) / 1_000_000)
  }

  /** Returns a time in Unix seconds as a text with six decimals. */
  unixText(at: Micros): string {
    const total = this.epochMs * 1000 + at
    const seconds = Math.floor(total / 1_000_000)
    return `${seconds}.${String(total - seconds * 1_000_000).padStart(6, '0')}`
  }

  /** Returns a time in the format of the wire: ISO 8601 with microseconds and offset. */
  iso(at: Micros = this.#now): string {
    if (at !== this.#cachedIsoAt) {
      this.#cachedIso = formatIsoTime(this.epochMs, at)
      this.#cachedIsoAt = at
    }
    return this.#cachedIso
  }

  /** Returns microseconds since the epoch of the world for Unix seconds. */
  fromUnix(seconds: number): Micros {
    return seconds * 1_000_000 - this.epochMs * 1000
  }

  /** Returns microseconds since the epoch of the world for a Date or an ISO 8601 time; NaN if it is invalid. */
  elapsedAt(time: string | Date): Micros {
    return elapsedAt(time, this.epochMs)
  }

  archive(archive: Archive): void {
    this.#now = archive.value(this.#now)
  }

  fork(): Clock {
    return new Clock(this.epochMs, this.#now)
  }
}

/**
 * Returns the microseconds from an epoch to a time. The result is NaN for an invalid Date and for a text that is not
 * ISO 8601 with an offset.
 *
 * @param epochMs milliseconds since 1970-01-01T00:00:00Z
 * @example elapsedAt('2026-01-01T00:00:01.5Z', DEFAULT_EPOCH_MS) === 1_500_000
 */
export function elapsedAt(time: string | Date, epochMs: number): Micros {
  if (time instanceof Date) return (time.getTime() - epochMs) * 1000
  // Without an offset the time zone of the machine would decide.
  const parts = /^(\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d)?)(?:\.(\d{1,9}))?(Z|[+-]\d\d:?\d\d)$/i.exec(time)
  if (!parts) return Number.NaN
  const [, seconds, fraction = '', offset] = parts
  // Date reads the 30th of February as the 2nd of March.
  const [day] = seconds!.split('T')
  const midnight = new Date(`${day}T00:00:00Z`)
  if (Number.isNaN(midnight.getTime()) || !midnight.toISOString().startsWith(`${day}T`)) return Number.NaN
  const micros = Math.floor(Number(`0.${fraction || 0}`) * 1_000_000 + 1e-6)
  return (Date.parse(`${seconds}${offset}`) - epochMs) * 1000 + micros
}
