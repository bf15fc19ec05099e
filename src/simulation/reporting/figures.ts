/** Sums, ratios and summaries that the parts of a report share. */

import { HOUR, type Micros, SECOND } from '../../kernel/duration.ts'
import type { Durations, GpuHours } from './report-types.ts'

/** Returns GPU-hours for sums of GPU-microseconds. */
export function gpuHours(held: number, billed: number, used: number): GpuHours {
  return {
    held_gpu_hours: held / HOUR,
    billed_gpu_hours: billed / HOUR,
    used_gpu_hours: used / HOUR,
    wasted_gpu_hours: (held - used) / HOUR,
  }
}

/** Returns a record of seconds for a record of microseconds. */
export function toSeconds<Name extends string>(micros: Readonly<Record<Name, Micros>>): Record<Name, number> {
  const seconds = Object.entries<Micros>(micros).map(([name, time]) => [name, time / SECOND])
  return Object.fromEntries(seconds) as Record<Name, number>
}

/** Counts the occurrences of each name. */
export function countByName<Name extends string>(
  names: readonly Name[],
  occurrences: readonly Name[],
): Record<Name, number> {
  const counts = Object.fromEntries(names.map(name => [name, 0])) as Record<Name, number>
  for (const name of occurrences) counts[name]++
  return counts
}

/** Returns part / whole; null if the whole is 0. */
export function ratio(part: number, whole: number): number | null {
  return whole > 0 ? part / whole : null
}

/** Sums an amount over all items. */
export function sumBy<Item>(items: readonly Item[], amountOf: (item: Item) => number): number {
  return items.reduce((sum, item) => sum + amountOf(item), 0)
}

/** Compares by code units, for `sort`. */
export function compareTexts(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}

/** Summarizes at least one duration. Percentiles are by nearest rank, so each is a measured value. */
export function summarizeDurations(all: readonly Micros[]): Durations {
  const sorted = Float64Array.from(all).sort()
  const rank = (percent: number) => sorted[Math.ceil((sorted.length * percent) / 100) - 1]! / SECOND
  return {
    min_seconds: sorted[0]! / SECOND,
    median_seconds: rank(50),
    p95_seconds: rank(95),
    max_seconds: sorted.at(-1)! / SECOND,
  }
}
