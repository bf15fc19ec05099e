/** What the rules compare with: the run of a client without faults. */

import { RunAnswers } from './answers/run-answers.ts'
import { askedLines } from './batch-rows.ts'
import type { BaseObservation, Observation } from './observation.ts'

/** Returns what later runs compare with. */
export function toBase(observation: Observation): BaseObservation {
  const { end, created, requests, effects, output } = observation
  const answered = [...askedLines(observation).values()].filter(({ outputRows }) => outputRows.length > 0)
  return {
    ...{ end, requests, effects, output, answers: new RunAnswers(observation) },
    created: created.map(({ kind, id, isAlive, microcents, status }) => ({ kind, id, isAlive, microcents, status })),
    answered: new Set(answered.map(({ customId }) => customId)),
  }
}
