/** One run of a command: its starts in one world, the plan that acts on it, and what was recorded. */

import { type Duration, formatDuration, type Micros } from '../../../kernel/duration.ts'
import { tryParseJson } from '../../../lib/json-text.ts'
import { monotonicMs } from '../../../lib/real-time.ts'
import type { ServedWorld } from '../../../server/worlds/served-world.ts'
import type { ClientEnd, Observation } from '../../../simulator/judge/observation.ts'
import { operationOf, shortenPath } from '../../../simulator/judge/words.ts'
import type { FlowOptions } from '../flow.ts'
import type { Plan } from '../plan/plan.ts'
import { AppliedPlan } from '../run/applied-plan.ts'
import { concludeRun, heal, settlesWithin } from '../run/conclude.ts'
import { type ClientExchange, RequestRecorder } from '../run/request-recorder.ts'
import { type Learned, type RunOptions, type RunResult, RunStopped } from '../run/runner.ts'
import { ClientProcess, type ProcessEnd, type ProcessOptions } from './client-process.ts'
import { OutputLog } from './output-log.ts'
import { ServedClient } from './served-client.ts'

/** The time is for all starts of the command. */
export interface CommandRunOptions extends Omit<ProcessOptions, 'output'> {
  readonly argv: readonly [string, ...string[]]
  readonly world: ServedWorld
  readonly invariants: FlowOptions['invariants']
  readonly tellsBy: FlowOptions['tellsBy']
  readonly learned: Learned
  readonly healAt: RunOptions['healAt'] | undefined
  /** The run without faults to compare with; undefined if this is it. */
  readonly base: Observation['base']
  /** Called when the client waits for an answer, or the rest of one, that never comes: it does nothing meanwhile. */
  readonly onSilence: () => void
}

/** A client that sent more requests asks again and again, and its end is not near. */
const MANY_REQUESTS = 20

/** The end of a command that failed. */
export class CommandFailed extends Error {
  override readonly name = 'CommandFailed'
  /** What it printed: the ids in it are known to the user. */
  readonly output: string

  constructor(how: string, output: OutputLog) {
    super([how, output.errorLine].filter(Boolean).join(': '))
    this.output = output.all
  }
}

export class CommandRun {
  readonly #options: CommandRunOptions
  readonly #plan: AppliedPlan
  readonly #recorder = new RequestRecorder()
  readonly #client: ServedClient
  readonly #startedAt: Micros
  /** What each start printed. */
  readonly #outputs: OutputLog[] = []
  #process: ClientProcess | undefined
  /** Whether the present start ends with a request, after which the command starts again. */
  #crashed = false
  /** Whether the run was ended because its client takes too long in the time of the world. */
  #waitsForTime = false
  /** The newest request whose answer, or the rest of it, never comes. */
  #silent: ClientExchange | undefined
  #isStopped = false
  /** Whether the command left a child that its run did not wait for. */
  leftChild = false

  /** @throws FaultError or CommandError for an invalid plan */
  constructor(plan: Plan, options: CommandRunOptions) {
    const { world, healAt } = options
    const { sim } = world
    this.#options = options
    const settles = settlesWithin(options.invariants ?? {}, options.base)
    this.#startedAt = sim.clock.elapsed
    this.#plan = new AppliedPlan(sim, plan)
    this.#client = new ServedClient({
      world,
      recorder: this.#recorder,
      onRequest: ({ index, sentAt }) => {
        if (index === healAt?.request) heal(sim, this.#plan)
        if (sentAt - this.#startedAt <= settles) return
        this.#waitsForTime = true
        this.#process?.stop()
      },
      onSilence: record => {
        this.#silent = record
        options.onSilence()
      },
      endsWith: request => this.#endsWith(request),
    })
  }

  get requests(): readonly ClientExchange[] {
    return this.#recorder.requests
  }

  /** What the last start printed. */
  get output(): OutputLog {
    return this.#outputs.at(-1)!
  }

