/** Faults of the wire: the rules of one simulator, and what stands around its operations because of them. */
import type { Operations } from '../api/endpoint.ts'
import type { Around, Passage, Proceed } from '../api/pipeline.ts'
import { type Micros, micros } from '../kernel/duration.ts'
import { globOf } from '../kernel/glob.ts'
import type { Entry } from '../kernel/journal.ts'
import { nearest } from '../kernel/nearest.ts'
import { type Key, purpose } from '../kernel/random.ts'
import { History, type Past } from './history.ts'
import type { FaultyWorld, Kind } from './kind.ts'
import { KINDS } from './kinds.ts'
import { FaultError, type FaultRule, MODEL_FIELDS, type ReadRule, readRule } from './rule.ts'

const TRIGGER = purpose('fault.trigger')
const SHAPE = purpose('fault.shape')
/** How many numbers one hit may draw before it would draw those of the next. */
const DRAWS_A_HIT = 65_536

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
export interface AddedFault extends FaultView {
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
export interface FaultVerbs {
  /** Adds a rule. Throws FaultError, before anything has changed, for one that can not be. */
  add(rule: FaultRule): AddedFault
  list(): FaultView[]
  /** The rule of this id. Throws FaultError where there is none. */
  get(id: string): FaultView
  /** Throws FaultError where there is none. */
  remove(id: string): void
  /** Removes every rule. */
  clear(): void
}

/** A rule and how far it has come; replaced as a whole whenever that changes. */
interface Standing extends ReadRule {
  readonly id: string
  readonly key: Key
  readonly isArmed: boolean
  readonly matches: number
  readonly hits: number
}

interface Rules {
  readonly rules: readonly Standing[]
  /** Rules that were added without a name. */
  readonly unnamed: number
  /** How often each rule was added, by what chance knows it by. */
  readonly added: Readonly<Record<string, number>>
}

const NO_RULES: Rules = { rules: [], unnamed: 0, added: {} }

/** The rules of a simulator, how far each has come, and what stale reads look back on. */
export interface FaultsState {
  readonly rules: Rules
  readonly past: readonly Past[]
}

const NOTHING: FaultsState = { rules: NO_RULES, past: [] }

/** What rules are for. */
export interface FaultsHost {
  readonly world: FaultyWorld
  readonly operations: Operations
  operationOf(method: string, path: string): string | undefined
  /** What the journal calls things that happen. */
  readonly kinds: readonly string[]
}

/** The fields of a request that a rule may ask for; a body is read only where one does. */
type Body = Readonly<Record<string, unknown>>

export class Faults implements FaultVerbs {
  readonly #host: FaultsHost
  readonly #first: readonly FaultRule[]
  readonly #inherited: FaultsState
  #state: Rules
  #history: History | undefined
  #deaf: (() => void) | undefined

  /**
   * @param inherited what was there before the first rules: in a fork, the rules of its origin
   * @throws FaultError for a first rule that can not be
   */
  constructor(host: FaultsHost, first: readonly FaultRule[] = [], inherited = NOTHING) {
    this.#host = host
    this.#first = first
    this.#inherited = inherited
    this.#state = inherited.rules
    this.#attend(inherited.past)
    for (const [at, rule] of first.entries()) {
      try {
        this.add(rule)
      } catch (error) {
        if (!(error instanceof FaultError)) throw error
        throw new FaultError(error.message.replace('the fault', `faults[${at}]`))
      }
    }
  }

  /** What stands around the operations; undefined while there are no rules. */
  get around(): Around<FaultyWorld> | undefined {
    return this.#state.rules.length === 0 ? undefined : this.#around
  }

  /** Throws FaultError for a rule that can not be added now. */
  demand(given: FaultRule): ReadRule {
    const { world, operations, kinds } = this.#host
    const operationOf = (method: string, path: string) => this.#host.operationOf(method, path)
    const read = readRule(given, { operations, operationOf, kinds, clock: world.clock })
    const { name } = read.rule
    if (name !== undefined && this.#state.rules.some(one => one.id === name)) {
      throw new FaultError(`Failed to add the fault: $.name: there is a rule '${name}' already. Give another name.`)
    }
    return read
  }

