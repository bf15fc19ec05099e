import type { Entry, RequestEntry } from '../kernel/journal.ts'
import { encodeBase64 } from '../lib/bytes.ts'
import { BatchLineAnswerer } from '../service/batch-line-answerer.ts'
import type { IncomingRequest } from '../service/http/incoming-request.ts'
import { type Api, createApi } from '../service/http/service.ts'
import type { Names } from '../service/naming/names-profile.ts'
import { ScriptedAnswers } from '../service/openai/scripted-answers.ts'
import * as invariants from '../simulation/invariants/checker.ts'
import { JOURNAL_KINDS } from '../simulation/journal-kinds.ts'
import { type ClusterControls, createClusterControls } from '../simulation/operations/cluster-api.ts'
import * as reports from '../simulation/reporting/report.ts'
import type { Report } from '../simulation/reporting/report-types.ts'
import { parseReportWindow, type ReportOptions } from '../simulation/reporting/report-window.ts'
import type { World } from '../simulation/world.ts'
import * as conflicts from './checkpoint/conflicts.ts'
import { type SimulatorState, Snapshot } from './checkpoint/snapshot.ts'
import { ClientRequests } from './client-requests.ts'
import { warn } from './clock/fake-timers.ts'
import { type PendingRequest, toPendingRequest } from './clock/pending-requests.ts'
import type { SimulatorClock } from './clock/simulator-clock.ts'
import { type ReceivedRequest, type RequestCount, RequestLog, type UnreadField } from './exchanges/request-log.ts'
import { Faults } from './faults/faults.ts'
import type { FaultsState } from './faults/faults-state.ts'
import type { FaultRule } from './faults/rules.ts'
import { weatherFaultRules } from './faults/weather-rules.ts'
import type { WireFaultResponse } from './faults/wire-faults.ts'
import { JournalListeners } from './journal-listeners.ts'
import * as mswCollections from './msw-collections.ts'
import {
  assertQuiet,
  listControlRequest,
  ObserverSlot,
  type PerformAction,
  recordUserWrite,
  type SimulatorObserver,
  toAnswerAction,
} from './observer.ts'
import { assertForkOptions } from './option-fields.ts'
import { type ForkOptions, fixtureName, type SimulatorOptions } from './options.ts'
import type { Simulator } from './simulator-interface.ts'
import { Timelines } from './timelines.ts'
import { WebhookDelivery } from './webhook-delivery.ts'

/** The state of a simulator that a fork inherits, without its world. */
export interface InheritedState extends Pick<SimulatorState, 'fixtures' | 'answers' | 'timelines'> {
  readonly faults: FaultsState
}

