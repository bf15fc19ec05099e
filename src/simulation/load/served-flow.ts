/** How the requests of an offered load wait and are served within a serving segment, in closed form. */
import { type Micros, SECOND } from '../../kernel/duration.ts'
import type { EnginePoint } from './engine.ts'
import { bisectTime, type DeploymentLoad } from './serving.ts'

/** A queue shorter than this is a rounding error: it has no request. */
const NEGLIGIBLE_BACKLOG = 1e-6

/**
 * A stretch of service in which everything changes linearly. Its times are those at which instances take requests on. They
 * are real numbers, and the last stretch can end at Infinity.
 */
export interface ServedStretch {
  readonly from: Micros
  readonly to: Micros
  /** Requests/s that the instances take on at its start, and the change per microsecond. */
  readonly flow: number
  readonly flowSlope: number
  /** Seconds that the request of its start has waited, and the change per microsecond. */
  readonly wait: number
  readonly waitSlope: number
  /** Seconds to the first token at its start, without the wait, and the change per microsecond. */
  readonly firstTokenTime: number
  readonly firstTokenSlope: number
  /** Seconds from token to token at its start, and the change per microsecond. */
  readonly tokenTime: number
  readonly tokenSlope: number
}

/** What a serving segment begins with. */
export interface FlowStart {
  readonly at: Micros
  readonly load: DeploymentLoad
  /** Ready instances, each weighted by its speed. */
  readonly effectiveInstances: number
  readonly queueLimit: number
  /** Requests that wait at its start, and seconds that the first of them has waited. */
  readonly backlog: number
  readonly headWait: number
}

/**
 * Yields the stretches of service from the start of a segment on, without end. A later segment cuts them.
 *
 * The queue is first in, first out. The requests that wait at the start arrived evenly; those behind them have the exact
 * wait of their arrival, which is linear between the breakpoints of the load (A).
 */
export function* servedStretches(start: FlowStart): Generator<ServedStretch> {
  const { load, effectiveInstances, queueLimit } = start
  const { curve, speed } = load
  const capacity = effectiveInstances * speed.requestsPerSecond
  if (capacity === 0) return
  const full = engineTimes(speed.atRate(Number.POSITIVE_INFINITY))
  const secondsFor = (requests: number) => requests / capacity
  let backlog = Math.min(start.backlog, queueLimit)
  /** When the next request is taken on, and when it arrives. */
  let served: number = start.at
  let at = start.at
  if (backlog <= NEGLIGIBLE_BACKLOG) backlog = 0
  else {
    const to = served + secondsFor(backlog) * SECOND
    yield busyStretch(served, to, full, capacity, start.headWait, secondsFor(backlog))
    served = to
  }
  while (at < Number.POSITIVE_INFINITY) {
    const rate = curve.rateAt(at)
    const breakpoint = curve.nextBreakpoint(at)
    if (backlog === 0 && rate <= capacity) {
      const [low, high] = speed.linearAround(rate / effectiveInstances)
      // Times are linear only while the rate stays between two points of the table.
      const outside = curve.firstOutside(low * effectiveInstances, high * effectiveInstances, at)
      const end = Math.min(breakpoint, curve.firstAbove(capacity, at, breakpoint), outside)
      // Twice the distance of the mean from the start: exact for a straight line.
      const flowSlope =
        end < Number.POSITIVE_INFINITY ? (2 * ((curve.integral(at, end) * SECOND) / (end - at) - rate)) / (end - at) : 0
      yield {
        ...{ from: at, to: end, flow: rate, flowSlope, wait: 0, waitSlope: 0 },
        ...engineTimes(
          speed.atRate(rate / effectiveInstances),
          speed.atRate((rate + flowSlope * (end - at)) / effectiveInstances),
          end - at,
        ),
      }
      at = end
      served = end
      continue
    }
    const isGrowing = rate > capacity
    const crossing = isGrowing
      ? curve.firstAtMost(capacity, at, breakpoint)
      : curve.firstAbove(capacity, at, breakpoint)
    const begin = at
    const queueAt = (t: Micros) => backlog + curve.integral(begin, t) - (capacity * (t - begin)) / SECOND
    const turn = Math.min(breakpoint, crossing)
    if (isGrowing && backlog >= queueLimit) {
      // The queue is full, so as many are accepted as are served.
      const to = served + (turn - at)
      yield busyStretch(served, to, full, capacity, secondsFor(queueLimit), secondsFor(queueLimit))
      served = to
      at = turn
      continue
    }
    const limit = isGrowing ? queueLimit : 0
    const reaches = (t: Micros) => (isGrowing ? queueAt(t) >= queueLimit : queueAt(t) <= 0)
    const end = endOfQueueChange(reaches, at, turn, Math.abs(limit - backlog) / Math.abs(rate - capacity))
    if (end === Number.POSITIVE_INFINITY) {
      const wait = secondsFor(backlog)
      const waitSlope = isGrowing ? (rate - capacity) / rate / SECOND : 0
      yield { ...busyStretch(served, end, full, capacity, wait, wait), waitSlope }
      return
    }
    const isReached = reaches(end)
    const after = isReached ? limit : queueAt(end)
    const accepted = after - backlog + (capacity * (end - at)) / SECOND
    const to = served + secondsFor(Math.max(0, accepted)) * SECOND
    if (to > served) yield busyStretch(served, to, full, capacity, secondsFor(backlog), secondsFor(after))
    backlog = after
    at = end
    served = backlog === 0 ? end : to
  }
}

/**
 * Returns when a growing queue is full or a falling one is empty, at the latest `turn`.
 *
 * @param seconds the time that it takes at a constant rate, used if there is no turn
 */
function endOfQueueChange(reaches: (t: Micros) => boolean, from: Micros, turn: Micros, seconds: number): Micros {
  if (turn < Number.POSITIVE_INFINITY) return reaches(turn) ? bisectTime(reaches, from, turn) : turn
  const latest = from + Math.ceil(seconds * SECOND) + 1
  return latest < Number.POSITIVE_INFINITY ? bisectTime(reaches, from, latest) : Number.POSITIVE_INFINITY
}

type EngineTimes = Pick<ServedStretch, 'firstTokenTime' | 'firstTokenSlope' | 'tokenTime' | 'tokenSlope'>

/** Returns the times of a stretch from its start to its end, between which they are straight lines. */
function engineTimes(start: EnginePoint, end = start, duration = Number.POSITIVE_INFINITY): EngineTimes {
  const slope = (key: 'firstTokenTime' | 'tokenTime') =>
    duration < Number.POSITIVE_INFINITY ? (end[key] - start[key]) / duration : 0
  const { firstTokenTime, tokenTime } = start
  return { firstTokenTime, firstTokenSlope: slope('firstTokenTime'), tokenTime, tokenSlope: slope('tokenTime') }
}

function busyStretch(
  from: number,
  to: number,
  times: EngineTimes,
  flow: number,
  wait: number,
  lastWait: number,
): ServedStretch {
  const waitSlope = to > from && lastWait !== wait ? (lastWait - wait) / (to - from) : 0
  return { from, to, flow, flowSlope: 0, wait, waitSlope, ...times }
}

/** Returns the requests that are taken on in a part of a stretch. */
export function requestsIn({ from, flow, flowSlope }: ServedStretch, start: number, end: number): number {
  const duration = end - start
  return Math.max(0, ((flow + flowSlope * (start - from)) * duration + (flowSlope * duration * duration) / 2) / SECOND)
}
