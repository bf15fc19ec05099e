import { type Duration, type Micros, micros } from '../kernel/duration.ts'
import type { ReportWindow } from './report.ts'
import type { World } from './world.ts'

/** A moment: microseconds since the epoch of the world, ISO 8601 with an offset, or a Date. */
export type Moment = Micros | string | Date

export interface ReportOptions {
  /** The start of the world unless given. */
  readonly from?: Moment | undefined
  /** Now unless given. */
  readonly to?: Moment | undefined
  /** A row a deployment so often, as `series`; none unless given. */
  readonly step?: Duration | undefined
}

/** Rows that a series has at most: beyond, a step was meant to be longer. */
export const MOST_ROWS = 1_000_000

/**
 * The window that is asked for.
 *
 * @throws RangeError for a moment that is none, lies before the world or is to come, for ends in the wrong order, and for
 * a step of no time or of more rows than `mostRows`
 */
export function readWindow(world: World, options: ReportOptions, mostRows = MOST_ROWS): ReportWindow {
  const from = options.from === undefined ? 0 : momentOf(world, 'from', options.from)
  const to = options.to === undefined ? world.clock.now : momentOf(world, 'to', options.to)
  if (from > to) {
    throw new RangeError(
      `Failed to report from ${world.clock.iso(from)} to ${world.clock.iso(to)}: it ends before it begins. Swap the two.`,
    )
  }
  if (options.step === undefined) return { from, to }
  const step = stepOf(options.step)
  const tooLong = excessOf(world, to - from, step, mostRows)
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
  return `${rows.toLocaleString('en')} ${count > 0 ? 'rows' : 'steps'}, and ${most.toLocaleString('en')} are the most`
}

/** Microseconds of a step. Throws RangeError for a duration that is none, and for no time. */
export function stepOf(step: Duration): Micros {
  const value = micros(step)
  if (value > 0) return value
  throw new RangeError("Failed to report by steps: a step of no time has no end. Give one, as in '5m'.")
}

function momentOf({ clock }: World, name: string, given: Moment): Micros {
  const at =
    typeof given === 'number'
      ? given
      : given instanceof Date
        ? Math.round((given.getTime() - clock.epochMs) * 1000)
        : clock.fromIso(given)
  const told = given instanceof Date && !Number.isNaN(at) ? given.toISOString() : String(given)
  if (!Number.isInteger(at)) {
    throw new RangeError(
      `Failed to report ${name} '${told}': no moment. Give ISO 8601 with an offset as in '2026-01-01T00:00:00Z', a Date, ` +
        'or whole microseconds since the start of the world.',
    )
  }
  if (at < 0) {
    throw new RangeError(
      `Failed to report ${name} '${told}': the world began at ${clock.iso(0)}. Give a moment since then, or leave it out.`,
    )
  }
  if (at > clock.now) {
    throw new RangeError(
      `Failed to report ${name} '${told}': it is ${clock.iso()}, and what is to come is not known. Give a moment that has passed.`,
    )
  }
  return at
}
