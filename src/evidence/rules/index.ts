/** The rules by name. */

import type { Rule } from '../rule.ts'

/** The names of the rules. */
export const RULE_NAMES = [
  'settles',
  'noLeak',
  'noDouble',
  'spendsAtMost',
  'batchLines',
  'noSilentLoss',
  'honoursRetryAfter',
  'pollsAtMost',
  'readsEnd',
  'cleansUpOnThrow',
  'idempotentRestart',
  'noSecretsLogged',
] as const

export type RuleName = (typeof RULE_NAMES)[number]

/** Every rule, in the order in which violations are reported. */
export const RULES: Readonly<Partial<Record<RuleName, Rule>>> = {}
