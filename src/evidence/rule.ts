/** Rules about the conduct of a client. Each rule is a file of `rules/`. */

import type { LedgerEntry } from '../simulation/account/ledger-types.ts'
import type { JournalEntry } from '../simulator/simulator-interface.ts'
import type { Observation, ObservedRequest } from './observation.ts'

/** A fact that shows a violation. */
export type Evidence =
  | { readonly kind: 'request'; readonly request: ObservedRequest }
  | { readonly kind: 'entry'; readonly entry: JournalEntry }
  | { readonly kind: 'posting'; readonly posting: LedgerEntry }

/** A broken rule. */
export interface Violation {
  /** One or two sentences about this case, with ids, times and amounts. */
  readonly words: string
  /** The operation at which the client went wrong; `''` for none. */
  readonly operation: string
  /** The root cause, if it is the same wherever the client goes wrong. The place does not matter then. */
  readonly rootCause?: string
  /** The id of the thing that it is about, if there is one. */
  readonly subject?: string | undefined
  readonly evidence: readonly Evidence[]
}

/** What must hold for a client, whatever happens. */
export interface Rule {
  /** What must hold, in one sentence. */
  readonly summary: string
  /** What to change in a client that breaks it, in one or two sentences. */
  readonly advice: string
  /**
   * Where a violation is placed, so that violations with one root cause count as one: where the client `ended`, as for
   * what it left behind, or at the `operation` of the violation. Default: `ended`.
   */
  readonly place?: 'ended' | 'operation'
  /** Returns what breaks the rule; nothing if it holds. */
  check(observation: Observation): readonly Violation[]
}

/** Declares a rule. */
export function defineRule(rule: Rule): Rule {
  return rule
}
