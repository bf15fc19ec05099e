/** The fault rules of a simulator, and the middleware that applies them to its operations. */

import { type Micros, micros } from '../../kernel/duration.ts'
import type { Entry } from '../../kernel/journal.ts'
import { purpose, roundDown } from '../../kernel/random.ts'
import { formatSuggestion } from '../../lib/did-you-mean.ts'
import { hashCredential } from '../../lib/text/secrets.ts'
import { readRetryAfter } from '../../service/http/exchange.ts'
import type { Middleware, Next, RequestContext } from '../../service/http/request-context.ts'
import { type PastWorld, WorldForks } from '../../simulation/forks.ts'
import type { World } from '../../simulation/world.ts'
import type { FaultControls, FaultHandle, FaultView } from './fault-controls.ts'
import { FaultError } from './fault-error.ts'
import { EMPTY_STATE, FAULT_HEADER, type FaultsHost, type FaultsState, type Rules } from './faults-state.ts'
import * as faultKinds from './kinds/index.ts'
import type { FaultKind } from './kinds/kind.ts'
import { LineFaults } from './line-faults.ts'
import { namesModelInForm } from './model-fields.ts'
import * as requestFaults from './request-fault.ts'
import { type ArmedRule, countMatches, drawTrigger, matches, type RequestFields, readFields } from './rule-matching.ts'
import type { FaultRule, ParsedRule } from './rules.ts'
import * as ruleParser from './rules.ts'

const SHAPE = purpose('fault.shape')
/** The name under which the faults of single requests draw. No rule can have it. */
const HEADER_DRAWS = `${FAULT_HEADER} header`
/** How many numbers one hit may draw before it would draw those of the next. */
const DRAWS_PER_HIT = 65_536

export class Faults implements FaultControls {
  readonly #host: FaultsHost
  readonly #initialRules: readonly FaultRule[]
  readonly #initialState: FaultsState
  /** The middleware around the operations; undefined if no request can have a fault. */
  middleware: Middleware<World> | undefined
  /**
   * The rules that act on lines of batches.
   *
   * @internal
   */
  readonly lines: LineFaults
  #currentRules: Rules = EMPTY_STATE.rules
  #history: WorldForks | undefined
  #unsubscribe: (() => void) | undefined

  /**
   * @param initialState the state before the initial rules: in a fork, the rules of its origin
   * @throws FaultError for an invalid initial rule
   */
  constructor(host: FaultsHost, initialRules: readonly FaultRule[] = [], initialState = EMPTY_STATE) {
    this.#host = host
    this.#initialRules = initialRules
    this.#initialState = initialState
    this.rules = initialState.rules
    this.lines = new LineFaults(this, this.#recordLines)
    this.#subscribe(initialState.past)
    for (const [index, rule] of initialRules.entries()) {
      try {
        this.#add(rule)
      } catch (error) {
        if (!(error instanceof FaultError)) throw error
        throw new FaultError(error.message.replace('the fault', `faults[${index}]`))
      }
    }
  }

  get rules(): Rules {
    return this.#currentRules
  }

  set rules(changed: Rules) {
    this.#currentRules = changed
    this.middleware = changed.rules.length === 0 && !this.#host.requestFaults ? undefined : this.#middleware
  }

  /** Returns the parsed rule. Throws FaultError for a rule that cannot be added now. */
  validate(rule: FaultRule): ParsedRule {
    const { world, operations, kinds } = this.#host
    const operationOf = (method: string, path: string) => this.#host.operationOf(method, path)
    const parsed = ruleParser.parseRule(rule, { operations, operationOf, kinds, clock: world.clock })
    const { name } = parsed.rule
    if (name !== undefined && this.rules.rules.some(one => one.id === name)) {
      throw new FaultError(`Failed to add the fault: $.name: duplicate name '${name}'. Give another name.`)
    }
    return parsed
  }

  add(rule: FaultRule): FaultHandle {
    this.#host.catchUp()
    return this.#add(rule)
  }

  #add(rule: FaultRule): FaultHandle {
    const parsed = this.validate(rule)
    const { rules, unnamed, added } = this.rules
    const { name } = parsed.rule
    const id = name ?? this.#freeId()
    // Not by the number of earlier rules: the removal of one of those must not change the draws of this rule.
    // A replay has a hash in place of each credential.
    const chanceName = name ?? this.#host.world.apiTokens.hideSecrets(JSON.stringify(parsed.rule), hashCredential)
    const nth = added[chanceName] ?? 0
    const key = this.#host.world.chance.key('fault', chanceName, nth)
    const armedRule = { ...parsed, id, key, isArmed: parsed.rule.after === undefined, matches: 0, hits: 0 }
    this.rules = {
      rules: [...rules, armedRule],
      unnamed: unnamed + (name === undefined ? 1 : 0),
      added: { ...added, [chanceName]: nth + 1 },
    }
    this.#record('fault.added', id, { fault: parsed.rule.fault.kind, on: [parsed.rule.on].flat().join(' | ') })
    this.#subscribe()
    this.#host.onRuleAdded?.(parsed.rule)
    return this.#createHandle(id)
  }

