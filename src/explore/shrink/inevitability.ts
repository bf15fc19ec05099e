/** Inevitability: from which request on the client fails, even if the service works again. */

import type { Plan } from '../plan/plan.ts'
import type { FlowRunner } from '../run/runner.ts'
import type { PlanWorld } from './measure.ts'
import { breaks } from './trials.ts'

export interface InevitabilityOptions {
  readonly runner: FlowRunner
  readonly plan: Plan
  readonly world?: PlanWorld | undefined
  readonly signature: string
  /** The number of requests of the run that fails. */
  readonly requests: number
}

/** When a violation became inevitable. */
export interface Inevitability {
  /**
   * The first request from which on the service can work again without saving the client. Undefined: it is saved up to
   * the last request.
   */
  readonly request: number | undefined
  /**
   * `each`: every request was tested. `bisection`: there are too many of them, so it is assumed that a client that is not
   * saved at one request is not saved later.
   */
  readonly method: 'each' | 'bisection'
  /** Requests at which the client is lost although it can be saved later. Empty for `bisection`. */
  readonly exceptions: readonly number[]
}

/** Up to so many requests, each one is tested. */
const MAX_TESTED_REQUESTS = 100

/** Finds the request from which on nothing can save the client. It takes one run for each tested request. */
export async function findInevitability(options: InevitabilityOptions): Promise<Inevitability> {
  const { runner, plan, world, signature, requests } = options
  const isLostAt = async (request: number) =>
    breaks(await runner.run(plan, { ...world, healAt: { request } }), signature)
  if (requests > MAX_TESTED_REQUESTS) {
    return { request: await bisect(requests, isLostAt), method: 'bisection', exceptions: [] }
  }
  const lost: number[] = []
  for (let request = 1; request <= requests; request++) if (await isLostAt(request)) lost.push(request)
  let first = requests + 1
  while (lost.includes(first - 1)) first--
  return {
    request: first > requests ? undefined : first,
    method: 'each',
    exceptions: lost.filter(request => request < first),
  }
}

async function bisect(requests: number, isLostAt: (request: number) => Promise<boolean>): Promise<number | undefined> {
  if (!(await isLostAt(requests))) return undefined
  let saved = 0
  let lost = requests
  while (lost - saved > 1) {
    const middle = Math.floor((saved + lost) / 2)
    if (await isLostAt(middle)) lost = middle
    else saved = middle
  }
  return lost
}
