/**
 * What an instance can do and how a deployment's load flows through its instances: a fluid model, in closed form.
 *
 * Requests are a liquid, not drops: rates and queues are real numbers, between two events they follow from integrals,
 * and no event fires in between. Batches have what live load leaves. What it leaves out: the noise of single arrivals (a queue forms only where the rate
 * exceeds what the instances can do), a token time that grows with the batch, mixtures of experts (sizes count as dense).
 */

import type { GpuType } from '../../data/records/gpu-config.ts'
import { type Micros, SECOND } from '../../kernel/duration.ts'
import { tokensPerSecond } from './gpu-throughput.ts'
import type { LoadCurve } from './load-curve.ts'

/** What one instance of a deployment can do. */
export interface InstanceSpeed {
  /** Output tokens/s of an instance that has all the work it can take. */
  readonly tokensPerSecond: number
  /** Seconds per output token of a request that is alone. */
  readonly tokenTime: number
  /** Seconds to the first token of a request that is alone. */
  readonly firstTokenTime: number
  /** Requests/s of an instance that has all the work it can take. */
  readonly requestsPerSecond: number
  /** Seconds from start to end of a request that is alone. */
  readonly requestTime: number
  /** The most requests it works on at once: its `max_batch_size`. */
  readonly maxConcurrency: number
  /** Mean lengths of a prompt and of an answer in tokens. */
  readonly promptTokens: number
  readonly outputTokens: number
}

/** What an instance's speed follows from. Token counts are means of its load. */
export interface InstanceWorkload {
  readonly gpu: GpuType
  readonly gpus: number
  /** Billions of parameters. */
  readonly parametersB: number
  readonly maxBatchSize: number
  readonly promptTokens: number
  readonly outputTokens: number
  /** Share of the prompt tokens that are in the prefix cache, from 0 to 1. Reading them takes no time. Default: 0. */
  readonly cachedShare?: number
}

/**
 * Share of an instance's time that goes into prompts at 1,000 tokens in and out. Chosen so that 8,192 in and 1,024 out
 * gives 0.235 of the output rate, the middle of the 0.18–0.29 of the TensorRT-LLM tables: 1 / (1 + 7 × share).
 */
const PROMPT_SHARE = 0.465

/** Tokens in the prompt of the tables of time to first token. */
const TABLE_PROMPT_TOKENS = 256

/**
 * Seconds per output token at batch 1 on H100: the three middles of llm-d's inference simulator, 12.5 ms for 8B on 1 GPU,
 * 23 ms for 70B on 8, 80 ms for 405B on 8, as a fixed part, a part per billion parameters on each GPU, and a part for
 * every GPU beside the first (linear in the GPUs: A).
 */
const TOKEN_TIME = { fixed: 0.0016, perBillion: 0.00136, perFurtherGpu: 0.00136 } as const

/**
 * Time per token against an H100. A100 and L40S by the middles of llm-d's figures for 8B (15–25 and 25–35 ms against
 * 10–15), L4 from the L40S by memory bandwidth, the others from the H100 by memory bandwidth (A).
 */
const LATENCY_FACTORS: Readonly<Record<GpuType, number>> = {
  'L4-24GB': (2.4 * 0.86) / 0.3,
  'L40S-48GB': 2.4,
  'A100-80GB': 1.6,
  'H100-80GB': 1,
  'H200-141GB': 3.35 / 4.8,
  'B200-180GB': 3.35 / 8,
  'B300-270GB': 3.35 / 8,
  'RTXPRO6000-96GB': 3.35 / 1.8,
  other: 1,
}

/**
 * Time to first token at 256 tokens in, in token times (A): the one factor that falls into llm-d's three ranges, 60–120 ms
 * (8B on 1 H100), 150–250 ms (70B on 8) and 0.6–1.4 s (405B on 8), with 112, 207 and 720 ms.
 */
const FIRST_TOKEN_FACTOR = 9

/**
 * What an instance can do with a load of these lengths.
 *
 * An instance with c requests yields c / requestTime requests/s, until either its GPUs have no more tokens/s to give or
 * all of its `max_batch_size` places are taken.
 *
 * @throws Error for the GPU type `other`, which has no figures
 * @example
 * instanceSpeed({ gpu: 'H100-80GB', gpus: 1, parametersB: 8, maxBatchSize: 96, promptTokens: 500, outputTokens: 200 })
 * // 12.5 ms a token, 0.12 s to the first, 36.7 requests/s, 7,340 tokens/s: 96 places are fewer than the GPU could serve
 */
