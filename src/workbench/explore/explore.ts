/** Explores a flow: base run, single faults, pairs, random plans. */

import type { Duration } from '../../kernel/duration.ts'
import { formatSuggestion } from '../../lib/did-you-mean.ts'
import { quote } from '../../lib/quote.ts'
import { monotonicMs } from '../../lib/real-time.ts'
import type { Operations } from '../../service/endpoint.ts'
import type { InputDeclarations } from './input.ts'
import type { InvariantSettings } from './invariants.ts'
import { FAULT_CLASSES, type FaultClass, type FaultClassName } from './plan/classes.ts'
import type { CheckedFault } from './plan/own-faults.ts'
import { RandomPlans } from './plan/random-plan.ts'
import { type Space, type SpaceOptions, spaceOf } from './plan/space.ts'
import { type FlowRunner, type RunResult, unlessStopped } from './run/runner.ts'
import { notesOfBase, runBase } from './stages/base.ts'
import { Budget, ExploreError } from './stages/budget.ts'
import type { Card } from './stages/card.ts'
import { Coverage, type MatrixCell, type UnreachedPoint } from './stages/coverage.ts'
import { Exploration, type ExplorationOptions, LEAST_RUNS } from './stages/exploration.ts'
import type { Finding, StageName, Surfaced } from './stages/findings.ts'
import { Pairs } from './stages/pairs.ts'
import { pointsOf, runSingles } from './stages/singles.ts'
import { runSwarm, type SeedSpace } from './stages/swarm.ts'

/** The last stage of an exploration. Each one includes those before it. */
export const EXPLORE_DEPTHS = ['singles', 'pairs', 'swarm'] as const
export type ExploreDepth = (typeof EXPLORE_DEPTHS)[number]

export interface ExploreOptions extends Pick<ExplorationOptions, 'shrinker' | 'onProgress'> {
  /** The name of the flow, for messages. */
  readonly name: string
  /**
   * Maximum number of searching runs, or real time as in '60s'. Runs that shrink or explain a finding are extra.
   * Default: 2,000 runs.
   */
  readonly budget?: number | Duration | undefined
  /** The last stage. Default: swarm. */
  readonly faults?: ExploreDepth | undefined
  /** Default: all classes. */
  readonly classes?: readonly FaultClassName[] | undefined
  /** The faults of the flow. */
  readonly own?: readonly CheckedFault[] | undefined
  /** Runs the points that look alike to the client, too. Default: false. */
  readonly exhaustive?: boolean | undefined
  /** The inputs of the flow, for random plans. */
  readonly inputs?: InputDeclarations | undefined
  /** The invariants of the flow, for the card. */
  readonly invariants?: InvariantSettings | undefined
  /** Ends the exploration: a command at once, a function after its present run. The report has what was found so far. */
  readonly signal?: AbortSignal | undefined
  /** Returns real milliseconds, for a budget in real time. */
  readonly realTime?: (() => number) | undefined
}

/**
 * Why an exploration ended. `done`: all points were run. `saturated`: the chance of something new is under 1 %.
 * `unsettled`: the flow does not end even without a fault, so faults say nothing about it.
 */
export type StopReason = 'done' | 'saturated' | 'budget' | 'aborted' | 'unsettled'

export interface ExploreReport {
  readonly flow: string
  /** Runs of all stages, those of shrinking included. */
  readonly runs: number
  readonly runsOf: Readonly<Record<StageName | 'shrinking', number>>
  /** The number of single faults: places times classes. */
  readonly points: number
  readonly unreached: readonly UnreachedPoint[]
  /** Pairs that were worth a run and had none, because the swarm began or the exploration ended. */
  readonly unreachedPairs: number
  /** The points by operation and class, with their outcomes. */
  readonly matrix: readonly MatrixCell[]
  readonly card: Card
  readonly findings: readonly Finding[]
  /** Violations that no client can prevent without help of the service. */
  readonly surfaced: readonly Surfaced[]
  /** The chance that the next run of the last stage shows something new, from 0 to 1. */
  readonly chanceOfNew: number
  readonly stoppedBecause: StopReason
  /** What its user should know of the runs, in sentences. */
  readonly notes: readonly string[]
  /** False if the number of runs depended on real time or an abort. */
  readonly isReproducible: boolean
}

/** The base run of a flow and what follows from it: what the runs of seeds need. */
export interface Prepared extends Pick<SeedSpace, 'plans' | 'plansOf'> {
  readonly base: RunResult
  readonly space: Space
}

/**
 * Runs a flow without faults, and returns the space of its faults.
 *
 * @throws ExploreError if the flow is not repeatable, or throws
 */
