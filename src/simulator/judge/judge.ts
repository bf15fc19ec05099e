/** Judges the conduct of the clients of a world. */

import { attempt } from '../../lib/attempt.ts'
import { formatSuggestion } from '../../lib/did-you-mean.ts'
import { groupBy } from '../../lib/group-by.ts'
import { assertKnownKeys } from '../../lib/known-keys.ts'
import { quote } from '../../lib/quote.ts'
import { compilePattern } from '../requests/pattern.ts'
import { hideSecretsIn } from '../requests/secrets.ts'
import type { Simulator } from '../simulator-interface.ts'
import { applyRules } from './apply-rules.ts'
import { findCreatedThings } from './created-things.ts'
import type { Judgement, JudgeOptions } from './judgement.ts'
import { conductOfLog } from './logged-conduct.ts'
import type { Conduct } from './observation.ts'
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
