/** Texts of times and amounts. Times of the world are ISO 8601 in UTC. */

import { formatYears } from '../../../lib/text/numbers.ts'
import { formatFigure } from '../plots/ticks.ts'

export { formatCount, plural } from '../../../lib/text/numbers.ts'

/** Returns the kind of a thing in words: `SSH key`. */
export function kindWords(kind: string): string {
  return kind === 'fault' ? 'fault rule' : kind.replaceAll('_', ' ').replace(/^(?:gpu|ssh)/, word => word.toUpperCase())
}

const DAY = 86_400

/** Returns a duration in at most two units: `2 h 5 min`, `340 ms`; from a year on in years. */
export function formatDuration(seconds: number): string {
  if (seconds < 0) return `-${formatDuration(-seconds)}`
  const years = formatYears(seconds / (365 * DAY))
  if (years !== undefined) return years
  if (seconds < 1) return `${Math.round(seconds * 1000)} ms`
  if (seconds < 60) return `${trimmed(seconds, 1)} s`
  const units: readonly (readonly [number, string])[] = [
    [DAY, 'd'],
    [3_600, 'h'],
    [60, 'min'],
    [1, 's'],
  ]
  const largest = units.findIndex(([size]) => seconds >= size)
  const [[size, name], next] = [units[largest]!, units[largest + 1]]
  const whole = Math.floor(seconds / size)
  const rest = next === undefined ? 0 : Math.floor((seconds - whole * size) / next[0])
  return rest === 0 ? `${whole} ${name}` : `${whole} ${name} ${rest} ${next![1]}`
}

/** Returns the time of day of an ISO time: `14:05:09`, with milliseconds if it has any. */
export function formatTime(iso: string): string {
  const [, time = ''] = /T([\d:]+(?:\.\d{1,3})?)/.exec(iso) ?? []
  return time.replace(/\.0+$/, '')
}

/** Returns the day of an ISO time: `2026-01-05`. */
export function formatDay(iso: string): string {
  return iso.slice(0, 10)
}

/** Returns seconds between two ISO times. */
export function secondsBetween(from: string, to: string): number {
  return (Date.parse(to) - Date.parse(from)) / 1000
}

/** Returns a number with at most so many decimals, without trailing zeros. */
export function trimmed(value: number, decimals: number): string {
  return String(Number(value.toFixed(decimals)))
}

/** A hundred-millionth of a dollar is the smallest amount of a ledger. */
const MOST_DECIMALS = 8

/**
 * Returns an amount of money: `$12.40`. Amounts below 10 cents have four decimals. Smaller ones have as many as two
 * digits need, up to the micro-cent. An amount that rounds to zero has no sign.
 */
export function formatMoney(dollars: number): string {
  const amount = Math.abs(dollars)
  const isTiny = amount > 0 && amount < 0.0001
  const digits = isTiny
    ? Math.min(MOST_DECIMALS, 1 - Math.floor(Math.log10(amount)))
    : amount > 0 && amount < 0.1
      ? 4
      : 2
  const text = formatFigure(amount, digits)
  if (!/[1-9]/.test(text)) return '$0.00'
  return `${dollars < 0 ? '-' : ''}$${isTiny ? text.replace(/0+$/, '') : text}`
}

/** Micro-cents in a dollar. */
export const MICROCENTS = 100_000_000

/** Returns an amount in micro-cents as `formatMoney` returns dollars. */
export function formatMicrocents(microcents: number): string {
  return formatMoney(microcents / MICROCENTS)
}
