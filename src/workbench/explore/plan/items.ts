/** The items of plans, each made from where it strikes and what it is. */

import type { Duration } from '../../../kernel/duration.ts'
import type { FaultClass } from './classes.ts'
import type { Coordinate } from './coordinates.ts'
import { type PlanItem, withContentName } from './plan.ts'

/** How long an outage lasts. */
export const OUTAGE: Duration = '60s'

/** Returns the item that changes one request. */
export function requestItem(
  { operation, path, nth, events }: Coordinate,
  { fault: declared, passes, isLate }: FaultClass,
): PlanItem {
  const after = Math.floor((events * 2) / 3)
  const fault = isLate && after > 0 && declared.kind === 'stream' ? { ...declared, after } : declared
  return { fault: withContentName({ on: operation, path, nth, fault }), ...(passes === false && { passes }) }
}

/** Returns the item that changes the n-th request of all, whatever it asks for. */
export function anyRequestItem(nth: number, { fault }: FaultClass): PlanItem {
  return { fault: withContentName({ on: '*', nth, fault }) }
}

/** Returns the outage of an operation from its n-th request on. */
export function outageItem(operation: string, nth: number, { fault }: FaultClass): PlanItem {
  return { fault: withContentName({ on: operation, nth, for: OUTAGE, fault }) }
}

/** Returns the item at a later request of its subject. An item of another kind stays where it is. */
export function laterItem(item: PlanItem, by: number): PlanItem {
  if (!('fault' in item) || item.fault.nth === undefined || by === 0) return item
  const { name: _, ...rule } = item.fault
  return { ...item, fault: withContentName({ ...rule, nth: item.fault.nth + by }) }
}
