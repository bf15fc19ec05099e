/** The invariants of a flow: rules by name, their settings, and functions of the user. */

import { type Duration, micros } from '../../kernel/duration.ts'
import { formatSuggestion } from '../../lib/did-you-mean.ts'
import { attempt } from '../../lib/errors.ts'
import { assertKnownKeys } from '../../lib/known-keys.ts'
import { quote } from '../../lib/quote.ts'
import type { Observation } from '../../simulator/judge/observation.ts'
import { CONDUCT_RULES } from '../../simulator/judge/rules/conduct/index.ts'
import {
  OPTIONAL_RULE_NAMES,
  type OptionalRuleName,
  RULE_NAMES,
  type RuleName,
} from '../../simulator/judge/rules/index.ts'

/** Returns what is wrong in one sentence; undefined if nothing is. */
export type OwnInvariant = (observation: Observation) => string | undefined

/** `false` turns an invariant off. Numbers and durations are settings. A function is an invariant of your own. */
export type InvariantSettings = {
  readonly [Name in Exclude<RuleName, 'settles' | 'pollsAtMost' | 'spendsAtMost' | 'recovers'>]?: boolean
} & {
  /** Default: false. */
  readonly [Name in OptionalRuleName]?: boolean
} & {
  /** Default: '7d', or four times as long as the client takes without faults if that is more. */
  readonly settles?: Duration | false
  /** Reads of one thing in a second. Default: 1. */
  readonly pollsAtMost?: number | false
  /** `'always'`: a client that gives up under a temporary fault breaks it too. Default: true. */
  readonly recovers?: boolean | 'always'
  /** US dollars. Default: no limit. */
  readonly spendsAtMost?: number | false
} & { readonly [own: string]: boolean | Duration | OwnInvariant | undefined }

const NAMES: readonly string[] = [...RULE_NAMES, ...OPTIONAL_RULE_NAMES]

/** What the setting of a rule can be besides `false`. */
const FORMS: Readonly<Partial<Record<RuleName, { readonly words: string; isValid(value: unknown): boolean }>>> = {
  settles: {
    words: "a duration above 0 like '48h'",
    isValid: value => (attempt(() => micros(value as Duration)) ?? 0) > 0,
  },
  pollsAtMost: { words: 'a number above 0', isValid: value => isNumber(value) && value > 0 },
  recovers: { words: "true or 'always'", isValid: value => value === true || value === 'always' },
  spendsAtMost: { words: 'US dollars, 0 or more', isValid: value => isNumber(value) && value >= 0 },
}
const SWITCH = { words: 'true', isValid: (value: unknown) => value === true }

/**
 * Rejects an unknown option of a flow or of explore. An invariant is not one.
 *
 * @throws RangeError that names the option and a remedy
 */
export function assertOptions(options: object, known: readonly string[], context: string): void {
  const rule = Object.keys(options ?? {}).find(key => NAMES.includes(key) && !known.includes(key))
  if (rule !== undefined) {
    throw new RangeError(`${context}: ${rule} is an invariant. Give it as in invariants: { ${rule}: … }.`)
  }
  assertKnownKeys(options, known, context)
}

/**
 * Rejects invalid settings of invariants.
 *
 * @param context start of the error, as in `Failed to explore checkout`
 * @throws RangeError that names the invariant and a remedy
 */
export function assertInvariants(settings: InvariantSettings, context: string): void {
  if (typeof settings !== 'object' || settings === null) {
    throw new RangeError(`${context}: invariants must be an object, as in { spendsAtMost: 5 }.`)
  }
  for (const [name, value] of Object.entries(settings)) {
    const isRule = NAMES.includes(name)
    if (typeof value === 'function' && !isRule) continue
    if (!isRule && Object.hasOwn(CONDUCT_RULES, name)) {
      const reason = 'it compares several clients, and a flow is one'
      throw new RangeError(
        `${context}: ${name} cannot be an invariant: ${reason}. Judge a run of several clients instead.`,
      )
    }
    if (!isRule) {
      const advice = formatSuggestion(name, NAMES, 'An invariant of your own is a function.')
      throw new RangeError(`${context}: unknown invariant '${name}'. ${advice}`)
    }
    const { words, isValid } = FORMS[name as RuleName] ?? SWITCH
    if (value === undefined || value === false || isValid(value)) continue
    const found = typeof value === 'function' ? 'a function' : quote(value)
    throw new RangeError(`${context}: the invariant ${name} is ${found}. Give ${words}, or false to turn it off.`)
  }
}

function isNumber(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value)
}
