/** Plans: the faults of one run, each at a coordinate in the requests of the flow or in the events of the world. */

import type { Duration } from '../../../kernel/duration.ts'
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
