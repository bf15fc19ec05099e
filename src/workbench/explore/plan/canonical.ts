/** The canonical form of plans: equal plans have equal texts, in whatever order their items are. */

import { hashBytes } from '../../../kernel/random.ts'
import { stableJson } from '../../../lib/json-values.ts'
import type { FaultRule } from '../../../simulator/faults/rules.ts'
import type { Plan, PlanItem } from './plan.ts'

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