  add(given: FaultRule): AddedFault {
    const read = this.demand(given)
    const { world } = this.#host
    const { rules, unnamed, added } = this.#state
    const { name } = read.rule
    const id = name ?? this.#freeId()
    // Never by the number of rules before it: taking one of those away must leave this one's draws alone.
    const known = name ?? JSON.stringify(read.rule)
    const nth = added[known] ?? 0
    const key = world.chance.key('fault', known, nth)
    const standing = { ...read, id, key, isArmed: read.rule.after === undefined, matches: 0, hits: 0 }
    this.#state = {
      rules: [...rules, standing],
      unnamed: unnamed + (name === undefined ? 1 : 0),
      added: { ...added, [known]: nth + 1 },
    }
    this.#note('fault.added', id, { fault: read.rule.fault.kind, on: [read.rule.on].flat().join(' | ') })
    this.#attend()
    return this.#handle(id)
  }

  list(): FaultView[] {
    return this.#state.rules.map(viewOf)
  }

  get(id: string): FaultView {
    return viewOf(this.#standing(id))
  }

  remove(id: string): void {
    this.#standing(id)
    this.#state = { ...this.#state, rules: this.#state.rules.filter(one => one.id !== id) }
    this.#note('fault.removed', id)
    this.#attend()
  }

  clear(): void {
    for (const { id } of this.#state.rules) this.remove(id)
  }

  /** Back to the rules of the start, for a world that is back there. */
  reset(): void {
    this.restore(this.#inherited)
    for (const rule of this.#first) this.add(rule)
  }

  /** What another simulator goes on with, or this one when it comes back to here. */
  get state(): FaultsState {
    return { rules: this.#state, past: this.#history?.past ?? [] }
  }

  /** Goes on with other rules, for a world that goes on from where they were. */
  restore({ rules, past }: FaultsState): void {
    this.#state = rules
    this.#history = undefined
    this.#attend(past)
  }

  #freeId(): string {
    const { rules, unnamed } = this.#state
    let nth = unnamed + 1
    while (rules.some(({ id }) => id === `fault-${nth}`)) nth++
    return `fault-${nth}`
  }

  #standing(id: string): Standing {
    const { rules } = this.#state
    const found = rules.find(one => one.id === id)
    if (found) return found
    const meant = nearest(
      id,
      rules.map(one => one.id),
    )
    throw new FaultError(
      `Failed to find the fault '${id}': there is no such rule. ` +
        (meant === undefined ? 'faults.list() has those there are.' : `Did you mean '${meant}'?`),
    )
  }

  #handle(id: string): AddedFault {
    const rules = () => this.#state.rules
    let last = this.#standing(id)
    // What a rule has done can still be asked when it is gone.
    const now = () => {
      last = rules().find(one => one.id === id && one.key === last.key) ?? last
      return last
    }
    return {
      id,
      rule: last.rule,
      get matches() {
        return now().matches
      },
      get hits() {
        return now().hits
      },
      remove: () => {
        // Not another of its name, and not twice: a test may clean up after a reset.
        if (rules().includes(now())) this.remove(id)
      },
    }
  }

  /** Listens to the journal and keeps what was, as long as a rule needs it. */
  #attend(past?: readonly Past[]): void {
    const { world } = this.#host
    const { rules } = this.#state
    this.#deaf?.()
    this.#deaf = rules.some(({ isArmed }) => !isArmed) ? world.journal.listen(this.#arm) : undefined
    const reach = Math.max(-1, ...rules.map(({ rule }) => (rule.fault.kind === 'stale' ? micros(rule.fault.lag) : -1)))
    if (reach < 0) {
      this.#history?.close()
      this.#history = undefined
    } else if (this.#history === undefined) this.#history = new History(world, reach, past)
    else this.#history.widen(reach)
  }

  readonly #arm = ({ kind, subject }: Entry): void => {
    this.#change(one => {
      const { after } = one.rule
      if (one.isArmed || after?.kind !== kind) return one
      return after.subject === undefined || after.subject === subject ? { ...one, isArmed: true } : one
    })
  }

  #change(change: (one: Standing) => Standing): void {
    this.#state = { ...this.#state, rules: this.#state.rules.map(change) }
  }

  #note(kind: string, id: string, fields?: Readonly<Record<string, string>>): number {
    const { journal, clock } = this.#host.world
    return journal.noted(clock.now, kind, id, fields)
  }

  readonly #around: Around<FaultyWorld> = (passage, proceed) => {
    const concerned = this.#state.rules.filter(({ operations }) => operations.has(passage.operation))
    if (concerned.length === 0) return proceed()
    // The request takes its place twice: where it meets its fault, and where it reaches its endpoint.
    const entering = passage.call.enter?.()
    const readsBody = passage.endpoint.body !== undefined && concerned.some(({ rule }) => rule.model !== undefined)
    if (entering instanceof Promise || readsBody) return this.#afterWaiting(passage, proceed, entering, readsBody)
    return this.#meet(passage, proceed, {})
  }

  async #afterWaiting(
    passage: Passage<FaultyWorld>,
    proceed: Proceed<FaultyWorld>,
    entering: void | Promise<void>,
    readsBody: boolean,
  ): Promise<Response> {
    await entering
    return this.#meet(passage, proceed, readsBody ? await bodyOf(passage.request) : {})
  }

  /** Counts the request for every rule that it matches, and lets the first whose trigger fires befall it. */
  #meet(passage: Passage<FaultyWorld>, proceed: Proceed<FaultyWorld>, body: Body): Response | Promise<Response> {
    const { world } = this.#host
    // The world was reset while the request was on its way: its rules are gone.
    if (passage.context !== world) return proceed()
    const { now } = world.clock
    let acting: Standing | undefined
    this.#change(one => {
      if (!one.operations.has(passage.operation) || !isIn(one, now) || !matches(one, passage, body)) return one
      const counted = { ...one, matches: one.matches + 1 }
      if (acting !== undefined || !fires(counted, world)) return counted
      acting = { ...counted, hits: one.hits + 1 }
      return acting
    })
    return acting === undefined ? proceed() : this.#befall(acting, passage, proceed)
  }

  #befall(
    { id, rule, key, matches }: Standing,
    passage: Passage<FaultyWorld>,
    proceed: Proceed<FaultyWorld>,
  ): Response | Promise<Response> {
    const { world } = this.#host
    const cause = this.#note('fault.hit', id, { fault: rule.fault.kind, operation: passage.operation })
    const { act } = KINDS[rule.fault.kind] as unknown as Kind
    let recorded = undefined as void | Promise<void>
    const answer = act(rule.fault, {
      passage,
      proceed: way => proceed({ ...way, cause }),
      record: status => {
        recorded = passage.record(status, cause)
      },
      draw: (nth = 0) => world.chance.unit(key, SHAPE, matches * DRAWS_A_HIT + nth),
      past: (lag: Micros) => this.#history!.at(world.clock.now - lag),
    })
    return recorded instanceof Promise ? recorded.then(() => answer) : answer
  }
}

