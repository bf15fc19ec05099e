import type { ClockSetting } from '../clock/settings.ts'
import { SimulatorClock } from '../clock/simulator-clock.ts'
import type { PendingRequestView } from '../clock/waiting-requests.ts'
import { type FixturePatch, loadFixture } from '../data/fixtures/load.ts'
import { createData, type DataCollections } from '../data/msw-collections.ts'
import { loadProfile, type ProfileInput, withWeather } from '../data/profiles/load.ts'
import type { FixtureInput } from '../data/records/records.ts'
import { WireFaultResponse } from '../faults/broken-response.ts'
import { deliverFaultInProcess } from '../faults/deliver-in-process.ts'
import { type FaultControls, Faults, type FaultsState } from '../faults/faults.ts'
import type { FaultRule } from '../faults/rules.ts'
import { weatherFaultRules } from '../faults/weather-rules.ts'
import { DEFAULT_EPOCH_MS, elapsedAt } from '../kernel/clock.ts'
import type { Micros } from '../kernel/duration.ts'
import type { Entry } from '../kernel/journal.ts'
import { assertKnownKeys } from '../lib/known-keys.ts'
import { monotonicMs } from '../lib/real-time.ts'
import type { ResponseWaiter } from '../service/endpoint.ts'
import type { Middleware } from '../service/http/pipeline.ts'
import { type AnsweredRequest, type IncomingRequest, toPathAndQuery } from '../service/http/request-context.ts'
import { type Api, createApi } from '../service/http/service.ts'
import { type Names, type NamesProfile, readNames } from '../service/naming/names-profile.ts'
import { BatchLineAnswerer } from '../service/openai/batch-answers.ts'
import {
  type InferenceControls,
  ScriptedAnswers,
  type ScriptedState,
  type ScriptRule,
} from '../service/openai/scripted-answers.ts'
import { loadTokenizer } from '../service/openai/tokenizer.ts'
import type { LedgerEntry } from '../simulation/account/ledger.ts'
import { checkInvariants } from '../simulation/invariants/checker.ts'
import { JOURNAL_KINDS } from '../simulation/journal-kinds.ts'
import { type ClusterControls, createClusterControls } from '../simulation/operations/cluster-api.ts'
import { createReport, type Report } from '../simulation/reporting/report.ts'
import { parseReportWindow, type ReportOptions } from '../simulation/reporting/report-window.ts'
import { World } from '../simulation/world.ts'
import { ClockResponseWaiter, type InferencePace, type PendingRequestInfo } from './answer-waiter.ts'
import { type ReceivedRequest, RequestLog, type UnreadField } from './request-log.ts'
import { assertCompatible } from './snapshot/conflicts.ts'
import { SNAPSHOT_ENDING } from './snapshot/file-ending.ts'
import { loadSnapshot, Snapshot } from './snapshot/snapshot.ts'
import { type StartedTimelines, Timelines } from './timelines.ts'

