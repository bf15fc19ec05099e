import { LIMITS } from '../lib/limits.ts'
import { quote } from '../lib/quote.ts'
import { formatYears } from '../lib/text/numbers.ts'

/** A duration in the form of the user: `'90s'`, `'1h30m'`, `'PT1H'`, or a number of milliseconds. */
export type Duration = string | number

/** Integer microseconds, the only unit of time in the simulation. */
export type Micros = number

export const SECOND: Micros = 1_000_000
export const MINUTE: Micros = 60 * SECOND
export const HOUR: Micros = 60 * MINUTE
export const DAY: Micros = 24 * HOUR

/** Longest duration: 100 years. */
export const MAX_DURATION: Micros = LIMITS.duration * 365.25 * DAY

const UNITS: Readonly<Record<string, Micros>> = {
  us: 1,
  ms: 1000,
  s: SECOND,
  m: MINUTE,
  h: HOUR,
  d: DAY,
  w: 7 * DAY,
}
/** Characters of the longest text that can be a duration. A pattern could overflow the stack for a text of megabytes. */
const MAX_LENGTH = 200
const FORMS = "Forms that work: '500ms', '90s', '10m', '24h', '1h30m', '7d', 'PT1H'"
const PARTS = /(\d+(?:\.\d+)?)(us|ms|s|m|h|d|w)/y
const ISO =
  /^P(?:(\d+(?:\.\d+)?)W)?(?:(\d+(?:\.\d+)?)D)?(?:T(?:(\d+(?:\.\d+)?)H)?(?:(\d+(?:\.\d+)?)M)?(?:(\d+(?:\.\d+)?)S)?)?$/

const NUMBER = '\\d+(?:\\.\\d+)?'
/** Source of the pattern of durations for JSON Schema. It cannot express the limit of 100 years. */
export const DURATION_PATTERN =
  `^\\s*(?:(?:${NUMBER}(?:us|ms|s|m|h|d|w) *)+|P(?=\\d|T\\d)(?:${NUMBER}W)?(?:${NUMBER}D)?` +
  `(?:T(?:${NUMBER}H)?(?:${NUMBER}M)?(?:${NUMBER}S)?)?)\\s*$`

/**
 * Returns the microseconds of a duration.
 *
 * @throws RangeError if it is negative, not finite, longer than 100 years, or of an unknown form. The message lists the
 *   forms.
 * @example micros('1h30m') === 5_400_000_000
 */
export function micros(duration: Duration): Micros {
  const value = typeof duration === 'number' ? duration * 1000 : parse(duration)
  if (value === undefined || !Number.isFinite(value) || value < 0 || value > MAX_DURATION) {
    const isNumber = typeof duration === 'number'
    throw new RangeError(
      `Failed to read the duration ${isNumber ? duration : quote(duration)}: ${reason(duration, value)}. ` +
        `${FORMS}${isNumber ? ', or a number of milliseconds' : ''}.`,
    )
  }
  return Math.round(value)
}

function reason(duration: Duration, value: number | undefined): string {
  if (typeof duration === 'string' && duration.length <= MAX_LENGTH && /^\s*\d+(\.\d+)?\s*$/.test(duration))
    return 'it has no unit'
  if (value === undefined) return 'no known form'
  if (typeof duration === 'number' && !Number.isFinite(duration)) return 'not a finite number'
  if (value < 0) return 'time does not run backwards'
  return `longer than ${LIMITS.duration} years`
}

function parse(text: string): Micros | undefined {
  if (typeof text !== 'string' || text.length > MAX_LENGTH) return undefined
  const trimmed = text.trim()
  if (trimmed.startsWith('-')) return -1
  const iso = ISO.exec(trimmed)
  if (iso) {
    const [, weeks, days, hours, minutes, seconds] = iso
    if (weeks ?? days ?? hours ?? minutes ?? seconds) {
      return (
        Number(weeks ?? 0) * 7 * DAY +
        Number(days ?? 0) * DAY +
        Number(hours ?? 0) * HOUR +
        Number(minutes ?? 0) * MINUTE +
        Number(seconds ?? 0) * SECOND
      )
    }
    return undefined
  }
  let total = 0
  let at = 0
  while (at < trimmed.length) {
    PARTS.lastIndex = at
    const part = PARTS.exec(trimmed)
    if (!part) return undefined
    total += Number(part[1]) * (UNITS[part[2]!] ?? Number.NaN)
    at = PARTS.lastIndex
    while (trimmed[at] === ' ') at++
  }
  return at === 0 ? undefined : total
}

/** Formats a duration for people: its two largest units, as in `2h 5m`, and from a year on in years. */
export function formatDuration(duration: Micros): string {
  const years = formatYears(duration / (365 * DAY))
  if (years !== undefined) return years
  if (duration < 1000) return `${duration}us`
  if (duration < SECOND) return `${Math.round(duration / 1000)}ms`
  const parts: string[] = []
  let remaining = duration
  for (const [unit, size] of [
    ['d', DAY],
    ['h', HOUR],
    ['m', MINUTE],
    ['s', SECOND],
  ] as const) {
    const count = Math.floor(remaining / size)
    if (count > 0) parts.push(`${count}${unit}`)
    remaining -= count * size
    if (parts.length === 2) break
  }
  return parts.join(' ')
}
