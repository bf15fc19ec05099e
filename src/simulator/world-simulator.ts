import { SimulatorClock } from '../clock/simulator-clock.ts'
import * as mswCollections from '../data/msw-collections.ts'
import { WireFaultResponse } from '../faults/broken-response.ts'
import { deliverFaultInProcess } from '../faults/deliver-in-process.ts'
import { type FaultControls, Faults } from '../faults/faults.ts'
import type { FaultsState } from '../faults/faults-state.ts'
import { weatherFaultRules } from '../faults/weather-rules.ts'
import type { Entry } from '../kernel/journal.ts'
import { monotonicMs } from '../lib/real-time.ts'
import { BatchLineAnswerer } from '../service/batch-line-answerer.ts'
import {
  type IncomingRequest,
  type Middleware,
  NO_INCOMING,
  type RequestContext,
  type RequestHooks,
  toPathAndQuery,
} from '../service/http/request-context.ts'
import { type Api, createApi } from '../service/http/service.ts'
import type { Names } from '../service/naming/names-profile.ts'
import { ScriptedAnswers, type ScriptedState } from '../service/openai/scripted-answers.ts'
import { loadTokenizer } from '../service/openai/tokenizer.ts'
import type { ResponseWaiter } from '../service/results.ts'
import * as invariants from '../simulation/invariants/checker.ts'
import { JOURNAL_KINDS } from '../simulation/journal-kinds.ts'
import { type ClusterControls, createClusterControls } from '../simulation/operations/cluster-api.ts'
import * as reports from '../simulation/reporting/report.ts'
import type { Report } from '../simulation/reporting/report-types.ts'
import { parseReportWindow, type ReportOptions } from '../simulation/reporting/report-window.ts'
import type { World } from '../simulation/world.ts'
import { ClockResponseWaiter, type PendingRequestInfo, toPendingRequest } from './answer-waiter.ts'
import { reportEventErrors } from './event-errors.ts'
import { InFlightRequests } from './in-flight-requests.ts'
import { JournalListeners } from './journal-listeners.ts'
import { assertForkOptions, type ForkOptions, fixtureName, type SimulatorOptions } from './options.ts'
import { type ReceivedRequest, type RequestCount, RequestLog, type UnreadField } from './request-log.ts'
import type { PendingRequest, Simulator } from './simulator-interface.ts'
import { Snapshot } from './snapshot/snapshot.ts'
import { type StartedTimelines, Timelines } from './timelines.ts'
import { WebhookDelivery } from './webhook-delivery.ts'

/** The state of a simulator that a fork inherits, without its world. */
export interface InheritedState {
  /** The name of the fixture. */
  readonly fixtures: string
  readonly faults: FaultsState
  readonly answers: ScriptedState
  readonly timelines: StartedTimelines
}

const NO_SCRIPTED_ANSWERS: ScriptedState = { rules: [], unnamed: 0 }

