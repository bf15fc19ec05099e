/** The environment of a scenario: the world that it is played in, as its script sees it. */

import { type Duration, formatDuration, type Micros, micros } from '../../../kernel/duration.ts'
import type { Entry, EntryFields } from '../../../kernel/journal.ts'
import { Cancellation } from '../../../lib/cancellation.ts'
import { formatSuggestion } from '../../../lib/did-you-mean.ts'
import { operations } from '../../../service/index.ts'
import type { LedgerEntry } from '../../../simulation/account/ledger-types.ts'
import { deliverFaultInProcess, isStreamed, WireFaultResponse } from '../../../simulator/faults/wire-faults.ts'
import type { CommandPath } from '../../../simulator/history/export/command-call.ts'
import type { SimulatorOptions } from '../../../simulator/options.ts'
import { createSimulator, type Simulator } from '../../../simulator/simulator.ts'
import {
  CLIENT_TIMEOUT,
  type PassTime,
  PolledResponse,
  type ResponsePoll,
  readPacedBody,
  waitForHeldResponse,
  waitOutDelay,
} from './answer-waiting.ts'

/** Reads of an unchanged world after which a script counts as polling a clock that does not move. */
const MAX_UNCHANGED_READS = 20_000

/** A world that a scenario is played in. */
export class ScenarioEnvironment {
  readonly baseUrl = 'http://sim'
  readonly sim: Simulator
  /** What has happened since the start, in order, with the notes of the script in their places. */
  readonly entries: Entry[] = []
  /** The first exception that is a bug of the simulator. The scenario then fails in any case. */
  bug: unknown
  readonly #stopListening: () => void
  #pendingSleeps: { readonly at: Micros; readonly duration: Duration }[] = []
  #changeCount = 0
  #unchangedReads = 0
  #revisionAtRead = 0
  #entryQueue: Promise<unknown> = Promise.resolve()

