/** The net effect of a client: what its requests changed in the world, less what they undid. */

import { isRecord, tryParseJson } from '../../lib/json-text.ts'
import type { JournalEntry } from '../simulator-interface.ts'
import { textsIn } from './answers/leaves.ts'
import { namesInBody, stateOf } from './created-things.ts'
import { isAbout, isPayment, isUsable, kindFor, knewId, lastStartOf } from './facts.ts'
import type { Conduct, CreatedThing, Effect, Observation, ObservedRequest } from './observation.ts'
import { isRead } from './retries.ts'
import { kindWord } from './words.ts'

/** Parts of things, and notes about them: no effects that a client asked for. */
const PARTS = /^(?:(?:instance|request|fault|webhook)\.|model\.version)/
const SETTINGS = /\.(?:set|resized|renamed|edited|allowed|described|requested|expanding)$/
const ORDERS = /\.(stop|start|cancel)(?:ping|ped|ing|ling|led)$/
/** What may change the price of a thing, and is left behind only if the price rose. */
const PRICED = /(?:\.resized|\.expanding| order)$/
/** Orders to a thing whose status tells whether it follows them. */
const ORDER = /^(?:deployment|adapter|hosted|container) order$/
/** What has a price for as long as it goes on. */
const RENTED = /^(?:hosted|container)/
/** Things that rules look at one by one, or that are free to leave. */
const OF_OTHER_RULES = /^(?:file|scopedToken|deployment|adapter|hosted|container|batch)$| record$/
/** A time, or a text that a client made up: other runs have another one. */
const OF_ONE_RUN = /^(?=.*\d)[\w:.+-]{16,}$/
/** Greater numbers are times. */
const GREATEST_NUMBER = 1e9

/** Returns the effects of the requests of a client by their keys, which are equal in other runs. */
export function effectsOf(
  { sim }: Pick<Conduct, 'sim'>,
  bySeq: ReadonlyMap<number, ObservedRequest>,
): ReadonlyMap<string, Effect> {
  const effects = new Map<string, Effect>()
  const keys = new Map<string, string>()
  const paid = new Set<ObservedRequest>()
  for (const entry of sim.journal.entries()) {
    const request = bySeq.get(entry.cause)
    if (request === undefined || PARTS.test(entry.kind)) continue
    const [topic = '', verb = ''] = entry.kind.split('.')
    const noun = topic === 'ownRecord' ? `${entry.fields?.kind} record` : topic
    const id = idIn(entry)
    const touch = (what: string, name: string): Effect => {
      const key = `${what} ${name}`
      const effect = effects.get(key) ?? { what, name, made: 0, deleted: 0, changes: 0, value: undefined, request, id }
      Object.assign(effect, { request, id })
      effect.changes++
      effects.set(key, effect)
      return effect
    }
    const name = nameIn(entry, request) ?? keys.get(id) ?? id
    const order = ORDERS.exec(entry.kind)?.[1] ?? (kindFor({ sim }, request, 'start') === topic ? 'start' : undefined)
    const isNew = verb === 'created' || verb === 'added'
    if (isNew) keys.set(id, name)
    if (topic === 'ownRecord') {
      const kind = String(entry.fields?.kind)
      const payee = kindFor({ sim }, request, 'pay')
      // A PUT that is repeated has its effect once.
      if (payee !== undefined && request.method === 'PUT') touch(`'pay ${payee}'`, name).made = 1
      else if (payee !== undefined && !paid.has(request)) touch(`'pay ${payee}'`, '').made++
      paid.add(request)
      if (isPayment({ sim }, request, kind)) continue
    }
    const isChanged = topic === 'ownRecord' ? verb === 'changed' : kindFor({ sim }, request, 'update') === topic
    const changes = isChanged ? changesOf(sim, request, String(entry.fields?.kind ?? topic), keys) : []
    for (const [what, value] of changes) touch(what, name).value = value
    if (isNew) {
      const effect = touch(noun, name)
      effect.made += typeof entry.fields?.cents === 'number' ? entry.fields.cents : 1
      const file = noun === 'file' ? sim.world.files.get(id) : undefined
      if (file !== undefined) Object.assign(effect, { hash: entry.fields?.hash, chunks: file.chunks() })
    } else if (verb === 'deleted') touch(noun, name).deleted++
    else if (SETTINGS.test(entry.kind) && changes.length === 0) {
      // A request for a limit has an id of its own. What was there before the client has its id in the path.
      const thing = keys.get(id) ?? (topic === 'deployment' || isAbout(request, id) ? id : '')
      touch(entry.kind, thing).value = JSON.stringify(entry.fields)
    } else if (order !== undefined && isAbout(request, id)) {
      // What stops with its base is not what the client stopped.
      touch(`${noun} order`, name).value = order
    }
  }
  return effects
}

