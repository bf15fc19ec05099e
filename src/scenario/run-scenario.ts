import { createClient } from '../api/client.ts'
import type { Operations } from '../api/endpoint.ts'
import { operations } from '../api/index.ts'
import type { NamesProfile } from '../api/names.ts'
import { pause, turn } from '../clock/turns.ts'
import { type Duration, type Micros, micros, readable } from '../kernel/duration.ts'
import type { Fields } from '../kernel/journal.ts'
import { monotonicMs } from '../kernel/pacer.ts'
import { beginsWithSnapshot } from '../simulator.ts'
import type { ServerAddress } from './against.ts'
import { CheckError, differences, leaves, refusalDifferences, shown } from './check.ts'
import { type CountRange, countBounds, countName, type EventPattern, eventMatcher } from './events.ts'
import { bugError, type Failure, failureOf, LAST_EVENTS, messageOf, timeOf } from './failures.ts'
import { LoadError } from './files.ts'
import { Moves } from './moves.ts'
import { clientOf, clusterOf, isAwaited, Orders } from './orders.ts'
import type { Props, Scenario } from './scenario.ts'
import type { Order, Pass, Stage } from './stage.ts'
import { stageFor } from './stages.ts'
import { type DueStep, type Part, type PlannedStep, part, Timeline } from './timeline.ts'
import { lineOf, traceOf } from './trace.ts'
import { type Condition, outcomeOf, Watches } from './watches.ts'

/** Real time without anything happening after which a script is taken for one that waits for nothing. */
const PATIENCE_MS = 5_000
/** How often a script is looked at meanwhile. */
const NAPS = 25

export interface RunOptions {
  /** Instead of the scenario's own seed. */
  readonly seed?: string | number | undefined
  /** Instead of the scenario's own names: the path of a file, or the names themselves. Clients on its `fetch` speak them. */
  readonly names?: string | NamesProfile | undefined
  /** Holds the world to its laws after every event. */
  readonly check?: boolean | undefined
  /** Path of the script, to say in which of its lines a failure happened. */
  readonly file?: string | undefined
  /** Real milliseconds without anything happening after which it counts as stuck; 5,000 unless given. */
  readonly patienceMs?: number | undefined
  /** A running server, by its address, to play on in a world made for the scenario; this process unless given. */
  readonly against?: string | ServerAddress | undefined
  /** Hears of each step as the script takes it: what is done, in one line. */
  readonly onStep?: ((step: string, at: Micros) => void) | undefined
}

/** What became of a scenario. */
export interface Result {
  readonly title: string
  readonly passed: boolean
  /** Undefined where a snapshot that can not be read would have said. */
  readonly seed: string | undefined
  /** How much virtual time it took, in microseconds. */
  readonly elapsed: Micros
  /** Real milliseconds; never part of a trace. */
  readonly wallMs: number
  readonly checks: number
  readonly trace: readonly string[]
  readonly digest: string
  readonly failure: Failure | undefined
}

/** See `playing.ts`. */
export async function runScenario(scenario: Scenario, options: RunOptions = {}): Promise<Result> {
  // Where neither says one it is the world's: a snapshot has its own.
  const { seed = scenario.options.seed } = options
  let stage: Stage
  try {
    const asked = {
      ...(seed !== undefined && { seed }),
      ...(options.names !== undefined && { names: options.names }),
      ...(options.check && { check: true }),
    }
    stage = await stageFor({ ...scenario.options, ...asked }, options)
  } catch (error) {
    if (error instanceof LoadError) throw error
    return {
      title: scenario.title,
      passed: false,
      seed: seed === undefined && beginsWithSnapshot(scenario.options.fixtures) ? undefined : String(seed ?? 1),
      elapsed: 0,
      wallMs: 0,
      checks: 0,
      trace: [],
      digest: '',
      failure: { message: messageOf(error), at: 0, where: undefined, differences: [], events: [] },
    }
  }
  return playOn(stage, scenario, options)
}