function isIn({ isArmed, from, until }: Standing, now: Micros): boolean {
  return isArmed && now >= from && now < until
}

function fires({ rule: { times, nth, every, chance }, hits, matches, key }: Standing, world: FaultyWorld): boolean {
  if (times !== undefined) return hits < times
  if (nth !== undefined) return matches === nth
  if (every !== undefined) return matches % every === 0
  return chance === undefined || world.chance.unit(key, TRIGGER, matches) < chance
}

function matches({ rule }: Standing, { params, search, request, call }: Passage<FaultyWorld>, body: Body): boolean {
  const { token, model, deployment } = rule
  if (token !== undefined) {
    const header = call.header ?? ((name: string) => request.headers.get(name))
    const bearer = header('authorization')?.replace(/^Bearer\s+/i, '')
    if (bearer !== token && header('alt-api-key') !== token) return false
  }
  if (deployment !== undefined && !isLike(deployment, params.deploy_id)) return false
  if (model === undefined) return true
  const query = new URLSearchParams(search)
  const given = [params.model_name, query.get('model'), ...MODEL_FIELDS.map(field => body[field])]
  return given.some(one => isLike(model, one))
}

/** Whether a request names what a rule asks for; a model's owner may be left out, as the service does. */
function isLike(wanted: string, given: unknown): boolean {
  if (typeof given !== 'string' || given === '') return false
  return globOf(wanted)(given) || (!given.includes('/') && wanted.endsWith(`/${given}`))
}

async function bodyOf(request: Request): Promise<Body> {
  try {
    const body: unknown = await request.clone().json()
    return typeof body === 'object' && body !== null ? (body as Body) : {}
  } catch {
    // What is no JSON names no model; its endpoint says what is wrong with it.
    return {}
  }
}

function viewOf({ id, rule, matches, hits }: Standing): FaultView {
  return { id, rule, matches, hits }
}