  /**
   * Runs the command to its end. Returns how its last start ended.
   *
   * @throws StartError if the system cannot start it, RunStopped after `stop`
   */
  async play(): Promise<ProcessEnd> {
    const { argv, env, cwd, groups } = this.#options
    const deadline = monotonicMs() + this.#options.timeoutMs
    for (;;) {
      this.#crashed = false
      const output = new OutputLog()
      this.#outputs.push(output)
      const timeoutMs = Math.max(0, deadline - monotonicMs())
      this.#process = new ClientProcess(argv, { env, cwd, timeoutMs, output, groups })
      const end = await this.#process.ended
      this.#client.waits.noteHang()
      if (this.#process.isOutputHeld) this.leftChild = true
      if (!this.#isStopped) await this.#client.settle()
      if (this.#isStopped) throw new RunStopped()
      if (!this.#crashed || end.kind === 'timeout' || this.#waitsForTime) return end
      this.#client.startAgain()
    }
  }

  /** Real milliseconds that the client slept; 0 if it moves the time of the world. */
  get sleptMs(): number {
    const { movesTime, sleptMs } = this.#client.waits
    return movesTime ? 0 : sleptMs
  }

  /** Real milliseconds in which the client waited for answers that never came. */
  get hungMs(): number {
    return this.#client.waits.hungMs
  }

  /** Ends the run: its process is killed, and it has no result. */
  stop(): void {
    this.#isStopped = true
    this.#process?.stop()
  }

  /** Recovers the world, and returns what remains of the run. */
  async conclude(end: ProcessEnd): Promise<RunResult> {
    const { sim } = this.#options.world
    const { invariants = {}, tellsBy, learned } = this.#options
    // Waits that the simulator assumed say nothing about the client.
    const { movesTime, isAssumed } = this.#client.waits
    const judged = movesTime ? {} : { honoursRetryAfter: false, pollsAtMost: false as const }
    const starts = this.#outputs.length
    const client = {
      ...{ sim, plan: this.#plan, recorder: this.#recorder, starts, startedAt: this.#startedAt, learned },
      end: this.#toClientEnd(end),
      output: this.#outputs.map(({ all }) => all).join(''),
      advance: (duration: Duration) => sim.clock.advanceInSlices(duration),
    }
    const settings = { invariants: { ...judged, ...invariants }, ...(tellsBy && { tellsBy }) }
    const result = await concludeRun(client, settings, this.#options.base)
    const { requests } = result
    const isAskedAgain = requests.some(
      ({ retryAfter, operation, index }) =>
        retryAfter !== undefined && requests.some(next => next.index > index && next.operation === operation),
    )
    const isOpen = (name: string) => !(name in invariants) && (name !== 'honoursRetryAfter' || isAskedAgain)
    const unjudged = isAssumed ? Object.keys(judged).filter(isOpen) : []
    return { ...result, unjudged }
  }

  #endsWith(request: ClientExchange): boolean {
    // A request of a start that has ended ends no other one.
    const isDead = this.#crashed || request.start < this.#outputs.length
    if (isDead || !this.#plan.endsWith(request.index)) return false
    this.#crashed = true
    this.#process?.stop()
    return true
  }

  #toClientEnd(end: ProcessEnd): ClientEnd {
    if (end.kind === 'exited' && end.code === 0) return { kind: 'returned', result: readResult(this.output.stdout) }
    if (end.kind === 'timeout' || end.kind === 'stopped') {
      const open = this.#recorder.requests.findLast(
        ({ outcome, endedAt }) => outcome === 'unanswered' && endedAt === undefined,
      )
      const { length } = this.#recorder.requests
      const asked = `a change, and has sent ${length} requests`
      const other = length > MANY_REQUESTS ? asked : 'something outside of the world'
      const silent = this.#silent === this.#recorder.requests.at(-1) ? this.#silent : undefined
      const awaited = open ?? silent
      const part = open === undefined ? 'the rest of the' : 'an'
      const answer = awaited && `${part} answer to request ${awaited.index} (${shortenPath(operationOf(awaited))})`
      const waitsFor = answer ?? (this.#waitsForTime ? 'time' : other)
      const { timeoutMs } = this.#options
      const bound = `${formatDuration(timeoutMs * 1000)} of real time (--command-timeout)`
      return { kind: 'unsettled', waitsFor, ...(end.kind === 'timeout' && { bound }) }
    }
    const how = end.kind === 'exited' ? `exit code ${end.code}` : end.signal
    return { kind: 'threw', error: new CommandFailed(how, this.output) }
  }
}

/** Returns what a command printed: a JSON document, or lines of which some are JSON. */
function readResult(text: string): unknown {
  const whole = tryParseJson(text)
  return whole === undefined ? text.split('\n').map(line => tryParseJson(line) ?? line) : whole
}
