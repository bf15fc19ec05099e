import { type Duration, formatDuration, type Micros, micros } from '../../../kernel/duration.ts'
import type { Entry, EntryFields } from '../../../kernel/journal.ts'
import { Cancellation } from '../../../lib/cancellation.ts'
import { formatSuggestion } from '../../../lib/did-you-mean.ts'
import { PolledResponse, type ResponsePoll } from '../../../server/worlds/polled-response.ts'
import { operations } from '../../../service/index.ts'
import type { LedgerEntry } from '../../../simulation/account/ledger-types.ts'
import { isStreamed, WireFaultResponse } from '../../../simulator/faults/broken-response.ts'
import { deliverFaultInProcess } from '../../../simulator/faults/deliver-in-process.ts'
import { createSimulator, type Simulator } from '../../../simulator/simulator.ts'
import { type ScenarioOptions, worldOptionsOf } from '../scenario.ts'
import { CLIENT_TIMEOUT, readPacedBody, waitForHeldResponse, waitOutDelay } from './answer-waiting.ts'
import type {
  CommandPath,
  PassTime,
  ScenarioClock,
  ScenarioEnvironment,
  ScenarioFaults,
  ScenarioInference,
} from './environment.ts'

/** Reads of an unchanged world after which a script counts as polling a clock that does not move. */
const MAX_UNCHANGED_READS = 20_000

/** A world of this process. */
export class InProcessEnvironment implements ScenarioEnvironment {
  readonly baseUrl = 'http://sim'
  readonly clock: ScenarioClock
  bug: unknown
  readonly #sim: Simulator
  readonly #entries: Entry[] = []
  readonly #stopListening: () => void
  #pendingSleeps: { readonly at: Micros; readonly duration: Duration }[] = []
  #changeCount = 0
  #unchangedReads = 0
  #heartbeatAtRead = 0
  #entryQueue: Promise<unknown> = Promise.resolve()

