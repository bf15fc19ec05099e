/** The single requests that one engine has worked on since it started. */
import { createHistograms, type HistogramCounts, observe } from './engine-histograms.ts'

/** Why an answer ended: at its end, at its longest length, or because its client left or its engine was lost. */
export const FINISH_REASONS = ['stop', 'length', 'abort'] as const
export type FinishReason = (typeof FINISH_REASONS)[number]

/** Totals that are replaced, never edited, so that forks share them. */
export interface EngineRequests {
  readonly promptTokens: number
  /** The tokens of prompts that were in the prefix cache. */
  readonly cachedTokens: number
  readonly generationTokens: number
  /** Requests by the reason of their end, in the order of `FINISH_REASONS`. */
  readonly finished: readonly number[]
  readonly histograms: Readonly<HistogramCounts>
}

/** The totals of an engine that has just started. */
export const NO_ENGINE_REQUESTS: EngineRequests = Object.freeze({
  promptTokens: 0,
  cachedTokens: 0,
  generationTokens: 0,
  finished: Object.freeze(FINISH_REASONS.map(() => 0)),
  histograms: Object.freeze(createHistograms()),
})

/** A request as its engine has worked on it up to a time. Durations are in seconds. */
export interface RequestProgress {
  readonly promptTokens: number
  /** The tokens of its prompt that were in the prefix cache. */
  readonly cachedTokens: number
  /** Tokens that were generated so far, of all its answers. */
  readonly generationTokens: number
  readonly queueTime: number
  /** Until the first token; undefined while the prompt is read. */
  readonly prefillTime: number | undefined
  /** Since the first token. */
  readonly decodeTime: number
  /** Between two tokens. */
  readonly tokenTime: number
  /** Tokens of its longest answer so far. */
  readonly longestAnswer: number
}

/** Returns the totals with what an engine has done for a request that it still works on. */
export function withRunningRequest(totals: EngineRequests, progress: RequestProgress): EngineRequests {
  if (progress.prefillTime === undefined) return totals
  const histograms = totals.histograms.slice()
  observeTokens(histograms, progress)
  return {
    ...totals,
    promptTokens: totals.promptTokens + progress.promptTokens,
    cachedTokens: totals.cachedTokens + progress.cachedTokens,
    generationTokens: totals.generationTokens + progress.generationTokens,
    histograms,
  }
}

/** A request at its end. */
export interface EndedRequest extends RequestProgress {
  readonly reason: FinishReason
}

/** Returns the totals with requests that have ended. */
export function withEndedRequests(totals: EngineRequests, requests: Iterable<EndedRequest>): EngineRequests {
  let { promptTokens, cachedTokens, generationTokens } = totals
  const finished = totals.finished.slice()
  const histograms = totals.histograms.slice()
  for (const request of requests) {
    observeEnd(histograms, request)
    promptTokens += request.promptTokens
    cachedTokens += request.cachedTokens
    generationTokens += request.generationTokens
    finished[FINISH_REASONS.indexOf(request.reason)]! += 1
  }
  return { promptTokens, cachedTokens, generationTokens, finished, histograms }
}

function observeEnd(histograms: HistogramCounts, progress: RequestProgress): void {
  const { promptTokens, generationTokens, queueTime, prefillTime, decodeTime, tokenTime, longestAnswer } = progress
  observeTokens(histograms, progress)
  const inferenceTime = (prefillTime ?? 0) + decodeTime
  observe(histograms, 'endToEndTime', queueTime + inferenceTime)
  observe(histograms, 'queueTime', queueTime)
  observe(histograms, 'inferenceTime', inferenceTime)
  observe(histograms, 'prefillTime', prefillTime ?? 0)
  observe(histograms, 'decodeTime', decodeTime)
  observe(histograms, 'promptTokens', promptTokens)
  observe(histograms, 'generationTokens', generationTokens)
  if (longestAnswer > 1) observe(histograms, 'timePerOutputToken', tokenTime)
}

function observeTokens(histograms: HistogramCounts, progress: RequestProgress): void {
  const { queueTime, prefillTime, tokenTime, longestAnswer } = progress
  if (prefillTime === undefined) return
  observe(histograms, 'timeToFirstToken', queueTime + prefillTime)
  if (longestAnswer > 1) observe(histograms, 'interTokenLatency', tokenTime, longestAnswer - 1)
}
