/** Inevitability: after which request the client fails even if the service works again. */

import { type RunSetting, RunStopped } from '../run/runner.ts'
import type { ShrinkRequest } from '../stages/shrinker.ts'
import { breaks } from './trials.ts'

export interface InevitabilityOptions extends Pick<ShrinkRequest, 'runner' | 'plan' | 'signature' | 'signal'> {
  readonly setting?: RunSetting | undefined
  /** The number of requests of the run that fails. */
  readonly requests: number
}

/** When a violation became inevitable. */
export interface Inevitability {
  /**
   * The last request before which the service can recover and save the client. After it nothing can. 0: even a recovery
   * before the first request is too late.
   */
  readonly afterRequest: number
  /**
   * `each`: every request was tested. `bisection`: there are too many of them, so it is assumed that a client that is not
   * saved by a recovery before one request is not saved by a later recovery.
   */
  readonly method: 'each' | 'bisection'
  /** Requests before which a recovery does not help, although a later one does. Empty for `bisection`. */
  readonly exceptions: readonly number[]
}

/** Up to so many requests, each one is tested. */
const MAX_TESTED_REQUESTS = 100

/**
 * Finds the request after which nothing can save the client. It takes one run for each tested request.
 *
 * @throws RunStopped after an abort of the signal
 */
export async function findInevitability(options: InevitabilityOptions): Promise<Inevitability> {
  const { runner, plan, setting, signature, requests, signal } = options
  const isLostAt = async (request: number) => {
    if (signal?.aborted) throw new RunStopped()
    return breaks(await runner.run(plan, { ...setting, healAt: { request } }), signature)
  }
  if (requests > MAX_TESTED_REQUESTS) {
    return { afterRequest: await bisect(requests, isLostAt), method: 'bisection', exceptions: [] }
  }
  const lost: number[] = []
  for (let request = 1; request <= requests; request++) if (await isLostAt(request)) lost.push(request)
  let afterRequest = requests
  while (lost.includes(afterRequest)) afterRequest--
  return { afterRequest, method: 'each', exceptions: lost.filter(request => request < afterRequest) }
}

async function bisect(requests: number, isLostAt: (request: number) => Promise<boolean>): Promise<number> {
  let saved = 0
  let lost = requests + 1
  while (lost - saved > 1) {
    const middle = Math.floor((saved + lost) / 2)
    if (await isLostAt(middle)) lost = middle
    else saved = middle
  }
  return saved
}