export function instanceSpeed(workload: InstanceWorkload): InstanceSpeed {
  const { gpu, gpus, parametersB, maxBatchSize, promptTokens, outputTokens, cachedShare = 0 } = workload
  const readTokens = promptTokens * (1 - cachedShare)
  const tableRate = tokensPerSecond(gpu, gpus, parametersB)
  const tokenTime =
    (TOKEN_TIME.fixed + (TOKEN_TIME.perBillion * parametersB) / gpus + TOKEN_TIME.perFurtherGpu * (gpus - 1)) *
    LATENCY_FACTORS[gpu]
  const secondsPerPromptToken = PROMPT_SHARE / tableRate
  const firstTokenTime = Math.max(
    tokenTime,
    FIRST_TOKEN_FACTOR * tokenTime + (readTokens - TABLE_PROMPT_TOKENS) * secondsPerPromptToken,
  )
  const requestTime = firstTokenTime + outputTokens * tokenTime
  const computeTime = readTokens * secondsPerPromptToken + (outputTokens * (1 - PROMPT_SHARE)) / tableRate
  const requestsPerSecond = Math.min(maxBatchSize / requestTime, 1 / computeTime)
  return {
    tokensPerSecond: requestsPerSecond * outputTokens,
    tokenTime,
    firstTokenTime,
    requestsPerSecond,
    requestTime,
    maxConcurrency: maxBatchSize,
    promptTokens,
    outputTokens,
  }
}

/**
 * Tokens/s, prompts and answers together, of an instance that works on nothing but lines of this mean length: the same
 * instance as that of live load.
 */
export function batchTokensPerSecond(workload: InstanceWorkload): number {
  return instanceSpeed(workload).requestsPerSecond * (workload.promptTokens + workload.outputTokens)
}

/**
 * The fewest instances that keep each at or below `targetShare` of the concurrency it saturates at. Requests in work are
 * rate × requestTime (Little's law), so the share of concurrency is the share of requests/s.
 *
 * `required(rate) > n` exactly where `rate > rateFor(n)`: an autoscaler finds its next decision with
 * `curve.firstAbove(rateFor(n))` and `curve.firstAtMost(rateFor(n - 1))`.
 *
 * @param targetShare in (0, 1], 0.7 for instance
 * @example required(100, speed, 0.7) // 4 instances of 36.7 requests/s
 */
export function requiredInstances(rate: number, speed: InstanceSpeed, targetShare: number): number {
  const instances = Math.ceil(rate / maxRateFor(1, speed, targetShare))
  // The division rounds, and may be one off; the law with rateFor must hold to the last digit.
  if (instances > 0 && maxRateFor(instances - 1, speed, targetShare) >= rate) return instances - 1
  if (maxRateFor(instances, speed, targetShare) < rate) return instances + 1
  return instances
}

/** The highest rate, in requests/s, for which that many instances are enough: the inverse of `required`. */
export function maxRateFor(instances: number, speed: InstanceSpeed, targetShare: number): number {
  return instances * (targetShare * speed.requestsPerSecond)
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
function bisectTime(holds: (t: Micros) => boolean, from: Micros, to: Micros): Micros {
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

/**
 * How a deployment does at this rate and queue.
 *
 * Requests in work are rate × requestTime (Little's law), and all places once the instances have all the work they can
 * take. The first token waits for the queue, then for its prompt, which takes up to twice as long as alone the busier the
 * instances are, because prompts and answers share the GPUs (A).
 *
 * @param rate requests/s
 * @param backlog requests that wait
 */
export function estimateServing(rate: number, speed: InstanceSpeed, ready: number, backlog: number): ServingEstimate {
  if (ready === 0) {
    const timeToFirstToken = Number.POSITIVE_INFINITY
    return { concurrency: 0, queue: backlog, timeToFirstToken, tokensPerSecond: 0, utilisation: 0 }
  }
  const capacity = ready * speed.requestsPerSecond
  const isFull = backlog > 0 || rate >= capacity
  const throughput = isFull ? capacity : rate
  const utilisation = throughput / capacity
  return {
    concurrency: isFull ? ready * speed.maxConcurrency : rate * speed.requestTime,
    queue: backlog,
    timeToFirstToken: backlog / capacity + speed.firstTokenTime * (1 + utilisation),
    tokensPerSecond: throughput * speed.outputTokens,
    utilisation,
  }
}

/** Load that is offered to a deployment. */
export interface DeploymentLoad {
  readonly curve: LoadCurve
  readonly speed: InstanceSpeed
}
