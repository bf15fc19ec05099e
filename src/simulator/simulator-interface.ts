/// <reference lib="esnext.disposable" preserve="true" />

import type { Micros } from '../kernel/duration.ts'
import type { Entry, RequestEntry } from '../kernel/journal.ts'
import type { OpenName } from '../lib/fields.ts'
import type { IncomingRequest as FetchOptions } from '../service/http/incoming-request.ts'
import type { Api } from '../service/http/service.ts'
import type { InferenceControls } from '../service/openai/scripted-answers.ts'
import type { LedgerEntry } from '../simulation/account/ledger-types.ts'
import type { JournalKindName } from '../simulation/journal-kinds.ts'
import type { ClusterControls } from '../simulation/operations/cluster-api.ts'
import type { Report } from '../simulation/reporting/report-types.ts'
import type { ReportOptions } from '../simulation/reporting/report-window.ts'
import type { World } from '../simulation/world.ts'
import type { Snapshot } from './checkpoint/snapshot.ts'
import type { PendingRequest } from './clock/pending-requests.ts'
import type { SimulatorClock } from './clock/simulator-clock.ts'
import type { ReceivedRequest, RequestCount, RequestLog, UnreadField } from './exchanges/request-log.ts'
import type { FaultControls } from './faults/fault-controls.ts'
import type { WireFaultResponse } from './faults/wire-faults.ts'
import type { DataCollections } from './msw-collections.ts'
import type { SimulatorObserver } from './observer.ts'
import type { ForkOptions, SimulatorOptions } from './options.ts'
import type { Timelines } from './timelines.ts'

/** An entry of the journal. Editors complete its kinds. */
export interface JournalEntry extends Entry {
  readonly kind: OpenName<JournalKindName>
}

/**
 * A simulator: one world, its clock, and the controls of a test.
 *
 * @example
 * const sim = createSimulator({ fixtures: 'default', seed: 1 })
 * const response = await sim.fetch('http://sim/deploy/list', { headers: { authorization: `Bearer ${sim.token}` } })
 * await sim.clock.advance('10m')
 */
