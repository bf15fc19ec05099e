/** The rules by name. */

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