/**
 * Returns what a request changed in a thing of a kind, by the role of its operation: an order, or settings. Each field of
 * the body of an update is a setting.
 *
 * @param names the names of the things that the client created, by id
 */
function changesOf(
  sim: Conduct['sim'],
  request: ObservedRequest,
  kind: string,
  names: ReadonlyMap<string, string>,
): (readonly [what: string, value: string])[] {
  const order = (['start', 'stop'] as const).find(verb => kindFor({ sim }, request, verb) === kind)
  if (order !== undefined) return [[`${kind} order`, order]]
  if (kindFor({ sim }, request, 'update') !== kind) return []
  const { body } = request
  const settings = isRecord(body) ? Object.entries(body) : [['', body] as const]
  return settings.map(([field, value]) => [`the setting ${field} of the ${kind}`, toComparable(value, names)])
}

/** Returns a value as a text that other runs have too, although ids and times differ. */
function toComparable(value: unknown, names: ReadonlyMap<string, string>): string {
  const replace = (_: string, one: unknown) => {
    if (typeof one === 'string') return names.get(one) ?? (OF_ONE_RUN.test(one) ? '#' : one)
    return typeof one === 'number' && one > GREATEST_NUMBER ? '#' : one
  }
  return JSON.stringify(value, replace) ?? ''
}

function idIn({ subject, fields }: JournalEntry): string {
  const [, id] =
    Object.entries(fields ?? {}).find(([name]) => name.endsWith('_id') && !/^(?:input|plan)/.test(name)) ?? []
  return typeof id === 'string' ? id : subject
}

function nameIn({ kind, fields = {} }: JournalEntry, { body }: ObservedRequest): string | undefined {
  if (!/\.(?:created|added)$/.test(kind)) return undefined
  const { name, model_name, filename, endpoint } = fields as Readonly<Record<string, unknown>>
  const found = name ?? model_name ?? filename ?? endpoint
  if (typeof found === 'string') return found
  // A record without a name is known by the first text of its create.
  const text = kind.startsWith('ownRecord.') && Object.values(body ?? {}).find(value => typeof value === 'string')
  return typeof text === 'string' && !OF_ONE_RUN.test(text) ? text : ''
}

/** Returns the effects of the run without faults that this run lacks, in words by effect. `isLess`: it made fewer things. */
export function missingEffects(
  { effects, created, sim }: Pick<Observation, 'effects' | 'created' | 'sim'>,
  usual: ReadonlyMap<string, Effect>,
): readonly { readonly effect: Effect; readonly words: string; readonly isLess?: true }[] {
  return [...usual].flatMap(([key, effect]) => {
    const now = effects.get(key)
    const label = effect.name === '' || effect.name === effect.id ? effect.what : `${effect.what} '${effect.name}'`
    if (effect.value !== undefined) {
      const thing = now ?? (effect.value === 'stop' ? madeUnder(effect.name, effects) : undefined)
      const isOver = created.some(({ id, isAlive }) => id === thing?.id && !isAlive)
      // What runs need not be started, and what was never started need not be stopped.
      const isDone = ORDER.test(effect.what) && madeUnder(effect.name, usual) === undefined && isAsOrdered(sim, effect)
      return now?.value === effect.value || isOver || isDone ? [] : [{ effect, words: missingWords(effect, label) }]
    }
    // A client may give another name to what it creates again.
    const { made, deleted, kept } = totalOf(effects, effect.what)
    const before = totalOf(usual, effect.what)
    if (deleted < before.deleted && made - deleted > before.made - before.deleted) {
      const isGone = created.some(({ id, isAlive }) => id === now?.id && !isAlive)
      const id = label === effect.what ? ` ${effect.id}` : ''
      return isGone || effect.deleted === 0 ? [] : [{ effect, words: `${label}${id} was not deleted` }]
    }
    // A client may delete more of what others made.
    if (made - deleted >= before.made - before.deleted || kept >= before.kept) return []
    const how = label.startsWith("'pay ") ? `${label} took effect` : `${label} is there`
    return [{ effect, isLess: true, words: `${how} ${kept} times in place of ${before.kept}` }]
  })
}

