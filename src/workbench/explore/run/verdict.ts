/** Applies the invariants to an observation, and names the root cause of each violation. */

import { given } from '../../../lib/fields.ts'
import { isUsable } from '../../../simulator/judge/facts.ts'
import type { Observation, ObservedRequest } from '../../../simulator/judge/observation.ts'
import type { Rule, Violation } from '../../../simulator/judge/rule.ts'
import { OPTIONAL_RULES } from '../../../simulator/judge/rules/conduct/index.ts'
import { RULES } from '../../../simulator/judge/rules/index.ts'
import { formatEvidence } from '../../../simulator/judge/text.ts'
import type { InvariantSettings, OwnInvariant } from '../invariants.ts'
import type { BrokenInvariant } from './runner.ts'

/** A violation with the name of its invariant and its signature. */
export interface NamedViolation extends Violation {
  readonly invariant: string
  readonly signature: string
}

/** An invariant of the user that throws an error. It is a mistake of the user, not a finding. */
export class InvariantThrew extends Error {
  override readonly name = 'InvariantThrew'
}

/** Returns the names of the invariants that a run can break. */
export function judgedIn(observation: Observation, settings: InvariantSettings): string[] {
  return Object.entries<Rule>(RULES).flatMap(([name, { premise }]) =>
    settings[name] !== false && (premise === undefined || premise(observation)) ? [name] : [],
  )
}

/** Returns every violation, in the order of the invariants. */
export function judge(observation: Observation, settings: InvariantSettings): NamedViolation[] {
  const found: NamedViolation[] = []
  const add = (invariant: string, violations: readonly Violation[], rulePlace: Rule['place'] = 'ended') => {
    for (const violation of violations) {
      const place = placeOf(violation, observation, rulePlace)
      found.push({ ...violation, invariant, signature: `${invariant}@${place}` })
    }
  }
  const usual = Object.entries<Rule>(RULES).filter(([name]) => settings[name] !== false)
  const optional = Object.entries<Rule>(OPTIONAL_RULES).filter(([name]) => settings[name] === true)
  for (const [name, rule] of [...usual, ...optional]) add(name, rule.check(observation), rule.place)
  for (const [name, invariant] of Object.entries(settings)) {
    if (typeof invariant === 'function') add(name, checkOwn(name, invariant, observation))
  }
  return found
}

function checkOwn(name: string, invariant: OwnInvariant, observation: Observation): Violation[] {
  let words: unknown
  try {
    words = invariant(observation)
  } catch (error) {
    throw new InvariantThrew(
      `Failed to check the invariant '${name}': it threw ${String(error)}. Make it return a text, or undefined if it holds.`,
      { cause: error },
    )
  }
  if (words === undefined || words === '') return []
  if (typeof words === 'string')
    return [{ words, operation: observation.requests.at(-1)?.operation ?? '', evidence: [] }]
  throw new InvariantThrew(
    `Failed to check the invariant '${name}': it returned ${typeof words}. Return a text, or undefined if it holds.`,
  )
}

/**
 * Returns where the client went wrong, as the client saw it: `getDeployment/error`. Refusals, failed connections and
 * silence are one class, because most clients treat them alike.
 */
function placeOf(violation: Violation, { end, requests, crashes }: Observation, place: Rule['place']): string {
  if (violation.rootCause !== undefined) return violation.rootCause
  if (place === 'operation') return violation.operation
  if (crashes > 0) return `${violation.operation}/crash`
  if (end.kind === 'returned') return `${violation.operation}/ok`
  const last = (end.kind === 'unsettled' && requests.find(isOpen)) || requests.at(-1)
  // A request that the service does not know has no operation.
  return `${last?.operation || violation.operation}/${last === undefined || isUsable(last) ? 'ok' : 'error'}`
}

function isOpen({ outcome, endedAt }: ObservedRequest): boolean {
  return outcome === 'unanswered' && endedAt === undefined
}

/** Returns a violation as text, without the world. */
export function describeViolation(violation: NamedViolation): BrokenInvariant {
  const { invariant, signature, words, evidence, subject, cause, maySurface } = violation
  return {
    invariant,
    signature,
    words,
    subject,
    ...given({ cause, maySurface }),
    evidence: evidence.map(formatEvidence),
  }
}
