/** Trials of simpler plans: each is run at most once, and the simplest plan with the violation is kept. */

import { canonicalText } from '../plan/canonical.ts'
import type { Plan } from '../plan/plan.ts'
import type { RunResult } from '../run/run-result.ts'
import type { FlowRunner } from '../run/runner.ts'
import { isSimpler, measurePlan, type PlanWorld, sortPlan, withoutContentNames } from './measure.ts'

/** A plan that was run. */
export interface Trial {
  readonly plan: Plan
  readonly world: PlanWorld
  readonly result: RunResult
  /** See `measurePlan`. */
  readonly measure: readonly number[]
}

export interface TrialsOptions {
  readonly runner: FlowRunner
  readonly signature: string
  /** Runs at most. After them every further trial is rejected. */
  readonly maxRuns: number
}

export class Trials {
  readonly #options: TrialsOptions
  /** Results by the canonical text of plan and world. */
  readonly #cache = new Map<string, Trial>()
  readonly #sort: (plan: Plan) => Plan
  #best: Trial
  #runs = 0
  #isOver = false

  private constructor(options: TrialsOptions, first: Trial, sort: (plan: Plan) => Plan) {
    this.#options = options
    this.#best = first
    this.#sort = sort
  }

  /** Runs the plan to shrink. Returns undefined if it does not break the invariant. */
  static async start(plan: Plan, world: PlanWorld, options: TrialsOptions): Promise<Trials | undefined> {
    const unnamed = withoutContentNames(plan)
    const sorted = sortPlan(unnamed)
    let runs = 0
    // Two rules for one request: the earlier one acts. So the given order can break what the sorted one does not.
    for (const [first, sort] of [[sorted, sortPlan] as const, [unnamed, keepOrder] as const]) {
      if (runs > 0 && first.every((item, i) => item === sorted[i])) break
      runs++
      const result = await options.runner.run(first, world)
      if (!breaks(result, options.signature)) continue
      const trials = new Trials(
        options,
        { plan: first, world, result, measure: measurePlan(first, world, result) },
        sort,
      )
      trials.#cache.set(keyOf(trials.#best), trials.#best)
      trials.#runs = runs
      return trials
    }
    return undefined
  }

  /** The simplest plan so far that breaks the invariant with the same signature. */
  get best(): Trial {
    return this.#best
  }

  get runs(): number {
    return this.#runs
  }

  /** Whether a trial was rejected because all runs are used. */
  get isOver(): boolean {
    return this.#isOver
  }

  /** Returns whether the plan is simpler than the best one and has the same violation. It is the best one then. */
  async accept(plan: Plan, world: PlanWorld = this.#best.world): Promise<boolean> {
    const trial = await this.#run(this.#sort(plan), world)
    if (trial === undefined) return false
    const { measure, result } = trial
    if (!breaks(result, this.#options.signature) || !isSimpler(measure, this.#best.measure)) return false
    this.#best = trial
    return true
  }

  /** As `accept`, for another world. A world in which the flow or the plan cannot be run is rejected. */
  async acceptWorld(plan: Plan, world: PlanWorld): Promise<boolean> {
    try {
      // The rules compare with the run without faults. A flow that fails there says nothing about the plan.
      const base = await this.#run([], world)
      if (base === undefined || breaks(base.result, this.#options.signature)) return false
      return await this.accept(plan, world)
    } catch {
      return false
    }
  }

  /** Runs the best plan twice more. Returns whether both runs are equal and have the violation. */
  async confirm(): Promise<boolean> {
    const { plan, world } = this.#best
    const { runner, signature } = this.#options
    const results = [await runner.run(plan, world), await runner.run(plan, world)]
    this.#runs += 2
    return results[0]!.digest === results[1]!.digest && results.every(result => breaks(result, signature))
  }

  async #run(plan: Plan, world: PlanWorld): Promise<Trial | undefined> {
    const key = keyOf({ plan, world })
    const known = this.#cache.get(key)
    // The items of this plan, since callers look for them by identity.
    if (known !== undefined) return { ...known, plan }
    if (this.#runs >= this.#options.maxRuns) {
      this.#isOver = true
      return undefined
    }
    this.#runs++
    const result = await this.#options.runner.run(plan, world)
    const trial: Trial = { plan, world, result, measure: measurePlan(plan, world, result) }
    this.#cache.set(key, trial)
    return trial
  }
}

function keepOrder(plan: Plan): Plan {
  return plan
}

function keyOf({ plan, world }: Pick<Trial, 'plan' | 'world'>): string {
  return `${canonicalText(plan)} ${String(world.seed)} ${JSON.stringify(world.fixtures)}`
}

/** Returns whether a run has a violation with this signature. */
export function breaks({ broken }: RunResult, signature: string): boolean {
  return broken.some(one => one.signature === signature)
}
