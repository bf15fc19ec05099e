import { type Duration, type Micros, micros } from '../../kernel/duration.ts'
import { LIMITS } from '../../lib/limits.ts'
import { formatCount } from '../../lib/text/numbers.ts'
import type { World } from '../world.ts'
import type { ReportWindow } from './report-types.ts'

/** A moment: microseconds since the epoch of the world, ISO 8601 with an offset, or a Date. */
export type TimeInput = Micros | string | Date

export interface ReportOptions {
  /** Default: the start of the world. */
  readonly from?: TimeInput | undefined
  /** Default: now. */
  readonly to?: TimeInput | undefined
  /** The time between the rows of a deployment in `series`. Default: no series. */
  readonly step?: Duration | undefined
}

/**
 * The window that is asked for.
 *
 * @throws RangeError for a time that is invalid, before the world or in the future, for ends in the wrong order, and for
 * a step of no time or of more rows than `mostRows`
 */
export function parseReportWindow(world: World, options: ReportOptions, maxRows = LIMITS.seriesRows): ReportWindow {
  const from = options.from === undefined ? 0 : parseTime(world, 'from', options.from)
  const to = options.to === undefined ? world.clock.now : parseTime(world, 'to', options.to)
  if (from > to) {
    throw new RangeError(
      `Failed to report from ${world.clock.iso(from)} to ${world.clock.iso(to)}: it ends before it begins. Swap the two.`,
    )
  }
  if (options.step === undefined) return { from, to }
  const step = parseStep(options.step)
  const tooLong = excessOf(world, to - from, step, maxRows)
  if (tooLong !== undefined) {
    throw new RangeError(
      `Failed to report every ${String(options.step)}: that makes ${tooLong}. Give a longer step, or a shorter window.`,
    )
  }
  return { from, to, step }
}

/**
 * Returns how many rows a series of that length would have, and the most, as in `2,000 rows, and 1,000 are the most`.
 * Returns undefined for a series that is short enough. A step counts as a row where the account has no deployments.
 */
export function excessOf({ deployments: { count } }: World, length: Micros, step: Micros, most: number) {
  const rows = Math.ceil(length / step) * Math.max(1, count)
  if (rows <= most) return undefined
  return `${formatCount(rows)} ${count > 0 ? 'rows' : 'steps'}, and ${formatCount(most)} are the most`
}

/** Returns the microseconds of a step. Throws a RangeError for an invalid or empty duration. */
export function parseStep(step: Duration): Micros {
  const value = micros(step)
  if (value > 0) return value
  throw new RangeError("Failed to report by steps: a step of no time has no end. Give one, as in '5m'.")
}

function parseTime({ clock }: World, name: string, input: TimeInput): Micros {
  const time = typeof input === 'number' ? input : clock.elapsedAt(input)
  const formattedInput = input instanceof Date && !Number.isNaN(time) ? input.toISOString() : String(input)
  const problem = (reason: string) => new RangeError(`Failed to report ${name} '${formattedInput}': ${reason}`)
  if (!Number.isInteger(time)) {
    throw problem(
      `no moment. Give ISO 8601 with an offset as in '2026-01-01T00:00:00Z', a Date, ` +
        'or whole microseconds since the start of the world.',
    )
  }
  if (time < 0) throw problem(`the world began at ${clock.iso(0)}. Give a moment since then, or leave it out.`)
  if (time > clock.now) {
    throw problem(`it is ${clock.iso()}, and what is to come is not known. Give a moment that has passed.`)
  }
  return time
}

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
