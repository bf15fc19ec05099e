/** Trials of simpler plans: each is run at most once, and the simplest plan with the violation is kept. */

import { groupBy } from '../../../lib/lists.ts'
import type { ObservedRequest } from '../../../simulator/judge/observation.ts'
import type { WorldChange } from '../flow-world.ts'
import type { InputValues } from '../input.ts'
import type { Interpreted } from '../plan/choices.ts'
import { visibleStatus, withoutQuery } from '../plan/coordinates.ts'
import { canonicalText, type Plan, type PlanItem } from '../plan/plan.ts'
import { type RunResult, settingKey, unlessStopped } from '../run/runner.ts'
import type { ShrinkRequest } from '../stages/shrinker.ts'
import { isSimpler, measurePlan, sortPlan, withoutContentNames } from './measure.ts'

/** Shorter parts of a path are not ids. */
const SHORTEST_ID = 8

/**
 * Returns a plan with the ids of another world: those at the same places in the requests of the flow without faults. An id
 * that has no counterpart stays.
 */
export function translatePlan(plan: Plan, from: readonly ObservedRequest[], to: readonly ObservedRequest[]): Plan {
  const ids = findIds(from, to)
  if (ids.size === 0) return plan
  return plan.map(item => translate(item, ids) as PlanItem)
}

/** Returns the ids of one world with their counterparts: the things of an operation are compared in their order. */
function findIds(from: readonly ObservedRequest[], to: readonly ObservedRequest[]): ReadonlyMap<string, string> {
  const ids = new Map<string, string>()
  const others = pathsByOperation(to)
  for (const [operation, paths] of pathsByOperation(from)) {
    for (const [i, path] of [...paths].entries()) {
      const parts = [...(others.get(operation) ?? [])][i]?.split('/') ?? []
      for (const [at, part] of path.split('/').entries()) {
        const other = parts[at]
        if (other !== undefined && other !== part && part.length >= SHORTEST_ID) ids.set(part, other)
      }
    }
  }
  return ids
}

/** Returns the paths of each operation, in the order of their first requests. */
function pathsByOperation(requests: readonly ObservedRequest[]): ReadonlyMap<string, ReadonlySet<string>> {
  const byOperation = groupBy(requests, ({ operation }) => operation)
  return new Map(Array.from(byOperation, ([name, all]) => [name, new Set(all.map(({ path }) => withoutQuery(path)))]))
}

function translate(value: unknown, ids: ReadonlyMap<string, string>): unknown {
  if (typeof value === 'string') {
    return value
      .split('/')
      .map(part => ids.get(part) ?? part)
      .join('/')
  }
  if (Array.isArray(value)) return value.map(part => translate(part, ids))
  if (typeof value !== 'object' || value === null || value instanceof Date) return value
  return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, translate(part, ids)]))
}

/** The world and the inputs of a trial. */
export interface TrialSetting {
  /** What is in place of parts of the world of the flow. */
  readonly world: WorldChange
  /** Undefined: the simplest ones. */
  readonly inputs: Interpreted<InputValues> | undefined
}

/** A plan that was run. */
export interface Trial extends TrialSetting {
  readonly plan: Plan
  readonly result: RunResult
  /** See `measurePlan`. */
  readonly measure: readonly number[]
}

/** After an abort of the signal, every further trial is rejected. */
export interface TrialsOptions extends Pick<ShrinkRequest, 'runner' | 'signature' | 'signal' | 'result'> {
  /** Runs without faults of all shrinking of a client whose runs take real time, by their settings. */
  readonly bases: Map<string, RunResult>
  /** Runs at most. After them every further trial is rejected. */
  readonly maxRuns: number
}

export class Trials {
  readonly #options: TrialsOptions
  /** Results by the canonical text of plan and setting. */
  readonly #cache = new Map<string, Trial>()
  readonly #sort: (plan: Plan) => Plan
  /** The simplest plan so far that breaks the invariant with the same signature. */
  best: Trial
  runs = 0
  /** Whether a trial was rejected because all runs are used, or because of an abort. */
  isOver = false

  private constructor(options: TrialsOptions, first: Trial, sort: (plan: Plan) => Plan) {
    this.#options = options
    this.best = first
    this.#sort = sort
  }

  /** Runs the plan to shrink, in the world of its flow. Returns undefined if it does not break the invariant. */
  static async start(plan: Plan, inputs: TrialSetting['inputs'], options: TrialsOptions): Promise<Trials | undefined> {
    const unnamed = withoutContentNames(plan)
    const sorted = sortPlan(unnamed)
    let runs = 0
    // Two rules for one request: the earlier one acts. So the given order can break what the sorted one does not.
    for (const [first, sort] of [[sorted, sortPlan] as const, [unnamed, keepOrder] as const]) {
      if (runs > 0 && first.every((item, i) => item === sorted[i])) break
      const known = options.runner.isSlow === true && plan.length === 1 ? options.result : undefined
      if (known === undefined) runs++
      const result = known ?? (await options.runner.run(first, { inputs: inputs?.result }))
      if (!breaks(result, options.signature)) continue
      const best = { plan: first, world: {}, inputs, result, measure: measurePlan(first, result) }
      const trials = new Trials(options, best, sort)
      trials.#cache.set(keyOf(best), best)
      trials.runs = runs
      return trials
    }
    return undefined
  }

