import { type Micros, SECOND } from '../../kernel/duration.ts'
import type { FinishReason, RequestProgress } from '../load/engine-requests.ts'
import { answeredTokensOf, type EndedState, type InferenceRow } from './request-row.ts'

/** Returns what an engine has done for a request that it works on. */
export function progressOfRunning(row: Readonly<InferenceRow>, now: Micros): RequestProgress {
  return toProgress(row, now, answeredTokensOf(row, 'left', 0, now), longestAnswerAt(row, now))
}

/** Returns what an engine has done for a request that ends now. A served answer takes its whole time. */
export function progressOfEnded(
  row: Readonly<InferenceRow>,
  state: EndedState,
  answeredTokens: number,
  now: Micros,
): RequestProgress {
  if (state !== 'served') return toProgress(row, now, answeredTokens, longestAnswerAt(row, now))
  const end = row.startedAt + row.workTime(state, now)
  return toProgress(row, end, answeredTokens, row.plan.longestAnswer)
}

export function finishReasonOf({ plan }: Readonly<InferenceRow>, state: EndedState): FinishReason {
  if (state !== 'served') return 'abort'
  return plan.isCut ? 'length' : 'stop'
}

function longestAnswerAt({ plan, firstTokenAt, tokenTime }: Readonly<InferenceRow>, now: Micros): number {
  if (now < firstTokenAt) return 0
  return Math.min(plan.longestAnswer, Math.floor((now - firstTokenAt) / tokenTime) + 1)
}

function toProgress(
  { plan, startedAt, firstTokenAt, tokenTime, cachedTokens }: Readonly<InferenceRow>,
  until: Micros,
  generationTokens: number,
  longestAnswer: number,
): RequestProgress {
  const isPrefilled = until >= firstTokenAt
  // The pieces of an image or of speech are not tokens.
  const tokens = plan.work === undefined ? longestAnswer : 0
  return {
    promptTokens: plan.promptTokens,
    cachedTokens,
    generationTokens,
    queueTime: (startedAt - plan.arrivedAt) / SECOND,
    prefillTime: isPrefilled ? (firstTokenAt - startedAt) / SECOND : undefined,
    decodeTime: isPrefilled ? (until - firstTokenAt) / SECOND : 0,
    tokenTime: tokenTime / SECOND,
    longestAnswer: tokens,
  }
}
