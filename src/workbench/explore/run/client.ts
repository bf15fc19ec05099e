/** One start of a client: its `fetch`, its waits, and its end. A client whose process ended never continues. */

import { type Micros, micros } from '../../../kernel/duration.ts'
import { Cancellation, type CancelSignal } from '../../../lib/cancellation.ts'
import {
  asFetched,
  createInProcessRequest,
  fetchContent,
  mayWait,
  signalOf,
  withWatchedBody,
} from '../../../service/client/in-process-request.ts'
import { beginUnlessAborted, NoResponseError } from '../../../service/http/pipeline.ts'
import { markAsOfWorld } from '../../../simulator/clock/fetch-tracker.ts'
import { WireFaultResponse } from '../../../simulator/faults/wire-faults.ts'
import type { ClientEnd } from '../../../simulator/judge/observation.ts'
import type { Simulator } from '../../../simulator/simulator-interface.ts'
import type { FlowContext, FlowFunction } from '../flow.ts'
import type { InputValues } from '../input.ts'
import type { ClientExchange, RequestRecorder } from './request-recorder.ts'

/** The base address of the service. `fetch` of a flow reaches the world whatever the address is. */
export const FLOW_URL = 'http://sim'
/** The time of the world after which a request without an answer fails, as in Node's fetch. */
const ANSWER_TIMEOUT = micros('300s')

/** The code of the error of a request without an answer. The rule `settles` knows it as that of a missing timeout. */
const NO_ANSWER = 'UND_ERR_HEADERS_TIMEOUT'

/** A hundred years. */
const LONGEST_SLEEP_MS = micros('36500d') / 1000

export interface ClientOptions {
  readonly sim: Simulator
  readonly recorder: RequestRecorder
  /** Which start it is, from 1. */
  readonly start: number
  readonly inputs: InputValues
  /** Called when a request has been sent. */
  onRequest(request: ClientExchange): void
  /** Called when a request was carried out. Returns whether the process of the client ends with it. */
  endsWith(request: ClientExchange): boolean
  /** Called when the client begins to wait for the world. */
  onWait(): void
  /** Called when the process has ended with a request. */
  onCrashed(): void
  /** Tells whether a timer of the client waits that was set at a time, or at any time. */
  hasTimer(setAt?: number): boolean
}

export class Client {
  readonly #options: ClientOptions
  #isStopped = false
  #hasCrashed = false
  /** When its waits began. */
  readonly #waits = new Set<{ readonly since: Micros }>()
  /** Requests without an answer. */
  readonly #open = new Set<ClientExchange>()
  end: ClientEnd | undefined

  constructor(options: ClientOptions) {
    this.#options = options
  }

  /** Starts the flow. */
  start(flow: FlowFunction): void {
    const { sim, inputs } = this.#options
    const context: FlowContext = {
      // A flow that changes its inputs would change them for the next run.
      inputs: structuredClone(inputs),
      fetch: this.fetch,
      url: FLOW_URL,
      token: sim.token,
      sleep: ms => this.#sleep(ms),
      now: () => sim.clock.now.getTime(),
      sim: simulatorOfRun(sim, this.fetch, (...args) => this.#waitFor(() => sim.clock.sleep(...args))),
    }
    Promise.resolve()
      .then(() => flow(context))
      .then(
        result => this.#finish({ kind: 'returned', result }),
        error => this.#finish({ kind: 'threw', error }),
      )
  }

  #finish(end: ClientEnd): void {
    if (!this.#isStopped) this.end ??= end
  }

  /**
   * Ends the client with an error that it did not handle, as Node ends such a process. Node reports a rejection after the
   * flow that left it behind has returned.
   */
  fail(error: unknown): void {
    if (!this.#isStopped && this.end?.kind !== 'threw') this.end = { kind: 'threw', error, isUnhandled: true }
  }

  /** Ends the process of the client: none of its waits and requests ever ends. */
  stop(): void {
    this.#isStopped = true
  }

  /** Whether it waits for the world: for time, or for an answer. */
  get waitsForWorld(): boolean {
    return this.#waits.size > 0 || this.#open.size > 0
  }

  /** The oldest request without an answer. */
  get openRequest(): ClientExchange | undefined {
    return this.#open.values().next().value
  }

  /** Settles as the promise does, or never if the process of the client has ended. */
  #whileRunning<Value>(work: Promise<Value>): Promise<Value> {
    return new Promise((resolve, reject) => {
      work.then(
        value => this.#isStopped || resolve(value),
        error => this.#isStopped || reject(error),
      )
    })
  }

  #sleep(ms: number): Promise<void> {
    if (typeof ms !== 'number' || !(ms <= LONGEST_SLEEP_MS)) {
      return Promise.reject(
        new RangeError(`Failed to sleep: ${ms} is invalid. Give milliseconds, at most ${LONGEST_SLEEP_MS}.`),
      )
    }
    return this.#waitFor(() => this.#options.sim.clock.sleep(Math.max(0, ms)))
  }

