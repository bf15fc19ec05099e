import type { SimulatorClock } from '../clock/simulator-clock.ts'
import type { PendingRequestView } from '../clock/waiting-requests.ts'
import { loadFixture } from '../data/fixtures/load.ts'
import type { DataCollections } from '../data/msw-collections.ts'
import { loadProfile, withWeather } from '../data/profiles/load.ts'
import type { WireFaultResponse } from '../faults/broken-response.ts'
import type { FaultControls } from '../faults/faults.ts'
import type { Micros } from '../kernel/duration.ts'
import type { Entry } from '../kernel/journal.ts'
import type { ResponseWaiter } from '../service/endpoint.ts'
import type { Api } from '../service/http/service.ts'
import { type Names, readNames } from '../service/naming/names-profile.ts'
import { BatchLineAnswerer } from '../service/openai/batch-answers.ts'
import { type InferenceControls, ScriptedAnswers } from '../service/openai/scripted-answers.ts'
import type { LedgerEntry } from '../simulation/account/ledger.ts'
import type { ClusterControls } from '../simulation/operations/cluster-api.ts'
import type { Report } from '../simulation/reporting/report.ts'
import type { ReportOptions } from '../simulation/reporting/report-window.ts'
import { World } from '../simulation/world.ts'
import type { ClockResponseWaiter } from './answer-waiter.ts'
import {
  assertOptions,
  type ForkOptions,
  isSnapshotFixture,
  readEpoch,
  readSeed,
  type SimulatorOptions,
} from './options.ts'
import type { ReceivedRequest, UnreadField } from './request-log.ts'
import { assertCompatible } from './snapshot/conflicts.ts'
import { loadSnapshot, Snapshot } from './snapshot/snapshot.ts'
import type { Timelines } from './timelines.ts'
import { WorldSimulator } from './world-simulator.ts'

export type { ForkOptions, SimulatorOptions } from './options.ts'

/** What a door knows of a request beside the request. */
export interface FetchOptions {
  /** The caller's address, which a token's `allowed_ips` is held against; 127.0.0.1 unless given. */
  readonly clientAddress?: string | undefined
  /** Path and query below a base address, where the request's own URL has a prefix. */
  readonly path?: string | undefined
  /** Reads a header, where the door rewrites some. */
  readonly header?: ((name: string) => string | null) | undefined
  /** How the client waits for answers of models, where it has another way than the simulator's own. */
  readonly waiterFor?: ((defaultWaiter: ClockResponseWaiter, sim: Simulator) => ResponseWaiter) | undefined
  /** The address of the control plane of its world, for messages that tell how to move time. */
  readonly control?: (() => string) | undefined
}

/** A request that waits, its times as the wire writes them; `until` is undefined where nothing that is planned brings it. */
export type PendingRequest = Omit<PendingRequestView, 'since' | 'until'> & {
  readonly since: string
  readonly until: string | undefined
}

/**
 * A simulator: one world and its doors.
 *
 * @example
 * const sim = createSimulator({ fixtures: 'default', seed: 1 })
 * const answer = await sim.fetch('http://sim/deploy/list', { headers: { authorization: `Bearer ${sim.token}` } })
 * await sim.clock.advance('10m')
 */
