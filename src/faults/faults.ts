/** Faults of the wire: the rules of one simulator, and what stands around its operations because of them. */

import { type Micros, micros } from '../kernel/duration.ts'
import type { Entry } from '../kernel/journal.ts'
import { type EntityKey, purpose } from '../kernel/random.ts'
import { formatSuggestion } from '../lib/did-you-mean.ts'
import { globOf } from '../lib/glob.ts'
import type { Operations } from '../service/endpoint.ts'
import type { Middleware, Next, RequestContext } from '../service/http/request-context.ts'
import { FAULT_KINDS } from './kinds/index.ts'
import type { FaultKind, FaultWorld } from './kinds/kind.ts'
import { FaultError, type FaultRule, MODEL_FIELDS, type ParsedRule, parseRule } from './rules.ts'
import { type PastWorld, WorldHistory } from './world-history.ts'

const TRIGGER = purpose('fault.trigger')
const SHAPE = purpose('fault.shape')
/** How many numbers one hit may draw before it would draw those of the next. */
const DRAWS_PER_HIT = 65_536

/** A rule as it stands. */
export interface FaultView {
  readonly id: string
  readonly rule: FaultRule
  /** Requests that it matched while it was armed and in its window. */
  readonly matches: number
  /** Requests that it befell. */
  readonly hits: number
}

/** A rule in the hands of who added it. */
export interface FaultHandle extends FaultView {
  remove(): void
}

/**
 * The rules of faults of the wire. They are tried in the order in which they were added, and the first whose trigger
 * fires acts alone; each counts its own matches all the same.
 *
 * @example
 * const lost = sim.faults.add({ on: 'createLlmDeployment', times: 1, fault: { kind: 'reset', effect: 'done' } })
 * lost.hits // 0, until it has happened
 * lost.remove()
 */
export interface FaultControls {
  /** Adds a rule. Throws FaultError, before anything has changed, for one that can not be. */
  add(rule: FaultRule): FaultHandle
  list(): FaultView[]
  /** The rule of this id. Throws FaultError where there is none. */
  get(id: string): FaultView
  /** Throws FaultError where there is none. */
  remove(id: string): void
  /** Removes every rule. */
  clear(): void
}

/** A rule and how far it has come; replaced as a whole whenever that changes. */
interface ArmedRule extends ParsedRule {
  readonly id: string
  readonly key: EntityKey
  readonly isArmed: boolean
  readonly matches: number
  readonly hits: number
}

interface Rules {
  readonly rules: readonly ArmedRule[]
  /** Rules that were added without a name. */
  readonly unnamed: number
  /** How often each rule was added, by what chance knows it by. */
  readonly added: Readonly<Record<string, number>>
}

const NO_RULES: Rules = { rules: [], unnamed: 0, added: {} }

/** The rules of a simulator, how far each has come, and what stale reads look back on. */
export interface FaultsState {
  readonly rules: Rules
  readonly past: readonly PastWorld[]
}

const EMPTY_STATE: FaultsState = { rules: NO_RULES, past: [] }

/** What rules are for. */
export interface FaultsHost {
  readonly world: FaultWorld
  readonly operations: Operations
  operationOf(method: string, path: string): string | undefined
  /** What the journal calls things that happen. */
  readonly kinds: readonly string[]
}

/** The fields of a request that a rule may ask for; a body is read only where one does. */
type RequestFields = Readonly<Record<string, unknown>>

export class Faults implements FaultControls {
  readonly #host: FaultsHost
  readonly #initialRules: readonly FaultRule[]
  readonly #initialState: FaultsState
  #rules: Rules
  #history: WorldHistory | undefined
  #unsubscribe: (() => void) | undefined

  /**
   * @param initialState what was there before the first rules: in a fork, the rules of its origin
   * @throws FaultError for a first rule that can not be
   */
  constructor(host: FaultsHost, initialRules: readonly FaultRule[] = [], initialState = EMPTY_STATE) {
    this.#host = host
    this.#initialRules = initialRules
    this.#initialState = initialState
    this.#rules = initialState.rules
    this.#subscribe(initialState.past)
    for (const [index, rule] of initialRules.entries()) {
      try {
        this.add(rule)
      } catch (error) {
        if (!(error instanceof FaultError)) throw error
        throw new FaultError(error.message.replace('the fault', `faults[${index}]`))
      }
    }
  }

  /** What stands around the operations; undefined while there are no rules. */
  get middleware(): Middleware<FaultWorld> | undefined {
    return this.#rules.rules.length === 0 ? undefined : this.#middleware
  }

  /** Throws FaultError for a rule that can not be added now. */
  validate(rule: FaultRule): ParsedRule {
    const { world, operations, kinds } = this.#host
    const operationOf = (method: string, path: string) => this.#host.operationOf(method, path)
    const parsed = parseRule(rule, { operations, operationOf, kinds, clock: world.clock })
    const { name } = parsed.rule
    if (name !== undefined && this.#rules.rules.some(one => one.id === name)) {
      throw new FaultError(`Failed to add the fault: $.name: there is a rule '${name}' already. Give another name.`)
    }
    return parsed
  }