  /**
   * @param onWorld called with the simulator before anything happens in its world
   * @throws FixtureError or RangeError for invalid options of a world
   */
  constructor(options: SimulatorOptions, onWorld?: (sim: Simulator) => void) {
    this.sim = createSimulator({
      ...options,
      onBug: error => {
        this.bug ??= error
      },
    })
    // The typed client of the script reads them.
    this.sim.api.keepSources()
    onWorld?.(this.sim)
    // The first fault rules were added before the listener.
    this.entries.push(...this.sim.journal.entries())
    this.#stopListening = this.sim.journal.listen(entry => {
      if (!isReadRequest(entry)) this.#changeCount += isFaultHitOnRead(entry) ? 0 : 1
      else if (isReadRequest(this.entries.at(-1))) this.entries.pop()
      this.entries.push(entry)
    })
  }

  get clock(): Simulator['clock'] {
    return this.sim.clock
  }

  async sleep(duration: Duration): Promise<void> {
    const sleep = { at: this.clock.elapsed + micros(duration), duration }
    this.#pendingSleeps.push(sleep)
    try {
      await this.clock.sleep(duration)
    } finally {
      this.#pendingSleeps = this.#pendingSleeps.filter(other => other !== sleep)
    }
  }

  /** Changes whenever time moves or something happens. A read of the world is not a change. */
  get revision(): number {
    return this.sim.clock.elapsed + this.#changeCount
  }

  /** The reason why the scenario waits. Undefined: unknown. */
  get waitReason(): string | undefined {
    const now = this.sim.clock.elapsed
    const open = this.#pendingSleeps.filter(({ at }) => at > now)
    if (open.length === 0) return undefined
    const first = open.reduce((one, other) => (other.at < one.at ? other : one))
    const left = formatDuration(first.at - now)
    return `clock.sleep(${JSON.stringify(first.duration)}) ends in ${left}, and nothing moves the clock while the script awaits it`
  }

  /**
   * Sends a request to the service. A delayed answer comes when time has moved to it. Without an answer it rejects with
   * an error that has `broken: true`.
   *
   * @param pass lets time pass for the answer
   * @param timeout microseconds of the world after which the client gives up
   */
  async send(request: Request, pass: PassTime, timeout = CLIENT_TIMEOUT): Promise<Response> {
    this.#countRead()
    const what = `${request.method} ${new URL(request.url).pathname}`
    const [polled, first] = await this.#enter(request)
    const answer = await waitForHeldResponse(polled, first, { request, what, pass }, this.sim.clock, timeout)
    const response = await this.#deliver(answer, request, pass, timeout)
    return polled.isPaced && isStreamed(response) ? readPacedBody(polled, response, { request, what, pass }) : response
  }

  /** Requests arrive one after the other: bodies are read in any order, and the first request must happen first. */
  #enter(request: Request): Promise<readonly [PolledResponse, ResponsePoll]> {
    const entered = this.#entryQueue.then(async () => {
      request.signal.throwIfAborted()
      const polled = new PolledResponse(waiterFor => this.sim.answer(request, { waiterFor }))
      return [polled, await polled.look()] as const
    })
    this.#entryQueue = entered.catch(() => {})
    return entered
  }

  async #deliver(answer: Response, request: Request, pass: PassTime, timeout: Micros): Promise<Response> {
    if (!(answer instanceof WireFaultResponse)) return answer
    return deliverFaultInProcess(answer, delay => this.#wait(delay, request, pass, timeout)).catch((error: unknown) => {
      throw error instanceof Error ? Object.assign(error, { broken: true }) : error
    })
  }

  /** Waits for time that another call moves, until it has moved by `span` or `over` is settled. */
  async waitForTime(span: Micros, over: Promise<unknown>): Promise<void> {
    const leaving = new Cancellation()
    const passed = this.sim.clock.hold(span, { signal: leaving }).catch(() => {})
    await Promise.race([passed, over])
    leaving.abort('over')
  }

  /** Moves time to the end of a delay. If time is moving already, it sleeps. */
  #wait(delay: Micros, { method, url, signal }: Request, pass: PassTime, timeout: Micros): Promise<void> {
    const { clock } = this.sim
    const wait = (span: Micros) => (clock.isMoving ? clock.hold(span, { signal }) : pass(span))
    return waitOutDelay(delay, `${method} ${new URL(url).pathname}`, wait, clock, timeout)
  }

  /** Executes a command, or reads the state of the fleet. */
  async runCommand(path: CommandPath): Promise<unknown> {
    this.#countRead()
    let target: unknown = this.sim.cluster
    for (const { name, args } of path) {
      if (name === 'view') return plainFieldsOf(target as object)
      const member = (target as Record<string, unknown>)[name]
      if (args === undefined) target = member
      else if (typeof member === 'function') target = member.apply(target, args)
      else throw unknownCommandError(path, name, Object.keys(target as object))
    }
    return target
  }

  /** Returns the remaining funds in micro-cents, computed to now. */
  async balance(): Promise<number> {
    this.#countRead()
    return this.sim.ledger.balance
  }

  /** @param about the subject of the entries. Default: any */
  async ledgerEntries(about?: string): Promise<readonly LedgerEntry[]> {
    this.#countRead()
    return this.sim.ledger.entries().filter(({ subject }) => about === undefined || subject === about)
  }

  /** Records a note of the script, such as a check, after everything that has happened so far. */
  addNote(kind: string, subject: string, fields: EntryFields): void {
    this.entries.push({ seq: 0, time: this.sim.clock.elapsed, kind, subject, cause: 0, fields })
  }

  close(): void {
    this.#stopListening()
  }

  /** Answers need no turn of the event loop, so a script that polls a clock that does not move would block for ever. */
  #countRead(): void {
    if (this.revision !== this.#revisionAtRead) this.#unchangedReads = 0
    this.#revisionAtRead = this.revision
    if (++this.#unchangedReads > MAX_UNCHANGED_READS) {
      throw new Error(
        `Failed to go on: the script has asked ${MAX_UNCHANGED_READS} times at ${this.sim.clock.iso} and nothing changed. ` +
          'Time moves only by the clock: use clock.until or clock.advance instead of polling.',
      )
    }
  }
}

/** Returns whether an entry is a request that changes nothing. Of several in a row only the last is kept. */
function isReadRequest(entry: Entry | undefined): boolean {
  return entry?.kind === 'request' && /^(GET|HEAD) /.test(entry.subject)
}

/** Returns whether an entry is a wire fault of a request that changes nothing. */
function isFaultHitOnRead({ kind, fields }: Entry): boolean {
  const hit = kind === 'fault.hit' ? operations[fields?.operation as keyof typeof operations] : undefined
  return hit?.method === 'GET'
}

function plainFieldsOf(target: object): unknown {
  return Object.fromEntries(Object.entries(target).filter(([, value]) => typeof value !== 'function'))
}

function unknownCommandError(path: CommandPath, name: string, names: readonly string[]): Error {
  const fullName = path.map(step => step.name).join('.')
  const advice = formatSuggestion(name, names, `There are ${names.join(', ')}.`)
  return new RangeError(`Failed to do cluster.${fullName}: unknown command '${name}'. ${advice}`)
}