export interface SimulatorOptions {
  /**
   * The world to start from: a name (`default`, `empty`, `fleet`, `full`, `two-nodes`), a folder, the fixture itself, or a
   * snapshot, as it is or as the path of a file that ends in `.snapshot`. A snapshot brings its seed, profile, epoch, rules
   * of faults and scripted answers along, and its clock unless another is given.
   */
  readonly fixtures?: string | FixtureInput | Snapshot
  /** Timings, prices, limits and policies of the provider: `realistic` (unless given), `quick`, `rough`, a path, or the profile itself. */
  readonly profile?: string | ProfileInput
  /**
   * What goes wrong by itself, in the world and on the wire: a pack of the profile, as `office-day`, `launch-day`,
   * `bad-week`, `provider-incident` or `payment-trouble`, or `none`. As the profile says unless given.
   */
  readonly weather?: string
  /** Records beside those of the fixture: `{ deployments: [{ model_name: 'acme/chat', status: 'running' }] }`. */
  readonly with?: FixturePatch
  /** Equal seeds and equal requests give equal worlds. 1 unless given. */
  readonly seed?: string | number
  /** How time moves; by hand unless given. */
  readonly clock?: ClockSetting
  /** Fake timers of the test runner: `drive` (unless given) moves them and the world in step, `ignore` leaves them alone. */
  readonly timers?: 'drive' | 'ignore'
  /** The world's time zero, ISO 8601; 2026-01-01T00:00:00Z unless given. */
  readonly epoch?: string
  /**
   * How answers of models come: `clock` in the time that they take, `instant` as soon as an instance works on them. On a
   * scaled clock `clock`, on every other `instant`, unless given.
   */
  readonly inferencePace?: InferencePace
  /** Answers of models that are scripted from the start. */
  readonly answers?: readonly ScriptRule[]
  /** Faults of the wire that are there from the start. */
  readonly faults?: readonly FaultRule[]
  /** Serves the interface document's own endpoints alone. */
  readonly documentedOnly?: boolean
  /** The words of your provider for the neutral ones of the interface: the path of a file, or the names themselves. */
  readonly names?: string | NamesProfile
  /** Answers 422 to a body with fields that no declaration names, and keeps count of what clients send that nothing reads. */
  readonly strictRequests?: boolean
  /** Entries that the journal keeps; 20,000 unless given. */
  readonly journalLimit?: number
  /** Bytes of files that the world holds at most; what the profile says unless given, 1 GiB. */
  readonly maxStorageBytes?: number
  /**
   * Holds the world to its laws after every event, request and command: a breach throws `LawError`, a request answers
   * 500. For whoever works on the simulation, and for whoever doubts it; it costs about as much again as what it checks.
   */
  readonly check?: boolean
  /**
   * Hears of exceptions that are bugs of the simulator; the client gets a 500 with `x-sim-error`. If it throws, the
   * request is closed and `sim.fetch` rejects with its error.
   */
  readonly onBug?: (error: unknown, operation: string) => void
}

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

/** What differs in a fork of a simulator. */
export interface ForkOptions {
  /** How its time moves; as the origin's does now unless given. */
  readonly clock?: ClockSetting
  /** Begins where the origin began, not where it is now. */
  readonly fresh?: boolean
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
  if (options.check) checkInvariants(initialWorld)
  return new WorldSimulator(initialWorld, options, readNamesOption(options))
}

