/** What the stages of an exploration share: the runner, the budget, and what was found so far. */

import { actsOnWholeRun } from '../plan/plan.ts'
import { groupByCause } from '../report/merged-findings.ts'
import { type FlowRunner, type Learned, type RunResult, RunStopped, unlessStopped } from '../run/runner.ts'
import { InvariantThrew } from '../run/verdict.ts'
import { type Budget, ExploreError } from './budget.ts'
import { CardWriter } from './card.ts'
import { type Finding, Findings, type RunOrigin, type StageName } from './findings.ts'
import type { Shrinker } from './shrinker.ts'

/** How likely the next run shows something new. */

/** Runs that are necessary before a chance under 1 % means something. */
export const LEAST_RUNS = 100

/**
 * Counts features of runs. The chance of something new is the Good-Turing estimate: the features that one run alone had,
 * divided by the runs. Features that are known from the start are never new.
 */
export class Novelty {
  readonly #known: ReadonlySet<string>
  readonly #counts = new Map<string, number>()
  #seenOnce = 0
  #runs = 0

  constructor(known: ReadonlySet<string> = new Set()) {
    this.#known = known
  }

  /** Adds the features of a run. */
  add(features: ReadonlySet<string>): void {
    this.#runs++
    for (const feature of features) {
      if (this.#known.has(feature)) continue
      const count = (this.#counts.get(feature) ?? 0) + 1
      this.#counts.set(feature, count)
      if (count === 1) this.#seenOnce++
      else if (count === 2) this.#seenOnce--
    }
  }

  /** The chance, from 0 to 1; 1 before the first run. */
  get chanceOfNew(): number {
    return this.#runs === 0 ? 1 : Math.min(1, this.#seenOnce / this.#runs)
  }

  /** Whether the chance is under 1 %, after enough runs to say so. */
  get isSaturated(): boolean {
    return this.#runs >= LEAST_RUNS && this.chanceOfNew < 0.01
  }

  /** All features so far. */
  get features(): ReadonlySet<string> {
    return new Set([...this.#known, ...this.#counts.keys()])
  }
}

/** How far an exploration is. Runs of shrinking are included. */
export interface ExploreProgress {
  readonly flow: string
  readonly stage: StageName | 'shrinking'
  readonly runs: number
  readonly findings: number
  readonly newest: Pick<Finding, 'signature' | 'words'> | undefined
  /** The number of single faults that will be run. */
  readonly points: number
  /** Runs that are certain to follow; undefined if that is unknown. */
  readonly left: number | undefined
  /** The chance that the next run shows something new, from 0 to 1. */
  readonly chanceOfNew: number
  /** What its user should know of the runs so far, in sentences. */
  readonly notes: readonly string[]
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

const toFalse = () => false as const

/** Runs plans until the budget is spent or the signal is aborted. */
export class Exploration {
  readonly findings = new Findings()
  readonly card = new CardWriter()
  /** The number of single faults that will be run. */
  points = 0
  /** Runs that follow the single faults in any case. */
  later = 0
  readonly runsOf: Record<StageName | 'shrinking', number> = { base: 0, singles: 0, pairs: 0, swarm: 0, shrinking: 0 }
  novelty = new Novelty()
  readonly #runner: FlowRunner
  readonly #options: ExplorationOptions
  readonly #brokenInBase = new Set<string>()
  readonly #shrinking: Promise<void>[] = []

  constructor(runner: FlowRunner, options: ExplorationOptions) {
    this.#runner = runner
    this.#options = options
  }

  /** What its runs showed so far, by which the next ones are judged. */
  get learned(): Learned | undefined {
    return this.#runner.learned
  }

  /** Runs of the stages. Those of shrinking have a bound of their own. */
  get stageRuns(): number {
    const { base, singles, pairs, swarm } = this.runsOf
    return base + singles + pairs + swarm
  }

  /** Why no further run is possible; undefined if one is. */
  get stoppedBecause(): 'aborted' | 'budget' | undefined {
    if (this.#mayRun(0)) return undefined
    return this.#options.signal?.aborted ? 'aborted' : 'budget'
  }

  /** Counts as new only what no run had before this moment. Systematic runs say nothing about the chance of random ones. */
  restartNovelty(): void {
    this.novelty = new Novelty(this.novelty.features)
  }

  /** Adds the base run, which was run twice. */
  addBase(base: RunResult): void {
    this.runsOf.base = 2
    this.novelty.add(base.features)
    this.findings.add(base, { stage: 'base', plan: [] })
    for (const { signature } of base.broken) this.#brokenInBase.add(signature)
    this.#report('base')
  }

  /**
   * Runs plans and shrinks what they find, until there are no more or no further run is possible. A runner with room for
   * several runs gets them ahead, but their results come in the order of the plans, as from one run at a time. Findings
   * of single faults are shrunk beside them.
   *
   * @param isWanted returns whether a run still matters when its turn comes. Otherwise it is as if it had not been
   * @throws ExploreError with the plan if a run fails, which is a defect of the tool
   */
  async runEach<Origin extends RunOrigin>(
    origins: Iterable<Origin>,
    onExplored: (origin: Origin, explored: Explored) => void,
    isWanted: (origin: Origin) => boolean = () => true,
  ): Promise<void> {
    const next = origins[Symbol.iterator]()
    const ahead: { readonly origin: Origin; readonly result: Promise<RunResult | undefined> }[] = []
    const start = () => {
      const { done, value: origin } = next.next()
      if (done) return false
      const result = unlessStopped(this.#run(origin))
      // It is awaited when its turn comes.
      result.catch(() => {})
      ahead.push({ origin, result })
      return true
    }
    const { room } = this.#runner
    // The shrinking of findings can take all the room: the next run then waits for its turn.
    const hasRoom = () => ahead.length === 0 || room?.isFree === true
    try {
      for (;;) {
        while (hasRoom() && this.#mayRun(ahead.length) && start());
        const [first] = ahead
        if (first === undefined) break
        // While the first one waits for an answer, the next ones start.
        if (room !== undefined && (await Promise.race([first.result.then(toFalse, toFalse), room.changed()])) !== false)
          continue
        ahead.shift()
        const result = await first.result
        if (result === undefined) break
        if (isWanted(first.origin)) onExplored(first.origin, await this.#conclude(first.origin, result))
      }
      await Promise.all(this.#shrinking)
    } finally {
      await Promise.allSettled([...ahead.map(({ result }) => result), ...this.#shrinking.splice(0)])
    }
  }

  /** Returns whether a further run is possible beside those in progress. */
  #mayRun(inProgress: number): boolean {
    return !this.#options.signal?.aborted && !this.#options.budget.isSpentAfter(this.stageRuns + inProgress)
  }

  async #conclude(origin: RunOrigin, result: RunResult): Promise<Explored> {
    const { stage } = origin
    this.runsOf[stage]++
    this.novelty.add(result.features)
    if (result.loop !== undefined) this.learned?.loops.add(result.loop)
    if (stage !== 'singles' && result.telling !== undefined && result.fired.size > 0)
      this.card.add(result.telling, origin.plan)
    const found = this.findings.add(result, origin)
    this.#report(stage)
    for (const finding of found) {
      const shrinking = this.#shrink(finding, origin, result)
      this.#shrinking.push(shrinking)
      // What later pairs show depends on the plans so far. Other findings are awaited at the end of the stage.
      if (stage !== 'singles' || this.#runner.room === undefined) await shrinking
      else shrinking.catch(() => {})
    }
    return { result, isBroken: result.broken.some(({ signature }) => !this.#brokenInBase.has(signature)) }
  }

  async #run({ plan, inputs }: RunOrigin): Promise<RunResult> {
    try {
      return await this.#runner.run(plan, { inputs: inputs?.result })
    } catch (cause) {
      if (cause instanceof InvariantThrew || cause instanceof RunStopped) throw cause
      const text = cause instanceof Error ? cause.message : String(cause)
      throw new ExploreError(
        `Failed to explore ${this.#options.flow}: the plan ${JSON.stringify(plan)} cannot be run: ${text}`,
        { cause },
      )
    }
  }

  async #shrink(finding: Finding, { inputs }: RunOrigin, result: RunResult): Promise<void> {
    const { shrinker, signal } = this.#options
    const { plan, signature } = finding
    if (shrinker === undefined || signal?.aborted || (plan.length === 1 && plan.every(actsOnWholeRun))) return
    const request = { plan, inputs, signature, runner: this.#runner, signal, result }
    const shrunk = await unlessStopped(shrinker.shrink(request))
    if (shrunk === undefined) return
    this.runsOf.shrinking += shrunk.runs
    this.findings.setShrunk(finding, shrunk)
    this.#report('shrinking')
  }

  get #left(): number | undefined {
    const { singles, pairs, swarm } = this.runsOf
    if (this.points === 0 || pairs + swarm > 0) return undefined
    const planned = Math.max(0, this.points - singles) + this.later
    return this.#options.budget.atMost(planned, this.stageRuns)
  }

  #report(stage: ExploreProgress['stage']): void {
    const { flow, onProgress } = this.#options
    const runs = this.stageRuns + this.runsOf.shrinking
    const causes = groupByCause(this.findings.all)
    const [findings, newest] = [causes.length, causes.at(-1)?.[0]]
    const { points } = this
    const notes = this.#runner.notes ?? []
    const { chanceOfNew } = this.novelty
    onProgress?.({ flow, stage, runs, findings, newest, points, left: this.#left, notes, chanceOfNew })
  }
}
