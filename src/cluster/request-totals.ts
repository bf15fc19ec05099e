import type { Micros } from '../kernel/duration.ts'

/** What became of a deployment's requests that were made one by one, up to a moment. A request counts when it is over. */
export interface RequestTotals {
  /** When the last of them was over; before the world where none was. */
  readonly at: Micros
  /** Answered, to the end or until the client left. */
  readonly served: number
  /** Turned away after a wait. */
  readonly refused: number
  /** Cut off because the instance was lost. */
  readonly failed: number
  readonly promptTokens: number
  readonly answerTokens: number
}

export const NO_REQUESTS: RequestTotals = {
  at: -1,
  served: 0,
  refused: 0,
  failed: 0,
  promptTokens: 0,
  answerTokens: 0,
}

/** How a request can end. */
export type RequestEnd = 'served' | 'left' | 'broken' | 'turnedAway'

/** The same with one more that is over now. */
export function withRequest(
  totals: RequestTotals,
  at: Micros,
  end: RequestEnd,
  tokens: { readonly prompt: number; readonly answer: number },
): RequestTotals {
  return {
    at,
    served: totals.served + Number(end === 'served' || end === 'left'),
    refused: totals.refused + Number(end === 'turnedAway'),
    failed: totals.failed + Number(end === 'broken'),
    promptTokens: totals.promptTokens + tokens.prompt,
    answerTokens: totals.answerTokens + tokens.answer,
  }
}
