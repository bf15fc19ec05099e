/** Shrinking: finds the simplest plan that still breaks the same invariant in the same way. */
import type { FlowWorld } from '../flow-world.ts'
import type { InputDeclarations } from '../input.ts'
import type { Tape } from '../plan/choices.ts'
import { type RunResult, type RunSetting, RunStopped } from '../run/runner.ts'
import type { Shrinker, ShrinkRequest, ShrunkFinding } from '../stages/shrinker.ts'
import { inputsOfTape } from '../values.ts'
import { cutByLineage, cutSingles, cutSubsets, cutUnfired } from './cut.ts'
import { concretize, simplifyKinds, simplifyTimes } from './simplify.ts'
import { simplifyWorld } from './simplify-world.ts'
import { breaks, Trials } from './trials.ts'

/** Inputs that are tried at most. Each takes two runs at most. */
const MAX_TRIALS = 60

/** Tries the simplest inputs, then a lower option of each choice: the first one, or the lowest by bisection. */
async function simplifyInputs(trials: Trials, declared: InputDeclarations): Promise<void> {
  if (trials.best.inputs === undefined) return
  let left = MAX_TRIALS
  const accept = async (tape: Tape): Promise<boolean> => {
    if (left === 0) return false
    left--
    return trials.acceptSetting({ inputs: tape.length === 0 ? undefined : inputsOfTape(declared, tape) })
  }
  if (await accept([])) return
  // A lower length makes the tape shorter.
  for (let at = 0; at < trials.best.inputs.tape.length; at++) {
    const lower = (value: number) => {
      const { tape } = trials.best.inputs!
      return accept(tape.map((choice, i) => (i === at ? { ...choice, value } : choice)))
    }
    if (trials.best.inputs.tape[at]!.value === 0 || (await lower(0))) continue
    for (let low = 0; trials.best.inputs.tape[at]!.value - low > 1 && left > 0; ) {
      const middle = Math.floor((low + trials.best.inputs.tape[at]!.value) / 2)
      if (!(await lower(middle))) low = middle
    }
  }
}

export interface ShrinkOptions extends ShrinkRequest {
  /** See `TrialsOptions`. Default: none is known. */
  readonly bases?: Map<string, RunResult> | undefined
  /** The world of the flow. Simpler ones are tried in its place. Default: the world stays. */
  readonly world?: FlowWorld | undefined
  /** The inputs of the flow. Default: the inputs of the run stay. */
  readonly declaredInputs?: InputDeclarations | undefined
  /** Runs at most. Default: 500. */
  readonly maxRuns?: number | undefined
}

/** Returns the shrinker of an exploration, with the same options for each of its findings. */
export function createShrinker(options: Pick<ShrinkOptions, 'world' | 'declaredInputs' | 'maxRuns'> = {}): Shrinker {
  const bases = new Map<string, RunResult>()
  return { shrink: request => shrink({ bases, ...options, ...request }) }
}

/** Runs at most, by default. */
const DEFAULT_MAX_RUNS = 500
/** Runs that confirm the result. */
const CONFIRMING_RUNS = 2

/**
 * Shrinks a plan that breaks an invariant. A step is accepted only if the signature stays the same.
 *
 * @returns undefined if the plan does not break the invariant with this signature
 * @example await shrink({ runner, plan, signature: 'noLeak@createLlmDeployment/error' })
 */
export async function shrink(options: ShrinkOptions): Promise<ShrunkFinding | undefined> {
  const { runner, plan, inputs, signature, signal, result, world, declaredInputs, bases = new Map() } = options
  const maxRuns = (options.maxRuns ?? DEFAULT_MAX_RUNS) - CONFIRMING_RUNS
  const trials = await Trials.start(plan, inputs, { runner, signature, signal, result, bases, maxRuns })
  if (trials === undefined) return undefined
  await cutUnfired(trials)
  await cutByLineage(trials, signature)
  await cutSubsets(trials)
  await cutSingles(trials)
  const { length } = trials.best.plan
  await concretize(trials)
  // A chance can become many requests.
  if (trials.best.plan.length > length) await cutSubsets(trials)
  await simplifyKinds(trials)
  await simplifyTimes(trials)
  if (declaredInputs !== undefined) await simplifyInputs(trials, declaredInputs)
  const leftOut = world === undefined ? [] : await simplifyWorld(trials, world, runner.isSlow === true)
  // A simpler item can make another one unnecessary.
  await cutSingles(trials)
  const isMinimal = !trials.isOver
  const isRepeatable = await trials.confirm()
  const { best, runs } = trials
  return {
    ...{ plan: best.plan, world: best.world, leftOut, inputs: best.inputs?.result, result: best.result },
    ...{ isRepeatable, isMinimal, runs },
  }
}

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
