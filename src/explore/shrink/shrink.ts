/** Shrinking: finds the simplest plan that still breaks the same invariant in the same way. */

import type { Plan } from '../plan/plan.ts'
import type { FlowRunner } from '../run/runner.ts'
import type { Shrinker, ShrunkFinding } from '../stages/shrinker.ts'
import { cutByLineage, cutSingles, cutSubsets, cutUnfired } from './cut.ts'
import type { PlanWorld } from './measure.ts'
import { concretize, simplifyKinds, simplifyTimes, simplifyWorld } from './simplify.ts'
import { Trials } from './trials.ts'

export interface ShrinkOptions {
  readonly runner: FlowRunner
  readonly plan: Plan
  /** The violation to keep. Others may come and go. */
  readonly signature: string
  /** The seed and the fixture of the flow. A simpler world is tried in their place. Default: the world stays. */
  readonly world?: PlanWorld | undefined
  /** Runs at most. Default: 500. */
  readonly maxRuns?: number | undefined
}

/** Returns the shrinker of an exploration, with the same options for each of its findings. */
export function createShrinker(options: Pick<ShrinkOptions, 'world' | 'maxRuns'> = {}): Shrinker {
  return { shrink: (plan, signature, runner) => shrink({ ...options, runner, plan, signature }) }
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
  const { runner, plan, signature, world, maxRuns = DEFAULT_MAX_RUNS } = options
  const start = world === undefined ? {} : { seed: world.seed, fixtures: world.fixtures }
  const trials = await Trials.start(plan, start, { runner, signature, maxRuns: maxRuns - CONFIRMING_RUNS })
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
  if (world !== undefined) await simplifyWorld(trials)
  // A simpler item can make another one unnecessary.
  await cutSingles(trials)
  const isMinimal = !trials.isOver
  const isRepeatable = await trials.confirm()
  const { best, runs } = trials
  return { plan: best.plan, world: best.world, result: best.result, isRepeatable, isMinimal, runs }
}