/** Returns the kind of the thing that was made, deleted, or given an order. */
export function kindOf({ what }: Pick<Effect, 'what'>): string {
  return what.replace(/ order$/, '')
}

/** Tells whether a thing is in the state of an order, or deleted. */
function isAsOrdered(sim: Conduct['sim'], effect: Effect): boolean {
  const { value, id } = effect
  const { status, isAlive } = stateOf(sim, kindOf(effect), id)
  return (value === 'start' ? isAlive : value === 'stop' && !isAlive) || status === 'deleted'
}

/** Says that an order or a setting did not take effect. */
function missingWords({ what, value }: Effect, label: string): string {
  if (!/^\S+ order$/.test(what)) return `${label} did not take effect`
  return `the order to ${value} the ${kindWord(kindOf({ what }))}${label.slice(what.length)} did not take effect`
}

/** Returns the effect that made the thing of a name. */
function madeUnder(name: string, effects: ReadonlyMap<string, Effect>): Effect | undefined {
  return name === '' ? undefined : [...effects.values()].find(effect => effect.name === name && effect.made > 0)
}

/** Adds up what was made and deleted of a kind, under any names, and what is kept of all that the client made. */
function totalOf(
  effects: ReadonlyMap<string, Effect>,
  what: string,
): Pick<Effect, 'made' | 'deleted'> & { readonly kept: number } {
  const total = { made: 0, deleted: 0, kept: 0 }
  for (const effect of effects.values()) {
    if (effect.what !== what) continue
    total.made += effect.made
    total.deleted += effect.deleted
    if (effect.made > 0) total.kept += effect.made - effect.deleted
  }
  return total
}

/** Returns the effects that happened more often than without faults, and that no other rule looks at. */
export function extraEffects(
  effects: ReadonlyMap<string, Effect>,
  usual: ReadonlyMap<string, Effect>,
): readonly (Effect & { readonly usual: number })[] {
  const kinds = new Map([...effects.values()].map(effect => [effect.what, effect]))
  return [...kinds.values()].flatMap(effect => {
    const { what } = effect
    const [now, before] = [totalOf(effects, what), totalOf(usual, what)]
    // What was not deleted is a case of `cleansUpOnThrow`.
    const isMore = now.made > before.made && now.made - now.deleted > before.made - before.deleted
    return OF_OTHER_RULES.test(what) || before.made === 0 || !isMore
      ? []
      : [{ ...effect, ...now, usual: before.made - before.deleted }]
  })
}

/**
 * Returns what was there before the client and went on, and what the client deleted or stopped, once each. Without faults,
 * it does so to nothing of that kind that others made, and changes nothing of that thing. What it made again is its own.
 */
export function takenThings({ base, effects, sim }: Observation): Effect[] {
  if (base === undefined) return []
  const isTaking = ({ made, deleted, value }: Effect) => deleted > made || value === 'stop'
  const own = new Set(base.created.map(({ id }) => id))
  const isPaid = ({ id }: Effect) => (base.rates.get(id) ?? 0) > 0
  const usual = [...base.effects.values()].filter(one => isTaking(one) && !own.has(one.id))
  // Who usually deletes what has failed deletes nothing of that kind that runs.
  const isUsual = (taken: Effect) => usual.some(one => one.what === taken.what && (isPaid(one) || !isPaid(taken)))
  const touched = new Set(Array.from(base.effects.values(), ({ id }) => id))
  const wentOn = ({ what, id }: Effect) => (RENTED.test(what) ? base.rates.has(id) : !base.ended.has(id))
  const isMadeAgain = ({ id }: Effect) =>
    madeUnder(sim.world.deployments.get(id)?.row.plan.modelName ?? '', effects) !== undefined
  const taken = [...effects.values()].filter(
    one => isTaking(one) && !isUsual(one) && !touched.has(one.id) && wentOn(one) && !isMadeAgain(one),
  )
  if (taken.length === 0) return []
  const entries = [...sim.journal.entries()].filter(({ kind }) => /\.(?:created|added|failed|stopped)$/.test(kind))
  const isOver = ({ id, request }: Effect) => entries.some(one => one.cause !== request.seq && idIn(one) === id)
  return [...new Map(taken.filter(one => !isOver(one)).map(one => [one.id, one])).values()]
}

