/** Which rules a judgement applies. */

import { formatSuggestion } from '../../lib/did-you-mean.ts'
import { quote } from '../../lib/quote.ts'
import type { JudgeRules } from './judgement.ts'
import type { ConductRule } from './rule.ts'
import { CONDUCT_RULE_NAMES, CONDUCT_RULES } from './rules/conduct/index.ts'
import { RULE_NAMES } from './rules/index.ts'

/**
 * Returns the rules to apply by name: those that are not turned off, then those of the user.
 *
 * @throws RangeError that names the rule, for an unknown name and for an object that is not a rule of conduct
 */
export function chooseRules(choice: JudgeRules, context: string): ReadonlyMap<string, ConductRule> {
  if (typeof choice !== 'object' || choice === null || Array.isArray(choice)) {
    throw new RangeError(`${context}: rules is ${quote(choice)}. Give an object, as in { backsOff: false }.`)
  }
  const rules = new Map<string, ConductRule>(Object.entries(CONDUCT_RULES))
  for (const [name, setting] of Object.entries(choice)) {
    if (setting === undefined) continue
    const isKnown = rules.has(name) && Object.hasOwn(CONDUCT_RULES, name)
    if (typeof setting === 'boolean') {
      if (!isKnown) throw unknownRule(name, context)
      if (!setting) rules.delete(name)
      continue
    }
    if (isKnown) {
      throw new RangeError(`${context}: the rule ${name} exists already. Give your own rule another name.`)
    }
    rules.set(name, toRule(name, setting, context))
  }
  return rules
}

/** Returns the error for a name that no rule has. */
export function unknownRule(name: string, context: string, own: readonly string[] = []): RangeError {
  const known = [...CONDUCT_RULE_NAMES, ...own]
  if ((RULE_NAMES as readonly string[]).includes(name)) {
    return new RangeError(
      `${context}: the rule '${name}' needs a run of explore, because requests do not tell enough. ` +
        `Rules are ${known.join(', ')}.`,
    )
  }
  return new RangeError(
    `${context}: unknown rule '${name}'. ${formatSuggestion(name, known, `Rules are ${known.join(', ')}.`)}`,
  )
}

const TEXTS = ['summary', 'advice', 'source'] as const

function toRule(name: string, value: unknown, context: string): ConductRule {
  const begin = `${context}: the rule ${name}`
  if (typeof value !== 'object' || value === null || typeof (value as ConductRule).check !== 'function') {
    throw new RangeError(
      `${begin} is ${quote(value)}. Give false, or an object with summary, advice, source and check.`,
    )
  }
  const rule = value as ConductRule
  const missing = TEXTS.find(field => typeof rule[field] !== 'string' || rule[field].trim() === '')
  if (missing !== undefined) throw new RangeError(`${begin} has no ${missing}. Give a sentence.`)
  const { sees = 'client' } = rule
  if (sees !== 'client' && sees !== 'all') {
    throw new RangeError(`${begin} sees ${quote(sees)}. Give 'client' or 'all', or leave it out.`)
  }
  return rule
}