  list(): FaultView[] {
    return this.rules.rules.map(toFaultView)
  }

  get(id: string): FaultView {
    return toFaultView(this.#getRule(id))
  }

  remove(id: string): void {
    this.#getRule(id)
    this.rules = { ...this.rules, rules: this.rules.rules.filter(one => one.id !== id) }
    this.#record('fault.removed', id)
    this.#subscribe()
    this.#host.onRuleRemoved?.(id)
  }

  clear(): void {
    for (const { id } of this.rules.rules) this.remove(id)
  }

  /** Returns to the initial rules, for a world that was reset. */
  reset(): void {
    this.restore(this.#initialState)
    for (const rule of this.#initialRules) this.#add(rule)
  }

  /** The state from which another simulator, or this one after a restore, continues. */
  get state(): FaultsState {
    return { rules: this.rules, past: this.#history?.pastWorlds ?? [] }
  }

  /** Continues from another state, for a world that was restored with it. */
  restore({ rules, past }: FaultsState): void {
    this.rules = rules
    this.#history = undefined
    this.#subscribe(past)
  }

  #freeId(): string {
    const { rules, unnamed } = this.rules
    let nth = unnamed + 1
    while (rules.some(({ id }) => id === `fault-${nth}`)) nth++
    return `fault-${nth}`
  }

  #getRule(id: string): ArmedRule {
    const { rules } = this.rules
    const rule = rules.find(one => one.id === id)
    if (rule) return rule
    const known = rules.map(one => one.id)
    const advice = formatSuggestion(id, known, 'faults.list() returns the rules.')
    throw new FaultError(`Failed to find the fault '${id}': unknown rule. ${advice}`)
  }

  #createHandle(id: string): FaultHandle {
    const rules = () => this.rules.rules
    let last = this.#getRule(id)
    // The handle of a removed rule still has its counts.
    const current = () => {
      last = rules().find(one => one.id === id && one.key === last.key) ?? last
      return last
    }
    return {
      ...{ id, rule: last.rule },
      get matches() {
        return current().matches
      },
      get hits() {
        return current().hits
      },
      remove: () => {
        // Not another rule of the same name, and not twice: a test may clean up after a reset.
        if (rules().includes(current())) this.remove(id)
      },
    }
  }

  /** Listens to the journal and keeps past worlds, if a rule needs them. */
  #subscribe(pastWorlds?: readonly PastWorld[]): void {
    const { world } = this.#host
    const { rules } = this.rules
    this.#unsubscribe?.()
    this.#unsubscribe = rules.some(({ isArmed }) => !isArmed) ? world.journal.listen(this.#arm) : undefined
    // A header can ask for any lag.
    const lookback = Math.max(
      this.#host.requestFaults ? Number.POSITIVE_INFINITY : -1,
      ...rules.map(({ rule }) => (rule.fault.kind === 'stale' ? micros(rule.fault.lag) : -1)),
    )
    if (lookback < 0) {
      this.#history?.close()
      this.#history = undefined
    } else if (this.#history === undefined) this.#history = new WorldForks(world, lookback, pastWorlds)
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
    this.rules = { ...this.rules, rules: this.rules.rules.map(update) }
  }

  #record(kind: string, id: string, fields?: Readonly<Record<string, string | number>>): number {
    const { journal, clock } = this.#host.world
    return journal.recordUndigested(clock.now, kind, id, fields)
  }

