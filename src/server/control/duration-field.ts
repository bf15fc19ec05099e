import * as z from 'zod'

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
