/** Ranges of seeds: the numbers `from` to `to`, both included. */

import { LIMITS } from '../../../lib/limits.ts'

export interface SeedRange {
  readonly from: number
  readonly to: number
}

/**
 * Reads a range such as `1..100000`.
 *
 * @param name the flag or field, for errors
 * @throws RangeError for another text, a range that runs backwards, and one of too many seeds
 */
export function parseSeedRange(text: string, name: string): SeedRange {
  const [, first, last] = /^\s*(\d{1,15})\s*\.\.\s*(\d{1,15})\s*$/.exec(text) ?? []
  const [from, to] = [Number(first), Number(last)]
  const fail = (reason: string) => {
    throw new RangeError(`Failed to read ${name} '${text}': ${reason}. Give a range, as in ${name} 1..1000.`)
  }
  if (first === undefined) fail('it is not a range of seeds')
  if (from > to) fail(`its first seed, ${from}, is above its last`)
  if (to - from >= LIMITS.seeds) fail(`it has more than ${LIMITS.seeds} seeds`)
  return { from, to }
}

export function formatSeedRange({ from, to }: SeedRange): string {
  return `${from}..${to}`
}

export function countSeeds({ from, to }: SeedRange): number {
  return to - from + 1
}

/** A part of a range of seeds: part `index` of `count`, from 1. */
export interface Shard {
  readonly index: number
  readonly count: number
}

/**
 * Returns the seeds of a shard: every `count`-th seed of the range. So the shards of a range share no seed and leave
 * none out, and a shard that stops early has played seeds of the whole range.
 */
export function* seedsOf({ from, to }: SeedRange, { index, count }: Shard): Generator<number> {
  for (let seed = from + index - 1; seed <= to; seed += count) yield seed
}