async function playOn(stage: Stage, scenario: Scenario, options: RunOptions): Promise<Result> {
  const began = monotonicMs()
  const script = new Script(stage, options.onStep)
  let failure: Failure | undefined
  try {
    await patiently(script, stage, options.patienceMs ?? PATIENCE_MS, () => script.play(scenario))
    if (stage.bug !== undefined) throw stage.bug
  } catch (thrown) {
    const error = stage.bug === undefined ? thrown : bugError(stage.bug)
    failure = await failureOf(stage, error, options.file)
  }
  const record = await stage.record()
  const result: Result = {
    title: scenario.title,
    passed: failure === undefined,
    seed: stage.seed,
    elapsed: stage.clock.elapsed,
    wallMs: monotonicMs() - began,
    checks: script.checks,
    trace: traceOf(scenario.title, stage.seed, record),
    digest: await stage.digest(),
    failure,
  }
  await stage.close()
  return result
}

/** One playing of a script: what it gets, in the order in which it asks. */
class Script {
  checks = 0
  readonly #stage: Stage
  readonly #onStep: RunOptions['onStep']
  readonly #orders: Orders = new Orders(() => this.#lookAfterwards())
  readonly #timeline: Timeline
  readonly #watches: Watches
  readonly #moving: Moves
  /** Moves of the clock under way; a second one waits for the first. */
  #moves: readonly string[] = []
  /** Moves of the clock that have been asked for, each with the place in the script. */
  #asked: readonly { readonly name: string; readonly promise: Promise<unknown>; readonly from: Error }[] = []

  /** What went wrong while time was moved for an answer that was awaited. */
  #failedInPassing: { readonly error: unknown } | undefined

