/** Who or what began a chain of causes, in sentences. */

import { GPU_TYPES } from '../../data/records/gpu-config.ts'
import { formatDuration, HOUR, type Micros, SECOND } from '../../kernel/duration.ts'
import type { Entry, RequestEntry } from '../../kernel/journal.ts'
import type { WeatherSourceRow } from '../../simulation/operations/weather.ts'
import type { ReceivedRequest } from '../exchanges/request-log.ts'
import { namesInPath } from '../exchanges/request-subjects.ts'
import { isControlRequest } from '../observer.ts'
import type { Simulator } from '../simulator.ts'

/** The sources of weather, the kinds of their entries, and the field that has the place. Default: the subject. */
const WEATHER_SOURCES: readonly (readonly [source: string, kinds: readonly string[], place?: string])[] = [
  ['nodeFault', ['node.crashed', 'node.drained', 'node.repaired', 'node.uncordoned', 'gpu.failed', 'gpu.reset']],
  ['degradation', ['node.degraded', 'node.recovered']],
  ['diskFull', ['disk.filled', 'disk.freed']],
  ['preemption', ['node.preemptionNoticed']],
  ['zoneOutage', ['zone.down', 'zone.up'], 'zone'],
  ['stockOut', ['pool.stockedOut', 'pool.restocked'], 'gpu'],
  ['hubOutage', ['hub.down', 'hub.up'], ''],
  ['hubThrottle', ['hub.throttled', 'hub.unthrottled'], ''],
  ['registryOutage', ['registry.down', 'registry.up'], ''],
  ['autoscalerFreeze', ['autoscaler.frozen', 'autoscaler.freed'], ''],
  ['slowProvisioning', ['provisioning.slowed', 'provisioning.normal'], ''],
]
/** Kinds of the weather that end what another entry began. */
const PASSES = /\.(?:repaired|uncordoned|reset|recovered|freed|up|restocked|unthrottled|normal)$/

/** Says who or what caused the first entry of a chain. */
export function describeFirstCause(sim: Simulator, first: Entry): string[] {
  const { journal } = sim.world
  if (first.kind === 'request') {
    return [
      isControlRequest(first)
        ? 'The chain begins with a request to the control plane.'
        : 'The chain begins with the request of a client.',
    ]
  }
  if (first.cause > 0) {
    return [
      `Its cause was entry ${first.cause}, which the journal has dropped. Set a higher journalLimit to keep more.`,
    ]
  }
  if (first.kind === 'fault.added' && first.subject.startsWith('weather-')) {
    return ['The chain begins with the weather of the profile, which added this rule at the start.']
  }
  if (first.kind.startsWith('inference.')) return ['The chain begins with the client, which ended its request.']
  const giver = journal.giverOf(first.seq)
  if (giver === 'weather') return describeWeather(sim, first)
  if (giver === 'program') {
    return first.kind.startsWith('scenario.') || first.kind.startsWith('fault.')
      ? ['The chain begins with the program that controls the simulator.']
      : ['The chain begins with a command of the program that controls the simulator.']
  }
  return ['The chain begins with the start of the world, or before the start of its journal.']
}

/** Says which source of weather struck, and by which draw. */
function describeWeather(sim: Simulator, entry: Entry): string[] {
  const begin = 'The chain begins with the weather of the profile.'
  const id = sourceOf(sim, entry)
  if (id === undefined) return [begin]
  const { weather } = sim.world
  for (const [, source] of weather.entries()) {
    if (source.id !== id) continue
    const before = findChangeBefore(sim, entry, id)
    if (PASSES.test(entry.kind)) {
      const lasted = before === undefined ? '' : `, ${formatDuration(entry.time - before.time)} after the strike`
      return [begin, `The draw weather.howLong gave the end${lasted}. ${describeRate(id, source.strikesPerHour)}`]
    }
    const wait = findWait(sim, source, entry.time - (before?.time ?? 0))
    const drawn = wait === undefined ? '' : ` after a wait of ${formatDuration(wait)}`
    const mean = formatDuration(Math.round(HOUR / source.strikesPerHour / SECOND) * SECOND)
    const rate = describeRate(id, source.strikesPerHour)
    return [begin, `The draw weather.when gave the time${drawn}. The mean wait is ${mean}. ${rate}`]
  }
  return [begin]
}

function describeRate(id: string, strikesPerHour: number): string {
  return `The source ${id} strikes ${Number(strikesPerHour.toPrecision(3))} times an hour in the mean.`
}

/** Returns the id of the source of weather that an entry can come from; undefined for other kinds. */
function sourceOf({ world }: Simulator, { kind, subject, fields }: Entry): string | undefined {
  const [name, , field] = WEATHER_SOURCES.find(([, kinds]) => kinds.includes(kind)) ?? []
  if (name === undefined) return undefined
  if (name === 'preemption') return `weather/preemption/${world.nodes.poolOf(subject)}`
  const place = field === undefined ? subject : field === '' ? '' : String(fields?.[field])
  return place === '' ? `weather/${name}` : `weather/${name}/${place}`
}

/** Returns the last earlier entry of a source of weather: its strike, or the end of one. */
function findChangeBefore(sim: Simulator, { seq, time }: Entry, id: string): Entry | undefined {
  const { journal } = sim.world
  return journal
    .entries()
    .findLast(
      entry =>
        entry.seq < seq && entry.time < time && sourceOf(sim, entry) === id && journal.giverOf(entry.seq) === 'weather',
    )
}

/**
 * Returns the drawn wait before a strike, from the time since the last change of its source. In between, strikes can have
 * had nothing to hit. Undefined if no draw fits, as after a change that the journal has dropped.
 */
function findWait({ world }: Simulator, source: Readonly<WeatherSourceRow>, since: Micros): Micros | undefined {
  const waitOf = (nth: number) => Math.round(world.weather.drawWait(source, nth))
  // The waits from `first` to `last` have this sum. Both only go down, so each wait is drawn at most three times.
  let first = source.strikeCount
  let sum = 0
  for (let last = first - 1; last >= 0; last--) {
    while (first > 0 && (first > last || sum < since)) sum += waitOf(--first)
    const wait = waitOf(last)
    if (sum === since) return wait
    sum -= wait
  }
  return undefined
}

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
  const inPath = namesInPath(path.split('?', 1)[0]!, kept.routeWords(fields.operation))
  const { body, reason = '' } = received ?? {}
  const named =
    typeof body === 'object' && body !== null ? MODEL_FIELDS.map(field => (body as Record<string, unknown>)[field]) : []
  const reasonWords = reason.split(/[\s,;:'"()]+/).filter(word => word !== '')
  const models = [...inPath, ...named.filter(name => typeof name === 'string')]
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