  /**
   * @param onWorld called with the simulator before anything happens in its world
   * @throws FixtureError or RangeError for invalid options of a world
   */
  constructor(options: ScenarioOptions, onWorld?: (sim: Simulator) => void) {
    this.#sim = createSimulator({
      ...worldOptionsOf(options),
      onBug: error => {
        this.bug ??= error
      },
    })
    // The typed client of the script reads them.
    this.#sim.api.keepSources()
    onWorld?.(this.#sim)
    // The first fault rules were added before the listener.
    this.#entries.push(...this.#sim.journal.entries())
    this.#stopListening = this.#sim.journal.listen(entry => {
      if (!isReadRequest(entry)) this.#changeCount += isFaultHitOnRead(entry) ? 0 : 1
      else if (isReadRequest(this.#entries.at(-1))) this.#entries.pop()
      this.#entries.push(entry)
    })
    this.clock = this.#createClock()
  }

  get seed(): string {
    return this.#sim.seed
  }

  get token(): string {
    return this.#sim.token
  }

  get revision(): number {
    return this.#sim.clock.elapsed + this.#changeCount
  }

  get heartbeat(): number {
    return this.revision
  }

  get waitReason(): string | undefined {
    const now = this.#sim.clock.elapsed
    const open = this.#pendingSleeps.filter(({ at }) => at > now)
    if (open.length === 0) return undefined
    const first = open.reduce((one, other) => (other.at < one.at ? other : one))
    return describeUnmovedSleep(first.duration, first.at - now)
  }

  async send(request: Request, pass: PassTime, timeout = CLIENT_TIMEOUT): Promise<Response> {
    this.#countRead()
    const what = `${request.method} ${new URL(request.url).pathname}`
    const [awaited, first] = await this.#enter(request)
    const leave = (reason: Error) => awaited.leave(reason)
    let known: ResponsePoll | undefined = first
    const look = async () => {
      const seen = known ?? (await awaited.look())
      known = undefined
      return seen
    }
    const answer = await waitForHeldResponse({ look, leave, pass }, request, what, this.#sim.clock, timeout)
    const response = await this.#deliver(answer, request, pass, timeout)
    if (!awaited.isPaced || !isStreamed(response)) return response
    const { body } = response
    return readPacedBody(response, { read: () => awaited.pollChunk(body!), leave, pass }, request, what)
  }

  /** Requests arrive one after the other: bodies are read in any order, and the first request must happen first. */
  #enter(request: Request): Promise<readonly [PolledResponse, ResponsePoll]> {
    const entered = this.#entryQueue.then(async () => {
      const awaited = new PolledResponse(waiterFor => this.#sim.answer(request, { waiterFor }))
      return [awaited, await awaited.look()] as const
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

  async waitForTime(span: Micros, over: Promise<unknown>): Promise<void> {
    const leaving = new Cancellation()
    const passed = this.#sim.clock.hold(span, { signal: leaving }).catch(() => {})
    await Promise.race([passed, over])
    leaving.abort('over')
  }

  get faults(): ScenarioFaults {
    const { faults } = this.#sim
    return {
      add: async rule => faults.get(faults.add(rule).id),
      list: async () => faults.list(),
      get: async id => faults.get(id),
      remove: async id => faults.remove(id),
      clear: async () => faults.clear(),
    }
  }

  get inference(): ScenarioInference {
    const { inference } = this.#sim
    return {
      add: async rule => inference.get(inference.add(rule).name),
      remove: async name => inference.remove(name),
      clear: async () => inference.clear(),
    }
  }

  /** Moves time to the end of a delay. If time is moving already, it sleeps. */
  #wait(delay: Micros, { method, url, signal }: Request, pass: PassTime, timeout: Micros): Promise<void> {
    const { clock } = this.#sim
    const wait = (span: Micros) => (clock.isMoving ? clock.hold(span, { signal }) : pass(span))
    return waitOutDelay(delay, `${method} ${new URL(url).pathname}`, wait, clock, timeout)
  }

  async runCommand(path: CommandPath): Promise<unknown> {
    this.#countRead()
    let target: unknown = this.#sim.cluster
    for (const { name, args } of path) {
      if (name === 'view') return plainFieldsOf(target as object)
      const member = (target as Record<string, unknown>)[name]
      if (args === undefined) target = member
      else if (typeof member === 'function') target = member.apply(target, args)
      else throw unknownCommandError(path, name, Object.keys(target as object))
    }
    return target
  }

  async balance(): Promise<number> {
    this.#countRead()
    return this.#sim.ledger.balance
  }

  async ledgerEntries(): Promise<readonly LedgerEntry[]> {
    this.#countRead()
    return this.#sim.ledger.entries()
  }

  addNote(kind: string, subject: string, fields: EntryFields): void {
    this.#entries.push({ seq: 0, time: this.#sim.clock.elapsed, kind, subject, cause: 0, fields })
  }

  async journalEntries(): Promise<readonly Entry[]> {
    return this.#entries
  }

  async digest(): Promise<string> {
    return this.#sim.digest
  }

  async close(): Promise<void> {
    this.#stopListening()
  }

  #createClock(): ScenarioClock {
    const { clock } = this.#sim
    return {
      get now() {
        return clock.now
      },
      get iso() {
        return clock.iso
      },
      get elapsed() {
        return clock.elapsed
      },
      advance: duration => clock.advance(duration),
      advanceTo: moment => clock.advanceTo(moment),
      next: options => clock.next(options),
      until: (predicate, options) => clock.until(predicate, options),
      sleep: async duration => {
        const sleep = { at: clock.elapsed + micros(duration), duration }
        this.#pendingSleeps.push(sleep)
        try {
          await clock.sleep(duration)
        } finally {
          this.#pendingSleeps = this.#pendingSleeps.filter(other => other !== sleep)
        }
      },
    }
  }

  /** Answers need no turn of the event loop, so a script that polls a clock that does not move would block for ever. */
  #countRead(): void {
    if (this.heartbeat !== this.#heartbeatAtRead) this.#unchangedReads = 0
    this.#heartbeatAtRead = this.heartbeat
    if (++this.#unchangedReads > MAX_UNCHANGED_READS) {
      throw new Error(
        `Failed to go on: the script has asked ${MAX_UNCHANGED_READS} times at ${this.#sim.clock.iso} and nothing changed. ` +
          'Time moves only by the clock: use clock.until or clock.advance instead of polling.',
      )
    }
  }
}

/** Returns whether an entry is a request that changes nothing. Of several in a row only the last is kept. */
export function isReadRequest(entry: Entry | undefined): boolean {
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

/** Describes the sleep of a script on a clock that it does not move. */
export function describeUnmovedSleep(duration: Duration, left: Micros): string {
  return `clock.sleep(${JSON.stringify(duration)}) ends in ${formatDuration(left)}, and nothing moves the clock while the script awaits it`
}

export function unknownCommandError(path: CommandPath, name: string, names: readonly string[]): Error {
  const fullName = path.map(step => step.name).join('.')
  const advice = formatSuggestion(name, names, `There are ${names.join(', ')}.`)
  return new RangeError(`Failed to do cluster.${fullName}: unknown command '${name}'. ${advice}`)
}
