/** The matcher `toSurvive`: a flow under faults. */

import { formatSuggestion } from '../../lib/did-you-mean.ts'
import { assertKnownKeys } from '../../lib/known-keys.ts'
import { plural } from '../../lib/text/numbers.ts'
import { hideSecrets } from '../../lib/text/secrets.ts'
import type { ExploreFlowOptions, PlanReport } from '../explore/explore-flow.ts'
import { WORLD_OPTIONS, type WorldChange } from '../explore/flow-world.ts'
import type { InvariantSettings } from '../explore/invariants.ts'
import type { FaultClassName } from '../explore/plan/classes.ts'
import type { Plan } from '../explore/plan/plan.ts'
import { describeCard, describeJudged } from '../explore/report/card-words.ts'
import { toLabelledTexts } from '../explore/report/item-words.ts'
import { mergeFindings, splitFinding } from '../explore/report/merged-findings.ts'

/** What a flow must survive. */
export interface SurviveOptions extends WorldChange, Pick<ExploreFlowOptions, 'budget' | 'inputs'> {
  /** `all`: pairs and random plans, too. Default: singles. */
  readonly faults?: 'singles' | 'pairs' | 'all'
  /** Default: all classes. */
  readonly classes?: readonly FaultClassName[]
  /** Beside those of the flow. */
  readonly invariants?: InvariantSettings
  /** Signatures of findings that are accepted for now. */
  readonly known?: readonly string[]
  /** This plan alone, as a failed matcher prints it. */
  readonly plan?: Plan
}

/** What a matcher found. */
export interface Verdict {
  readonly pass: boolean
  message(): string
}

const KEYS = [...WORLD_OPTIONS, 'budget', 'inputs', 'faults', 'classes', 'invariants', 'known', 'plan'] as const
const DEPTHS = { singles: 'singles', pairs: 'pairs', all: 'swarm' } as const

/**
 * Explores a flow. Passes if nothing breaks it that is not known.
 *
 * @throws RangeError for an unknown option, ExploreError for a flow that cannot be explored
 */
export async function toSurvive(flow: unknown, options: SurviveOptions = {}): Promise<Verdict> {
  assertKnownKeys(options, KEYS, 'Failed to call toSurvive')
  const { faults = 'singles', known = [], plan, ...rest } = options
  if (!Object.hasOwn(DEPTHS, faults)) {
    const words = Object.keys(DEPTHS)
    const advice = formatSuggestion(String(faults), words, `Words are ${words.join(', ')}.`)
    throw new RangeError(`Failed to call toSurvive: unknown faults '${faults}'. ${advice}`)
  }
  // Loaded on demand: most tests explore nothing.
  const { explore, replayPlan } = await import('#explore')
  const report: PlanReport =
    plan === undefined
      ? await explore(flow as never, { ...rest, faults: DEPTHS[faults] })
      : await replayPlan(flow as never, plan, rest)
  const found = mergeFindings(
    report.findings.flatMap(splitFinding).filter(({ signature }) => !known.includes(signature)),
  )
  return { pass: found.length === 0, message: () => hideSecrets(describe(report, found, rest)) }
}

const MAX_LISTED = 5

function describe(
  { flow, runs, points, card }: PlanReport,
  found: PlanReport['findings'],
  options: SurviveOptions,
): string {
  const tried = `${plural(runs, 'run')}, ${plural(points, 'fault')}`
  const about =
    card === undefined ? '' : `\n${[...describeCard(card, found.length), ...describeJudged(card)].join('\n')}`
  if (found.length === 0) return `expected '${flow}' to break, and nothing broke it in ${tried}${about}`
  const listed = found.slice(0, MAX_LISTED).map(({ signature, story, plan, inputs = options.inputs, shrunk }) => {
    const setting = { ...printableWorld({ ...options, ...shrunk?.world }), ...(inputs !== undefined && { inputs }) }
    const repeat = JSON.stringify({ ...setting, plan }, (key, value: unknown) => (key === 'name' ? undefined : value))
    const lines = toLabelledTexts(story).map(([label, text]) => `\n    ${label}: ${text}`)
    return `\n  ${signature}${lines.join('')}\n    Repeat: await expect(flow).toSurvive(${repeat})`
  })
  const more = found.length > MAX_LISTED ? `\n  and ${found.length - MAX_LISTED} more` : ''
  return `expected '${flow}' to survive, and ${found.length === 1 ? '1 thing breaks it' : `${found.length} things break it`} (${tried}):${about}${listed.join('')}${more}`
}

/** Returns the part of the options that names the world, as far as it can be printed. */
function printableWorld(options: SurviveOptions): object {
  // A snapshot has too many bytes.
  const isPrintable = (value: unknown) =>
    value !== undefined && (typeof value !== 'object' || Object.getPrototypeOf(value) === Object.prototype)
  return Object.fromEntries(
    WORLD_OPTIONS.map(name => [name, options[name]] as const)
      // Endpoints are code.
      .filter(([name, value]) => name !== 'endpoints' && isPrintable(value)),
  )
}
