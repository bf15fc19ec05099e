import { type Duration, formatDuration, type Micros, micros } from '../../kernel/duration.ts'
import type { EntryFields } from '../../kernel/journal.ts'
import { eventLoopTurn, monotonicMs, realDelay } from '../../lib/real-time.ts'
import { createClient } from '../../service/client/client.ts'
import type { Operations } from '../../service/endpoint.ts'
import { operations } from '../../service/index.ts'
import type { NamesProfile } from '../../service/naming/names-profile.ts'
import { isSnapshotFixture } from '../../simulator/options.ts'
import { CheckError, differences, findRefusalDifferences, flattenExpected, formatJsonValue } from '../check.ts'
import { type CountRange, countBounds, type EventPattern, eventMatcher, formatCountRange } from '../events.ts'
import { LoadError } from '../runner/files.ts'
import { createTrace, toTraceLine } from '../runner/trace.ts'
import type { Props, Scenario } from '../scenario.ts'
import { CallQueue, createCluster, createObservedClient, isAwaited } from './command-proxy.ts'
import type { ServerAddress } from './control-client.ts'
import type { CommandPath, PassTime, ScenarioEnvironment } from './environment.ts'
import { bugError, createFailure, type Failure, failureMessage, formatVirtualTime, LAST_EVENTS } from './failures.ts'
import { createEnvironment } from './open-environment.ts'
import { type Condition, evaluateCondition, TemporalAssertions } from './temporal-assertions.ts'
import { TimeMover } from './time-mover.ts'
import { type CallContext, callContext, type DueStep, Timeline, type TimelineStep } from './timeline.ts'

/** Real time without anything happening after which a script is taken for one that waits for nothing. */
const STUCK_TIMEOUT_MS = 5_000
/** How often a script is looked at meanwhile. */
const STUCK_CHECKS = 25

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
  let stage: ScenarioEnvironment
  try {
    const overrides = {
      ...(seed !== undefined && { seed }),
      ...(options.names !== undefined && { names: options.names }),
      ...(options.check && { check: true }),
    }
    stage = await createEnvironment({ ...scenario.options, ...overrides }, options)
  } catch (error) {
    if (error instanceof LoadError) throw error
    return {
      title: scenario.title,
      passed: false,
      seed: seed === undefined && isSnapshotFixture(scenario.options.fixtures) ? undefined : String(seed ?? 1),
      elapsed: 0,
      wallMs: 0,
      checks: 0,
      trace: [],
      digest: '',
      failure: { message: failureMessage(error), at: 0, where: undefined, differences: [], events: [] },
    }
  }
  return playIn(stage, scenario, options)
}

async function playIn(stage: ScenarioEnvironment, scenario: Scenario, options: RunOptions): Promise<Result> {
  const startedMs = monotonicMs()
  const script = new ScriptRun(stage, options.onStep)
  let failure: Failure | undefined
  try {
    await withStuckDetection(script, stage, options.patienceMs ?? STUCK_TIMEOUT_MS, () => script.play(scenario))
    if (stage.bug !== undefined) throw stage.bug
  } catch (thrown) {
    const error = stage.bug === undefined ? thrown : bugError(stage.bug)
    failure = await createFailure(stage, error, options.file)
  }
  const record = await stage.journalEntries()
  const result: Result = {
    title: scenario.title,
    passed: failure === undefined,
    seed: stage.seed,
    elapsed: stage.clock.elapsed,
    wallMs: monotonicMs() - startedMs,
    checks: script.checks,
    trace: createTrace(scenario.title, stage.seed, record),
    digest: await stage.digest(),
    failure,
  }
  await stage.close()
  return result
}

/** One playing of a script: what it gets, in the order in which it asks. */
class ScriptRun {
  checks = 0
  readonly #environment: ScenarioEnvironment
  readonly #onStep: RunOptions['onStep']
  readonly #calls: CallQueue = new CallQueue(() => this.#evaluateAssertions())
  readonly #timeline: Timeline
  readonly #assertions: TemporalAssertions
  readonly #timeMover: TimeMover
  /** Moves of the clock under way; a second one waits for the first. */
  #movesInProgress: readonly string[] = []
  /** Moves of the clock that have been asked for, each with the place in the script. */
  #requestedMoves: readonly { readonly name: string; readonly promise: Promise<unknown>; readonly from: Error }[] = []

