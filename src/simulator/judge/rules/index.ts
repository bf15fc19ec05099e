/** The rules by name. */

import type { Rule } from '../rule.ts'
import { acceptsVariations } from './accepts-variations.ts'
import { batchLines } from './batch-lines.ts'
import { cleansUpOnThrow } from './cleans-up-on-throw.ts'
import { OPTIONAL_RULES, type OptionalRuleName } from './conduct/index.ts'
import { doneAsSaid } from './done-as-said.ts'
import { honoursRetryAfter } from './honours-retry-after.ts'
import { idempotentRestart } from './idempotent-restart.ts'
import { noDouble } from './no-double.ts'
import { noLeak } from './no-leak.ts'
import { noSecretsLogged } from './no-secrets-logged.ts'
import { noSilentLoss } from './no-silent-loss.ts'
import { pollsAtMost } from './polls-at-most.ts'
import { readsEnd } from './reads-end.ts'
import { recovers } from './recovers.ts'
import { settles } from './settles.ts'
import { spendsAtMost } from './spends-at-most.ts'

/**
 * The rules that `explore` applies unless they are turned off. Their order is that of reports, by the harm that a client
 * does: wrong results and secrets, then money, then its own end, then the load of the service.
 */
export const RULES = {
  noSilentLoss,
  batchLines,
  doneAsSaid,
  noSecretsLogged,
  noLeak,
  noDouble,
  idempotentRestart,
  cleansUpOnThrow,
  spendsAtMost,
  settles,
  recovers,
  acceptsVariations,
  readsEnd,
  honoursRetryAfter,
  pollsAtMost,
} as const satisfies Readonly<Record<string, Rule>>

export type RuleName = keyof typeof RULES
export type { OptionalRuleName }

/** The names of the rules. */
export const RULE_NAMES = Object.keys(RULES) as readonly RuleName[]

/** The names of the rules of conduct that a flow can turn on. */
export const OPTIONAL_RULE_NAMES = Object.keys(OPTIONAL_RULES) as readonly OptionalRuleName[]

/** Returns what a rule asks for, and what to change in a client that breaks it; undefined for an invariant of the user. */
export function meaningOf(name: string): Pick<Rule, 'summary' | 'advice'> | undefined {
  const rules: Readonly<Record<string, Rule>> = { ...RULES, ...OPTIONAL_RULES }
  return Object.hasOwn(rules, name) ? rules[name] : undefined
}
