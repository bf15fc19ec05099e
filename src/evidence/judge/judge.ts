/** Judges the conduct of the clients of a world. */

import { formatSuggestion } from '../../lib/did-you-mean.ts'
import { assertKnownKeys } from '../../lib/known-keys.ts'
import { quote } from '../../lib/quote.ts'
import type { Simulator } from '../../simulator/simulator-interface.ts'
import { findCreatedThings } from '../created-things.ts'
import { formatEvidence } from '../evidence-lines.ts'
import { groupBy } from '../group-by.ts'
import type { Conduct } from '../observation.ts'
import { compilePattern } from '../requests/pattern.ts'
import type { ConductRule, Violation } from '../rule.ts'
import type { JudgeFinding, Judgement, JudgeOptions } from './judgement.ts'
import { LoggedRequest } from './logged-request.ts'
import { chooseRules } from './rule-choice.ts'

const OPTIONS = ['rules', 'pollsAtMost', 'keep', 'client'] as const satisfies readonly (keyof JudgeOptions)[]
const DEFAULT_POLLS_AT_MOST = 1
const CONTEXT = 'Failed to judge'
/** Lines of evidence that a finding keeps. */
const MAX_EVIDENCE = 12

/** See `JudgingSimulator.judge`. */
export function judge(sim: Simulator, options: JudgeOptions = {}): Judgement {
  assertKnownKeys(options, OPTIONS, CONTEXT)
  const { pollsAtMost = DEFAULT_POLLS_AT_MOST, keep = [], client } = options
  if (typeof pollsAtMost !== 'number' || !Number.isFinite(pollsAtMost) || pollsAtMost <= 0) {
    throw new RangeError(`${CONTEXT}: pollsAtMost is ${quote(pollsAtMost)}. Give a number above 0.`)
  }
  const rules = chooseRules(options.rules ?? {}, CONTEXT)
  const { matches } = compilePattern(sim, client === undefined ? {} : { token: client }, CONTEXT)
  const requests = sim.requests
    .filter(matches)
    .map(received => new LoggedRequest(sim.world, received))
    .sort((one, other) => one.seq - other.seq)
  const created = findCreatedThings(sim, new Map(requests.map(request => [request.seq, request])))
  const conduct: Conduct = {
    ...{ requests, created, sim, crashes: 0, isFromLog: true },
    owned: toKept(
      keep,
      created.map(({ id }) => id),
    ),
    end: { kind: 'returned', result: undefined },
    startedAt: 0,
    endedAt: sim.clock.elapsed,
    settings: { pollsAtMost },
  }
  const byClient = groupBy(requests, request => request.client)
  const findings = [...rules].flatMap(([name, rule]) => applyRule(name, rule, conduct, byClient))
  const clients = [...byClient].map(([id, own]) => {
    return { client: id, name: sim.world.store.tokens.get(id)?.name ?? '', requests: own.length }
  })
  return { findings, rules: [...rules.keys()], clients, dropped: sim.requestLog.dropped }
}

function applyRule(
  name: string,
  rule: ConductRule,
  all: Conduct,
  byClient: ReadonlyMap<string, readonly LoggedRequest[]>,
): JudgeFinding[] {
  if (rule.sees === 'all') return check(name, rule, all).map(violation => toFinding(name, rule, '*', violation))
  return [...byClient].flatMap(([client, requests]) => {
    const created = all.created.filter(({ request }) => request.client === client)
    return check(name, rule, { ...all, requests, created }).map(violation => toFinding(name, rule, client, violation))
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

/** Returns the ids that may go on. Each has to be that of a thing that a client created. */
function toKept(keep: readonly string[], created: readonly string[]): ReadonlySet<string> {
  if (!Array.isArray(keep)) {
    throw new RangeError(`${CONTEXT}: keep is ${quote(keep)}. Give a list of ids.`)
  }
  const unknown = keep.find(id => !created.includes(id))
  if (unknown === undefined) return new Set(keep)
  const known = created.length === 0 ? 'The clients created nothing.' : `They created ${created.join(', ')}.`
  throw new RangeError(
    `${CONTEXT}: no client created ${quote(unknown)}, which keep names. ${formatSuggestion(String(unknown), created, known)}`,
  )
}