/** Whether a fixture is a snapshot, or the path of one: what settles the seed and most else. */
export function isSnapshotFixture(fixtures: SimulatorOptions['fixtures']): fixtures is string | Snapshot {
  return typeof fixtures === 'string' ? fixtures.endsWith(SNAPSHOT_ENDING) : Snapshot.isSnapshot(fixtures)
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
  if (options.check) checkInvariants(initialWorld)
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

/** What a simulator goes on with beside the world. */
interface InheritedState {
  /** What the world was made from, by name. */
  readonly fixtures: string
  readonly faults: FaultsState
  readonly answers: ScriptedState
  readonly timelines: StartedTimelines
}

const NO_SCRIPTED_ANSWERS: ScriptedState = { rules: [], unnamed: 0 }

class WorldSimulator implements Simulator {
  readonly clock: SimulatorClock
  readonly cluster: ClusterControls
  readonly api: Api
  readonly onBug: SimulatorOptions['onBug']
  readonly fetch: Simulator['fetch']
  readonly timelines: Timelines
  readonly inference: ScriptedAnswers
  readonly #lineAnswers: BatchLineAnswerer
  readonly #faults: Faults
  readonly options: SimulatorOptions
  readonly #requests = new RequestLog()
  readonly #names: Names | undefined
  readonly #initialWorld: World
  readonly #inherited: InheritedState | undefined
  #world: World
  /** What the world was made from. */
  #fixtures: string
  #data: Promise<DataCollections> | undefined
  #activity = 0
  #inFlight: readonly string[] = []
  #listeners: readonly ((entry: Entry) => void)[] = []

  /** @param origin what the simulator has that this one goes on from */
  constructor(initialWorld: World, options: SimulatorOptions, names: Names | undefined, origin?: InheritedState) {
    this.options = options
    this.#names = names
    this.#initialWorld = initialWorld
    this.#inherited = origin
    this.#fixtures = origin?.fixtures ?? fixtureName(options)
    this.inference = new ScriptedAnswers()
    this.#lineAnswers = new BatchLineAnswerer(this.inference, options.strictRequests ?? false)
    this.#world = this.#withLineAnswers(initialWorld.fork())
    this.onBug = options.onBug
    this.api = createApi({
      ...(options.documentedOnly && { neighbours: false }),
      names,
      ...(options.strictRequests && { strictRequests: true }),
      ...(options.onBug && { onBug: options.onBug }),
    })
    const simulator = this
    this.clock = new SimulatorClock(
      {
        get world() {
          return simulator.#world
        },
        get activity() {
          return simulator.#activity
        },
        get inFlight() {
          return simulator.#inFlight
        },
        prepare: () => simulator.#prepare(),
      },
      options.clock ?? 'manual',
      { timers: options.timers },
    )
    this.cluster = createClusterControls(() => this.#world)
    const faultsHost = {
      get world() {
        return simulator.#world
      },
      operations: this.api.operations,
      operationOf: this.api.findOperationId,
      kinds: JOURNAL_KINDS,
    }
    this.#faults =
      origin === undefined
        ? new Faults(faultsHost, [...(options.faults ?? []), ...weatherFaultRules(initialWorld.profile)])
        : new Faults(faultsHost, [], origin.faults)
    const timelinesHost = {
      get world() {
        return simulator.#world
      },
      faults: this.#faults,
    }
    this.timelines = new Timelines(timelinesHost, origin?.timelines)
    this.#resetScriptedAnswers()
    this.fetch = (input, init) => this.#fetch(input, init)
  }

  get world(): World {
    return this.#world
  }

  get faults(): FaultControls {
    return this.#faults
  }

  get seed(): string {
    return this.#world.seed
  }

  get token(): string {
    return this.#world.store.tokens.all()[0]?.token ?? ''
  }

  get digest(): string {
    return this.#world.digest
  }

  get requests(): readonly ReceivedRequest[] {
    return this.#requests.list(time => this.#world.clock.iso(time))
  }

  get pendingRequests(): readonly PendingRequest[] {
    const { clock } = this.#world
    return this.clock.pendingRequests.map(({ since, until, ...rest }) => ({
      ...rest,
      since: clock.iso(since),
      until: until === undefined ? undefined : clock.iso(until),
    }))
  }

  get unreadFields(): readonly UnreadField[] {
    if (!this.options.strictRequests) {
      throw new RangeError(
        'Failed to tell what nothing reads: nobody looked for it. Start with --strict-requests, or createSimulator({ strictRequests: true }).',
      )
    }
    return this.#requests.unreadFields()
  }

  readonly journal = {
    entries: (options: { readonly after?: number } = {}) => this.#world.journalEntries(options.after),
    why: (seq: number) => this.#world.journal.chain(seq),
    listen: (listener: (entry: Entry) => void) => {
      this.#listeners = [...this.#listeners, listener]
      this.#subscribe()
      return () => {
        this.#listeners = this.#listeners.filter(other => other !== listener)
      }
    },
  }

  get ledger(): Simulator['ledger'] {
    const world = this.#world
    return {
      balance: world.ledger.balance,
      entries: (window = {}) => world.ledger.entries(window.from, window.to),
    }
  }

  report(options: ReportOptions = {}): Report {
    return createReport(this.#world, parseReportWindow(this.#world, options))
  }

  reset(): void {
    this.#fixtures = this.#inherited?.fixtures ?? fixtureName(this.options)
    this.#replaceWorld(this.#initialWorld.fork())
    this.#faults.reset()
    this.timelines.reset()
    this.#resetScriptedAnswers()
    this.clock.reset()
  }

  snapshot(): Snapshot {
    return new Snapshot({
      fixtures: this.#fixtures,
      world: this.#world.fork(),
      faults: this.#faults.state,
      answers: this.inference.state,
      timelines: this.timelines.started,
      clock: this.clock.setting,
      pausedBy: this.clock.pausedBy,
    })
  }

  restore(snapshot: Snapshot | Uint8Array): void {
    const { state: moment } = Snapshot.toSnapshot(snapshot)
    const world = moment.world.fork()
    if (this.options.check) checkInvariants(world)
    this.#fixtures = moment.fixtures
    this.#replaceWorld(world)
    this.#faults.restore(moment.faults)
    this.inference.restore(moment.answers)
    this.timelines.restore(moment.timelines)
    this.clock.restore(moment.clock, moment.pausedBy)
  }

  /** The same world, which answers lines of batches as this simulator answers requests. */
  #withLineAnswers(world: World): World {
    world.lineAnswerer = this.#lineAnswers
    return world
  }

  /** Whoever asks from now on asks another world. */
  #replaceWorld(world: World): void {
    this.#world = this.#withLineAnswers(world)
    this.#data?.then(data => data.dispose())
    this.#data = undefined
    this.#unsubscribe = undefined
    if (this.#listeners.length > 0) this.#subscribe()
    this.#requests.clear()
  }

  fork(forkOptions: ForkOptions = {}): Simulator {
    assertKnownKeys(forkOptions, FORK_OPTION_NAMES, 'Failed to fork')
    const { clock, fresh = false } = forkOptions
    const world = (fresh ? this.#initialWorld : this.#world).fork()
    const options = { ...this.options, clock: clock ?? this.clock.setting }
    const currentState = {
      fixtures: this.#fixtures,
      faults: this.#faults.state,
      answers: this.inference.state,
      timelines: this.timelines.started,
    }
    return new WorldSimulator(world, options, this.#names, fresh ? this.#inherited : currentState)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.clock.reset()
    ;(await this.#data)?.dispose()
  }

  data(): Promise<DataCollections> {
    const world = this.#world
    this.#data ??= createData(world.store, {
      onUserWrite: ({ kind, key, action }) =>
        world.recordCommand(world.ledger.account, `data.${action}d`, { kind, key }),
    })
    return this.#data
  }

  #unsubscribe: (() => void) | undefined

  #subscribe(): void {
    this.#unsubscribe ??= this.#world.journal.listen(entry => {
      for (const listener of this.#listeners) {
        try {
          listener(entry)
        } catch (error) {
          // Listeners are called in the middle of a change, which their errors must not leave half done.
          this.clock.fail(error)
        }
      }
    })
  }

  async #fetch(input: Request | URL | string, init: RequestInit & FetchOptions = {}): Promise<Response> {
    const request = input instanceof Request && Object.keys(init).length === 0 ? input : new Request(input, init)
    const answer = await this.answer(request, init)
    return answer instanceof WireFaultResponse ? this.deliverFault(answer, request) : answer
  }

  deliverFault(answer: WireFaultResponse, request: Request): Promise<Response> {
    const { signal } = request
    const { name, ...requestInfo } = this.#describeRequest(request, {})
    const start = { since: this.clock.elapsed, sinceMs: monotonicMs() }
    const pendingRequest = { request: name, ...requestInfo, ...start, isReported: false }
    return deliverFaultInProcess(answer, duration => this.clock.hold(duration, { signal, request: pendingRequest }))
  }

  answer(
    request: Request,
    { clientAddress, path, header, waiterFor: patienceOf, control }: FetchOptions = {},
  ): Response | Promise<Response> {
    this.#activity++
    const { inferencePace } = this.options
    const defaultWaiter = new ClockResponseWaiter(this.clock, inferencePace, () =>
      this.#describeRequest(request, { path, control }),
    )
    const waiter = patienceOf?.(defaultWaiter, this) ?? defaultWaiter
    const incoming: IncomingRequest = {
      clientAddress,
      path,
      header,
      waiter,
      findScriptedAnswer: this.#findScriptedAnswer,
      beforeHandling: this.#catchUp,
      onReceived: this.#onReceived,
    }
    const response = this.api.answer(
      this.#world,
      request,
      incoming,
      this.#faults.middleware as Middleware<World> | undefined,
    )
    const { mode } = this.clock
    if (mode === 'on-poll') return this.#trackInFlight(request, this.#moveAfterPoll(request, response, path))
    if (!(response instanceof Promise)) {
      if (mode === 'idle') this.clock.onAnswered()
      return response
    }
    return this.#trackInFlight(request, response)
  }

  #describeRequest(request: Request, { path, control }: Pick<FetchOptions, 'path' | 'control'>): PendingRequestInfo {
    const target = (path ?? toPathAndQuery(request.url)).split('?', 1)[0]!
    return {
      name: `${request.method} ${target}`,
      operation: this.api.findOperationId(request.method, target),
      controlUrl: control?.(),
    }
  }

  #trackInFlight(request: Request, response: Promise<Response>): Promise<Response> {
    const name = describe(request)
    this.#inFlight = [...this.#inFlight, name]
    return response.finally(() => {
      this.#inFlight = this.#inFlight.toSpliced(this.#inFlight.indexOf(name), 1)
      this.#activity++
      this.clock.onAnswered()
    })
  }

  /** The answer is made first; then a look at something unfinished moves an on-poll clock. */
  async #moveAfterPoll(
    request: Request,
    pendingResponse: Response | Promise<Response>,
    path: string | undefined,
  ): Promise<Response> {
    const response = await pendingResponse
    const polled = response.ok
      ? this.api.findPolledResource(request.method, path ?? toPathAndQuery(request.url))
      : undefined
    if (polled !== undefined) await this.clock.onPolled(polled)
    return response
  }

  /** Back to the answers that are scripted from the start. */
  #resetScriptedAnswers(): void {
    this.inference.restore(this.#inherited?.answers ?? NO_SCRIPTED_ANSWERS)
    if (this.#inherited === undefined) for (const rule of this.options.answers ?? []) this.inference.add(rule)
  }

  readonly #findScriptedAnswer = (model: string, words: string) => this.inference.takeAnswer(model, words)

  readonly #catchUp = () => this.clock.catchUp()

  readonly #onReceived = (request: AnsweredRequest) => this.#requests.add(request, this.clock.elapsed)

  async #prepare(): Promise<void> {
    if (this.#world.needsTokenizer) await loadTokenizer()
  }
}

