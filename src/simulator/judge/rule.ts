/** Rules about the conduct of a client. Each rule is a file of `rules/`. */

import type { LedgerEntry } from '../../simulation/account/ledger-types.ts'
import type { JournalEntry } from '../simulator-interface.ts'
import type { Conduct, Observation, ObservedRequest } from './observation.ts'

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
  /** What the client did wrong, if it is one line that acts at several places. They are places of one finding then. */
  readonly cause?: string | undefined
  /** Why no client can prevent it; undefined if one can. */
  readonly maySurface?: string | undefined
  /** The id of the thing that it is about, if there is one. */
  readonly subject?: string | undefined
  readonly evidence: readonly Evidence[]
}

/**
 * What must hold for a client, whatever happens.
 *
 * @typeParam Input what it needs to know: a `Conduct`, or the whole `Observation` of a run
 */
export interface Rule<Input extends Conduct = Observation> {
  /** What must hold, in one sentence. */
  readonly summary: string
  /** What to change in a client that breaks it, in one or two sentences. */
  readonly advice: string
  /**
   * Where a violation is placed, so that violations with one root cause count as one: where the client `ended`, as for
   * what it left behind, or at the `operation` of the violation. Default: `ended`.
   */
  readonly place?: 'ended' | 'operation'
  /** Tells whether a run can break the rule. Default: each run can. */
  premise?(observation: Input): boolean
  /** Why no run could, in a few words. */
  readonly otherwise?: string
  /** Returns what breaks the rule; nothing if it holds. */
  check(observation: Input): readonly Violation[]
}

/** A rule that needs no more than requests and their world, so that `judge` can apply it. */
export interface ConductRule extends Rule<Conduct> {
  /** Why it is a rule: a document with its section, a convention, or an opinion that says that it is one. */
  readonly source: string
  /** What counts exactly: numbers and exceptions, in a few sentences. */
  readonly detail?: string
  /** What one check sees: the requests of one `client`, or those of `all` clients at once. Default: `client`. */
  readonly sees?: 'client' | 'all'
}

/**
 * Declares a rule. With a `source` it is a rule of conduct, which `judge` can apply.
 *
 * @example
 * const namesItsWork = defineRule({
 *   summary: 'Each batch has metadata.',
 *   advice: 'Give metadata that follows from the job.',
 *   source: 'Our handbook, page 3.',
 *   check: ({ requests }) =>
 *     requests
 *       .filter(({ operation, body }) => operation === 'createBatch' && !(body as { metadata?: object }).metadata)
 *       .map(request => ({ words: 'A batch has no metadata.', operation: 'createBatch', evidence: [{ kind: 'request', request }] })),
 * })
 */
export function defineRule(rule: ConductRule): ConductRule
export function defineRule(rule: Rule): Rule
export function defineRule(rule: Rule): Rule {
  return rule
}
