/** Applies rules of conduct to the clients of a request log. */

import { attempt } from '../../lib/errors.ts'
import { groupBy } from '../../lib/lists.ts'
import { quote } from '../../lib/quote.ts'
import type { JudgeFinding } from './judgement.ts'
import type { Conduct, CreatedThing, ObservedRequest } from './observation.ts'
import type { ConductRule, Evidence, Violation } from './rule.ts'
import { formatEvidence } from './text.ts'

const CONTEXT = 'Failed to judge'
const VIOLATIONS = 'Return a list of { words, operation, evidence }, which is empty if the rule holds.'
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
  const apply = (conduct: Conduct, client: string) =>
    check(name, rule, conduct).map(violation => toFinding(name, rule, client, violation))
  if (rule.sees === 'all') return apply(conductFor(all, all.requests), '*')
  return [...byClient].flatMap(([client, requests]) => apply(conductFor(all, requests, client), client))
}

/**
 * Returns the conduct that one check of a rule gets. What a server cannot tell is asked for when the rule reads it. What a
 * rule changes by mistake is seen by no other rule: lists are frozen or copied.
 *
 * @param client only what this client created; undefined for all clients
 */
function conductFor(all: Conduct, requests: readonly ObservedRequest[], client?: string): Conduct {
  const isOwn = ({ request }: CreatedThing) => client === undefined || (request.client ?? '') === client
  return Object.defineProperties({} as Conduct, {
    ...Object.getOwnPropertyDescriptors(all),
    requests: { value: Object.freeze(requests), enumerable: true },
    created: { get: () => Object.freeze(all.created.filter(isOwn)), enumerable: true },
    owned: { value: new Set(all.owned), enumerable: true },
  })
}

/** Applies a rule. What a rule of the user throws, returns or changes by mistake is named. */
function check(name: string, rule: ConductRule, conduct: Conduct): readonly Violation[] {
  const begin = `${CONTEXT}: the rule ${name}`
  const before = markOf(conduct)
  let violations: readonly Violation[]
  try {
    violations = rule.check(conduct)
  } catch (error) {
    throw new RangeError(`${begin} threw ${String(error)}. Correct its check.`, { cause: error })
  }
  if (markOf(conduct) !== before) {
    throw new RangeError(`${begin} changed the world. Make its check only read, or work with sim.fork().`)
  }
  if ((violations as unknown) instanceof Promise) {
    // The rule is refused: no code waits for its promise.
    ;(violations as unknown as Promise<unknown>).catch(() => undefined)
    throw new RangeError(`${begin} returned a promise. Make its check answer at once, without async.`)
  }
  if (!Array.isArray(violations)) {
    throw new RangeError(`${begin} returned ${quote(violations)}. ${VIOLATIONS}`)
  }
  const wrong = violations.map(problemOf).find(problem => problem !== undefined)
  if (wrong !== undefined) throw new RangeError(`${begin} returned ${wrong}. ${VIOLATIONS}`)
  return violations
}

/** Returns a text that differs after a change of the world; undefined at a server, whose world is elsewhere. */
function markOf({ sim }: Conduct): string | undefined {
  return attempt(() => {
    const { digest, clock, faults, inference, requests, pendingRequests } = sim
    const lists = [faults.list(), inference.list(), requests, pendingRequests].map(({ length }) => length)
    return [digest, clock.iso, ...lists].join(' ')
  })
}

/** Says what is wrong with a violation; undefined if nothing is. */
function problemOf(value: unknown): string | undefined {
  const { words, operation, evidence } = (value ?? {}) as Partial<Violation>
  if (typeof words !== 'string' || typeof operation !== 'string' || !Array.isArray(evidence)) {
    return 'a list with something else than violations'
  }
  if (words.trim() === '') return 'a violation without words'
  const unknown = evidence.find(fact => !isEvidence(fact))
  return unknown === undefined
    ? undefined
    : `${quote(unknown)} as evidence, which is no { kind: 'request', request }, { kind: 'entry', entry } or { kind: 'posting', posting }`
}

function isEvidence(value: unknown): value is Evidence {
  const { kind, ...facts } = (value ?? {}) as { readonly kind?: unknown } & Readonly<Record<string, unknown>>
  if (kind !== 'request' && kind !== 'entry' && kind !== 'posting') return false
  return typeof facts[kind] === 'object' && facts[kind] !== null
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
