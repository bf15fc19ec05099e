/** The rules by name. */

import type { Rule } from '../rule.ts'
import { batchLines } from './batch-lines.ts'
import { cleansUpOnThrow } from './cleans-up-on-throw.ts'
import { honoursRetryAfter } from './honours-retry-after.ts'
import { idempotentRestart } from './idempotent-restart.ts'
import { noDouble } from './no-double.ts'
import { noLeak } from './no-leak.ts'
import { noSecretsLogged } from './no-secrets-logged.ts'
import { noSilentLoss } from './no-silent-loss.ts'
import { pollsAtMost } from './polls-at-most.ts'
import { readsEnd } from './reads-end.ts'
import { settles } from './settles.ts'
import { spendsAtMost } from './spends-at-most.ts'

/** The rules, in the order of reports. */
export const RULES = {
  settles,
  noLeak,
  noDouble,
  spendsAtMost,
  batchLines,
  noSilentLoss,
  honoursRetryAfter,
  pollsAtMost,
  readsEnd,
  cleansUpOnThrow,
  idempotentRestart,
  noSecretsLogged,
} as const satisfies Readonly<Record<string, Rule>>

export type RuleName = keyof typeof RULES

/** The names of the rules. */
export const RULE_NAMES = Object.keys(RULES) as readonly RuleName[]
