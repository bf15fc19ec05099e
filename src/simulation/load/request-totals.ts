import { type Micros, SECOND } from '../../kernel/duration.ts'

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
  /** Microseconds that instances worked on them, from start to end of each, summed. */
  readonly workTime: Micros
  /** How many of the last interval took how long: keys of `timeKey` with counts. */
  readonly recentTimes: readonly (readonly [key: number, count: number])[]
  /** The last line of the log with the times before. -1: no line. */
  readonly timesLine: number
}

/** The work on a request: its tokens, and the microseconds from its start to its end. */
export interface RequestWorkDone {
  readonly prompt: number
  readonly answer: number
  /** 0 for a request that did not start. */
  readonly time: Micros
  /** From its start to its first token. Default: 0, without a first token. */
  readonly firstTokenTime?: Micros
  /** Between two tokens. Default: 0. */
  readonly tokenTime?: Micros
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
  workTime: 0,
  recentTimes: Object.freeze([]),
  timesLine: -1,
}

/** How a request can end; `abandoned` is left before an instance took it on. */
export type RequestOutcome = 'served' | 'left' | 'abandoned' | 'broken' | 'turnedAway'

// Field by field: a spread takes fifty times as long, and each request needs both.

/** The same with one more that has arrived now. */
export function addArrival(totals: RequestTotals, at: Micros): RequestTotals {
  return {
    at,
    arrived: totals.arrived + 1,
    served: totals.served,
    refused: totals.refused,
    failed: totals.failed,
    left: totals.left,
    promptTokens: totals.promptTokens,
    answerTokens: totals.answerTokens,
    workTime: totals.workTime,
    recentTimes: totals.recentTimes,
    timesLine: totals.timesLine,
  }
}

/** The same with one more that is over now. */
export function addRequest(
  totals: RequestTotals,
  at: Micros,
  outcome: RequestOutcome,
  work: RequestWorkDone,
): RequestTotals {
  return {
    at,
    arrived: totals.arrived,
    served: totals.served + Number(outcome === 'served' || outcome === 'left'),
    refused: totals.refused + Number(outcome === 'turnedAway'),
    failed: totals.failed + Number(outcome === 'broken'),
    left: totals.left + Number(outcome === 'abandoned'),
    promptTokens: totals.promptTokens + work.prompt,
    answerTokens: totals.answerTokens + work.answer,
    workTime: totals.workTime + work.time,
    recentTimes: addTimes(totals.recentTimes, work),
    timesLine: totals.timesLine,
  }
}

/** The times that are counted of each request: the whole, that to the first token, and that between two tokens. */
export const TIMED_PHASES = ['request', 'firstToken', 'token'] as const
export type TimedPhase = (typeof TIMED_PHASES)[number]

function addTimes(times: RequestTotals['recentTimes'], work: RequestWorkDone): RequestTotals['recentTimes'] {
  const { time, firstTokenTime = 0, tokenTime = 0 } = work
  const counted = times.slice()
  countTime(counted, timeKey('request', time))
  countTime(counted, timeKey('firstToken', firstTokenTime))
  countTime(counted, timeKey('token', tokenTime))
  return counted
}

function countTime(counted: (readonly [key: number, count: number])[], key: number | undefined): void {
  if (key === undefined) return
  for (let i = 0; i < counted.length; i++) {
    const [other, count] = counted[i]!
    if (other !== key) continue
    counted[i] = [key, count + 1]
    return
  }
  counted.push([key, 1])
}

/** More than any bucket. */
const KEYS_PER_PHASE = 4096
/** The time between two tokens is a few milliseconds, so its buckets are of thousandths. */
const TOKEN_TIME_FACTOR = 1000

/** Returns the key of a phase that took some time; undefined for a phase that did not happen. */
function timeKey(phase: TimedPhase, time: Micros): number | undefined {
  if (time <= 0) return undefined
  const bucket = timeBucket(phase === 'token' ? time * TOKEN_TIME_FACTOR : time)
  return TIMED_PHASES.indexOf(phase) * KEYS_PER_PHASE + bucket
}

/** Returns the phase and the time of a key: the middle of its bucket, in microseconds. */
export function timeOfKey(key: number): { readonly phase: TimedPhase; readonly time: Micros } {
  const phase = TIMED_PHASES[Math.floor(key / KEYS_PER_PHASE)]!
  const time = bucketTime(key % KEYS_PER_PHASE)
  return { phase, time: phase === 'token' ? time / TOKEN_TIME_FACTOR : time }
}

const MILLISECOND: Micros = SECOND / 1000
/** Powers of two have this many buckets each, so the times of a bucket differ by 3 % at most. */
const BUCKETS_PER_POWER = 32

/** Returns the bucket of a time: whole milliseconds up to 63 ms, and above in steps of 3 % at most. */
function timeBucket(time: Micros): number {
  let milliseconds = Math.max(1, Math.round(time / MILLISECOND))
  let power = 0
  for (; milliseconds >= 2 * BUCKETS_PER_POWER; power++) milliseconds = Math.floor(milliseconds / 2)
  return power * BUCKETS_PER_POWER + milliseconds
}

/** Returns the time in the middle of a bucket, in microseconds. */
function bucketTime(bucket: number): Micros {
  const power = Math.max(0, Math.floor(bucket / BUCKETS_PER_POWER) - 1)
  const width = 2 ** power
  return ((bucket - power * BUCKETS_PER_POWER) * width + (width - 1) / 2) * MILLISECOND
}

/** Requests that have come and are not over. */
export function requestsInProgress({ arrived, served, refused, failed, left }: RequestTotals): number {
  return arrived - served - refused - failed - left
}