export class WorldSimulator implements Simulator {
  readonly clock: SimulatorClock
  readonly cluster: ClusterControls
  readonly api: Api
  readonly onBug: SimulatorOptions['onBug']
  readonly fetch: Simulator['fetch']
  readonly timelines: Timelines
  readonly inference: ScriptedAnswers
  readonly #lineAnswers: BatchLineAnswerer
  readonly faults: Faults
  readonly webhooks: WebhookDelivery
  readonly options: SimulatorOptions
  readonly requestLog = new RequestLog()
  readonly #observerSlot = new ObserverSlot()
  readonly perform: PerformAction = this.#observerSlot.perform
  readonly #clients: ClientRequests
  readonly #listeners = new JournalListeners(
    () => this.world.journal,
    error => this.clock.fail(error),
  )
  readonly #names: Names | undefined
  readonly #initialWorld: World
  readonly #inherited: InheritedState | undefined
  fixture: string
  #data: Promise<mswCollections.DataCollections> | undefined

  /** @param origin the state of the simulator from which this one continues */
  constructor(initialWorld: World, options: SimulatorOptions, names: Names | undefined, origin?: InheritedState) {
    this.options = options
    this.#names = names
    this.#initialWorld = initialWorld
    this.#inherited = origin
    this.fixture = origin?.fixtures ?? fixtureName(options)
    this.inference = new ScriptedAnswers()
    const { report } = this.#observerSlot
    this.onBug = options.onBug
    this.api = createApi({
      ...(options.documentedOnly && { neighbours: false }),
      names,
      endpoints: options.endpoints,
      ...(options.strictRequests && { strictRequests: true }),
      ...(options.onBug && { onBug: options.onBug }),
      webhookHosts: options.webhooks?.allow,
    })
    this.#lineAnswers = new BatchLineAnswerer(
      this.inference,
      options.strictRequests ?? false,
      names && ((endpoint, line) => this.api.lineNames!.toInternalLine(line, endpoint)),
    )
    this.#clients = new ClientRequests(this.#connect(initialWorld.fork()), this, this.#observerSlot)
    this.clock = this.#clients.clock
    this.fetch = this.#clients.fetch
    const simulator = this
    const host = {
      get world() {
        return simulator.world
      },
      ...{ operations: this.api.operations, operationOf: this.api.findOperationId },
      kinds: JOURNAL_KINDS,
      requestFaults: options.requestFaults ?? false,
      get faults() {
        return simulator.faults
      },
      catchUp: () => this.clock.catchUpNow(),
      perform: this.perform,
      onRuleAdded: (rule: FaultRule) => report({ do: 'addFault', rule }),
      onRuleRemoved: (id: string) => report({ do: 'removeFault', id }),
    }
    this.cluster = createClusterControls(() => this.#present)
    this.faults =
      origin === undefined
        ? new Faults(host, [...(options.faults ?? []), ...weatherFaultRules(initialWorld.profile)])
        : new Faults(host, [], origin.faults)
    this.#lineAnswers.faults = this.faults.lines
    this.timelines = new Timelines(host, origin?.timelines)
    this.#resetScriptedAnswers()
    this.inference.onChange = change => report(toAnswerAction(change))
    this.webhooks = new WebhookDelivery(this, options.webhooks)
    this.webhooks.attach()
  }

  get world(): World {
    return this.#clients.world
  }

  /** The world at the present time of its clock. */
  get #present(): World {
    this.clock.catchUpNow()
    return this.world
  }

  get seed(): string {
    return this.world.seed
  }

  get token(): string {
    return this.world.store.tokens.all()[0]?.token ?? ''
  }

  get digest(): string {
    return this.world.digest
  }

  get requests(): readonly ReceivedRequest[] {
    return this.requestLog.list(this.world)
  }

  get pendingRequests(): readonly PendingRequest[] {
    return this.clock.pendingRequests.map(view => toPendingRequest(view, this.world.clock))
  }

  get unreadFields(): readonly UnreadField[] {
    return this.requestLog.unreadFields(this.options.strictRequests ?? false)
  }

  get requestCounts(): readonly RequestCount[] {
    return this.requestLog.counts()
  }

  readonly journal = {
    entries: (options: { readonly after?: number } = {}) => this.world.journal.entries(options.after),
    why: (seq: number) => this.world.journal.chain(seq),
    listen: (listener: (entry: Entry) => void) => this.#listeners.add(listener),
    watch: (watcher: (seq: number) => void) => this.#listeners.watch(watcher),
  }

  readonly funds: Simulator['funds'] = { set: usd => this.cluster.funds.set(usd) }

  get ledger(): Simulator['ledger'] {
    const { ledger } = this.#present
    return { balance: ledger.balance, entries: (window = {}) => ledger.entries(window.from, window.to) }
  }

  report(options: ReportOptions = {}): Report {
    const world = this.#present
    return reports.createReport(world, parseReportWindow(world, options), this.fixture)
  }

  reset(): void {
    this.perform(
      () => ({ do: 'reset' }),
      () => this.#reset(),
    )
  }

  #reset(): void {
    this.fixture = this.#inherited?.fixtures ?? fixtureName(this.options)
    this.#replaceWorld(this.#initialWorld.fork())
    this.faults.reset()
    this.timelines.reset()
    this.#resetScriptedAnswers()
    this.clock.reset()
    this.webhooks.attach()
  }

  snapshot(): Snapshot {
    const { setting, pausedBy } = this.clock
    return new Snapshot({ ...this.#inheritable, world: this.world.fork(), clock: setting, pausedBy })
  }

  get #inheritable(): InheritedState {
    const { fixture: fixtures, faults, inference, timelines } = this
    return { fixtures, faults: faults.state, answers: inference.state, timelines: timelines.started }
  }

  restore(snapshot: Snapshot | Uint8Array): void {
    const parsed = Snapshot.toSnapshot(snapshot)
    conflicts.assertEndpoints(parsed, this.options)
    this.perform(
      () => ({ do: 'restore', snapshot: encodeBase64(parsed.toBytes()) }),
      () => this.#restore(parsed),
    )
  }

  #restore({ state: moment }: Snapshot): void {
    const world = moment.world.fork()
    if (this.options.check) invariants.checkInvariants(world)
    this.fixture = moment.fixtures
    this.#replaceWorld(world)
    this.faults.restore(moment.faults)
    this.inference.restore(moment.answers)
    this.timelines.restore(moment.timelines)
    this.clock.restore(moment.clock, moment.pausedBy)
    this.webhooks.attach()
  }

  /** Returns the world, connected: its lines get the answers of this simulator, which reports the errors of its events. */
  #connect(world: World): World {
    world.batches.lineAnswerer = this.#lineAnswers
    world.commands.onScheduled = (command, delay, repetition) =>
      this.#observerSlot.report({ do: 'command', command, ...(delay > 0 && { delay }), repetition })
    reportEventErrors(world, this.options, () => this.clock)
    return world
  }

  /** Replaces the world: further requests reach the new one. */
  #replaceWorld(world: World): void {
    this.#clients.world = this.#connect(world)
    this.#data?.then(data => data.dispose())
    this.#data = undefined
    this.#listeners.subscribe()
    this.requestLog.clear()
  }

  fork(forkOptions: ForkOptions = {}): Simulator {
    assertForkOptions(forkOptions)
    const { clock = this.clock.setting, fresh = false } = forkOptions
    const world = (fresh ? this.#initialWorld : this.world).fork()
    const state = fresh ? this.#inherited : this.#inheritable
    return new WorldSimulator(world, { ...this.options, clock }, this.#names, state)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.webhooks.detach()
    this.requestLog.close()
    this.clock.dispose()
    ;(await this.#data)?.dispose()
  }

  data(): Promise<mswCollections.DataCollections> {
    const world = this.world
    this.#data ??= mswCollections.createData(world.store, {
      onUserWrite: write => {
        recordUserWrite(world, write)
        this.#observerSlot.report({ do: 'writeData', ...write })
      },
    })
    return this.#data
  }

  get observer(): SimulatorObserver | undefined {
    return this.#observerSlot.observer
  }

  get openRequests(): number {
    return Math.max(this.#clients.inFlight.names.length, this.clock.pendingRequests.length)
  }

  observe(observer: SimulatorObserver): () => void {
    assertQuiet(this.openRequests)
    return this.#observerSlot.attach(observer)
  }

  listControlRequest(operation: string, method: string, path: string): RequestEntry {
    return this.perform(
      () => ({ do: 'listControlRequest', operation, method, path }),
      () => listControlRequest(this.world, operation, method, path),
    )
  }

  look(request: Request, incoming: IncomingRequest): Response | Promise<Response> {
    return this.#clients.look(request, incoming)
  }

  answer(request: Request, incoming?: IncomingRequest): Response | Promise<Response> {
    return this.#clients.answer(request, incoming)
  }

  deliverFault(answer: WireFaultResponse, request: Request): Promise<Response> {
    return this.#clients.deliverFault(answer, request)
  }

  /** Returns to the initial scripted answers. */
  #resetScriptedAnswers(): void {
    this.inference.restore(this.#inherited?.answers ?? { rules: [], unnamed: 0 })
    if (this.#inherited === undefined) for (const rule of this.options.answers ?? []) this.inference.add(rule)
  }
}

/**
 * Reports what an event of a world throws to `onBug`. If the option is missing, the first error of the world is a warning
 * of the process. With `check`, the move of time in progress rejects with the error when it is complete.
 */
function reportEventErrors(world: World, { onBug, check }: SimulatorOptions, clock: () => SimulatorClock): void {
  let hasWarned = false
  world.onEventError = (error, event) => {
    try {
      if (onBug !== undefined) onBug(error, event)
      else if (!hasWarned) {
        hasWarned = true
        warn(`A bug of modelhost-sim in the event ${event}: ${String(error)}. Please report it.`)
      }
    } catch (thrown) {
      clock().fail(thrown)
    }
    if (check) clock().fail(error, true)
  }
}