  add(rule: FaultRule): FaultHandle {
    const parsed = this.validate(rule)
    const { world } = this.#host
    const { rules, unnamed, added } = this.#rules
    const { name } = parsed.rule
    const id = name ?? this.#freeId()
    // Never by the number of rules before it: taking one of those away must leave this one's draws alone.
    const chanceName = name ?? JSON.stringify(parsed.rule)
    const nth = added[chanceName] ?? 0
    const key = world.chance.key('fault', chanceName, nth)
    const armedRule = { ...parsed, id, key, isArmed: parsed.rule.after === undefined, matches: 0, hits: 0 }
    this.#rules = {
      rules: [...rules, armedRule],
      unnamed: unnamed + (name === undefined ? 1 : 0),
      added: { ...added, [chanceName]: nth + 1 },
    }
    this.#record('fault.added', id, { fault: parsed.rule.fault.kind, on: [parsed.rule.on].flat().join(' | ') })
    this.#subscribe()
    return this.#createHandle(id)
  }

  list(): FaultView[] {
    return this.#rules.rules.map(toFaultView)
  }

  get(id: string): FaultView {
    return toFaultView(this.#getRule(id))
  }

  remove(id: string): void {
    this.#getRule(id)
    this.#rules = { ...this.#rules, rules: this.#rules.rules.filter(one => one.id !== id) }
    this.#record('fault.removed', id)
    this.#subscribe()
  }

  clear(): void {
    for (const { id } of this.#rules.rules) this.remove(id)
  }

  /** Back to the rules of the start, for a world that is back there. */
  reset(): void {
    this.restore(this.#initialState)
    for (const rule of this.#initialRules) this.add(rule)
  }

  /** What another simulator goes on with, or this one when it comes back to here. */
  get state(): FaultsState {
    return { rules: this.#rules, past: this.#history?.pastWorlds ?? [] }
  }

  /** Goes on with other rules, for a world that goes on from where they were. */
  restore({ rules, past }: FaultsState): void {
    this.#rules = rules
    this.#history = undefined
    this.#subscribe(past)
  }

  #freeId(): string {
    const { rules, unnamed } = this.#rules
    let nth = unnamed + 1
    while (rules.some(({ id }) => id === `fault-${nth}`)) nth++
    return `fault-${nth}`
  }

  #getRule(id: string): ArmedRule {
    const { rules } = this.#rules
    const rule = rules.find(one => one.id === id)
    if (rule) return rule
    const ids = rules.map(({ id: known }) => known)
    const advice = formatSuggestion(id, ids, 'faults.list() has those there are.')
    throw new FaultError(`Failed to find the fault '${id}': there is no such rule. ${advice}`)
  }

  #createHandle(id: string): FaultHandle {
    const rules = () => this.#rules.rules
    let last = this.#getRule(id)
    // What a rule has done can still be asked when it is gone.
    const current = () => {
      last = rules().find(one => one.id === id && one.key === last.key) ?? last
      return last
    }
    return {
      id,
      rule: last.rule,
      get matches() {
        return current().matches
      },
      get hits() {
        return current().hits
      },
      remove: () => {
        // Not another of its name, and not twice: a test may clean up after a reset.
        if (rules().includes(current())) this.remove(id)
      },
    }
  }

  /** Listens to the journal and keeps what was, as long as a rule needs it. */
  #subscribe(pastWorlds?: readonly PastWorld[]): void {
    const { world } = this.#host
    const { rules } = this.#rules
    this.#unsubscribe?.()
    this.#unsubscribe = rules.some(({ isArmed }) => !isArmed) ? world.journal.listen(this.#arm) : undefined
    const lookback = Math.max(
      -1,
      ...rules.map(({ rule }) => (rule.fault.kind === 'stale' ? micros(rule.fault.lag) : -1)),
    )
    if (lookback < 0) {
      this.#history?.close()
      this.#history = undefined
    } else if (this.#history === undefined) this.#history = new WorldHistory(world, lookback, pastWorlds)
    else this.#history.extend(lookback)
  }

  readonly #arm = ({ kind, subject }: Entry): void => {
    this.#updateRules(rule => {
      const { after } = rule.rule
      if (rule.isArmed || after?.kind !== kind) return rule
      return after.subject === undefined || after.subject === subject ? { ...rule, isArmed: true } : rule
    })
  }

  #updateRules(update: (one: ArmedRule) => ArmedRule): void {
    this.#rules = { ...this.#rules, rules: this.#rules.rules.map(update) }
  }

  #record(kind: string, id: string, fields?: Readonly<Record<string, string>>): number {
    const { journal, clock } = this.#host.world
    return journal.recordUndigested(clock.now, kind, id, fields)
  }

  readonly #middleware: Middleware<FaultWorld> = (passage, proceed) => {
    const relevantRules = this.#rules.rules.filter(({ operations }) => operations.has(passage.operationId))
    if (relevantRules.length === 0) return proceed()
    // The request takes its place twice: where it meets its fault, and where it reaches its endpoint.
    const entry = passage.enter()
    const readsBody = passage.endpoint.body !== undefined && relevantRules.some(({ rule }) => rule.model !== undefined)
    if (entry instanceof Promise || readsBody) return this.#applyAfterEntry(passage, proceed, entry, readsBody)
    return this.#applyRules(passage, proceed, {})
  }

  async #applyAfterEntry(
    passage: RequestContext<FaultWorld>,
    proceed: Next<FaultWorld>,
    entry: void | Promise<void>,
    readsBody: boolean,
  ): Promise<Response> {
    await entry
    return this.#applyRules(passage, proceed, readsBody ? await readFields(passage.request) : {})
  }

  /** Counts the request for every rule that it matches, and lets the first whose trigger fires befall it. */
  #applyRules(
    passage: RequestContext<FaultWorld>,
    proceed: Next<FaultWorld>,
    body: RequestFields,
  ): Response | Promise<Response> {
    const { world } = this.#host
    // The world was reset while the request was on its way: its rules are gone.
    if (passage.backend !== world) return proceed()
    const { now } = world.clock
    let triggered: ArmedRule | undefined
    this.#updateRules(rule => {
      if (!rule.operations.has(passage.operationId) || !isActive(rule, now) || !matches(rule, passage, body))
        return rule
      const counted = { ...rule, matches: rule.matches + 1 }
      if (triggered !== undefined || !isTriggered(counted, world)) return counted
      triggered = { ...counted, hits: rule.hits + 1 }
      return triggered
    })
    return triggered === undefined ? proceed() : this.#applyFault(triggered, passage, proceed)
  }

  #applyFault(
    { id, rule, key, matches }: ArmedRule,
    passage: RequestContext<FaultWorld>,
    proceed: Next<FaultWorld>,
  ): Response | Promise<Response> {
    const { world } = this.#host
    const cause = this.#record('fault.hit', id, { fault: rule.fault.kind, operation: passage.operationId })
    const { act } = FAULT_KINDS[rule.fault.kind] as unknown as FaultKind
    let recorded = undefined as void | Promise<void>
    const answer = act(rule.fault, {
      passage,
      proceed: way => proceed({ ...way, cause }),
      record: status => {
        recorded = passage.recordUnhandled(status, cause)
      },
      draw: (nth = 0) => world.chance.unit(key, SHAPE, matches * DRAWS_PER_HIT + nth),
      worldBefore: (lag: Micros) => this.#history!.at(world.clock.now - lag),
    })
    return recorded instanceof Promise ? recorded.then(() => answer) : answer
  }
}

