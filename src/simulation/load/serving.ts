/**
 * How a deployment's load flows through its instances: a fluid model, in closed form.
 *
 * Requests are a liquid, not drops: rates and queues are real numbers, between two events they follow from integrals,
 * and no event fires in between. Batches have what live load leaves. What it leaves out: the noise of single arrivals (a
 * queue forms only where the rate exceeds what the instances can do).
 */

import { type Micros, SECOND } from '../../kernel/duration.ts'
import type { EnginePoint, InstanceEngine } from './engine.ts'
import type { LoadCurve } from './load-curve.ts'
import { type PromptWait, promptWait } from './prompt-wait.ts'

/**
 * The fewest instances that keep each at or below a rate.
 *
 * `required(rate) > n` exactly where `rate > rateFor(n)`: an autoscaler finds its next decision with
 * `curve.firstAbove(rateFor(n))` and `curve.firstAtMost(rateFor(n - 1))`.
 *
 * @param each requests/s that an instance should have, above 0
 * @example requiredInstances(100, engine.rateWith(0.7 * engine.places)) // 4 instances of 26.8 requests/s
 */
export function requiredInstances(rate: number, each: number): number {
  const instances = Math.ceil(rate / each)
  // The division rounds, and may be one off; the law with rateFor must hold to the last digit.
  if (instances > 0 && maxRateFor(instances - 1, each) >= rate) return instances - 1
  if (maxRateFor(instances, each) < rate) return instances + 1
  return instances
}

/** The highest rate, in requests/s, for which that many instances are enough: the inverse of `requiredInstances`. */
export function maxRateFor(instances: number, each: number): number {
  return instances * each
}

/** The load of a deployment, as those see it who have to stand back for it. */
export interface LiveLoad {
  readonly curve: LoadCurve
  /** Requests/s that all instances can take on together, above 0. */
  readonly capacity: number
  /** Requests that wait at the moment from which is counted. */
  readonly backlog: number
  readonly queueLimit: number
}

/**
 * How much of [from, to) the load leaves, in seconds of all instances: the integral of the share of them that is idle.
 * None while the load exceeds what they can do, and none until the queue of that time is worked off.
 *
 * @example spareSeconds({ curve: constant(20), capacity: 40, backlog: 0, queueLimit: 100 }, 0, MINUTE) // 30
 */
export function spareSeconds(load: LiveLoad, from: Micros, to: Micros): number {
  return scanSpareTime(load, from, to, Number.POSITIVE_INFINITY).seconds
}

/** The first microsecond at which the load has left that many seconds since `from`; Infinity when not up to `until`. */
export function findSpareTime(load: LiveLoad, seconds: number, from: Micros, until: Micros): Micros {
  return scanSpareTime(load, from, until, seconds).at
}

function scanSpareTime(
  load: LiveLoad,
  from: Micros,
  to: Micros,
  targetSeconds: number,
): { seconds: number; at: Micros } {
  const { curve, capacity, queueLimit } = load
  let waiting = Math.min(load.backlog, queueLimit)
  let spareTotal = 0
  let at = from
  while (at < to && spareTotal < targetSeconds) {
    const isOverloaded = curve.rateAt(at) > capacity
    const end = Math.min(isOverloaded ? curve.firstAtMost(capacity, at, to) : curve.firstAbove(capacity, at, to), to)
    // Below the capacity this only grows: first the queue is worked off, then capacity is left.
    const start = at
    const spareWork = (t: Micros) => (capacity * (t - start)) / SECOND - curve.integral(start, t) - waiting
    const spareAtEnd = spareWork(end)
    if (!isOverloaded && spareAtEnd > 0) {
      const missing = (targetSeconds - spareTotal) * capacity
      if (spareAtEnd >= missing)
        return { seconds: targetSeconds, at: bisectTime(t => spareWork(t) >= missing, start, end) }
      spareTotal += spareAtEnd / capacity
      waiting = 0
    } else waiting = Math.min(Math.max(0, -spareAtEnd), queueLimit)
    at = end
  }
  return { seconds: spareTotal, at: spareTotal >= targetSeconds ? at : Number.POSITIVE_INFINITY }
}

/** The first moment after `from`, at most `to`, at which something holds that holds at `to` and from then on. */
export function bisectTime(holds: (t: Micros) => boolean, from: Micros, to: Micros): Micros {
  let before = from
  let at = to
  while (at - before > 1) {
    const middle = Math.floor((before + at) / 2)
    if (holds(middle)) at = middle
    else before = middle
  }
  return at
}

/** How a deployment does at a moment. */
export interface ServingEstimate {
  /** Requests in work. */
  readonly concurrency: number
  /** Requests that wait. */
  readonly queue: number
  /** Seconds from a request's arrival now to its first token; Infinity while no instance is ready. */
  readonly timeToFirstToken: number
  /** Output tokens/s of all instances together. */
  readonly tokensPerSecond: number
  /** Share of what the ready instances can do; 0 while none is. */
  readonly utilisation: number
}

/** Returns how each instance does at a rate of all of them. While requests wait, all places are taken. */
export function instancePoint(rate: number, speed: InstanceEngine, ready: number, backlog: number): EnginePoint {
  return speed.atRate(backlog > 0 ? Number.POSITIVE_INFINITY : rate / ready)
}

/**
 * How a deployment does at this rate and queue.
 *
 * @param rate requests/s
 * @param ready instances, each counted by its speed
 * @param backlog requests that wait
 * @param promptWait seconds of the wait for other prompts. The longer of it and the wait for a place counts
 */
export function estimateServing(
  rate: number,
  speed: InstanceEngine,
  ready: number,
  backlog: number,
  promptWait = 0,
): ServingEstimate {
  if (ready === 0) {
    const timeToFirstToken = Number.POSITIVE_INFINITY
    return { concurrency: 0, queue: backlog, timeToFirstToken, tokensPerSecond: 0, utilisation: 0 }
  }
  const capacity = ready * speed.requestsPerSecond
  const throughput = backlog > 0 ? capacity : Math.min(rate, capacity)
  const point = instancePoint(rate, speed, ready, backlog)
  return {
    concurrency: ready * point.concurrency,
    queue: backlog,
    timeToFirstToken: Math.max(backlog / capacity, promptWait) + point.firstTokenTime,
    tokensPerSecond: throughput * speed.outputTokens,
    utilisation: throughput / capacity,
  }
}

/** Load that is offered to a deployment. */
export interface DeploymentLoad {
  readonly curve: LoadCurve
  readonly speed: InstanceEngine
}

/** The burstiness of a load is around means of twice this time. */
const HALF_WINDOW = 150 * SECOND

/** Returns how long prompts of a load wait for each other at a time. The wait for places is another: the longer one counts. */
export function waitUnderLoad({ curve, speed }: DeploymentLoad, ready: number, at: Micros): PromptWait {
  const { burstiness = 1, prompt_spread: promptSpread = 0 } = curve.load
  const from = Math.max(0, at - HALF_WINDOW)
  const to = at + HALF_WINDOW
  const rate = (curve.integral(from, to) * SECOND) / (to - from)
  return promptWait(rate, speed, ready, { burstiness, promptSpread })
}