  /** Returns whether the plan is simpler than the best one and has the same violation. It is the best one then. */
  async accept(plan: Plan): Promise<boolean> {
    const trial = await this.#run(this.#sort(plan), this.best)
    if (trial === undefined) return false
    const { measure, result } = trial
    if (!breaks(result, this.#options.signature) || !isSimpler(measure, this.best.measure)) return false
    this.best = trial
    return true
  }

  /**
   * Returns whether the best plan has the same violation in a simpler world, or with simpler inputs. It has these then.
   * Without faults, the flow has to end there as it does now: nothing may be refused or broken that is not now.
   */
  async acceptSetting(change: Partial<TrialSetting>): Promise<boolean> {
    const best = this.best
    const { plan } = best
    const { world, inputs } = { ...best, ...change }
    const setting: TrialSetting = { world, inputs }
    try {
      let items = plan
      // Without a plan, the run without faults is the one with the violation.
      if (plan.length > 0) {
        const before = await this.#run([], best)
        const now = before && (await this.#run([], setting))
        if (before === undefined || now === undefined || !isAsGood(now.result, before.result)) return false
        if (breaks(now.result, this.#options.signature)) return false
        items = translatePlan(plan, before.result.requests, now.result.requests)
      }
      const trial = await this.#run(this.#sort(items), setting)
      if (trial === undefined || !breaks(trial.result, this.#options.signature)) return false
      this.best = trial
      return true
    } catch {
      // A world that cannot be created is not a simpler one, nor is one in which the plan cannot be run.
      return false
    }
  }

  /** Runs the best plan twice more, or once if a run takes real time. Returns whether all are equal and have the violation. */
  async confirm(): Promise<boolean> {
    const { plan, world, inputs, result } = this.best
    const { runner, signature, signal } = this.#options
    if (signal?.aborted) return false
    const setting = { world, inputs: inputs?.result }
    const run = () => unlessStopped(runner.run(plan, setting))
    const results = [runner.isSlow === true ? result : await run(), await run()]
    this.runs += runner.isSlow === true ? 1 : 2
    const isBroken = results.every(result => result !== undefined && breaks(result, signature))
    return isBroken && results[0]!.digest === results[1]!.digest
  }

  async #run(plan: Plan, { world, inputs }: TrialSetting): Promise<Trial | undefined> {
    const key = keyOf({ plan, world, inputs })
    const known = this.#cache.get(key)
    // The items of this plan, since callers look for them by identity.
    if (known !== undefined) return { ...known, plan }
    const { maxRuns, signal, runner, bases } = this.#options
    const setting = { world, inputs: inputs?.result }
    const base = plan.length === 0 ? bases.get(settingKey(setting)) : undefined
    if (base !== undefined) return { plan, world, inputs, result: base, measure: measurePlan(plan, base) }
    if (this.runs >= maxRuns || signal?.aborted) {
      this.isOver = true
      return undefined
    }
    this.runs++
    const result = await unlessStopped(runner.run(plan, setting))
    if (result === undefined) {
      this.isOver = true
      return undefined
    }
    if (plan.length === 0 && runner.isSlow === true) bases.set(settingKey(setting), result)
    const trial: Trial = { plan, world, inputs, result, measure: measurePlan(plan, result) }
    this.#cache.set(key, trial)
    return trial
  }
}

/** Returns whether a flow ended as before, and met nothing that it had not met before. */
function isAsGood(now: RunResult, before: RunResult): boolean {
  const known = new Set([...refusalsOf(before), ...before.broken.map(({ signature }) => signature)])
  const met = [...refusalsOf(now), ...now.broken.map(({ signature }) => signature)]
  return now.end === before.end && met.every(one => known.has(one))
}

/** Returns the requests of a run that failed, with how each did. */
function refusalsOf({ requests }: RunResult): string[] {
  const failed = requests.filter(
    ({ outcome, status, readError }) => outcome !== 'answered' || status >= 400 || readError !== undefined,
  )
  return failed.map(request => `${request.operation} ${visibleStatus(request)}`)
}

function keepOrder(plan: Plan): Plan {
  return plan
}

function keyOf({ plan, world, inputs }: Pick<Trial, 'plan' | 'world' | 'inputs'>): string {
  return `${canonicalText(plan)} ${settingKey({ world, inputs: inputs?.result })}`
}

/** Returns whether a run has a violation with this signature. */
export function breaks({ broken }: RunResult, signature: string): boolean {
  return broken.some(one => one.signature === signature)
}