  #waitFor(sleep: () => Promise<void>): Promise<void> {
    const wait = sleep()
    const begun = { since: this.#options.sim.clock.elapsed }
    this.#waits.add(begun)
    this.#options.onWait()
    return this.#whileRunning(
      wait.finally(() => {
        this.#waits.delete(begun)
      }),
    )
  }

  readonly fetch = markAsOfWorld((input: Request | URL | string, init?: RequestInit) => {
    return this.#whileRunning(fetchContent(input, init) ?? this.#send(input, init))
  })

  async #send(input: Request | URL | string, init: RequestInit = {}): Promise<Response> {
    if (this.#isStopped) return new Promise(() => {})
    const { sim, recorder, start } = this.#options
    const leave = new AbortController()
    const signal = signalOf(input, init)
    signal?.throwIfAborted()
    const created = createInProcessRequest(input, { ...init, signal: leave.signal })
    const request = mayWait(input, init) && created.body !== null ? withWatchedBody(created, leave) : created
    const path = request.url.slice(request.url.indexOf('/', request.url.indexOf('://') + 3)).split('#', 1)[0]!
    const operation = sim.api.findOperationId(request.method, path.split('?', 1)[0]!) ?? ''
    const record = recorder.begin({ start, operation, method: request.method, path, sentAt: sim.clock.elapsed })
    this.#options.onRequest(record)
    const onAbort = () => leave.abort(signal!.reason)
    signal?.addEventListener('abort', onAbort, { once: true })
    this.#open.add(record)
    this.#options.onWait()
    const begin = beginUnlessAborted(leave.signal)
    let answered: Cancellation | undefined
    try {
      const answer = sim.answer(request, {
        onAnswered: exchange => recorder.noteAnswered(record, exchange),
        onForm: body => Object.assign(record, { body }),
        onStep: body => {
          begin.onStep?.(body)
          // A request that was under way at the crash would act after the next start has looked.
          if (this.#hasCrashed) throw new NoResponseError(new Error('The process of the client has ended.'))
        },
        onTruth: truth => recorder.noteTruth(record, truth),
      })
      if (answer instanceof Promise || answer instanceof WireFaultResponse) {
        answered = new Cancellation()
        this.#limit(record, leave, answered, signal ? undefined : sim.clock.now.getTime())
      }
      const response = await answer
      leave.signal.throwIfAborted()
      // A request of a process that has ended stays without an answer.
      if (this.#hasCrashed) return new Promise(() => {})
      if (!this.#isStopped && this.end === undefined && this.#options.endsWith(record)) {
        this.#hasCrashed = true
        this.stop()
        this.#options.onCrashed()
        return new Promise(() => {})
      }
      const delivered = response instanceof WireFaultResponse ? await sim.deliverFault(response, request) : response
      // Only while the client reads: a signal of many requests would else keep a listener of each.
      const settle = <Value>(reading: Promise<Value>) => {
        if (signal?.aborted) onAbort()
        else signal?.addEventListener('abort', onAbort, { once: true })
        const end = () => signal?.removeEventListener('abort', onAbort)
        reading.then(end, end)
        return this.#whileRunning(reading)
      }
      const fetched = asFetched(delivered, request.url, signal)
      return recorder.noteResponse(record, fetched, sim.clock.elapsed, sim.world.clock.epochMs, settle)
    } catch (error) {
      if (!leave.signal.aborted) {
        record.endedAt = sim.clock.elapsed
        record.outcome = 'failed'
        record.readError = error instanceof Error ? causeText(error) : String(error)
      }
      throw error
    } finally {
      answered?.abort('answered')
      signal?.removeEventListener('abort', onAbort)
      this.#open.delete(record)
    }
  }

  /**
   * Ends a request that has no answer in time, as Node's fetch does. The client may have a longer timeout of its own: a
   * wait or a timer since the request, or any timer if the request has a signal.
   *
   * @param setAt when a timer for this request was set; undefined for any time
   */
  #limit(record: ClientExchange, leave: AbortController, answered: CancelSignal, setAt: number | undefined): void {
    const { sim, hasTimer } = this.#options
    const wait = sim.clock.hold(ANSWER_TIMEOUT, { signal: answered, isClient: false })
    const fail = () => {
      const message = 'Headers Timeout Error'
      const isLimited = hasTimer(setAt) || Array.from(this.#waits).some(({ since }) => since === record.sentAt)
      if (!this.#isStopped) record.readError = isLimited ? message : NO_ANSWER
      const cause = Object.assign(new Error(message), { code: NO_ANSWER })
      leave.abort(new TypeError('fetch failed', { cause }))
    }
    wait.then(fail, () => {})
  }
}

function causeText(error: Error): string {
  const { cause } = error as { cause?: { code?: string; message?: string } }
  return cause?.code ?? cause?.message ?? error.message
}

/** What explore needs for itself, by part of the simulator, with what a flow can do in place of it. */
const KEPT = {
  sim: {
    names: ['reset', 'restore', 'explore', Symbol.asyncDispose],
    advice: 'Leave it out, or work with sim.fork().',
  },
  clock: {
    names: ['advance', 'advanceTo', 'until', 'next', 'set', 'pause', 'reset', 'restore', 'dispose'],
    advice: 'Wait with sleep(ms).',
  },
  faults: {
    names: ['remove', 'clear'],
    advice: 'Leave it out: the faults of the plan are among them.',
  },
} as const satisfies Readonly<Record<string, { names: readonly PropertyKey[]; advice: string }>>

/**
 * Returns the simulator with the client's `fetch` and its sleep, so that its requests and waits are known. Calls that
 * would end or move the run throw an error that says so.
 */
function simulatorOfRun(sim: Simulator, fetch: typeof globalThis.fetch, sleep: Simulator['clock']['sleep']): Simulator {
  return guarded(sim, 'sim', {
    fetch,
    clock: guarded(sim.clock, 'clock', { sleep }),
    faults: guarded(sim.faults, 'faults', {}),
  })
}

function guarded<Part extends object>(part: Part, name: keyof typeof KEPT, replaced: Partial<Part>): Part {
  const { names, advice }: { readonly names: readonly PropertyKey[]; readonly advice: string } = KEPT[name]
  const label = name === 'sim' ? 'sim' : `sim.${name}`
  return new Proxy(part, {
    get(target, key) {
      if (Object.hasOwn(replaced, key)) return replaced[key as keyof Part]
      const value: unknown = Reflect.get(target, key, target)
      if (typeof value !== 'function') return value
      // A method of the class reads private fields, which the proxy does not have.
      if (!names.includes(key)) return value.bind(target)
      return () => {
        throw new Error(`Failed to call ${label}.${String(key)}: explore moves and ends the runs of a flow. ${advice}`)
      }
    },
  })
}
