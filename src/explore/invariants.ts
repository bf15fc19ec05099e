/** The invariants of a flow: rules by name, their settings, and functions of the user. */

import type { Observation } from '../evidence/observation.ts'
import type { RuleName } from '../evidence/rules/index.ts'
import type { Duration } from '../kernel/duration.ts'

/** Returns what is wrong in one sentence; undefined if nothing is. */
export type OwnInvariant = (observation: Observation) => string | undefined

/** `false` turns an invariant off. Numbers and durations are settings. A function is an invariant of your own. */
export type InvariantSettings = {
  readonly [Name in Exclude<RuleName, 'settles' | 'pollsAtMost' | 'spendsAtMost'>]?: boolean
} & {
  /** Default: '48h'. */
  readonly settles?: Duration | false
  /** Reads of one thing in a second. Default: 1. */
  readonly pollsAtMost?: number | false
  /** US dollars. Default: no limit. */
  readonly spendsAtMost?: number | false
} & { readonly [own: string]: boolean | Duration | OwnInvariant | undefined }