export class WorldSimulator implements Simulator {
  readonly clock: SimulatorClock
  readonly cluster: ClusterControls
  readonly api: Api
  readonly onBug: SimulatorOptions['onBug']
  readonly fetch: Simulator['fetch']
  readonly timelines: Timelines
  readonly inference: ScriptedAnswers
  readonly #lineAnswers: BatchLineAnswerer
  readonly #faults: Faults
  readonly #webhooks: WebhookDelivery
  readonly options: SimulatorOptions
  readonly requestLog = new RequestLog()
  readonly #hooks: RequestHooks<World>
  readonly #listeners = new JournalListeners(
    () => this.#world.journal,
    error => this.clock.fail(error),
  )
  readonly #names: Names | undefined
  readonly #initialWorld: World
  readonly #inherited: InheritedState | undefined
  #world: World
  #fixtures: string
  #data: Promise<mswCollections.DataCollections> | undefined
  readonly #inFlight = new InFlightRequests()

  /** @param origin the state of the simulator from which this one continues */
  constructor(initialWorld: World, options: SimulatorOptions, names: Names | undefined, origin?: InheritedState) {
    this.options = options
    this.#names = names
    this.#initialWorld = initialWorld
    this.#inherited = origin
    this.#fixtures = origin?.fixtures ?? fixtureName(options)
    this.inference = new ScriptedAnswers()
    this.onBug = options.onBug
    this.api = createApi({
      ...(options.documentedOnly && { neighbours: false }),
      names,
      ...(options.strictRequests && { strictRequests: true }),
      ...(options.onBug && { onBug: options.onBug }),
      webhookHosts: options.webhooks?.allow,
    })
    const isStrict = options.strictRequests ?? false
    this.#lineAnswers = new BatchLineAnswerer(
      this.inference,
      isStrict,
      names && ((endpoint, line) => this.api.lineNames!.toInternalLine(line, endpoint)),
    )
    this.#world = this.#connect(initialWorld.fork())
    const simulator = this
    this.#hooks = {
      enter: () => this.clock.catchUp(),
      findScriptedAnswer: (model, words) => this.inference.takeAnswer(model, words),
      createWaiter: context => this.#createWaiter(context),
      onLoading: code => this.#inFlight.onLoading(code),
      onAnswered: (request, status) => {
        this.requestLog.add(request, status, this.clock.elapsed, this.#world.journal.last)
        this.#webhooks.onAnswered(request)
      },
      get middleware() {
        // Undefined while there are no rules.
        return simulator.#faults.middleware as Middleware<World>
      },
    }
    const host = {
      get world() {
        return simulator.#world
      },
      inFlight: this.#inFlight,
      prepare: async () => {
        if (simulator.#world.needsTokenizer) await loadTokenizer()
      },
      whenWebhooksSettled: () => simulator.#webhooks.whenSettled(),
      ...{ operations: this.api.operations, operationOf: this.api.findOperationId },
      kinds: JOURNAL_KINDS,
      requestFaults: options.requestFaults ?? false,
      get faults() {
        return simulator.#faults
      },
    }
    this.clock = new SimulatorClock(host, options.clock ?? 'manual', { timers: options.timers })
    this.cluster = createClusterControls(() => this.#world)
    this.#faults =
      origin === undefined
        ? new Faults(host, [...(options.faults ?? []), ...weatherFaultRules(initialWorld.profile)])
        : new Faults(host, [], origin.faults)
    this.timelines = new Timelines(host, origin?.timelines)
    this.#resetScriptedAnswers()
    this.#webhooks = new WebhookDelivery(this, options.webhooks)
    this.#webhooks.attach()
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
    return this.requestLog.list(this.#world)
  }

  get pendingRequests(): readonly PendingRequest[] {
    return this.clock.pendingRequests.map(view => toPendingRequest(view, this.#world.clock))
  }

  get unreadFields(): readonly UnreadField[] {
    return this.requestLog.unreadFields(this.options.strictRequests ?? false)
  }

  get requestCounts(): readonly RequestCount[] {
    return this.requestLog.counts()
  }

  readonly journal = {
    entries: (options: { readonly after?: number } = {}) => this.#world.journalEntries(options.after),
    why: (seq: number) => this.#world.journal.chain(seq),
    listen: (listener: (entry: Entry) => void) => this.#listeners.add(listener),
  }

  readonly funds: Simulator['funds'] = { set: usd => this.cluster.funds.set(usd) }

  get ledger(): Simulator['ledger'] {
    const { ledger } = this.#world
    return { balance: ledger.balance, entries: (window = {}) => ledger.entries(window.from, window.to) }
  }

  report(options: ReportOptions = {}): Report {
    return reports.createReport(this.#world, parseReportWindow(this.#world, options), this.#fixtures)
  }

  reset(): void {
    this.#fixtures = this.#inherited?.fixtures ?? fixtureName(this.options)
    this.#replaceWorld(this.#initialWorld.fork())
    this.#faults.reset()
    this.timelines.reset()
    this.#resetScriptedAnswers()
    this.clock.reset()
    this.#webhooks.attach()
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
    if (this.options.check) invariants.checkInvariants(world)
    this.#fixtures = moment.fixtures
    this.#replaceWorld(world)
    this.#faults.restore(moment.faults)
    this.inference.restore(moment.answers)
    this.timelines.restore(moment.timelines)
    this.clock.restore(moment.clock, moment.pausedBy)
    this.#webhooks.attach()
  }

  /** Returns the world, connected: its lines get the answers of this simulator, which reports the errors of its events. */
  #connect(world: World): World {
    world.lineAnswerer = this.#lineAnswers
    reportEventErrors(world, this.options, () => this.clock)
    return world
  }

  /** Replaces the world: further requests reach the new one. */
  #replaceWorld(world: World): void {
    this.#world = this.#connect(world)
    this.#data?.then(data => data.dispose())
    this.#data = undefined
    this.#listeners.subscribe()
    this.requestLog.clear()
  }

  fork(forkOptions: ForkOptions = {}): Simulator {
    assertForkOptions(forkOptions)
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
    this.#webhooks.detach()
    this.requestLog.close()
    this.clock.dispose()
    ;(await this.#data)?.dispose()
  }

  data(): Promise<mswCollections.DataCollections> {
    const world = this.#world
    this.#data ??= mswCollections.createData(world.store, {
      onUserWrite: ({ kind, key, action }) =>
        world.recordCommand(world.ledger.account, `data.${action}d`, { kind, key }),
    })
    return this.#data
  }

  async #fetch(input: Request | URL | string, init: RequestInit & IncomingRequest = {}): Promise<Response> {
    const request = input instanceof Request && Object.keys(init).length === 0 ? input : new Request(input, init)
    const answer = await this.answer(request, init)
    return answer instanceof WireFaultResponse ? this.deliverFault(answer, request) : answer
  }

  deliverFault(answer: WireFaultResponse, request: Request): Promise<Response> {
    const { signal } = request
    const { name, ...requestInfo } = this.#describeRequest(request, NO_INCOMING)
    const start = { since: this.clock.elapsed, sinceMs: monotonicMs() }
    const pendingRequest = { request: name, ...requestInfo, ...start, isReported: false }
    return deliverFaultInProcess(answer, duration => this.clock.hold(duration, { signal, request: pendingRequest }))
  }

  answer(request: Request, incoming: IncomingRequest = NO_INCOMING): Response | Promise<Response> {
    this.#inFlight.activity++
    const response = this.api.answer(this.#world, request, incoming, this.#hooks)
    const { mode } = this.clock
    if (mode === 'on-poll') return this.#trackInFlight(request, this.#moveAfterPoll(request, response, incoming.path))
    if (!(response instanceof Promise)) {
      if (mode === 'idle') this.clock.onAnswered()
      return response
    }
    return this.#trackInFlight(request, response)
  }

  #createWaiter({ request, incoming }: RequestContext): ResponseWaiter {
    const { inferencePace } = this.options
    const waiter = new ClockResponseWaiter(this.clock, inferencePace, () => this.#describeRequest(request, incoming))
    return incoming.waiterFor?.(waiter, this.clock) ?? waiter
  }

  #describeRequest(request: Request, { path, controlPath }: IncomingRequest): PendingRequestInfo {
    const target = (path ?? toPathAndQuery(request.url)).split('?', 1)[0]!
    return {
      name: `${request.method} ${target}`,
      operation: this.api.findOperationId(request.method, target),
      // By the host that the client asked, as for the base_url of a world.
      controlUrl: controlPath === undefined ? undefined : new URL(request.url).origin + controlPath,
    }
  }

  async #trackInFlight(request: Request, response: Promise<Response>): Promise<Response> {
    try {
      return await this.#inFlight.track(request, response)
    } finally {
      this.clock.onAnswered()
    }
  }

  /** Returns the response. If it shows a resource in progress, the on-poll clock moves after it. */
  async #moveAfterPoll(
    request: Request,
    pendingResponse: Response | Promise<Response>,
    path: string | undefined,
  ): Promise<Response> {
    const response = await pendingResponse
    if (!response.ok) return response
    const polled = this.api.findPolledResource(request.method, path ?? toPathAndQuery(request.url))
    if (polled !== undefined) await this.clock.onPolled(polled)
    return response
  }

  /** Returns to the initial scripted answers. */
  #resetScriptedAnswers(): void {
    this.inference.restore(this.#inherited?.answers ?? NO_SCRIPTED_ANSWERS)
    if (this.#inherited === undefined) for (const rule of this.options.answers ?? []) this.inference.add(rule)
  }
}