export async function prepare(runner: FlowRunner, options: ExploreOptions): Promise<Prepared> {
  const spaceOptions = toSpaceOptions(options, runner.operations)
  const { name: flow, onProgress } = options
  const base = await runBase(runner, flow, () =>
    onProgress?.({
      ...{ flow, stage: 'base', runs: 1, findings: 0, newest: undefined, points: 0, left: undefined, chanceOfNew: 1 },
      notes: runner.notes ?? [],
    }),
  )
  const space = spaceOf(base, spaceOptions)
  const plansOf = (result: RunResult) => new RandomPlans(spaceOf(result, spaceOptions))
  return { base, space, plans: new RandomPlans(space), plansOf }
}

/**
 * Explores a flow, and reports what breaks it. The same flow gives the same report, except with a budget in real time.
 *
 * @throws ExploreError for an invalid option, and for a flow that is not repeatable or throws without a fault
 */
export async function exploreRuns(runner: FlowRunner, options: ExploreOptions): Promise<ExploreReport> {
  const { name, shrinker, signal, onProgress, realTime = monotonicMs } = options
  const depth = EXPLORE_DEPTHS.indexOf(readDepth(options))
  const budget = new Budget(options.budget, name, realTime)
  const spaceOptions = toSpaceOptions(options, runner.operations)
  const exploration = new Exploration(runner, { flow: name, budget, shrinker, signal, onProgress })
  const prepared = await unlessStopped(prepare(runner, options))
  const points = prepared === undefined ? [] : pointsOf(prepared.space)
  const coverage = new Coverage(points)
  let unreachedPairs = 0
  const report = (stoppedBecause: StopReason): ExploreReport => ({
    flow: name,
    runs: exploration.stageRuns + exploration.runsOf.shrinking,
    runsOf: exploration.runsOf,
    points: coverage.size,
    unreached: coverage.unreached(),
    unreachedPairs,
    matrix: coverage.matrix(),
    card: exploration.card.toCard(options.invariants ?? {}),
    findings: exploration.findings.all,
    surfaced: exploration.findings.surfaced,
    chanceOfNew: exploration.novelty.chanceOfNew,
    stoppedBecause,
    notes: prepared === undefined ? [] : notesOfBase(prepared.base),
    isReproducible: budget.isReproducible && stoppedBecause !== 'aborted',
  })
  if (prepared === undefined) return report('aborted')
  const { base } = prepared
  exploration.addBase(base)
  if (base.end === 'unsettled') return report('unsettled')

  if (depth >= 2) exploration.later = LEAST_RUNS
  const pairs = new Pairs(base, spaceOptions)
  await runSingles(exploration, points, coverage, single => pairs.add(single))
  if (depth >= 1)
    unreachedPairs = await pairs.run(exploration, depth >= 2 ? budget.runsBeforeSwarm : Number.POSITIVE_INFINITY)
  // Without a run of the swarm, the chance is that of the runs before.
  if (exploration.stoppedBecause !== undefined || depth < 2) return report(exploration.stoppedBecause ?? 'done')
  const isSaturated = await runSwarm(exploration, { ...prepared, inputs: options.inputs })
  return report(isSaturated ? 'saturated' : exploration.stoppedBecause!)
}

function toSpaceOptions(
  { name, classes, own = [], exhaustive = false }: ExploreOptions,
  operations: Operations,
): SpaceOptions {
  if (classes === undefined) return { operations, exhaustive, own }
  const known: FaultClassName[] = [...FAULT_CLASSES.map(one => one.name), 'variations']
  if (!Array.isArray(classes) || classes.length === 0) {
    throw new ExploreError(
      `Failed to explore ${name}: classes is ${quote(classes)}. Give a list, as in ['${known[0]}'].`,
    )
  }
  const unknown = classes.find(one => !known.includes(one))
  if (unknown !== undefined) {
    throw new ExploreError(`Failed to explore ${name}: unknown class '${unknown}'. ${suggest(unknown, known)}`)
  }
  const chosen: FaultClass[] = FAULT_CLASSES.filter(one => classes.includes(one.name))
  return { operations, exhaustive, own, classes: chosen, variations: classes.includes('variations') }
}

function readDepth({ name, faults = 'swarm' }: ExploreOptions): ExploreDepth {
  if (EXPLORE_DEPTHS.includes(faults)) return faults
  throw new ExploreError(`Failed to explore ${name}: unknown faults '${faults}'. ${suggest(faults, EXPLORE_DEPTHS)}`)
}

function suggest(word: string, known: readonly string[]): string {
  return formatSuggestion(word, known, `Give one of ${known.join(', ')}.`)
}
