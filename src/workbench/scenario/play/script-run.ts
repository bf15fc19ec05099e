/** One run of a script. */

import type { Micros } from '../../../kernel/duration.ts'
import { formatJsonValue } from '../../../lib/differences.ts'
import { createClientFor } from '../../../service/client/client.ts'
import {
  asFetched,
  createInProcessRequest,
  fetchContent,
  signalOf,
} from '../../../service/client/in-process-request.ts'
import type { Operations } from '../../../service/endpoint.ts'
import { operations } from '../../../service/index.ts'
import type { CommandPath } from '../../../simulator/history/export/command-call.ts'
import type { CheckError } from '../check.ts'
import type { Props, Scenario } from '../scenario.ts'
import type { PassTime } from './answer-waiting.ts'
import { CallQueue, createCluster, createObservedClient, isAwaited } from './command-proxy.ts'
import type { ScenarioEnvironment } from './environment.ts'
import { formatVirtualTime } from './failures.ts'
import { ScriptChecks } from './script-checks.ts'
import { BesideRequest, createSentRequest, type SendOptions, type SentRequest } from './sent-request.ts'
import { TemporalAssertions } from './temporal-assertions.ts'
import { TimeMover } from './time-mover.ts'
import { type CallContext, callContext, type DueStep, Timeline, type TimelineStep } from './timeline.ts'

/** Receives each step of a script in one line, with its virtual time. */
export type OnStep = (step: string, at: Micros) => void

/** One run of a script: provides what `play` receives, and performs its calls in order. */
export class ScriptRun {
  readonly checks: ScriptChecks
  readonly #environment: ScenarioEnvironment
  readonly #onStep: OnStep | undefined
  readonly #calls: CallQueue = new CallQueue(() => this.#evaluateAssertions())
  readonly #timeline: Timeline
  readonly #assertions: TemporalAssertions
  readonly #timeMover: TimeMover
  /** Moves of the clock in progress. A second one waits for the first. */
  #movesInProgress: readonly string[] = []
  /** Moves of the clock that were requested, each with an error that holds the place in the script. */
  #requestedMoves: readonly { readonly name: string; readonly promise: Promise<unknown>; readonly from: Error }[] = []
  /** Requests that the script has sent beside itself. */
  readonly #besideRequests: BesideRequest[] = []
  /** The first error of a move of time for an awaited answer. */
  #passTimeFailure: { readonly error: unknown } | undefined