function readNamesOption({ names }: SimulatorOptions): Names | undefined {
  return names === undefined ? undefined : readNames(names)
}

function fixtureName({ fixtures = 'default' }: SimulatorOptions): string {
  return typeof fixtures === 'string' ? fixtures : 'given'
}

function describe({ method, url }: Request): string {
  return `${method} ${toPathAndQuery(url).split('?', 1)[0]}`
}

const OPTION_NAMES = [
  'fixtures',
  'faults',
  'with',
  'profile',
  'weather',
  'seed',
  'clock',
  'timers',
  'epoch',
  'inferencePace',
  'answers',
  'documentedOnly',
  'names',
  'strictRequests',
  'journalLimit',
  'maxStorageBytes',
  'check',
  'onBug',
] as const satisfies readonly (keyof SimulatorOptions)[]

const FORK_OPTION_NAMES = ['clock', 'fresh'] as const satisfies readonly (keyof ForkOptions)[]

/** Options that are one of a few words: what is taken for another would be taken for what is left out. */
const OPTION_VALUES = {
  timers: ['drive', 'ignore'],
  inferencePace: ['clock', 'instant'],
  documentedOnly: [true, false],
  strictRequests: [true, false],
  check: [true, false],
} as const satisfies Partial<Record<keyof SimulatorOptions, readonly unknown[]>>