  /** Records for each rule how many lines of a batch it failed. */
  readonly #recordLines = (before: Rules, { rules }: Rules, operation: string, batch: string): void => {
    for (const [index, { id, hits, rule }] of rules.entries()) {
      const lines = hits - before.rules[index]!.hits
      if (lines > 0) this.#record('fault.hit', id, { fault: rule.fault.kind, operation, batch, lines })
    }
  }

  readonly #middleware: Middleware<World> = (passage, proceed) => {
    const header = this.#host.requestFaults ? passage.header(FAULT_HEADER) : null
    if (header !== null) {
      const entry = passage.enter()
      const apply = () => this.#applyHeader(header, passage, proceed)
      return entry instanceof Promise ? entry.then(apply) : apply()
    }
    const relevantRules = this.rules.rules.filter(rule => isOnRequest(rule, passage.operationId))
    if (relevantRules.length === 0) return proceed()
    // The request waits for the clock twice: here, and before its endpoint.
    const entry = passage.enter()
    const { endpoint } = passage
    const canNameModel = endpoint.body !== undefined || namesModelInForm(endpoint)
    const readsBody = canNameModel && relevantRules.some(({ rule }) => rule.model !== undefined)
    const applyAfterEntry = async () => {
      await entry
      return this.#applyRules(passage, proceed, readsBody ? await readFields(passage.request) : {})
    }
    return entry instanceof Promise || readsBody ? applyAfterEntry() : this.#applyRules(passage, proceed, {})
  }

  /** Counts the request for every matching rule, and applies the first rule whose trigger fires. */
  #applyRules(passage: RequestContext<World>, proceed: Next<World>, body: RequestFields): Response | Promise<Response> {
    const { world } = this.#host
    // The world was reset while the request waited, so its rules no longer apply.
    if (passage.backend !== world) return proceed()
    passage.incoming.onStep?.(undefined)
    const { rules, triggered } = countMatches(
      this.rules.rules,
      world,
      rule => isOnRequest(rule, passage.operationId) && matches(rule, passage, body),
    )
    this.rules = { ...this.rules, rules }
    return triggered === undefined ? proceed() : this.#applyFault(triggered, passage, proceed)
  }

  /** Applies the fault that a request states. Rules neither act on such a request nor count it. */
  #applyHeader(header: string, passage: RequestContext<World>, proceed: Next<World>): Response | Promise<Response> {
    const { world } = this.#host
    // The request gets the 401 or 403 that it would get without the header.
    if (passage.backend !== world || !passage.isAuthenticated()) return proceed()
    passage.incoming.onStep?.(undefined)
    try {
      const fault = requestFaults.parseFaultHeader(header, passage.operationId, this.#host)
      const nth = this.rules.added[HEADER_DRAWS] ?? 0
      this.rules = { ...this.rules, added: { ...this.rules.added, [HEADER_DRAWS]: nth + 1 } }
      const key = world.chance.key('fault', HEADER_DRAWS, nth)
      return this.#applyFault({ id: FAULT_HEADER, rule: { fault }, key, matches: 0 }, passage, proceed)
    } catch (error) {
      if (!(error instanceof FaultError)) throw error
      passage.decide('none', error.message)
      const recorded = passage.recordUnhandled(400)
      const answer = passage.refuse(400, error.message)
      return recorded instanceof Promise ? recorded.then(() => answer) : answer
    }
  }

  #applyFault(
    armed: Pick<ArmedRule, 'id' | 'key' | 'matches'> & { readonly rule: Pick<FaultRule, 'fault' | 'chance'> },
    passage: RequestContext<World>,
    proceed: Next<World>,
  ): Response | Promise<Response> {
    const { id, rule, key, matches } = armed
    const { world } = this.#host
    const { kind } = rule.fault
    const draw = rule.chance === undefined ? {} : { draw: roundDown(drawTrigger({ key, matches }, world)) }
    const cause = this.#record('fault.hit', id, { fault: kind, operation: passage.operationId, ...draw })
    passage.decide('fault', `${id} (${kind})`)
    const { act } = faultKinds.FAULT_KINDS[kind] as unknown as FaultKind
    let unansweredStatus = undefined as number | undefined
    const answer = act(rule.fault, {
      passage,
      record: status => {
        unansweredStatus = status
      },
      missed: () => {
        this.#updateRules(rule => (rule.id === id && rule.key === key ? { ...rule, hits: rule.hits - 1 } : rule))
        this.#record('fault.missed', id, { fault: kind, operation: passage.operationId })
      },
      proceed: way => proceed({ ...way, cause }),
      draw: (nth = 0) => world.chance.unit(key, SHAPE, matches * DRAWS_PER_HIT + nth),
      worldBefore: (lag: Micros) => this.#history!.at(world.clock.now - lag),
    })
    if (unansweredStatus === undefined) return answer
    if (answer instanceof Response) {
      const { epochMs, now } = world.clock
      passage.retryAfter = readRetryAfter(answer.headers.get('retry-after'), epochMs + now / 1000)
    }
    const recorded = passage.recordUnhandled(unansweredStatus, cause)
    return recorded instanceof Promise ? recorded.then(() => answer) : answer
  }
}

/** Returns whether a rule acts on requests of an operation. */
function isOnRequest({ rule, operations }: ArmedRule, operation: string): boolean {
  return rule.in === undefined && operations.has(operation)
}

function toFaultView({ id, rule, matches, hits }: ArmedRule): FaultView {
  return { id, rule, matches, hits }
}
