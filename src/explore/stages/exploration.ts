/** What the stages of an exploration share: the runner, the budget, and what was found so far. */

import type { Plan } from '../plan/plan.ts'
import { InvariantThrew } from '../run/judge.ts'
import type { RunResult } from '../run/run-result.ts'
import type { FlowRunner } from '../run/runner.ts'
import type { Budget } from './budget.ts'
import { ExploreError } from './explore-error.ts'
import { type Finding, Findings, type RunOrigin, type StageName } from './findings.ts'
import { Novelty } from './novelty.ts'
import type { Shrinker } from './shrinker.ts'

/** How far an exploration is. */
export interface ExploreProgress {
  readonly flow: string
  readonly stage: StageName | 'shrinking'
  /** Runs so far, those of shrinking included. */
  readonly runs: number
  readonly findings: number
  /** The chance that the next run shows something new, from 0 to 1. */
  readonly chanceOfNew: number
}

export interface ExplorationOptions {
  readonly flow: string
  readonly budget: Budget
  readonly shrinker?: Shrinker | undefined
  readonly signal?: AbortSignal | undefined
  readonly onProgress?: ((progress: ExploreProgress) => void) | undefined
}

/** A run, and whether it broke something that the base run did not break. */
export interface Explored {
  readonly result: RunResult
  readonly isBroken: boolean
}

/** Runs plans until the budget is spent or the signal is aborted. */
export class Exploration {
  readonly findings = new Findings()
  readonly runsOf: Record<StageName | 'shrinking', number> = { base: 0, singles: 0, pairs: 0, swarm: 0, shrinking: 0 }
  #novelty = new Novelty()
  readonly #runner: FlowRunner
  readonly #options: ExplorationOptions
  readonly #brokenInBase = new Set<string>()

  constructor(runner: FlowRunner, options: ExplorationOptions) {
    this.#runner = runner
    this.#options = options
  }

  /** Runs of the stages. Those of shrinking have a bound of their own. */
  get stageRuns(): number {
    const { base, singles, pairs, swarm } = this.runsOf
    return base + singles + pairs + swarm
  }

  /** Why no further run is possible; undefined if one is. */
  get stoppedBecause(): 'aborted' | 'budget' | undefined {
    if (this.#options.signal?.aborted) return 'aborted'
    return this.#options.budget.isSpentAfter(this.stageRuns) ? 'budget' : undefined
  }

  get novelty(): Novelty {
    return this.#novelty
  }

  /** Counts as new only what no run had before this moment. Systematic runs say nothing about the chance of random ones. */
  restartNovelty(): void {
    this.#novelty = new Novelty(this.#novelty.features)
  }

  /** Adds the base run, which was run twice. */
  addBase(base: RunResult): void {
    this.runsOf.base = 2
    this.#novelty.add(base.features)
    this.findings.add(base, { stage: 'base', plan: [] })
    for (const { signature } of base.broken) this.#brokenInBase.add(signature)
    this.#report('base')
  }

  /** Tells the runner which plans come next. */
  announce(plans: readonly Plan[]): void {
    this.#runner.announce?.(plans)
  }

  /**
   * Runs a plan and shrinks what it finds. Returns undefined if no further run is possible.
   *
   * @throws ExploreError with the plan if the run fails, which is a defect of the tool
   */
  async run(origin: RunOrigin): Promise<Explored | undefined> {
    if (this.stoppedBecause !== undefined) return undefined
    const { stage, plan } = origin
    const result = await this.#run(plan)
    this.runsOf[stage]++
    this.#novelty.add(result.features)
    const found = this.findings.add(result, origin)
    this.#report(stage)
    for (const finding of found) await this.#shrink(finding)
    return { result, isBroken: result.broken.some(({ signature }) => !this.#brokenInBase.has(signature)) }
  }

  async #run(plan: Plan): Promise<RunResult> {
    try {
      return await this.#runner.run(plan)
    } catch (cause) {
      if (cause instanceof InvariantThrew) throw cause
      const text = cause instanceof Error ? cause.message : String(cause)
      throw new ExploreError(
        `Failed to explore ${this.#options.flow}: the plan ${JSON.stringify(plan)} cannot be run: ${text}`,
        { cause },
      )
    }
  }

  async #shrink(finding: Finding): Promise<void> {
    const { shrinker, signal } = this.#options
    if (shrinker === undefined || signal?.aborted) return
    const shrunk = await shrinker.shrink(finding.plan, finding.signature, this.#runner)
    if (shrunk === undefined) return
    this.runsOf.shrinking += shrunk.runs
    this.findings.setShrunk(finding, shrunk)
    this.#report('shrinking')
  }

  #report(stage: ExploreProgress['stage']): void {
    const { flow, onProgress } = this.#options
    const runs = this.stageRuns + this.runsOf.shrinking
    onProgress?.({ flow, stage, runs, findings: this.findings.all.length, chanceOfNew: this.#novelty.chanceOfNew })
  }
}
