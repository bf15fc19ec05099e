/** Explores a flow from its function to a report in words. */

import { meaningOf } from '../../simulator/judge/rules/index.ts'
import { toExplorableFlow } from './declare-flow.ts'
import { type ExploreOptions, type ExploreReport, exploreRuns, prepare } from './explore.ts'
import type { CommandFlow, ExplorableFlow, FlowFunction, NamedFlow } from './flow.ts'
import { WORLD_OPTIONS, type WorldChange, worldOf } from './flow-world.ts'
import type { InputValues } from './input.ts'
import { assertInvariants, assertOptions, type InvariantSettings } from './invariants.ts'
import { checkOwnFaults } from './plan/own-faults.ts'
import { actsOnWholeRun, type Plan } from './plan/plan.ts'
import { assertPlan } from './plan/plan-form.ts'
import { describeFinding, toParagraph } from './report/finding-words.ts'
import type { FindingWords } from './report/item-words.ts'
import { mergeFindings } from './report/merged-findings.ts'
import { createRunner } from './run/create-runner.ts'
import { type FlowRunner, unlessStopped } from './run/runner.ts'
import { createShrinker, findInevitability } from './shrink/shrink.ts'
import type { Finding } from './stages/findings.ts'
import { inputsOf, withInputs } from './values.ts'

/** Options of `explore`. Options of worlds are in place of those of the flow. */
export interface ExploreFlowOptions
  extends WorldChange,
    Pick<ExploreOptions, 'budget' | 'faults' | 'classes' | 'exhaustive' | 'signal' | 'onProgress'> {
  /** Values of inputs of the flow, which all its runs have. Default: the simplest ones, and others in random plans. */
  readonly inputs?: InputValues | undefined
  /** Beside those of the flow. */
  readonly invariants?: InvariantSettings | undefined
  /** The name of a flow that is a function. Default: the name of the function. */
  readonly name?: string | undefined
}

const OPTIONS: readonly (keyof ExploreFlowOptions)[] = [
  ...(['budget', 'faults', 'classes', 'exhaustive', 'signal', 'onProgress'] as const),
  ...(['inputs', 'invariants', 'name'] as const),
  ...WORLD_OPTIONS,
]

/** A finding and what to do about it. */
export interface ExplainedFinding extends Omit<Finding, 'requests'> {
  /** What happened, because of what, and what to do, in one paragraph. */
  readonly why: string
  /** The parts of that paragraph. */
  readonly story: FindingWords
  /** The findings at the other places of its cause. Each has a signature of its own. */
  readonly also: readonly ExplainedFinding[]
}

/** What was found in a flow. */
export interface FlowReport extends Omit<ExploreReport, 'findings'> {
  readonly findings: readonly ExplainedFinding[]
}

/**
 * Looks for what breaks a flow: runs it without faults, with each single fault, with pairs, and with random plans. Each
 * finding is shrunk to the fewest and simplest faults.
 *
 * @throws TypeError for a value that is not a flow
 * @throws RangeError for an unknown option, ExploreError for an invalid one
 * @throws ExploreError for a flow that is not repeatable, sends no request, or throws without a fault
 * @example
 * const { findings } = await explore(async ({ fetch, url, token }) => deploy({ fetch, url, token }), { faults: 'singles' })
 */
export async function explore<Result>(
  value: FlowFunction<Result> | NamedFlow<Result> | CommandFlow,
  options: ExploreFlowOptions = {},
): Promise<FlowReport> {
  assertOptions(options, OPTIONS, 'Failed to explore')
  const flow = withOptions(value, options)
  const { classes, exhaustive, signal, onProgress } = options
  const runner = await createRunner(flow, signal)
  try {
    const report = await exploreRuns(runner, {
      ...{ classes, exhaustive, signal, onProgress },
      name: flow.name,
      inputs: inputsOf(flow),
      invariants: flow.options.invariants,
      own: checkOwnFaults(flow.options, `Failed to explore ${flow.name}`),
      budget: options.budget ?? flow.options.budget,
      // Each run of a command is a process, which takes long.
      faults: options.faults ?? ('command' in flow ? 'singles' : undefined),
      shrinker: createShrinker({ world: worldOf(flow.options), declaredInputs: inputsOf(flow) }),
    })
    const findings: ExplainedFinding[] = []
    for (const finding of report.findings) {
      const { requests: _, ...rest } = finding
      const story = await explain(finding, runner, signal)
      findings.push({ ...rest, why: toParagraph(story), story, also: [] })
    }
    return { ...report, findings: mergeFindings(findings), notes: [...report.notes, ...(runner.notes ?? [])] }
  } finally {
    await runner.dispose()
  }
}