  /** What went wrong while time was moved for an answer that was awaited. */
  #passTimeFailure: { readonly error: unknown } | undefined

  constructor(stage: ScenarioEnvironment, onStep: RunOptions['onStep']) {
    this.#environment = stage
    this.#onStep = onStep
    this.#timeline = new Timeline(stage.clock)
    this.#assertions = new TemporalAssertions({
      stage,
      nameOf: what => this.#nextCheckName(what),
      queue: act => this.#calls.enqueueCommand(act),
      recordHeld: name => this.#recordCheck(name, { held: true }),
    })
    this.#timeMover = new TimeMover(stage, this.#timeline, this.#assertions, step => this.#runStep(step))
  }

  /** What the script waits for, as far as that can be told. */
  get waitReason(): string | undefined {
    const [first, second] = this.#movesInProgress
    return second && `${second} waits for ${first} to end, and was called by what that waits for`
  }

  async play(scenario: Scenario): Promise<void> {
    try {
      await scenario.play(this.#createProps())
    } catch (error) {
      if (this.#assertions.violation) throw this.#assertions.violation
      if (this.#passTimeFailure) throw this.#passTimeFailure.error
      // What failed unseen came first, and may be why the rest went wrong.
      const failure = this.#calls.unhandledFailure
      throw failure && failure.error !== error ? failure.error : error
    }
    const stray = await this.#calls.whenIdle()
    if (this.#assertions.violation) throw this.#assertions.violation
    if (this.#passTimeFailure) throw this.#passTimeFailure.error
    if (stray) throw stray.error
    const unawaitedMove = this.#requestedMoves.find(({ promise }) => !isAwaited(promise))
    if (unawaitedMove) throw unawaitedMove.from
    await this.#assertions.evaluate()
    this.#assertions.endAll()
    const unreached = this.#timeline.unreached
    if (unreached) throw unreachedError(unreached, this.#environment.clock.elapsed)
  }

  #createProps(): Props {
    const stage = this.#environment
    const calls = this.#calls
    const timeMover = this.#timeMover
    const { clock } = stage
    const client = createClient(request => stage.send(request, this.#passTime), stage)
    return {
      api: createObservedClient(client, calls, (name, args) =>
        this.#reportStep(`api.${name}`, args, isReadOperation(name) && this.#timeMover.movesInProgress > 0),
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
        advance: duration => this.#moveTime('advance', [duration], () => timeMover.advance(duration)),
        advanceTo: moment => this.#moveTime('advanceTo', [moment], () => timeMover.advanceTo(moment)),
        next: options => this.#moveTime('next', [options], () => timeMover.next(options)),
        until: (predicate, options) => this.#moveTime('until', [options], () => timeMover.until(predicate, options)),
        sleep: duration => clock.sleep(duration),
      },
      cluster: createCluster(order => {
        this.#reportStep(formatCommandPath(order), order.at(-1)!.args ?? [])
        return calls.enqueueCommand(() => stage.runCommand(order))
      }),
      faults: {
        add: rule => {
          this.#reportStep('faults.add', [rule])
          return calls.enqueueCommand(() => stage.faults.add(rule))
        },
        list: () => calls.enqueueCommand(() => stage.faults.list()),
        get: id => calls.enqueueCommand(() => stage.faults.get(id)),
        remove: id => {
          this.#reportStep('faults.remove', [id])
          return calls.enqueueCommand(() => stage.faults.remove(id))
        },
        clear: () => {
          this.#reportStep('faults.clear', [])
          return calls.enqueueCommand(() => stage.faults.clear())
        },
      },
      ledger: {
        balance: () => calls.afterCommands(() => stage.balance()),
        entries: subject => calls.afterCommands(() => this.#ledgerEntries(subject)),
        cost: subject =>
          calls.afterCommands(async () => {
            const entries = await this.#ledgerEntries(subject)
            // No entry at all costs nothing, not minus nothing.
            return entries.reduce((sum, { microcents }) => sum - microcents, 0)
          }),
        rent: subject =>
          calls.afterCommands(async () => {
            const { id_to_duration } = await client.getRentUsage({ from: 0 })
            return id_to_duration[subject] ?? 0
          }),
      },
      journal: { entries: () => calls.afterCommands(async () => [...(await stage.journalEntries())]) },
      check: (actual, expected, what) => {
        this.#reportStep('check', what === undefined ? [expected] : [expected, what])
        this.#check(actual, expected, what)
      },
      expectRefusal: (call, status, message) => {
        this.#reportStep('expectRefusal', message === undefined ? [status] : [status, message])
        return calls.afterCommands(() => this.#expectRefusal(call, status, message))
      },
      always: (condition, what) => this.#plan('always', [what], () => this.#assertions.always(condition, what)),
      never: (condition, what) => this.#plan('never', [what], () => this.#assertions.never(condition, what)),
      leadsTo: (event, then, options) =>
        this.#plan('leadsTo', [event, then, options], () => this.#assertions.leadsTo(event, then, options)),
      eventually: (condition, options, what) =>
        this.#moveTime('eventually', [options, what], () => this.#eventually(condition, options, what), 'eventually'),
      countOf: (event, range, what) => {
        this.#reportStep('countOf', [event, range])
        return calls.afterCommands(() => this.#countOf(event, range, what))
      },
      unchanged: act => {
        this.#reportStep('unchanged', [])
        return calls.afterCommands(() => this.#unchanged(act))
      },
      at: (moment, act, what) => this.#plan('at', [moment, what], () => this.#timeline.at(moment, act, what)),
      every: (interval, act, options) =>
        this.#plan('every', [interval, options], () => this.#timeline.every(interval, act, options)),
      fetch: (input, init) => calls.afterCommands(() => stage.send(new Request(input, init), this.#passTime)),
      baseUrl: stage.baseUrl,
      token: stage.token,
    }
  }

  readonly #passTime: PassTime = async span => {
    try {
      await this.#timeMover.passTime(span)
    } catch (error) {
      // What a step of the timeline fails with is not for the client that awaits an answer to get over.
      this.#passTimeFailure ??= { error }
      throw error
    }
  }

  #moveTime<T>(name: string, args: readonly unknown[], move: () => Promise<T>, call = `clock.${name}`): Promise<T> {
    this.#reportStep(call, args)
    // Not queued as verbs are: what a client asks while time moves is part of the move.
    const promise = this.#calls.afterCommands(async () => {
      this.#movesInProgress = [...this.#movesInProgress, call]
      try {
        return await move()
      } finally {
        this.#movesInProgress = this.#movesInProgress.toSpliced(this.#movesInProgress.indexOf(call), 1)
      }
    })
    const from = new Error(`Failed to move time: ${describeUnawaited(call)}`)
    this.#requestedMoves = [
      ...this.#requestedMoves.filter(asked => !isAwaited(asked.promise)),
      { name: call, promise, from },
    ]
    return promise
  }

  async #ledgerEntries(subject: string | undefined) {
    const entries = await this.#environment.ledgerEntries()
    return subject === undefined ? entries : entries.filter(entry => entry.subject === subject)
  }

  #check(actual: unknown, expected: unknown, what: string | undefined): void {
    const name = this.#nextCheckName(what)
    if (actual instanceof Promise) {
      throw new TypeError(`Failed to check: ${name} is given a promise. Await it: check(await …, …).`)
    }
    const found = differences(actual, expected)
    if (found.length > 0) throw this.#addAwaitHint(new CheckError(name, found, actual))
    this.#recordCheck(what, flattenExpected(expected))
  }

  /** Puts a check that held on record. One that a look made is the look's business. */
  #recordCheck(what: string | undefined, fields: EntryFields): void {
    const inside = callContext.getStore()
    if (inside) inside.checks++
    if (inside?.kind === 'look' && !inside.isOver) return
    this.#environment.addNote('check', what === undefined ? String(this.checks) : JSON.stringify(what), fields)
  }

  async #eventually(condition: Condition, options: { readonly within?: Duration | undefined } = {}, what?: string) {
    const name = this.#nextCheckName(what === undefined ? 'eventually' : `eventually: ${what}`)
    const within = formatDuration(micros(options.within ?? '24h'))
    let last: Awaited<ReturnType<typeof evaluateCondition>> | undefined
    const isMet = async () => {
      last = await evaluateCondition(condition, name)
      return last.holds
    }
    try {
      await this.#timeMover.until(isMet, options)
    } catch (error) {
      if ((error as Error).name !== 'UntilError') throw error
      const found = last?.differences.map(one => ({ ...one, expected: `${one.expected} within ${within}` })) ?? []
      const never = { path: '', expected: `true within ${within}`, found: `false until ${this.#environment.clock.iso}` }
      throw new CheckError(name, found.length > 0 ? found : [never], last?.actual)
    }
    this.#recordCheck(what, { eventually: true })
  }

  async #countOf(event: EventPattern, range: CountRange, what: string | undefined): Promise<number> {
    const matcher = eventMatcher(event)
    const bounds = countBounds(range)
    const name = this.#nextCheckName(what ?? `count of ${matcher.name}`)
    const found = (await this.#environment.journalEntries()).filter(entry => matcher.matches(entry))
    const { length } = found
    if (length < bounds.min || length > bounds.max) {
      const last = found.at(-1)
      const times =
        length === 0 ? 'none' : `${length}, the last at ${formatVirtualTime(last!.time)} of ${last!.subject}`
      throw new CheckError(name, [{ path: '', expected: formatCountRange(bounds), found: times }], last?.subject)
    }
    this.#recordCheck(what, { count: formatCountRange(bounds), of: matcher.name })
    return length
  }

  async #unchanged<T>(act: () => T | Promise<T>): Promise<T> {
    const stage = this.#environment
    const name = this.#nextCheckName('unchanged')
    const before = await stage.digest()
    const since = (await stage.journalEntries()).length
    const result = await act()
    await this.#calls.whenCommandsDone()
    if ((await stage.digest()) !== before) {
      const changes = (await stage.journalEntries())
        .slice(since)
        .filter(({ kind }) => kind !== 'request' && kind !== 'check')
      const lines = changes.flatMap(entry => toTraceLine(entry) ?? []).slice(0, LAST_EVENTS)
      const found = `${formatCount(changes.length, 'change')}:${lines.map(line => `\n    ${line}`).join('')}`
      throw new CheckError(name, [{ path: '', expected: 'a world that stays as it is', found }], lines)
    }
    this.#recordCheck(undefined, { unchanged: true })
    return result
  }

  /** Plans or puts up something, where it can be heeded: a move that is under way knows nothing of it. */
  #plan<T>(name: string, args: readonly unknown[], plan: () => T): T {
    this.#reportStep(name, args)
    if (this.#timeMover.movesInProgress > 0 && callContext.getStore()?.kind !== 'step') {
      throw new Error(
        `Failed to put up ${name}(…): time is being moved. Call it before the move begins, or in a step that at(…) plans.`,
      )
    }
    return plan()
  }

  /** Does a step of the timeline, verbs that it does not await included. */
  async #runStep({ name, act }: DueStep): Promise<void> {
    this.#reportStep(name, [])
    const step: CallContext = { kind: 'step', name, checks: 0, isOver: false }
    const before = this.#calls.unhandledFailure
    try {
      await callContext.run(step, async () => act())
      await this.#calls.whenCommandsDone()
      const stray = this.#calls.unhandledFailure
      if (stray && stray !== before) throw stray.error
    } catch (error) {
      if (error instanceof Error && !error.message.startsWith(name)) error.message = `${name}: ${error.message}`
      throw error
    } finally {
      step.isOver = true
    }
  }

  /** Tells of a step of the script's own; what is done to look at the world while time moves is none. */
  #reportStep(name: string, args: readonly unknown[], isLook = false): void {
    const inside = callContext.getStore()
    if (this.#onStep === undefined || isLook || (inside?.kind === 'look' && !inside.isOver)) return
    const given = args.filter(arg => arg !== undefined && typeof arg !== 'function').map(formatJsonValue)
    this.#onStep([name, ...given].join(' '), this.#environment.clock.elapsed)
  }

  #evaluateAssertions(): Promise<void> | undefined {
    return this.#assertions.hasAny ? this.#assertions.evaluate() : undefined
  }

  /** A check that looks before time has moved is nearly always one whose `await` was forgotten. */
  #addAwaitHint(error: CheckError): CheckError {
    const unawaitedMove = this.#requestedMoves.find(({ promise }) => !isAwaited(promise))
    if (unawaitedMove) error.message += `\n  ${describeUnawaited(unawaitedMove.name)}`
    return error
  }

  async #expectRefusal(call: Promise<unknown>, status: number, message: string | RegExp | undefined) {
    const name = this.#nextCheckName(undefined)
    const outcome = await Promise.resolve(call).then(
      value => ({ value }),
      (error: unknown) => ({ error }),
    )
    if ('value' in outcome) {
      const found = `success: ${formatJsonValue(outcome.value)}`
      throw new CheckError(name, [{ path: '', expected: `a refusal ${status}`, found }], outcome.value)
    }
    const found = findRefusalDifferences(outcome.error, status, message)
    if (found.length > 0) throw new CheckError(name, found, outcome.error)
    this.#recordCheck(undefined, { refused: status, ...(message !== undefined && { message: String(message) }) })
    return outcome.error as Awaited<ReturnType<Props['expectRefusal']>>
  }

  #nextCheckName(what: string | undefined): string {
    const inside = callContext.getStore()
    if (inside?.kind === 'look' && !inside.isOver) return inside.name
    this.checks++
    return `check ${this.checks}${what === undefined ? '' : ` (${what})`}`
  }
}