export interface Simulator {
  /**
   * A `fetch` whose requests reach the simulator, whatever their host. Pass it to a client as its `fetch`. Node answers
   * `data:` and `blob:` URLs, which no request is sent for.
   */
  fetch(input: Request | URL | string, init?: RequestInit & FetchOptions): Promise<Response>
  readonly clock: SimulatorClock
  /** The fleet and its failures. */
  readonly cluster: ClusterControls
  /** Scripted answers of models, in place of generated ones. */
  readonly inference: InferenceControls
  /** Fault rules, which change what a client sees. */
  readonly faults: FaultControls
  readonly journal: {
    /** Returns the journal entries, oldest first: events and requests. */
    entries(options?: { readonly after?: number }): JournalEntry[]
    /** Returns an entry and the entries that led to it, nearest cause first. Throws RangeError for an unknown `seq`. */
    why(seq: number): JournalEntry[]
    /**
     * Calls `listener` with every further entry, across resets, and returns the function that removes it. If the listener
     * throws, the change is completed first. Then the move of the clock in progress rejects with the first such error.
     * Without a move, the error is an uncaught exception, for which test runners fail.
     */
    listen(listener: (entry: JournalEntry) => void): () => void
    /**
     * Works as `listen`, with the position of each entry alone: no object is made for it.
     *
     * @internal
     */
    watch(watcher: (seq: number) => void): () => void
  }
  readonly funds: {
    /**
     * Sets the remaining funds in US dollars, from 0 to 40,000,000. Below the threshold of an enabled top-up, as in the
     * world `default`, the card is charged at the next move of time: let `sim.cluster.card.decline()` come before.
     *
     * @throws CommandError for any other amount
     * @example sim.cluster.card.decline(); sim.funds.set(0) // out of funds at the next move of time
     */
    set(usd: number): void
  }
  readonly ledger: {
    /** Remaining funds in micro-cents, computed to now. */
    readonly balance: number
    /** Returns the postings, and the running costs that are not posted yet (`open`). */
    entries(window?: { readonly from?: Micros; readonly to?: Micros }): LedgerEntry[]
  }
  /**
   * Returns what the world did and cost in a window; docs/reports.md describes every field. Default: from the epoch to
   * now. The figures of adjoining windows add up, and a report changes nothing.
   *
   * @throws RangeError for an invalid window or step
   * @example sim.report({ from: '2026-01-02T00:00:00Z' }).money.rent_microcents
   */
  report(options?: ReportOptions): Report
  readonly seed: string
  /** The first API token of the world. */
  readonly token: string
  /** Equal for equal seeds, fixtures and requests, whatever the order of independent requests. */
  readonly digest: string
  /** The requests of clients since the simulator was made or reset, oldest first; the newest 1,000. */
  readonly requests: readonly ReceivedRequest[]
  /**
   * The requests that wait for time: for an instance, or for a token if answers take their time. Each has the reason of
   * the wait, and its end if there is no further request or command.
   *
   * @example sim.pendingRequests[0]?.until // 2026-01-01T00:12:40.000000+00:00
   */
  readonly pendingRequests: readonly PendingRequest[]
  /** The fields of `requests` that nothing reads. Throws RangeError without the option `strictRequests`. */
  readonly unreadFields: readonly UnreadField[]
  /** How many requests the simulator answered, by operation and status. A reset starts from zero. */
  readonly requestCounts: readonly RequestCount[]
  /** Returns to the world as it was loaded: with the time, ids and digest of the start. */
  reset(): void
  /**
   * Returns another simulator that continues from here: with equal state, time and digest, and an empty journal. The two
   * do not affect each other. `reset()` of the fork returns to here.
   *
   * @example const twin = sim.fork() // what if the node had not crashed?
   */
  fork(options?: ForkOptions): Simulator
  /**
   * Returns the present state, for `restore`: the world, fault rules, scripted answers, timelines, and the clock with its
   * holds. It costs as much as a fork; `toBytes()` and `saveSnapshot` make a file of it.
   */
  snapshot(): Snapshot
  /**
   * Continues from a snapshot of this or another simulator, exactly as that one would have. The journal and the received
   * requests become empty, sleeps on the clock are rejected, and `reset()` still returns to the start of this simulator.
   *
   * @throws SnapshotError, before anything has changed, for bytes that are not a snapshot of this version
   * @example
   * const before = sim.snapshot()
   * await sim.clock.advance('1h')
   * sim.restore(before)
   */
  restore(snapshot: Snapshot | Uint8Array): void
  /** The options that the simulator was made with. */
  readonly options: SimulatorOptions
  /** Rejects sleeps on the clock. `await using sim = createSimulator()` calls it at the end of the block. */
  [Symbol.asyncDispose](): Promise<void>
  /** Returns the reference data as `@msw/data` collections; the first call fills them. */
  data(): Promise<DataCollections>
  /** @internal */
  readonly world: World
  /**
   * The name of the fixture that the world began with; `given` for one without a name.
   *
   * @internal
   */
  readonly fixture: string
  /** @internal */
  readonly requestLog: RequestLog
  /** @internal */
  readonly api: Api
  /**
   * Attaches the observer of what reaches the simulator from outside. Returns the function that detaches it.
   *
   * @internal
   */
  observe(observer: SimulatorObserver): () => void
  /** @internal */
  readonly observer: SimulatorObserver | undefined
  /**
   * The number of requests in progress, those included whose body is read.
   *
   * @internal
   */
  readonly openRequests: number
  /**
   * Adds a request to the control plane to the journal.
   *
   * @internal
   */
  listControlRequest(operation: string, method: string, path: string): RequestEntry
  /**
   * Answers a request that no client sent. Time does not move before it, and the request log omits it.
   *
   * @internal
   */
  look(request: Request, options: FetchOptions): Response | Promise<Response>
  /**
   * The timelines that run in the world.
   *
   * @internal
   */
  readonly timelines: Timelines
  /** @internal */
  readonly onBug: SimulatorOptions['onBug']
  /**
   * Returns the response at once, without a promise, if there is nothing to wait for. A fault that delays or breaks the
   * response makes it a `WireFaultResponse`, which the transport delivers as well as it can.
   *
   * @internal
   */
  answer(request: Request, options?: FetchOptions): Response | Promise<Response>
  /**
   * Delivers a wire fault in the process, as the client's own `fetch` would see it.
   *
   * @internal
   */
  deliverFault(response: WireFaultResponse, request: Request): Promise<Response>
}