  constructor(stage: Stage, onStep: RunOptions['onStep']) {
    this.#stage = stage
    this.#onStep = onStep
    this.#timeline = new Timeline(stage.clock)
    this.#watches = new Watches({
      stage,
      nameOf: what => this.#nameOf(what),
      queue: act => this.#orders.verb(act),
      held: name => this.#note(name, { held: true }),
    })
    this.#moving = new Moves(stage, this.#timeline, this.#watches, step => this.#runStep(step))
  }

  /** What the script waits for, as far as that can be told. */
  get waiting(): string | undefined {
    const [first, second] = this.#moves
    return second && `${second} waits for ${first} to end, and was called by what that waits for`
  }

  async play(scenario: Scenario): Promise<void> {
    try {
      await scenario.play(this.#props())
    } catch (error) {
      if (this.#watches.breach) throw this.#watches.breach
      if (this.#failedInPassing) throw this.#failedInPassing.error
      // What failed unseen came first, and may be why the rest went wrong.
      const stray = this.#orders.stray
      throw stray && stray.error !== error ? stray.error : error
    }
    const stray = await this.#orders.settled()
    if (this.#watches.breach) throw this.#watches.breach
    if (this.#failedInPassing) throw this.#failedInPassing.error
    if (stray) throw stray.error
    const loose = this.#asked.find(({ promise }) => !isAwaited(promise))
    if (loose) throw loose.from
    await this.#watches.look()
    this.#watches.end()
    const unreached = this.#timeline.unreached
    if (unreached) throw unreachedError(unreached, this.#stage.clock.elapsed)
  }

  #props(): Props {
    const stage = this.#stage
    const orders = this.#orders
    const moving = this.#moving
    const { clock } = stage
    const client = createClient(request => stage.send(request, this.#pass), stage)
    return {
      api: clientOf(client, orders, (name, args) =>
        this.#tell(`api.${name}`, args, isLookOf(name) && this.#moving.underWay > 0),
      ),
      clock: {
        get now() {
          return clock.now
        },
        get iso() {
          return clock.iso
        },
        get elapsed() {
          return clock.elapsed
        },
        advance: duration => this.#move('advance', [duration], () => moving.advance(duration)),
        advanceTo: moment => this.#move('advanceTo', [moment], () => moving.advanceTo(moment)),
        next: options => this.#move('next', [options], () => moving.next(options)),
        until: (predicate, options) => this.#move('until', [options], () => moving.until(predicate, options)),
        sleep: duration => clock.sleep(duration),
      },
      cluster: clusterOf(order => {
        this.#tell(nameOfOrder(order), order.at(-1)!.args ?? [])
        return orders.verb(() => stage.command(order))
      }),
      faults: {
        add: rule => {
          this.#tell('faults.add', [rule])
          return orders.verb(() => stage.faults.add(rule))
        },
        list: () => orders.verb(() => stage.faults.list()),
        get: id => orders.verb(() => stage.faults.get(id)),
        remove: id => {
          this.#tell('faults.remove', [id])
          return orders.verb(() => stage.faults.remove(id))
        },
        clear: () => {
          this.#tell('faults.clear', [])
          return orders.verb(() => stage.faults.clear())
        },
      },
      ledger: {
        balance: () => orders.after(() => stage.balance()),
        entries: subject => orders.after(() => this.#entries(subject)),
        cost: subject =>
          orders.after(async () => {
            const entries = await this.#entries(subject)
            // No entry at all costs nothing, not minus nothing.
            return entries.reduce((sum, { microcents }) => sum - microcents, 0)
          }),
        rent: subject =>
          orders.after(async () => {
            const { id_to_duration } = await client.getRentUsage({ from: 0 })
            return id_to_duration[subject] ?? 0
          }),
      },
      journal: { entries: () => orders.after(async () => [...(await stage.record())]) },
      check: (actual, expected, what) => {
        this.#tell('check', what === undefined ? [expected] : [expected, what])
        this.#check(actual, expected, what)
      },
      expectRefusal: (call, status, message) => {
        this.#tell('expectRefusal', message === undefined ? [status] : [status, message])
        return orders.after(() => this.#expectRefusal(call, status, message))
      },
      always: (condition, what) => this.#planning('always', [what], () => this.#watches.always(condition, what)),
      never: (condition, what) => this.#planning('never', [what], () => this.#watches.never(condition, what)),
      leadsTo: (event, then, options) =>
        this.#planning('leadsTo', [event, then, options], () => this.#watches.leadsTo(event, then, options)),
      eventually: (condition, options, what) =>
        this.#move('eventually', [options, what], () => this.#eventually(condition, options, what), 'eventually'),
      countOf: (event, range, what) => {
        this.#tell('countOf', [event, range])
        return orders.after(() => this.#countOf(event, range, what))
      },
      unchanged: act => {
        this.#tell('unchanged', [])
        return orders.after(() => this.#unchanged(act))
      },
      at: (moment, act, what) => this.#planning('at', [moment, what], () => this.#timeline.at(moment, act, what)),
      every: (interval, act, options) =>
        this.#planning('every', [interval, options], () => this.#timeline.every(interval, act, options)),
      fetch: (input, init) => orders.after(() => stage.send(new Request(input, init), this.#pass)),
      baseUrl: stage.baseUrl,
      token: stage.token,
    }
  }

  readonly #pass: Pass = async span => {
    try {
      await this.#moving.pass(span)
    } catch (error) {
      // What a step of the timeline fails with is not for the client that awaits an answer to get over.
      this.#failedInPassing ??= { error }
      throw error
    }
  }

  #move<T>(name: string, args: readonly unknown[], move: () => Promise<T>, call = `clock.${name}`): Promise<T> {
    this.#tell(call, args)
    // Not queued as verbs are: what a client asks while time moves is part of the move.
    const promise = this.#orders.after(async () => {
      this.#moves = [...this.#moves, call]
      try {
        return await move()
      } finally {
        this.#moves = this.#moves.toSpliced(this.#moves.indexOf(call), 1)
      }
    })
    const from = new Error(`Failed to move time: ${unawaited(call)}`)
    this.#asked = [...this.#asked.filter(asked => !isAwaited(asked.promise)), { name: call, promise, from }]
    return promise
  }

  async #entries(subject: string | undefined) {
    const entries = await this.#stage.ledgerEntries()
    return subject === undefined ? entries : entries.filter(entry => entry.subject === subject)
  }

  #check(actual: unknown, expected: unknown, what: string | undefined): void {
    const name = this.#nameOf(what)
    if (actual instanceof Promise) {
      throw new TypeError(`Failed to check: ${name} is given a promise. Await it: check(await …, …).`)
    }
    const found = differences(actual, expected)
    if (found.length > 0) throw this.#hinting(new CheckError(name, found, actual))
    this.#note(what, leaves(expected))
  }

  /** Puts a check that held on record. One that a look made is the look's business. */
  #note(what: string | undefined, fields: Fields): void {
    const inside = part.getStore()
    if (inside) inside.checks++
    if (inside?.kind === 'look' && !inside.isOver) return
    this.#stage.note('check', what === undefined ? String(this.checks) : JSON.stringify(what), fields)
  }

  async #eventually(condition: Condition, options: { readonly within?: Duration | undefined } = {}, what?: string) {
    const name = this.#nameOf(what === undefined ? 'eventually' : `eventually: ${what}`)
    const within = readable(micros(options.within ?? '24h'))
    let last: Awaited<ReturnType<typeof outcomeOf>> | undefined
    const looked = async () => {
      last = await outcomeOf(condition, name)
      return last.holds
    }
    try {
      await this.#moving.until(looked, options)
    } catch (error) {
      if ((error as Error).name !== 'UntilError') throw error
      const found = last?.differences.map(one => ({ ...one, expected: `${one.expected} within ${within}` })) ?? []
      const never = { path: '', expected: `true within ${within}`, found: `false until ${this.#stage.clock.iso}` }
      throw new CheckError(name, found.length > 0 ? found : [never], last?.actual)
    }
    this.#note(what, { eventually: true })
  }

  async #countOf(event: EventPattern, range: CountRange, what: string | undefined): Promise<number> {
    const matcher = eventMatcher(event)
    const bounds = countBounds(range)
    const name = this.#nameOf(what ?? `count of ${matcher.name}`)
    const found = (await this.#stage.record()).filter(entry => matcher.matches(entry))
    const { length } = found
    if (length < bounds.min || length > bounds.max) {
      const last = found.at(-1)
      const times = length === 0 ? 'none' : `${length}, the last at ${timeOf(last!.time)} of ${last!.subject}`
      throw new CheckError(name, [{ path: '', expected: countName(bounds), found: times }], last?.subject)
    }
    this.#note(what, { count: countName(bounds), of: matcher.name })
    return length
  }

  async #unchanged<T>(act: () => T | Promise<T>): Promise<T> {
    const stage = this.#stage
    const name = this.#nameOf('unchanged')
    const before = await stage.digest()
    const since = (await stage.record()).length
    const result = await act()
    await this.#orders.verbsDone()
    if ((await stage.digest()) !== before) {
      const changes = (await stage.record()).slice(since).filter(({ kind }) => kind !== 'request' && kind !== 'check')
      const lines = changes.flatMap(entry => lineOf(entry) ?? []).slice(0, LAST_EVENTS)
      const found = `${counted(changes.length, 'change')}:${lines.map(line => `\n    ${line}`).join('')}`
      throw new CheckError(name, [{ path: '', expected: 'a world that stays as it is', found }], lines)
    }
    this.#note(undefined, { unchanged: true })
    return result
  }

  /** Plans or puts up something, where it can be heeded: a move that is under way knows nothing of it. */
  #planning<T>(name: string, args: readonly unknown[], plan: () => T): T {
    this.#tell(name, args)
    if (this.#moving.underWay > 0 && part.getStore()?.kind !== 'step') {
      throw new Error(
        `Failed to put up ${name}(…): time is being moved. Call it before the move begins, or in a step that at(…) plans.`,
      )
    }
    return plan()
  }

  /** Does a step of the timeline, verbs that it does not await included. */
  async #runStep({ name, act }: DueStep): Promise<void> {
    this.#tell(name, [])
    const step: Part = { kind: 'step', name, checks: 0, isOver: false }
    const before = this.#orders.stray
    try {
      await part.run(step, async () => act())
      await this.#orders.verbsDone()
      const stray = this.#orders.stray
      if (stray && stray !== before) throw stray.error
    } catch (error) {
      if (error instanceof Error && !error.message.startsWith(name)) error.message = `${name}: ${error.message}`
      throw error
    } finally {
      step.isOver = true
    }
  }

  /** Tells of a step of the script's own; what is done to look at the world while time moves is none. */
  #tell(name: string, args: readonly unknown[], isLook = false): void {
    const inside = part.getStore()
    if (this.#onStep === undefined || isLook || (inside?.kind === 'look' && !inside.isOver)) return
    const given = args.filter(arg => arg !== undefined && typeof arg !== 'function').map(shown)
    this.#onStep([name, ...given].join(' '), this.#stage.clock.elapsed)
  }

  #lookAfterwards(): Promise<void> | undefined {
    return this.#watches.any ? this.#watches.look() : undefined
  }

  /** A check that looks before time has moved is nearly always one whose `await` was forgotten. */
  #hinting(error: CheckError): CheckError {
    const loose = this.#asked.find(({ promise }) => !isAwaited(promise))
    if (loose) error.message += `\n  ${unawaited(loose.name)}`
    return error
  }

  async #expectRefusal(call: Promise<unknown>, status: number, message: string | RegExp | undefined) {
    const name = this.#nameOf(undefined)
    const outcome = await Promise.resolve(call).then(
      value => ({ value }),
      (error: unknown) => ({ error }),
    )
    if ('value' in outcome) {
      const found = `success: ${shown(outcome.value)}`
      throw new CheckError(name, [{ path: '', expected: `a refusal ${status}`, found }], outcome.value)
    }
    const found = refusalDifferences(outcome.error, status, message)
    if (found.length > 0) throw new CheckError(name, found, outcome.error)
    this.#note(undefined, { refused: status, ...(message !== undefined && { message: String(message) }) })
    return outcome.error as Awaited<ReturnType<Props['expectRefusal']>>
  }

  #nameOf(what: string | undefined): string {
    const inside = part.getStore()
    if (inside?.kind === 'look' && !inside.isOver) return inside.name
    this.checks++
    return `check ${this.checks}${what === undefined ? '' : ` (${what})`}`
  }
}

