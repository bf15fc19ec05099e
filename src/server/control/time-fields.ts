import * as z from 'zod'
import type { Micros } from '../../kernel/duration.ts'
import { refuse } from '../../service/refusals.ts'
import type { Simulator } from '../../simulator/simulator.ts'

/**
 * A duration in the body of a control request. The simulator checks its form. A number is refused: other times of the
 * control plane are numbers of seconds, and durations in code are numbers of milliseconds.
 */
export const DurationField = z
  .custom<string>(value => typeof value === 'string', {
    error: ({ input }) =>
      typeof input === 'number' && Number.isFinite(input)
        ? describeBareNumber(input)
        : "invalid duration. Give a text with a unit, as in '90s', '1h30m' or 'PT1H'",
  })
  .meta({ type: 'string' })

/** Returns the refusal of a duration that is a number. */
export function describeBareNumber(number: number): string {
  return `the number ${number} has no unit. Give a duration, as in '${number}s' or '${number}ms'`
}

/**
 * Returns a time of a query in microseconds since the epoch of the world. It takes Unix seconds or ISO 8601, and refuses
 * anything else with 400.
 *
 * @param purpose what the time is for, as in `read the ledger from`
 */
export function parseTimeParam({ world }: Simulator, purpose: string, text: string): Micros {
  const trimmed = text.trim()
  if (/^-?\d+(\.\d+)?$/.test(trimmed)) return Math.round(world.clock.fromUnix(Number(trimmed)))
  // In a query a raw plus is a space.
  const iso = trimmed.replace(/ (\d\d:?\d\d)$/, '+$1')
  const time = world.clock.elapsedAt(iso)
  if (Number.isFinite(time)) return time
  return refuse(
    400,
    `Failed to ${purpose} '${text}': invalid time. Give Unix seconds, or ISO 8601 as in '2026-01-01T00:00:00Z'.`,
  )
}
