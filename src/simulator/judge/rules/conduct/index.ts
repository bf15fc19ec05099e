/** The rules of conduct, which need no more than the requests of a client and its world. */

import type { ConductRule } from '../../rule.ts'
import { honoursRetryAfter } from '../honours-retry-after.ts'
import { pollsAtMost } from '../polls-at-most.ts'
import { readsEnd } from '../reads-end.ts'
import { backsOff } from './backs-off.ts'
import { finishesStreams } from './finishes-streams.ts'
import { leavesNothingRunning } from './leaves-nothing-running.ts'
import { looksBeforeCreate } from './looks-before-create.ts'
import { noRepeatedRefusal } from './no-repeated-refusal.ts'
import { sendsKnownFields } from './sends-known-fields.ts'
import { spreadsRetries } from './spreads-retries.ts'
import { usesCurrentModels } from './uses-current-models.ts'
import { usesLists } from './uses-lists.ts'

/** Rules of conduct that `explore` applies only if a flow asks for them: a careful client can break each of them rightly. */
export const OPTIONAL_RULES = {
  backsOff,
  looksBeforeCreate,
  leavesNothingRunning,
  noRepeatedRefusal,
  finishesStreams,
  usesCurrentModels,
  sendsKnownFields,
  usesLists,
} as const satisfies Readonly<Record<string, ConductRule>>

export type OptionalRuleName = keyof typeof OPTIONAL_RULES

/** The rules that `judge` applies, in the order of its report. */
export const CONDUCT_RULES = {
  leavesNothingRunning,
  looksBeforeCreate,
  readsEnd,
  honoursRetryAfter,
  backsOff,
  spreadsRetries,
  noRepeatedRefusal,
  pollsAtMost,
  usesLists,
  finishesStreams,
  usesCurrentModels,
  sendsKnownFields,
} as const satisfies Readonly<Record<string, ConductRule>>

export type ConductRuleName = keyof typeof CONDUCT_RULES

/** The names of the rules that `judge` applies. */
export const CONDUCT_RULE_NAMES = Object.keys(CONDUCT_RULES) as readonly ConductRuleName[]
