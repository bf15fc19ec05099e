/** The journal entry that made the state by which a request was refused. It is found when it is asked for. */

import { GPU_TYPES } from '../../data/records/gpu-config.ts'
import type { Entry, RequestEntry } from '../../kernel/journal.ts'
import { attempt } from '../../lib/attempt.ts'
import type { ReceivedRequest } from '../exchanges/request-log.ts'
import type { Simulator } from '../simulator.ts'

/** The kept entries of a journal. */
export interface KeptEntries {
  readonly entries: readonly Entry[]
  /** Returns the words of the route of an operation, which name nothing: `/v1/chat/completions` is about no model `chat`. */
  routeWords(operation: string): ReadonlySet<string>
  /** Returns the entries of a subject, oldest first. */
  of(subject: string): readonly Entry[]
  /** Returns the ids of the deployments that have or had a model of this name. */
  deploymentsOf(modelName: string): Iterable<string>
}

/** Kinds that say nothing about whether a request to their subject is possible. */
const IRRELEVANT =
  /^(?:request$|fault\.|scenario\.|webhook\.|inference\.|data\.|batch\.(?:progressed|linesRetried|capacityCame)$|node\.\w+Evicted$|adapter\.(?:resident|evicted|described)$|deployment\.(?:scaled\w+|limited|woken|resized)$|\w+\.renamed$)/
/** Kinds of the account after which requests are refused for lack of funds, or because of a suspension. */
const SUSPENSION = /^account\.(?:suspended|graceEnded|deleted|resumed)$/
/** Fields of entries of the account that name another thing by its id. */
const ID_FIELDS = ['token_id', 'voice_id', 'ssh_key_id'] as const
const MODEL_FIELDS = ['model', 'model_name', 'base_model', 'lora_name'] as const

/**
 * Returns the newest entry before a request that made the state or the limit which decided its answer. Undefined if the
 * request alone decided it, or if the world began in that state.
 */
export function findDecidingEntry(
  kept: KeptEntries,
  sim: Simulator,
  request: RequestEntry,
  received: ReceivedRequest | undefined,
): Entry | undefined {
  const { status, decidedBy } = request.fields
  if (decidedBy !== 'state' && decidedBy !== 'limit') return undefined
  const reason = received?.reason ?? ''
  const account = sim.world.ledger.uid
  const before = (subject: string, matches: (entry: Entry) => boolean) =>
    kept.of(subject).findLast(entry => entry.seq < request.seq && matches(entry))
  if (status === 402 && /card/.test(reason)) return before(account, ({ kind }) => kind === 'card.declined')
  if ((status === 402 && decidedBy === 'state') || /suspended/.test(reason)) {
    const entry = before(account, ({ kind }) => SUSPENSION.test(kind))
    return entry?.kind === 'account.resumed' ? undefined : entry
  }
  if (decidedBy === 'limit') return findLimit(reason, received?.body, matches => before(account, matches))
  const words = wordsOf(kept, request, received)
  const found: Entry[] = []
  for (const subject of subjectsFor(kept, sim, words)) {
    const entry = before(subject, ({ kind }) => !IRRELEVANT.test(kind))
    if (entry !== undefined && subject !== account) found.push(entry)
  }
  const named = before(account, ({ fields }) => ID_FIELDS.some(field => words.ids.has(String(fields?.[field]))))
  if (named !== undefined) found.push(named)
  return found.sort((a, b) => b.seq - a.seq)[0]
}

/** Returns the entry that set the limit of which the words of a refusal speak. */
function findLimit(
  reason: string,
  body: unknown,
  find: (matches: (entry: Entry) => boolean) => Entry | undefined,
): Entry | undefined {
  if (/in flight|tokens a minute/.test(reason)) return find(({ kind }) => /^rateLimit\.(?:set|approved)$/.test(kind))
  const requested = typeof body === 'object' && body !== null ? (body as { readonly gpu?: unknown }).gpu : undefined
  const gpu = GPU_TYPES.find(type => type === requested || reason.includes(type))
  return find(({ kind, fields }) => /^limit\.(?:set|approved|denied)$/.test(kind) && fields?.gpu === gpu)
}

/** The words of a request that can name a thing. */
interface RequestWords {
  readonly ids: ReadonlySet<string>
  /** Words that can be the name of a model. */
  readonly models: ReadonlySet<string>
}

/** Returns the words that can name a thing: in the parameters of the path, in the refusal, and models in the body. */
function wordsOf(
  kept: KeptEntries,
  { subject, fields }: RequestEntry,
  received: ReceivedRequest | undefined,
): RequestWords {
  const path = received?.path ?? subject.slice(subject.indexOf(' ') + 1)
  const literals = kept.routeWords(fields.operation)
  const segments = path
    .split('?', 1)[0]!
    .split('/')
    .filter(segment => !literals.has(segment))
    .map(segment => attempt(() => decodeURIComponent(segment)) ?? segment)
  const pairs = segments.slice(1).map((segment, i) => `${segments[i]}/${segment}`)
  const { body, reason = '' } = received ?? {}
  const named =
    typeof body === 'object' && body !== null ? MODEL_FIELDS.map(field => (body as Record<string, unknown>)[field]) : []
  const reasonWords = reason.split(/[\s,;:'"()]+/).filter(word => word !== '')
  const models = [...segments, ...pairs, ...named.filter(name => typeof name === 'string')]
  return {
    ids: new Set([...models, ...reasonWords]),
    models: new Set([...models, ...reasonWords.filter(word => word.includes('/'))]),
  }
}

/** Returns the words that are subjects of the journal, and the deployments of models that the words name. */
function subjectsFor(kept: KeptEntries, { world }: Simulator, words: RequestWords): Set<string> {
  const owner = world.store.account.display_name
  const names = new Set<string>()
  for (const word of words.models) {
    // A model can be named by the id of its deployment, without its owner, or with a version.
    const name = word.replace(/^deploy_id:/, '')
    for (const id of [name, name.replace(/:[^:]*$/, '')]) names.add(id).add(`${owner}/${id}`)
  }
  const subjects = new Set<string>()
  for (const id of [...words.ids, ...names]) if (kept.of(id).length > 0) subjects.add(id)
  for (const name of names) for (const id of kept.deploymentsOf(name)) subjects.add(id)
  return subjects
}