/** What a client left behind although it removes it, or sets it back, without faults. */
export interface LeftEffect {
  readonly effect: Effect
  /** The micro-cents per hour that a thing costs now; undefined for what is free. */
  readonly rate?: number
  /** What it costs at most without faults, before the client and after it. */
  readonly usual?: number
}

/**
 * Returns what a client that threw left behind, and did not name in its error:
 * - Things that were there before the client, and that cost more than they do without faults.
 * - Things without a price that it deletes without faults, whose id it had read.
 * - Settings that it changes and sets back without faults. Sizes and orders of things that were there before it count only
 *   by what they cost, or if the upper bound of an autoscaler is left higher than without faults.
 *
 * Of the last two it tried to remove none: what it tried and could not do, its caller may learn in other words.
 */
export function leftEffects(observation: Observation): LeftEffect[] {
  const { base, effects, end, requests, sim, created } = observation
  if (base === undefined || end.kind !== 'threw') return []
  const isKnown = ({ id, request: { index } }: Effect) =>
    requests.some(
      one => one.index >= index && one.start === lastStartOf(observation) && isUsable(one) && isAbout(one, id),
    )
  // A model has the name that its create gave it, perhaps after that of its owner.
  const thingOf = (id: string) =>
    created.find(one => [one.id, ...namesOf(one)].some(name => `/${id}`.endsWith(`/${name}`)))
  const texts = textsIn(end.error)
  const isNamed = (...names: readonly string[]) =>
    texts.some(text => names.some(name => name !== '' && text.includes(name)))
  return [...effects].flatMap(([key, effect]) => {
    const { id, value, what, name, request } = effect
    const before = base.effects.get(key)
    const [rate, usual] = [sim.world.ledger.meters.rateOf(id), base.rates.get(id)]
    const isChanged = value !== undefined && value !== before?.value
    const model = sim.world.deployments.get(id)?.row.plan.modelName ?? ''
    if (usual !== undefined) {
      const names = [effect, before ?? effect].flatMap(namesInBody)
      if (!isChanged || !isKnown(effect) || isNamed(id, model, ...names)) return []
      if (rate > usual) return [{ effect, rate, usual }]
      if (PRICED.test(what) && !(upperBoundIn(value) > upperBoundIn(before?.value))) return []
    }
    if (before === undefined || OF_OTHER_RULES.test(what)) return []
    const isTried = (one: ObservedRequest) =>
      one.index > request.index && (isAbout(one, id) ? !isRead(one) : one.operation === request.operation)
    const thing = thingOf(id)
    const isSettingNamed = isNamed(id, model.slice(model.lastIndexOf('/') + 1), ...namesOf(thing))
    const isLeft =
      value === undefined
        ? effect.made > effect.deleted && before.made <= before.deleted && knewId(observation, id) && !isNamed(id, name)
        : isChanged && before.changes > effect.changes && thing?.isAlive !== false && !isSettingNamed
    return isLeft && !requests.some(isTried) ? [{ effect }] : []
  })
}

/** Returns the names that the create of a thing gave it. */
function namesOf(thing: CreatedThing | undefined): string[] {
  const { body } = thing?.request ?? {}
  return Object.entries(isRecord(body) ? body : {}).flatMap(([field, name]) =>
    field.endsWith('name') && typeof name === 'string' ? [name] : [],
  )
}

/** Returns the upper bound of an autoscaler in the value of an effect; NaN for none. It costs nothing until there is load. */
function upperBoundIn(value = ''): number {
  return (tryParseJson(value) as { readonly max_instances?: number } | undefined)?.max_instances ?? Number.NaN
}