  constructor(environment: ScenarioEnvironment, onStep: OnStep | undefined) {
    this.#environment = environment
    this.#onStep = onStep
    this.checks = new ScriptChecks(environment, {
      until: (isMet, options) => this.#timeMover.until(isMet, options),
      whenCommandsDone: () => this.#calls.whenCommandsDone(),
      addAwaitHint: error => this.#addAwaitHint(error),
    })
    this.#timeline = new Timeline(environment.clock)
    this.#assertions = new TemporalAssertions({
      stage: environment,
      nameOf: what => this.checks.nextName(what),
      queue: act => this.#calls.enqueueCommand(act),
      recordHeld: name => this.checks.record(name, { held: true }),
    })
    this.#timeMover = new TimeMover(environment, this.#timeline, this.#assertions, step => this.#runStep(step))
  }

  /** The reason why the script waits. Undefined: unknown. */
  get waitReason(): string | undefined {
    const [first, second] = this.#movesInProgress
    return second && `${second} waits for ${first} to end, and was called by what that waits for`
  }

  async play(scenario: Scenario): Promise<void> {
    try {
      await scenario.play(this.#createProps())
    } catch (error) {
      this.#endAnswers()
      // An unhandled failure came first, and may be the cause of this one.
      const failure = this.#calls.unhandledFailure
      throw failure && failure.error !== error ? failure.error : error
    }
    const unhandled = await this.#calls.whenIdle()
    this.#endAnswers()
    if (unhandled) throw unhandled.error
    const unawaitedMove = this.#requestedMoves.find(({ promise }) => !isAwaited(promise))
    if (unawaitedMove) throw unawaitedMove.from
    await this.#assertions.evaluate()
    this.#assertions.endAll()
    const unreached = this.#timeline.unreached
    if (unreached) throw unreachedError(unreached, this.#environment.clock.elapsed)
  }

  #createProps(): Props {
    const environment = this.#environment
    const { checks } = this
    const calls = this.#calls
    const timeMover = this.#timeMover
    const { clock, sim } = environment
    const { faults, inference } = sim
    const command = <T>(name: string, args: readonly unknown[], send: () => Promise<T>): Promise<T> => {
      this.#reportStep(name, args)
      return calls.enqueueCommand(send)
    }
    const sendRequest = (request: Request) => environment.send(request, this.#passTime)
    const fetchAnswer = async (request: Request, signal: AbortSignal | null | undefined) =>
      asFetched(await sendRequest(request), request.url, signal)
    const client = createClientFor(
      operations,
      sendRequest,
      { baseUrl: environment.baseUrl, token: sim.token },
      createInProcessRequest,
    )
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
        sleep: duration => environment.sleep(duration),
      },
      cluster: createCluster(path =>
        command(formatCommandPath(path), path.at(-1)!.args ?? [], () => environment.runCommand(path)),
      ),
      faults: {
        add: rule => command('faults.add', [rule], async () => faults.get(faults.add(rule).id)),
        list: () => calls.enqueueCommand(async () => faults.list()),
        get: id => calls.enqueueCommand(async () => faults.get(id)),
        remove: id => command('faults.remove', [id], async () => faults.remove(id)),
        clear: () => command('faults.clear', [], async () => faults.clear()),
      },
      inference: {
        add: rule => command('inference.add', [rule], async () => inference.get(inference.add(rule).name)),
        remove: name => command('inference.remove', [name], async () => inference.remove(name)),
        clear: () => command('inference.clear', [], async () => inference.clear()),
      },
      ledger: {
        balance: () => calls.afterCommands(() => environment.balance()),
        entries: subject => calls.afterCommands(() => environment.ledgerEntries(subject)),
        cost: subject =>
          calls.afterCommands(async () => {
            const entries = await environment.ledgerEntries(subject)
            // The sum over no entries is 0 and not -0.
            return entries.reduce((sum, { microcents }) => sum - microcents, 0)
          }),
        rentSeconds: subject =>
          calls.afterCommands(async () => {
            const { id_to_duration } = await client.getRentUsage({ from: 0 })
            return id_to_duration[subject] ?? 0
          }),
      },
      journal: { entries: () => calls.afterCommands(async () => [...environment.entries]) },
      check: (actual, expected, what) => {
        this.#reportStep('check', what === undefined ? [expected] : [expected, what])
        checks.check(actual, expected, what)
      },
      expectRefusal: (call, status, message) => {
        this.#reportStep('expectRefusal', message === undefined ? [status] : [status, message])
        return calls.afterCommands(() => checks.expectRefusal(call, status, message))
      },
      always: (condition, what) => this.#plan('always', [what], () => this.#assertions.always(condition, what)),
      never: (condition, what) => this.#plan('never', [what], () => this.#assertions.never(condition, what)),
      leadsTo: (event, then, options) =>
        this.#plan('leadsTo', [event, then, options], () => this.#assertions.leadsTo(event, then, options)),
      eventually: (condition, options, what) =>
        this.#moveTime('eventually', [options, what], () => checks.eventually(condition, options, what), 'eventually'),
      countOf: (event, range, what) => {
        this.#reportStep('countOf', [event, range])
        return calls.afterCommands(() => checks.countOf(event, range, what))
      },
      unchanged: act => {
        this.#reportStep('unchanged', [])
        return calls.afterCommands(() => checks.unchanged(act))
      },
      at: (moment, act, what) => this.#plan('at', [moment, what], () => this.#timeline.at(moment, act, what)),
      every: (interval, act, options) =>
        this.#plan('every', [interval, options], () => this.#timeline.every(interval, act, options)),
      send: (what, options) => this.#send(what, options),
      fetch: (input, init) =>
        fetchContent(input, init) ??
        calls.afterCommands(() => fetchAnswer(createInProcessRequest(input, init), signalOf(input, init ?? {}))),
      baseUrl: environment.baseUrl,
      token: sim.token,
    }
  }

  /** Ends the requests whose answers the script did not take. Throws what failed beside its calls. */
  #endAnswers(): void {
    for (const beside of this.#besideRequests) beside.leave()
    if (this.#assertions.violation) throw this.#assertions.violation
    if (this.#passTimeFailure) throw this.#passTimeFailure.error
  }

  #send(what: string, options: SendOptions = {}): SentRequest {
    this.#reportStep(`send ${what}`, [])
    const request = createSentRequest(what, options, this.#environment)
    const beside = new BesideRequest(this.#environment, this.#passTime)
    this.#besideRequests.push(beside)
    const sent = this.#calls.afterCommands(() => beside.begin(request))
    return {
      sent,
      answer: () => this.#calls.afterCommands(() => sent.then(() => beside.answer())),
      leave: () => beside.leave(),
    }
  }

  readonly #passTime: PassTime = async span => {
    try {
      await this.#timeMover.passTime(span)
    } catch (error) {
      // The client that awaits the answer must not handle the error of a step of the timeline.
      this.#passTimeFailure ??= { error }
      throw error
    }
  }

  #moveTime<T>(name: string, args: readonly unknown[], move: () => Promise<T>, call = `clock.${name}`): Promise<T> {
    this.#reportStep(call, args)
    // A move is not a command in the queue: the requests of clients during a move belong to it.
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
      ...this.#requestedMoves.filter(({ promise }) => !isAwaited(promise)),
      { name: call, promise, from },
    ]
    return promise
  }

  /** Plans a step or an assertion. Throws while time moves: the move in progress would miss it. */
  #plan<T>(name: string, args: readonly unknown[], plan: () => T): T {
    this.#reportStep(name, args)
    if (this.#timeMover.movesInProgress > 0 && callContext.getStore()?.kind !== 'step') {
      throw new Error(
        `Failed to put up ${name}(…): time is being moved. Call it before the move begins, or in a step that at(…) plans.`,
      )
    }
    return plan()
  }

  /** Runs a step of the timeline, with the commands that it does not await. */
  async #runStep({ name, act }: DueStep): Promise<void> {
    this.#reportStep(name, [])
    const step: CallContext = { kind: 'step', name, checks: 0, isOver: false }
    const before = this.#calls.unhandledFailure
    try {
      await callContext.run(step, async () => act())
      await this.#calls.whenCommandsDone()
      const unhandled = this.#calls.unhandledFailure
      if (unhandled && unhandled !== before) throw unhandled.error
    } catch (error) {
      if (error instanceof Error && !error.message.startsWith(name)) error.message = `${name}: ${error.message}`
      throw error
    } finally {
      step.isOver = true
    }
  }

  /** Reports a step of the script. Calls that only read the world while time moves are not steps. */
  #reportStep(name: string, args: readonly unknown[], isLook = false): void {
    const inside = callContext.getStore()
    if (this.#onStep === undefined || isLook || (inside?.kind === 'look' && !inside.isOver)) return
    const values = args.filter(arg => arg !== undefined && typeof arg !== 'function').map(formatJsonValue)
    this.#onStep([name, ...values].join(' '), this.#environment.clock.elapsed)
  }

  #evaluateAssertions(): Promise<void> | undefined {
    return this.#assertions.hasAny ? this.#assertions.evaluate() : undefined
  }

  /** If a check runs before time has moved, the `await` of the move is usually missing. */
  #addAwaitHint(error: CheckError): CheckError {
    const unawaitedMove = this.#requestedMoves.find(({ promise }) => !isAwaited(promise))
    if (unawaitedMove) error.message += `\n  ${describeUnawaited(unawaitedMove.name)}`
    return error
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

/** Returns a command as the script writes it: `cluster.nodeOf("id").crash`. */
function formatCommandPath(path: CommandPath): string {
  const names = path.map(({ name, args }, i) =>
    args === undefined || i === path.length - 1 ? name : `${name}(${args.map(formatJsonValue).join(', ')})`,
  )
  return ['cluster', ...names].join('.')
}
