/**
 * The wait that a fluid does not see: prompts that come at once wait for each other, also on instances with free places.
 *
 * Below its capacity an engine reads a new prompt in its next step, so what queues is the prompt, not the place. The
 * instances are servers of prompts. The form is empirical: between one joint queue and separate ones, with arrivals in
 * batches. A reference simulation of single events is its licence.
 */
import { exp, ln } from '../../kernel/exact-math.ts'
import type { InstanceEngine } from './engine.ts'

/** How requests arrive. */
export interface Arrivals {
  /** Variance over mean of the arrivals in 10 s, around the mean of 5 min. 1: independent requests. */
  readonly burstiness: number
  /** Squared coefficient of variation of the lengths of prompts. */
  readonly promptSpread: number
}

/** The waits at one moment: the share of requests that wait, and the mean of all, in seconds. */
export interface PromptWait {
  readonly share: number
  readonly mean: number
}

export const NO_WAIT: PromptWait = { share: 0, mean: 0 }

/** Above this use a load does not last long enough for the waits of a steady state. */
const MOST_USE = 0.85

/**
 * Returns how long prompts wait for each other.
 *
 * @param rate requests/s of all instances
 * @param ready instances, each counted by its speed
 */
export function promptWait(rate: number, engine: InstanceEngine, ready: number, arrivals: Arrivals): PromptWait {
  if (rate <= 0 || ready <= 0) return NO_WAIT
  const { stepTokens } = engine.workload
  const { concurrency } = engine.atRate(rate / ready)
  const service = (engine.readTokens * engine.step(concurrency, stepTokens)) / stepTokens
  // Above the capacity the fluid has it.
  if (rate >= ready * engine.requestsPerSecond) return NO_WAIT
  const use = Math.min(MOST_USE, (rate * service) / ready)
  const batch = 1 + (Math.max(1, arrivals.burstiness) - 1) / ready
  const power = exp(Math.max(-700, (1 + Math.sqrt(2 * (ready + 1))) * ln(use)))
  const single = ((1 + arrivals.promptSpread) / 2) * Math.sqrt(power / ready)
  const mean = (service / (1 - use)) * (single + (batch - 1) / 2)
  return { share: 1 - (2 * (1 - use)) / (1 + batch), mean }
}

/** Returns the wait that a share of the requests does not exceed, in seconds. */
export function waitQuantile({ share, mean }: PromptWait, quantile: number): number {
  const above = Math.max(1 - quantile, 1e-12)
  return share > above ? (mean / share) * ln(share / above) : 0
}