function isActive({ isArmed, from, until }: ArmedRule, now: Micros): boolean {
  return isArmed && now >= from && now < until
}

function isTriggered(
  { rule: { times, nth, every, chance }, hits, matches, key }: ArmedRule,
  world: FaultWorld,
): boolean {
  if (times !== undefined) return hits < times
  if (nth !== undefined) return matches === nth
  if (every !== undefined) return matches % every === 0
  return chance === undefined || world.chance.unit(key, TRIGGER, matches) < chance
}

function matches({ rule }: ArmedRule, context: RequestContext<FaultWorld>, body: RequestFields): boolean {
  const { token, model, deployment } = rule
  const { params, search } = context
  if (token !== undefined) {
    const bearer = context.header('authorization')?.replace(/^Bearer\s+/i, '')
    if (bearer !== token && context.header('alt-api-key') !== token) return false
  }
  if (deployment !== undefined && !matchesName(deployment, params.deploy_id)) return false
  if (model === undefined) return true
  const query = new URLSearchParams(search)
  const given = [params.model_name, query.get('model'), ...MODEL_FIELDS.map(field => body[field])]
  return given.some(one => matchesName(model, one))
}

/** Whether a request names what a rule asks for; a model's owner may be left out, as the service does. */
function matchesName(pattern: string, name: unknown): boolean {
  if (typeof name !== 'string' || name === '') return false
  return globOf(pattern)(name) || (!name.includes('/') && pattern.endsWith(`/${name}`))
}

async function readFields(request: Request): Promise<RequestFields> {
  try {
    const body: unknown = await request.clone().json()
    return typeof body === 'object' && body !== null ? (body as RequestFields) : {}
  } catch {
    // What is no JSON names no model; its endpoint says what is wrong with it.
    return {}
  }
}

function toFaultView({ id, rule, matches, hits }: ArmedRule): FaultView {
  return { id, rule, matches, hits }
}