function assertOptions(options: SimulatorOptions): void {
  assertKnownKeys(options, OPTION_NAMES, 'Failed to make a simulator')
  for (const [name, allowed] of Object.entries(OPTION_VALUES)) {
    const value: unknown = options[name as keyof typeof OPTION_VALUES]
    if (value === undefined || (allowed as readonly unknown[]).includes(value)) continue
    const allowedText = allowed.map(word => (typeof word === 'string' ? `'${word}'` : String(word))).join(' or ')
    throw new RangeError(`Failed to make a simulator: ${name} is ${JSON.stringify(value)}. Give ${allowedText}.`)
  }
  for (const name of ['journalLimit', 'maxStorageBytes'] as const) {
    const value = options[name]
    if (value === undefined || (Number.isInteger(value) && value > 0)) continue
    throw new RangeError(`Failed to make a simulator: ${name} is ${String(value)}. Give an integer above 0.`)
  }
}

function readSeed(seed: unknown): string | number {
  if (typeof seed === 'string' || (typeof seed === 'number' && Number.isFinite(seed))) return seed
  throw new RangeError(
    `Failed to make a simulator: the seed is ${JSON.stringify(seed)}. Give a text, or a number that is finite.`,
  )
}

function readEpoch(epoch: string | undefined): number {
  if (epoch === undefined) return DEFAULT_EPOCH_MS
  const ms = Math.floor(elapsedAt(epoch, 0) / 1000)
  if (!Number.isFinite(ms)) {
    throw new RangeError(
      `Failed to read the epoch '${epoch}': no time with an offset. Give ISO 8601, as in '2026-01-01T00:00:00Z'.`,
    )
  }
  return ms
}
