/** Judges the conduct of the clients of a world. */

import { formatSuggestion } from '../../lib/did-you-mean.ts'
import { attempt } from '../../lib/errors.ts'
import { deepFreeze } from '../../lib/fields.ts'
import { assertKnownKeys } from '../../lib/known-keys.ts'
import { groupBy } from '../../lib/lists.ts'
import { once } from '../../lib/once.ts'
import { quote } from '../../lib/quote.ts'
import { bodyOf, type Exchange, faultOf } from '../../service/http/exchange.ts'
import { compilePattern } from '../requests/pattern.ts'
import { hideSecretsIn } from '../requests/secrets.ts'
import type { Simulator } from '../simulator-interface.ts'
import { applyRules } from './apply-rules.ts'
import { findCreatedThings } from './created-things.ts'
import type { Judgement, JudgeOptions } from './judgement.ts'
import type { Conduct, ObservedRequest } from './observation.ts'
import { chooseRules } from './rule-choice.ts'
import { DEFAULT_POLLS_AT_MOST } from './rules/polls-at-most.ts'

const OPTIONS = ['rules', 'pollsAtMost', 'keep', 'client'] as const satisfies readonly (keyof JudgeOptions)[]
const CONTEXT = 'Failed to judge'

/** A judgement of a world, and what is known of it. */
export interface WorldJudgement {
  readonly judgement: Judgement
  /** The ids of the things that its clients created. */
  readonly created: readonly string[]
}

/** Judges the clients of a simulator, as `sim.judge` describes. */
export function judge(sim: Simulator, options: JudgeOptions = {}): Judgement {
  const { judgement, created } = judgeWorld(sim, options)
  requireCreated(options.keep ?? [], created)
  return judgement
}

/** Judges the clients of a simulator. Ids of `keep` that no client of this world created are accepted. */
export function judgeWorld(sim: Simulator, options: JudgeOptions): WorldJudgement {
  assertKnownKeys(options, OPTIONS, CONTEXT)
  const { pollsAtMost = DEFAULT_POLLS_AT_MOST, keep = [], client } = options
  if (typeof pollsAtMost !== 'number' || !Number.isFinite(pollsAtMost) || pollsAtMost <= 0) {
    throw new RangeError(`${CONTEXT}: pollsAtMost is ${quote(pollsAtMost)}. Give a number above 0.`)
  }
  if (!Array.isArray(keep)) throw new RangeError(`${CONTEXT}: keep is ${quote(keep)}. Give a list of ids.`)
  const rules = chooseRules(options.rules ?? {}, CONTEXT)
  const { matches } = compilePattern(sim, client === undefined ? {} : { token: client }, CONTEXT)
  const { requests: received, requestLog } = sim
  const log = conductOfLog(
    requestLog.exchanges.filter((_, index) => matches(received[index]!)),
    requestLog.numbers,
    pollsAtMost,
  )
  const { requests } = log
  const created = findCreatedThings(sim, new Map(requests.map(request => [request.seq!, request])))
  const conduct: Conduct = { ...log, created, sim, owned: new Set(keep), endedAt: sim.clock.elapsed }
  const findings = hideSecretsIn(sim, applyRules(rules, conduct))
  const clients = [...groupBy(requests, ({ client = '' }) => client)].map(([id, own]) => {
    return { client: id, name: sim.world.store.tokens.get(id)?.name ?? '', requests: own.length }
  })
  return {
    judgement: { findings, rules: [...rules.keys()], clients, dropped: sim.requestLog.dropped },
    created: created.map(({ id }) => id),
  }
}

/** Returns whether a world has a token with an id or a name, or requests with it. */
export function knowsClient(sim: Simulator, client: string): boolean {
  return attempt(() => compilePattern(sim, { token: client }, CONTEXT)) !== undefined
}

/** Throws RangeError unless each id is that of a thing that a client created. */
export function requireCreated(keep: readonly string[], created: readonly string[]): void {
  const unknown = keep.find(id => !created.includes(id))
  if (unknown === undefined) return
  const known = created.length === 0 ? 'The clients created nothing.' : `They created ${created.join(', ')}.`
  throw new RangeError(
    `${CONTEXT}: no client created ${quote(unknown)}, which keep names. ${formatSuggestion(String(unknown), created, known)}`,
  )
}

/** The part of a conduct that a log tells. */
type LoggedConduct = Omit<Conduct, 'sim' | 'created' | 'owned' | 'endedAt'>

/**
 * Returns the conduct of the clients of a log, in the order in which they sent their requests. They count as clients that
 * returned.
 *
 * @param numbers the number of each request, by the position of its journal entry
 */
export function conductOfLog(
  exchanges: readonly Exchange[],
  numbers: ReadonlyMap<number, number>,
  pollsAtMost: number | undefined = DEFAULT_POLLS_AT_MOST,
): LoggedConduct {
  const requests = exchanges.map(one => toObserved(one, numbers)).sort((one, other) => one.index - other.index)
  return {
    ...{ requests, crashes: 0, isFromLog: true, startedAt: 0 },
    end: { kind: 'returned', result: undefined },
    settings: { pollsAtMost },
  }
}

/** Returns a request as rules read it. Its body is parsed when it is first read. A rule cannot change it. */
function toObserved(exchange: Exchange, numbers: ReadonlyMap<number, number>): ObservedRequest {
  const { seq = 0, client, operation, method, path, sentAt, endedAt, status, retryAfter, decidedBy } = exchange
  const body = once(() => deepFreeze(bodyOf(exchange)))
  return Object.freeze({
    index: numbers.get(seq)!,
    ...{ start: 1, seq, client, operation, method, path, sentAt, endedAt, status, retryAfter, decidedBy },
    ...{ outcome: status === 0 ? 'failed' : 'answered', fault: faultOf(exchange) },
    ...{ answer: undefined, readError: undefined },
    get body() {
      return body()
    },
  } as const)
}
