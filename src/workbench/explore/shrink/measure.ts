/** The order of plans: which of two plans with the same violation is the simpler one. */

import { micros } from '../../../kernel/duration.ts'
import type { Fault, FaultRule } from '../../../simulator/faults/rules.ts'
import { FAULT_CLASSES } from '../plan/classes.ts'
import { canonicalText, type Plan, type PlanItem, withContentName } from '../plan/plan.ts'
import type { RunResult } from '../run/runner.ts'

/** Fault kinds from the simplest one. A fault after the effect comes after every fault before it. */
const KIND_ORDER: readonly string[] = ['status', 'rateLimit', 'reset', 'empty', 'truncated', 'garbled']
/** The faults that replace others, from the simplest one. */
export const SIMPLE_FAULTS: readonly Fault[] = FAULT_CLASSES.filter(
  ({ fault, firstOf, isByName }) => KIND_ORDER.includes(fault.kind) && firstOf === undefined && !isByName,
).map(({ fault }) => fault)
/** Above the rank of every fault of `SIMPLE_FAULTS`. */
const OTHER_FAULT_RANK = 100

/** Returns the rank of a fault: 0 is the simplest. A status other than 503 comes after 503. */
export function rankOfFault(fault: Fault): number {
  const kind = KIND_ORDER.indexOf(fault.kind)
  const isAfterEffect = happensAfterEffect(fault)
  if (kind < 0) return OTHER_FAULT_RANK + (isAfterEffect ? 1 : 0)
  const isOtherStatus = fault.kind === 'status' && fault.status !== 503
  return (isAfterEffect ? 2 * KIND_ORDER.length : 0) + 2 * kind + (isOtherStatus ? 1 : 0)
}

/** Returns whether the service does the work of a request that gets this fault. */
export function happensAfterEffect(fault: Fault): boolean {
  if ('effect' in fault) return fault.effect === 'done'
  return !['status', 'rateLimit', 'reset', 'refused', 'hang', 'html'].includes(fault.kind)
}

/** Selected requests of a rule without a count. More than any count. */
const UNLIMITED = 1_000_000

/**
 * Returns what is compared of a plan, the most important value first: rules that draw or select without a count, items,
 * fired faults, requests, selected requests, offsets and durations, kinds.
 */
export function measurePlan(plan: Plan, result: RunResult): readonly number[] {
  const rules = plan.flatMap(item => ('fault' in item ? [item.fault] : []))
  const faultyRequests = result.requests.filter(({ fault }) => fault !== undefined).length
  const otherFired = plan.filter((item, i) => !('fault' in item) && result.fired.has(i)).length
  return [
    rules.filter(isVague).length,
    plan.length,
    faultyRequests + otherFired,
    result.requests.length,
    sum(rules.map(rule => (rule.nth === undefined ? (rule.times ?? UNLIMITED) : 1))),
    sum(plan.map(timeOfItem)),
    sum(rules.map(({ fault }) => rankOfFault(fault))),
  ]
}

/** Returns whether the requests of a rule depend on draws or have no count. */
export function isVague({ nth, times }: FaultRule): boolean {
  return nth === undefined && times === undefined
}

/** Returns whether the first measure is less than the second. */
export function isSimpler(one: readonly number[], other: readonly number[]): boolean {
  const at = one.findIndex((value, i) => value !== other[i])
  return at >= 0 && one[at]! < other[at]!
}

/** Returns the sum of the durations of an item in microseconds. */
function timeOfItem(item: PlanItem): number {
  if ('crash' in item) return 0
  if ('fault' in item) {
    const { fault, for: lasts = 0 } = item.fault
    return micros(lasts) + (fault.kind === 'latency' ? micros(fault.delay) : 0)
  }
  return micros(item.after.offset ?? 0) + micros(item.for ?? 0)
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0)
}

/** Returns the plan in an order that depends on its items only. */
export function sortPlan(plan: Plan): Plan {
  const texts = new Map(plan.map(item => [item, canonicalText([item])]))
  return plan.toSorted((one, other) => (texts.get(one)! < texts.get(other)! ? -1 : 1))
}

/** Removes the names of rules that follow from their content. The runner gives them again. */
export function withoutContentNames(plan: Plan): Plan {
  return plan.map(item => {
    if (!('fault' in item)) return item
    const { name, ...rule } = item.fault
    return name === nameOfRule(rule) ? { ...item, fault: rule } : item
  })
}

/** Returns the name under which a rule is applied. */
export function nameOfRule(rule: FaultRule): string {
  return rule.name ?? withContentName(rule).name!
}
