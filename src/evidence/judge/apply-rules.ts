/** Applies rules of conduct to the clients of a request log. */

import { quote } from '../../lib/quote.ts'
import { formatEvidence } from '../evidence-lines.ts'
import { groupBy } from '../group-by.ts'
import type { Conduct, ObservedRequest } from '../observation.ts'
import type { ConductRule, Violation } from '../rule.ts'
import type { JudgeFinding } from './judgement.ts'

const CONTEXT = 'Failed to judge'
/** Lines of evidence that a finding keeps. */
const MAX_EVIDENCE = 12

/**
 * Returns what breaks the rules, in their order.
 *
 * @param all the conduct of all clients at once
 * @throws RangeError that names the rule, if its check throws or returns something else than violations
 */
export function applyRules(rules: ReadonlyMap<string, ConductRule>, all: Conduct): JudgeFinding[] {
  const byClient = groupBy(all.requests, ({ client = '' }) => client)
  return [...rules].flatMap(([name, rule]) => applyRule(name, rule, all, byClient))
}

function applyRule(
  name: string,
  rule: ConductRule,
  all: Conduct,
  byClient: ReadonlyMap<string, readonly ObservedRequest[]>,
): JudgeFinding[] {
  if (rule.sees === 'all') return check(name, rule, all).map(violation => toFinding(name, rule, '*', violation))
  return [...byClient].flatMap(([client, requests]) => {
    const conduct = narrow(all, client, requests)
    return check(name, rule, conduct).map(violation => toFinding(name, rule, client, violation))
  })
}

/** Returns the conduct of one client. What the conduct of all cannot tell is asked for when a rule reads it. */
function narrow(all: Conduct, client: string, requests: readonly ObservedRequest[]): Conduct {
  return Object.defineProperties({} as Conduct, {
    ...Object.getOwnPropertyDescriptors(all),
    requests: { value: requests, enumerable: true },
    created: {
      get: () => all.created.filter(({ request }) => (request.client ?? '') === client),
      enumerable: true,
    },
  })
}

/** Applies a rule. What a rule of the user throws or returns by mistake is named. */
function check(name: string, rule: ConductRule, conduct: Conduct): readonly Violation[] {
  let violations: readonly Violation[]
  try {
    violations = rule.check(conduct)
  } catch (error) {
    throw new RangeError(`${CONTEXT}: the rule ${name} threw ${String(error)}. Correct its check.`, { cause: error })
  }
  const isList = Array.isArray(violations)
  if (isList && violations.every(isViolation)) return violations
  throw new RangeError(
    `${CONTEXT}: the rule ${name} returned ${isList ? 'a list with something else than violations' : quote(violations)}. ` +
      'Return a list of { words, operation, evidence }, which is empty if the rule holds.',
  )
}

function isViolation(value: unknown): value is Violation {
  const { words, operation, evidence } = (value ?? {}) as Partial<Violation>
  return typeof words === 'string' && typeof operation === 'string' && Array.isArray(evidence)
}

function toFinding(name: string, rule: ConductRule, client: string, violation: Violation): JudgeFinding {
  const { words, operation, subject, evidence } = violation
  const lines = evidence.slice(0, MAX_EVIDENCE).map(formatEvidence)
  if (evidence.length > MAX_EVIDENCE) lines.push(`and ${evidence.length - MAX_EVIDENCE} more`)
  return {
    ...{ rule: name, client, words, operation },
    ...(subject !== undefined && { subject }),
    ...{ evidence: lines, source: rule.source, advice: rule.advice },
  }
}