/** What one plan breaks. */
export interface PlanReport extends Pick<FlowReport, 'flow' | 'runs' | 'points'>, Partial<Pick<FlowReport, 'card'>> {
  readonly findings: readonly PlanFinding[]
}

interface PlanFinding
  extends Pick<ExplainedFinding, 'invariant' | 'signature' | 'words' | 'cause' | 'plan' | 'why' | 'story'>,
    Partial<Pick<ExplainedFinding, 'inputs' | 'shrunk'>> {
  readonly also: readonly PlanFinding[]
}

/**
 * Runs a flow without faults and under one plan, and reports what the plan breaks.
 *
 * @throws TypeError for a value that is not a flow or an invalid plan, ExploreError for one that is not repeatable or throws without a fault
 */
export async function replayPlan(value: unknown, plan: Plan, options: ExploreFlowOptions = {}): Promise<PlanReport> {
  assertPlan(plan, 'Failed to call toSurvive')
  const flow = withOptions(value, options)
  const runner = await createRunner(flow)
  try {
    const { base } = await prepare(runner, { name: flow.name })
    const { broken, requests } = plan.length === 0 ? base : await runner.run(plan)
    const seen = new Set<string>()
    const findings: PlanFinding[] = broken.flatMap(violation => {
      if (seen.has(violation.signature)) return []
      seen.add(violation.signature)
      const story = describeFinding({ violation, plan, requests, isMinimal: undefined }, meaningOf)
      return [{ ...violation, plan, why: toParagraph(story), story, also: [] }]
    })
    return { flow: flow.name, runs: runner.runs, points: plan.length, findings: mergeFindings(findings) }
  } finally {
    await runner.dispose()
  }
}

/**
 * Returns a flow with the fixtures and the seed of options in place of its own, and with their invariants.
 *
 * @throws TypeError for a value that is not a flow
 */
export function withOptions(value: unknown, options: ExploreFlowOptions): ExplorableFlow {
  const { name, invariants, inputs } = options
  const flow = toExplorableFlow(value, name)
  if (flow === undefined) {
    throw new TypeError(
      'Failed to explore: the flow is neither a function nor a result of flow(…). ' +
        'Give one, as in explore(async ({ fetch, url, token }) => { … }).',
    )
  }
  const own = flow.options
  for (const settings of [own.invariants, invariants]) {
    if (settings !== undefined) assertInvariants(settings, `Failed to explore ${flow.name}`)
  }
  const settings = { ...own.invariants, ...invariants } as InvariantSettings
  const world = { ...worldOf(own), ...worldOf(options) }
  const explored: ExplorableFlow = { ...flow, options: { ...own, ...world, invariants: settings } }
  return inputs === undefined ? explored : withInputs(explored, inputs, `Failed to explore ${flow.name}`)
}

/** Returns what is said of a finding. It takes a run for each request of its run. */
async function explain(
  { invariant, signature, words, plan, inputs, requests, shrunk }: Finding,
  runner: FlowRunner,
  signal: AbortSignal | undefined,
): Promise<FindingWords> {
  const setting = { world: shrunk?.world, inputs }
  const inevitability =
    plan.every(actsOnWholeRun) || runner.isSlow === true
      ? undefined
      : await unlessStopped(findInevitability({ runner, plan, setting, signature, requests: requests.length, signal }))
  const isMinimal = plan.length === 0 || shrunk?.isMinimal === true
  const leftOut = shrunk?.leftOut
  const violation = { invariant, words }
  return describeFinding({ violation, plan, requests, isMinimal, inevitability, inputs, leftOut }, meaningOf)
}
