/** A run that returned, compared with the run without faults. */

import type { LearnedTelling, Observation } from '../observation.ts'
import type { Teller } from './leaves.ts'
import { RunAnswers } from './run-answers.ts'
import { findTellers, type ReadResult, readResult } from './telling.ts'

export interface Comparison {
  readonly answers: RunAnswers
  /** The result without faults, and that of the run. */
  readonly usual: ReadResult
  readonly read: ReadResult
  /** The places of the result that may tell of a loss. */
  readonly tellers: readonly Teller[]
}

/** Several rules need the comparison of a run, and it reads every answer. */
const comparisons = new WeakMap<Observation, Comparison>()

/** Returns the comparison of a run; undefined unless both runs returned. Without a base, the usual result is undefined. */
export function comparisonOf(observation: Observation): Comparison | undefined {
  const { end, base } = observation
  if (end.kind !== 'returned' || (base !== undefined && base.end.kind !== 'returned')) return undefined
  const known = comparisons.get(observation)
  if (known !== undefined) return known
  const answers = new RunAnswers(observation, base?.answers)
  const usual = readResult(base?.end.kind === 'returned' ? base.end.result : undefined)
  const read = readResult(end.result)
  const comparison = { answers, usual, read, tellers: findTellers(usual, read, answers) }
  comparisons.set(observation, comparison)
  return comparison
}

/** Tells whether a place tells of a loss by itself: it does not differ so in runs in which nothing is lost. */
export function tellsLoss({ key, tells }: Teller, learned: LearnedTelling | undefined): boolean {
  return tells === 'always' || (tells === 'ifQuiet' && learned?.noise.has(key) !== true)
}
