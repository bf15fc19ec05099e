/** Scenarios that play a flow under a plan of faults. */

import { formatSuggestion } from '../../lib/did-you-mean.ts'
import type { OpenName } from '../../lib/fields.ts'
import { assertKnownKeys } from '../../lib/known-keys.ts'
import {
  OPTIONAL_RULE_NAMES,
  type OptionalRuleName,
  RULE_NAMES,
  type RuleName,
} from '../../simulator/judge/rules/index.ts'
import { toExplorableFlow } from '../explore/declare-flow.ts'
import type { CommandFlow, ExplorableFlow, FlowFunction, NamedFlow } from '../explore/flow.ts'
import { type FlowWorld, WORLD_OPTIONS, worldOf } from '../explore/flow-world.ts'
import type { InputValues } from '../explore/input.ts'
import { assertInvariants, type InvariantSettings } from '../explore/invariants.ts'
import type { Plan } from '../explore/plan/plan.ts'
import * as planForm from '../explore/plan/plan-form.ts'
import type { BrokenInvariant } from '../explore/run/runner.ts'
import { withInputs } from '../explore/values.ts'
import { createScenario, type FlowOutcome, type RunFlow, type Scenario } from './scenario.ts'

/** What a flow should survive. The options of the world are in place of those of the flow. */
export interface SurvivesOptions extends FlowWorld {
  /** The faults, as `explore` reports them. */
  readonly plan: Plan
  /** The inputs of the flow. Default: the simplest ones. */
  readonly inputs?: InputValues | undefined
  /** The invariants that should hold: a list, or an object with their amounts. Default: all of the flow. */
  readonly invariants?: readonly OpenName<RuleName | OptionalRuleName>[] | InvariantSettings | undefined
}

const OPTION_KEYS = [
  ...(['plan', 'inputs', 'invariants'] as const),
  ...WORLD_OPTIONS,
] as const satisfies readonly (keyof SurvivesOptions)[]

/**
 * Declares a scenario that plays a flow under a plan of faults, in a world of its own. It fails with the words of the
 * first invariant that does not hold. It has no trace file.
 *
 * @throws TypeError for an invalid flow, an invalid plan, or an unknown invariant, RangeError for an invalid input
 * @example
 * export default survives('a lost answer to the create', flow, {
 *   plan: [{ fault: { on: 'createLlmDeployment', nth: 1, fault: { kind: 'reset', effect: 'done' } } }],
 *   invariants: ['noLeak'],
 * })
 */
export function survives<Result>(
  title: string,
  flow: FlowFunction<Result> | NamedFlow<Result> | CommandFlow,
  options: SurvivesOptions,
): Scenario {
  const context = `Failed to declare the scenario '${title}'`
  const declared = toExplorableFlow(flow, title)
  if (declared === undefined) {
    throw new TypeError(`${context}: the flow is not a function. Give the default export of the file of the flow.`)
  }
  assertKnownKeys(options, OPTION_KEYS, context, { ErrorType: TypeError })
  const { plan, inputs, invariants, ...world } = options
  planForm.assertPlan(plan, context)
  const named = inputs === undefined ? declared : withInputs(declared, inputs, context)
  const settings = toSettings(invariants, named, context)
  const runFlow: RunFlow = (...run) => runUnder(named, { plan, ...settings }, ...run)
  const play = async () => assertSurvived(await runFlow(world))
  return createScenario(title, { ...worldOf(named.options), ...world, seeds: 'own' }, play, runFlow)
}

/** Returns what an outcome says about the invariants, in a line for each one that does not hold. */
export function describeBroken(broken: readonly BrokenInvariant[]): string {
  return broken.map(({ invariant, words }) => `${invariant} does not hold: ${words}`).join('\n')
}

function assertSurvived({ broken }: FlowOutcome): void {
  if (broken.length > 0) throw new Error(describeBroken(broken))
}

/** The names of the invariants that should hold (default: all of the flow), and amounts in place of those of the flow. */
interface Wanted {
  readonly names?: readonly string[] | undefined
  readonly amounts?: InvariantSettings
}

function toSettings(invariants: SurvivesOptions['invariants'], { options }: ExplorableFlow, context: string): Wanted {
  if (invariants !== undefined && !isNames(invariants)) {
    assertInvariants(invariants, context)
    const names = Object.keys(invariants).filter(name => invariants[name] !== false)
    if (names.length > 0) return { names, amounts: invariants }
    throw new TypeError(`${context}: no invariant is on. Name one that should hold.`)
  }
  assertKnownInvariants(invariants ?? [], options, context)
  if (invariants?.includes('spendsAtMost') && typeof options.invariants?.spendsAtMost !== 'number') {
    throw new TypeError(`${context}: spendsAtMost has no amount. Give it in US dollars, as in { spendsAtMost: 20 }.`)
  }
  return { names: invariants }
}

function isNames(invariants: NonNullable<SurvivesOptions['invariants']>): invariants is readonly string[] {
  return Array.isArray(invariants)
}

function assertKnownInvariants(names: readonly string[], options: ExplorableFlow['options'], context: string): void {
  const known = [...RULE_NAMES, ...OPTIONAL_RULE_NAMES, ...Object.keys(options.invariants ?? {})]
  const unknown = names.find(name => !known.includes(name))
  if (unknown === undefined) return
  const advice = formatSuggestion(unknown, known, `Invariants are ${[...new Set(known)].join(', ')}.`)
  throw new TypeError(`${context}: unknown invariant '${unknown}'. ${advice}`)
}

async function runUnder(
  flow: ExplorableFlow,
  { plan, names, amounts }: Pick<SurvivesOptions, 'plan'> & Wanted,
  ...[world, onWorld, signal]: Parameters<RunFlow>
): Promise<FlowOutcome> {
  // Loaded on demand: a script that only declares a scenario loads faster.
  const { createRunner } = await import('../explore/run/create-runner.ts')
  const settings = withInvariants({ ...flow.options.invariants, ...amounts }, names)
  const options = { ...flow.options, ...worldOf(world), invariants: settings }
  const runner = await createRunner({ ...flow, options }, signal)
  try {
    // The rules compare with the run without faults.
    if (runner.learned !== undefined) runner.learned.isSettled = names?.includes('noSilentLoss') === true
    const base = await runner.run([], { onWorld: plan.length === 0 ? onWorld : undefined })
    const result = plan.length === 0 ? base : await runner.run(plan, { onWorld })
    const { digest, duration, requests, fired, unjudged = [] } = result
    const broken = result.broken.filter(({ invariant }) => names?.includes(invariant) ?? true)
    const untested = names?.filter(name => unjudged.includes(name)).join(', ')
    if (broken.length === 0 && untested) {
      const advice = 'Run it as explore did, in simulated time: step 2 of docs/explore-command.md.'
      throw new Error(
        `Not tested: ${untested} was not judged, because the client does not wait in simulated time. ${advice}`,
      )
    }
    return { digest, elapsed: duration, requests, broken, idleFaults: plan.length - fired.size }
  } finally {
    await runner.dispose()
  }
}

/** Returns the settings in which the listed invariants are on. */
function withInvariants(settings: InvariantSettings, names: readonly string[] = []): InvariantSettings {
  // A scenario of a client that gives up fails until it does not.
  const always = names.includes('recovers') ? [['recovers', 'always'] as const] : []
  const optional = OPTIONAL_RULE_NAMES.filter(name => names.includes(name)).map(name => [name, true] as const)
  const others = Object.entries(settings).filter(([name, value]) => value !== false || !names.includes(name))
  return Object.fromEntries([...others, ...optional, ...always])
}