function unawaited(call: string): string {
  return `${call} is not awaited, so the script goes on before time has moved. Write await ${call}(…).`
}

function unreachedError({ name, at, runs, left, from }: PlannedStep, now: Micros): Error {
  const done = runs === 0 ? 'never done, for it' : `done ${runs} of ${runs + left} times, for the next`
  const error = new Error(
    `Failed to end: '${name}' was ${done} is due at ${timeOf(at)} and the scenario ends at ${timeOf(now)}. ` +
      'Move the clock past it, or take it off with its stop().',
  )
  error.stack = from.stack ?? ''
  return error
}

function isLookOf(operation: string): boolean {
  return (operations as Operations)[operation]?.method === 'GET'
}

/** `cluster.nodeOf("id").crash` */
function nameOfOrder(order: Order): string {
  const names = order.map(({ name, args }, i) =>
    args === undefined || i === order.length - 1 ? name : `${name}(${args.map(shown).join(', ')})`,
  )
  return ['cluster', ...names].join('.')
}

/**
 * Plays until it is over, until a promise of the script's own fails with nobody awaiting it, or until nothing has
 * happened for a while and nothing will.
 */
async function patiently(script: Script, stage: Stage, ms: number, play: () => Promise<void>): Promise<void> {
  let over = false
  let fail = (_: unknown) => {}
  const failed = new Promise<never>((_, reject) => {
    fail = reject
  })
  const giveUp = (noticed: string) => {
    const because = script.waiting ?? stage.waiting ?? 'it awaits something that nobody will bring'
    fail(new Error(`Failed to go on: ${noticed}, and the script has not ended: ${because}.`))
  }
  // In many short naps: a process that gets no turn for long has not been idle for long.
  const watch = async () => {
    let before = stage.pulse
    let naps = 0
    while (!over) {
      await pause(ms / NAPS)
      naps = stage.pulse === before ? naps + 1 : 0
      before = stage.pulse
      if (!over && naps === NAPS) giveUp(`nothing has happened for ${readable(ms * 1000)} of real time`)
    }
  }
  // With nothing left to do Node would leave without a word; the turn keeps it for whoever is played next.
  const leaving = () => {
    giveUp('nothing is left that could happen')
    turn()
  }
  const lost = (reason: unknown) => {
    const error = new Error(`a promise that nobody awaits failed: ${messageOf(reason)}`, { cause: reason })
    if (reason instanceof Error) error.stack = reason.stack ?? ''
    fail(error)
  }
  process.on('beforeExit', leaving)
  process.on('unhandledRejection', lost)
  watch()
  try {
    await Promise.race([play(), failed])
    // A failure that nobody awaits is known only a turn later: it must not be the next scenario's.
    await Promise.race([turn(), failed])
  } finally {
    over = true
    process.off('beforeExit', leaving)
    process.off('unhandledRejection', lost)
  }
}

function counted(count: number, thing: string): string {
  return count === 1 ? `1 ${thing}` : `${count} ${thing}s`
}