export interface Simulator {
  /** A `fetch` that reaches the simulator whatever the host: give it to a client as its `fetch`. */
  fetch(input: Request | URL | string, init?: RequestInit & FetchOptions): Promise<Response>
  readonly clock: SimulatorClock
  /** The fleet, and what goes wrong with it. */
  readonly cluster: ClusterControls
  /** Scripted answers of models, in place of generated ones. */
  readonly inference: InferenceControls
  /** Faults of the wire: what goes wrong between a client and the service. */
  readonly faults: FaultControls
  readonly journal: {
    /** What happened, oldest first: events of things and requests. */
    entries(options?: { readonly after?: number }): Entry[]
    /** Why: an entry and what led to it, nearest cause first. */
    why(seq: number): Entry[]
    /**
     * Calls `listener` with everything that happens from now on, across resets; returns the way to stop it. If it throws,
     * the change is completed first. Then the move of time that is under way rejects with the first such error. Without
     * a move by hand the error is an uncaught exception, for which test runners fail.
     */
    listen(listener: (entry: Entry) => void): () => void
  }
  readonly ledger: {
    /** Remaining funds in micro-cents, computed to now. */
    readonly balance: number
    /** Postings, and what runs and is not posted yet (`open`). */
    entries(window?: { readonly from?: Micros; readonly to?: Micros }): LedgerEntry[]
  }
  /**
   * What the world did and cost between two moments, its whole life unless told otherwise; docs/reports.md has every
   * field. Adjoining windows add up, and reading changes nothing.
   *
   * @throws RangeError for a window or a step that makes no sense
   * @example sim.report({ from: '2026-01-02T00:00:00Z' }).money.rent_microcents
   */
  report(options?: ReportOptions): Report
  readonly seed: string
  /** The first API token of the world. */
  readonly token: string
  /** Equal for equal seeds, fixtures and requests, whatever the order of independent ones. */
  readonly digest: string
  /** What clients have asked since it was made or reset, oldest first; the newest 1,000. */
  readonly requests: readonly ReceivedRequest[]
  /**
   * The requests that wait for time: for an instance, or, where answers take their time, for a token. Each with what it
   * waits for and when that comes if nobody does anything until then.
   *
   * @example sim.waiting[0]?.until // 2026-01-01T00:12:40.000000+00:00: so far time has to be moved
   */
  readonly pendingRequests: readonly PendingRequest[]
  /** What of these nothing read. Throws RangeError without `strictRequests`, which has it looked for. */
  readonly unreadFields: readonly UnreadField[]
  /** Back to the world as it was loaded: the same time, ids and digest as at first. */
  reset(): void
  /**
   * Another simulator that goes on from here by itself: the same things, time and digest, and an empty journal. Neither
   * sees what happens in the other. Its `reset()` comes back to here.
   *
   * @example const twin = sim.fork() // what if the node had not crashed?
   */
  fork(options?: ForkOptions): Simulator
  /**
   * All of it as it is now, to come back to with `restore`: the world, the rules of faults, the answers that are scripted,
   * the timelines, the clock and who holds it. It costs what a fork costs; `toBytes()` and `saveSnapshot` make a file of it.
   */
  snapshot(): Snapshot
  /**
   * Goes on from a snapshot, of this simulator or of any other, exactly as that one would have. The journal and the
   * requests that were received begin anew, whoever sleeps on the clock is told, and `reset()` still comes back to where
   * this simulator began.
   *
   * @throws SnapshotError, before anything has changed, for bytes that are no snapshot of this version
   * @example
   * const before = sim.snapshot()
   * await sim.clock.advance('1h')
   * sim.restore(before)
   */
  restore(snapshot: Snapshot | Uint8Array): void
  /** What it was made with. */
  readonly options: SimulatorOptions
  /** Ends it: whoever sleeps on its clock is told. `await using sim = createSimulator()` does it by itself. */
  [Symbol.asyncDispose](): Promise<void>
  /** The reference data as `@msw/data` collections; the first call fills them. */
  data(): Promise<DataCollections>
  /** The world itself, for doors of this package. */
  readonly world: World
  readonly api: Api
  /** For doors of this package: the timelines of scenarios that play in the world. */
  readonly timelines: Timelines
  /** For doors of this package: who hears of bugs. */
  readonly onBug: SimulatorOptions['onBug']
  /**
   * For doors of this package: answers at once, without a promise, where nothing has to be waited for. What a fault
   * delays or breaks is a `BrokenAnswer`, which the door brings about as well as it can.
   */
  answer(request: Request, options?: FetchOptions): Response | Promise<Response>
  /** For doors in this process: a broken answer as the client's own `fetch` would see it. */
  deliverFault(answer: WireFaultResponse, request: Request): Promise<Response>
}

/**
 * Makes a simulator. It opens no port and starts no timer.
 *
 * @throws FixtureError for a fixture that can be no world, SnapshotError for a snapshot that can not be read or that an
 *   option contradicts, RangeError for an option, a name or a fault that makes no sense
 */
export function createSimulator(options: SimulatorOptions = {}): Simulator {
  assertOptions(options)
  const { fixtures = 'default' } = options
  if (isSnapshotFixture(fixtures)) {
    return createFromSnapshot(
      typeof fixtures === 'string' ? loadSnapshot(fixtures) : Snapshot.toSnapshot(fixtures),
      options,
    )
  }
  const epochMs = readEpoch(options.epoch)
  const fixture = loadFixture(fixtures, {
    epochMs,
    ...(options.with && { patch: options.with }),
  })
  const initialWorld = new World({
    fixture,
    epochMs,
    seed: readSeed(options.seed ?? 1),
    profile: loadProfile(withWeather(options.profile, { weather: options.weather })),
    lineAnswerer: new BatchLineAnswerer(new ScriptedAnswers(), options.strictRequests ?? false),
    ...(options.journalLimit !== undefined && { journalLimit: options.journalLimit }),
    ...(options.maxStorageBytes !== undefined && { maxStorageBytes: options.maxStorageBytes }),
  })
  if (options.check) initialWorld.checkInvariants()
  return new WorldSimulator(initialWorld, options, readNamesOption(options))
}

/** A simulator that begins where another one was. What its doors are like is for its own options to say. */
function createFromSnapshot(snapshot: Snapshot, options: SimulatorOptions): Simulator {
  const { state: moment } = snapshot
  const { fixtures, world, faults, answers, timelines, clock, pausedBy } = moment
  assertCompatible(snapshot, {
    seed: options.seed === undefined ? undefined : String(readSeed(options.seed)),
    epochMs: options.epoch === undefined ? undefined : readEpoch(options.epoch),
    profile:
      options.profile === undefined && options.weather === undefined
        ? undefined
        : loadProfile(withWeather(options.profile, { weather: options.weather })),
    with: options.with,
    faults: options.faults,
    answers: options.answers,
  })
  const { journalLimit, maxStorageBytes } = options
  const initialWorld = world.fork({ journalLimit, maxStorageBytes })
  if (options.check) initialWorld.checkInvariants()
  const setting = options.clock ?? clock
  const sim = new WorldSimulator(initialWorld, { ...options, clock: setting }, readNamesOption(options), {
    fixtures,
    faults,
    answers,
    timelines,
  })
  sim.clock.restore(setting, pausedBy)
  return sim
}

function readNamesOption({ names }: SimulatorOptions): Names | undefined {
  return names === undefined ? undefined : readNames(names)
}
