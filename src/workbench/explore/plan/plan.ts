/** Plans: the faults of one run, each at a coordinate in the requests of the flow or in the events of the world. */
import type { Duration } from '../../../kernel/duration.ts'
import { hashBytes } from '../../../kernel/random.ts'
import { stableJson } from '../../../lib/json-values.ts'
import type { Command } from '../../../simulation/operations/commands.ts'
import type { FaultRule } from '../../../simulator/faults/rules.ts'

/** The version of the form of plans in files. */
export const PLAN_VERSION = 1

/** Longer than any run. */
export const WHOLE_RUN = '365d'

/** A moment: after the n-th journal entry of a kind about a subject, plus a time. */
export interface Anchor {
  /** A kind of journal entry, as in `deployment.initializing`; `start` for the start of the flow. */
  readonly kind: string
  /** Default: any subject. */
  readonly subject?: string
  /** Default: 1. */
  readonly nth?: number
  /** Default: at once. */
  readonly offset?: Duration
}

/** A command to the fleet or the account at a moment of the world, and `undo` when the time `for` has passed. */
export interface CommandItem {
  readonly command: Command
  readonly after: Anchor
  readonly for?: Duration
  readonly undo?: Command
  /** As of a rule. */
  readonly passes?: boolean
}

/** One fault of a plan. */
export type PlanItem =
  /** A fault rule: of one request (`nth`), or an outage (`nth` and `for`). `passes`: a client can end as usual after it. */
  | { readonly fault: FaultRule; readonly passes?: boolean }
  | CommandItem
  /** The process of the client ends when its n-th request has been carried out, and starts again. */
  | { readonly crash: number }

/** The faults of one run, in an order that has no meaning. */
export type Plan = readonly PlanItem[]

/** Returns the canonical text of a plan: JSON with sorted fields and items, without the names of rules. */
export function canonicalText(plan: Plan): string {
  return `[${plan.map(itemText).sort().join(',')}]`
}

/** Returns the items of a plan, each once. */
export function withoutRepeats(plan: Plan): Plan {
  return [...new Map(plan.map(item => [itemText(item), item])).values()]
}

/**
 * Returns the rule with a name made from its content, as in `getDeployment-3-reset-9f2c01ab`. Draws of a rule depend on
 * its name, so no other item of the plan changes them.
 */
export function withContentName(rule: Omit<FaultRule, 'name'>): FaultRule {
  const operation = [rule.on]
    .flat()
    .join('.')
    .replaceAll('*', 'any')
    .replaceAll(/[^\w.-]/g, '-')
  const words = [operation.slice(0, 30), ...(rule.nth === undefined ? [] : [rule.nth]), rule.fault.kind]
  return { ...rule, name: `${words.join('-')}-${hashOf(stableJson(rule)).slice(0, 8)}` }
}

function itemText(item: PlanItem): string {
  if (!('fault' in item)) return stableJson(item)
  const { name: _, ...rule } = item.fault
  return stableJson({ fault: rule })
}

function hashOf(text: string): string {
  return hashBytes(new TextEncoder().encode(text))
}

/** Tells whether an item acts on each request of a run: nothing is simpler. */
export function actsOnWholeRun(item: PlanItem): boolean {
  return 'fault' in item && (item.fault.fault.kind === 'variation' || item.fault.for === WHOLE_RUN)
}
