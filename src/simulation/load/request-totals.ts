import type { Micros } from '../../kernel/duration.ts'

/** What became of a deployment's requests that were made one by one, up to a moment. What is in none of the ends is not over. */
export interface RequestTotals {
  /** When the last of them came or was over; before the world where none did. */
  readonly at: Micros
  readonly arrived: number
  /** Answered, to the end or until the client left in the middle. */
  readonly served: number
  /** Turned away after a wait. */
  readonly refused: number
  /** Cut off because the instance was lost. */
  readonly failed: number
  /** Whose client left before an instance took them on. */
  readonly left: number
  readonly promptTokens: number
  readonly answerTokens: number
}

export const NO_REQUESTS: RequestTotals = {
  at: -1,
  arrived: 0,
  served: 0,
  refused: 0,
  failed: 0,
  left: 0,
  promptTokens: 0,
  answerTokens: 0,
}

/** How a request can end; `abandoned` is left before an instance took it on. */
export type RequestOutcome = 'served' | 'left' | 'abandoned' | 'broken' | 'turnedAway'

/** The same with one more that is over now. */
export function addRequest(
  totals: RequestTotals,
  at: Micros,
  outcome: RequestOutcome,
  tokens: { readonly prompt: number; readonly answer: number },
): RequestTotals {
  return {
    at,
    arrived: totals.arrived,
    served: totals.served + Number(outcome === 'served' || outcome === 'left'),
    refused: totals.refused + Number(outcome === 'turnedAway'),
    failed: totals.failed + Number(outcome === 'broken'),
    left: totals.left + Number(outcome === 'abandoned'),
    promptTokens: totals.promptTokens + tokens.prompt,
    answerTokens: totals.answerTokens + tokens.answer,
  }
}

/** Requests that have come and are not over. */
export function requestsInProgress({ arrived, served, refused, failed, left }: RequestTotals): number {
  return arrived - served - refused - failed - left
}
