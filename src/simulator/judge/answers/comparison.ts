/** A run that returned, compared with the run without faults. */

import { isRecord } from '../../../lib/json-text.ts'
import { once, oncePer } from '../../../lib/once.ts'
import { type AskedLine, failedLines } from '../batch-rows.ts'
import { badEndsIn } from '../lifecycles.ts'
import type { LearnedTelling, Observation } from '../observation.ts'
import type { Normalise } from './contents.ts'
import { withFigures } from './figures.ts'
import type { Teller } from './leaves.ts'
import { RunAnswers } from './run-answers.ts'
import { findTellers, isEffort, type ReadResult, readResult } from './telling.ts'

export interface Comparison {
  readonly answers: RunAnswers
  /** The result without faults, and that of the run. */
  readonly usual: ReadResult
  readonly read: ReadResult
  /** The places of the result that may tell of a loss. */
  readonly tellers: readonly Teller[]
  /** Whether the result is that without faults, apart from ids, efforts and times. */
  readonly isUsual: () => boolean
}

/** Returns the comparison of a run; undefined unless both runs returned. Without a base, the usual result is undefined. */
export const comparisonOf = oncePer((observation: Observation): Comparison | undefined => {
  const { end, base } = observation
  if (end.kind !== 'returned' || (base !== undefined && base.end.kind !== 'returned')) return undefined
  const statuses = new Set(observation.created.map(({ status }) => status))
  const answers = new RunAnswers(observation, base)
  const usualEnd = base?.end.kind === 'returned' ? base.end : { result: undefined }
  const whole = readResult(usualEnd, text => base?.answers.texts.has(answers.normaliseUsual(text)) === true)
  const now = readResult(end, text => answers.has(answers.normalise(text)))
  const [usual, read] = withFigures(whole, now, answers)
  const failed = new Set(failedLines(observation).flatMap(line => namesOfFailure(line, base)))
  const tellers = findTellers(usual, read, answers, badEndsIn(observation), statuses, failed)
  const isUsual = once(() => {
    const values = ({ leaves }: ReadResult, normalise: Normalise) =>
      JSON.stringify(leaves.map(({ place, value }) => (isEffort(place) ? '' : normalise(String(value)))))
    return base !== undefined && values(read, answers.normalise) === values(usual, base.answers.normalise)
  })
  return { answers, usual, read, tellers, isUsual }
})

/** Returns what names a line that failed, but not without faults: its id, and the codes of its errors. */
function namesOfFailure({ customId, errorRows }: AskedLine, base: Observation['base']): string[] {
  if (base?.answered.has(customId) !== true) return []
  return [customId, ...errorRows.flatMap(({ error }) => (isRecord(error) ? String(error.code) : []))]
}

/** Tells whether a place tells of a loss by itself: it does not differ so in runs in which nothing is lost. */
export function tellsLoss({ key, tells }: Teller, learned: LearnedTelling | undefined): boolean {
  return tells === 'always' || (tells === 'ifQuiet' && learned?.noise.has(key) !== true)
}