function describeUnawaited(call: string): string {
  return `${call} is not awaited, so the script goes on before time has moved. Write await ${call}(…).`
}

function unreachedError({ name, at, runs, runsLeft: left, declaredAt: from }: TimelineStep, now: Micros): Error {
  const done = runs === 0 ? 'never done, for it' : `done ${runs} of ${runs + left} times, for the next`
  const error = new Error(
    `Failed to end: '${name}' was ${done} is due at ${formatVirtualTime(at)} and the scenario ends at ${formatVirtualTime(now)}. ` +
      'Move the clock past it, or take it off with its stop().',
  )
  error.stack = from.stack ?? ''
  return error
}

function isReadOperation(operation: string): boolean {
  return (operations as Operations)[operation]?.method === 'GET'
}

/** `cluster.nodeOf("id").crash` */
function formatCommandPath(order: CommandPath): string {
  const names = order.map(({ name, args }, i) =>
    args === undefined || i === order.length - 1 ? name : `${name}(${args.map(formatJsonValue).join(', ')})`,
  )
  return ['cluster', ...names].join('.')
}

/**
 * Plays until it is over, until a promise of the script's own fails with nobody awaiting it, or until nothing has
 * happened for a while and nothing will.
 */
async function withStuckDetection(
  script: ScriptRun,
  stage: ScenarioEnvironment,
  ms: number,
  play: () => Promise<void>,
): Promise<void> {
  let isOver = false
  let fail = (_: unknown) => {}
  const failed = new Promise<never>((_, reject) => {
    fail = reject
  })
  const giveUp = (symptom: string) => {
    const waitReason = script.waitReason ?? stage.waitReason ?? 'it awaits something that nobody will bring'
    fail(new Error(`Failed to go on: ${symptom}, and the script has not ended: ${waitReason}.`))
  }
  // In many short naps: a process that gets no turn for long has not been idle for long.
  const watch = async () => {
    let before = stage.heartbeat
    let naps = 0
    while (!isOver) {
      await realDelay(ms / STUCK_CHECKS)
      naps = stage.heartbeat === before ? naps + 1 : 0
      before = stage.heartbeat
      if (!isOver && naps === STUCK_CHECKS) giveUp(`nothing has happened for ${formatDuration(ms * 1000)} of real time`)
    }
  }
  // With nothing left to do Node would leave without a word; the turn keeps it for whoever is played next.
  const onBeforeExit = () => {
    giveUp('nothing is left that could happen')
    eventLoopTurn()
  }
  const onUnhandledRejection = (reason: unknown) => {
    const error = new Error(`a promise that nobody awaits failed: ${failureMessage(reason)}`, { cause: reason })
    if (reason instanceof Error) error.stack = reason.stack ?? ''
    fail(error)
  }
  process.on('beforeExit', onBeforeExit)
  process.on('unhandledRejection', onUnhandledRejection)
  watch()
  try {
    await Promise.race([play(), failed])
    // A failure that nobody awaits is known only a turn later: it must not be the next scenario's.
    await Promise.race([eventLoopTurn(), failed])
  } finally {
    isOver = true
    process.off('beforeExit', onBeforeExit)
    process.off('unhandledRejection', onUnhandledRejection)
  }
}

function formatCount(count: number, thing: string): string {
  return count === 1 ? `1 ${thing}` : `${count} ${thing}s`
}
