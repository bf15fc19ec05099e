/** Plans that no client can survive without help of the service, although it can survive each of their faults. */

import type { Plan, PlanItem } from '../plan/plan.ts'

const LATE_LIST =
  'the service may list a new thing late, and it has no idempotency key, so a client cannot know that its create took effect'

/** Returns why no client can survive a plan without help of the service; undefined if one can. */
export function surfaceReasonOf(plan: Plan): string | undefined {
  // In a larger plan, other faults may be the cause.
  if (plan.length !== 2) return undefined
  return plan.some(isStale) && plan.some(losesAnswer) ? LATE_LIST : undefined
}

function isStale(item: PlanItem): boolean {
  return 'fault' in item && item.fault.fault.kind === 'stale'
}

/** Returns whether the client cannot know whether its request was carried out. */
function losesAnswer(item: PlanItem): boolean {
  if ('crash' in item) return true
  if (!('fault' in item)) return false
  const { fault } = item.fault
  return ['empty', 'truncated', 'garbled'].includes(fault.kind) || ('effect' in fault && fault.effect === 'done')
}
