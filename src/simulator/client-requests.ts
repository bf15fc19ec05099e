/** The requests of the clients of one simulator: answered, delivered, and counted while they are in flight. */

import { monotonicMs } from '../lib/real-time.ts'
import {
  asFetched,
  createInProcessRequest,
  fetchContent,
  mayWait,
  signalOf,
  withWatchedBody,
} from '../service/client/in-process-request.ts'
import type { Exchange } from '../service/http/exchange.ts'
import { type IncomingRequest, NO_INCOMING } from '../service/http/incoming-request.ts'
import { beginUnlessAborted } from '../service/http/pipeline.ts'
import {
  type Middleware,
  type RequestContext,
  type RequestHooks,
  toPathAndQuery,
} from '../service/http/request-context.ts'
import type { Api } from '../service/http/service.ts'
import type { ScriptedAnswers } from '../service/openai/scripted-answers.ts'
import { loadTokenizer } from '../service/openai/tokenizer.ts'
import type { ResponseWaiter } from '../service/results.ts'
import type { World } from '../simulation/world.ts'
import { ClockResponseWaiter, describeRequest, type PendingRequestInfo } from './clock/answer-waiter.ts'
import type { ClockHost, RequestsInFlight } from './clock/host.ts'
import type { ClockSetting } from './clock/settings.ts'
import { SimulatorClock } from './clock/simulator-clock.ts'
import type { RequestLog } from './exchanges/request-log.ts'
import type { Faults } from './faults/faults.ts'
import { deliverFaultInProcess, WireFaultResponse } from './faults/wire-faults.ts'
import type { AnswerRequest, ObserverSlot } from './observer.ts'
import type { SimulatorOptions } from './options.ts'
import { NATIVE_OPERATIONS, type WebhookDelivery } from './webhook-delivery.ts'

/** The parts of a simulator that its requests meet. */
export interface RequestHost {
  readonly api: Api
  readonly options: SimulatorOptions
  readonly inference: ScriptedAnswers
  readonly requestLog: RequestLog
  readonly faults: Faults
  readonly webhooks: WebhookDelivery
}

/** Answers requests in the present world. It is what the pipeline and the clock know of their simulator. */
export class ClientRequests implements RequestHooks<World>, ClockHost {
  world: World
  readonly clock: SimulatorClock
  /** The requests that are not answered yet. */
  readonly inFlight = new InFlightRequests()
  readonly #host: RequestHost
  readonly #observerSlot: ObserverSlot

  /** @param host its faults and its webhooks may come later, before the first request */
  constructor(world: World, host: RequestHost, observerSlot: ObserverSlot) {
    const { clock = 'manual', timers } = host.options
    this.world = world
    this.#host = host
    this.#observerSlot = observerSlot
    this.clock = new SimulatorClock(this, clock, { timers })
  }

  /** Undefined while there are no fault rules. */
  get middleware(): Middleware<World> {
    return this.#host.faults.middleware as Middleware<World>
  }

  enter(): void | Promise<void> {
    return this.clock.catchUp()
  }

  onLoading(code: Promise<void>): void {
    this.inFlight.onLoading(code)
  }

  onAnswered(exchange: Exchange, world: World): void {
    const { requestLog, webhooks } = this.#host
    if (world === this.world) requestLog.add(exchange)
    if (NATIVE_OPERATIONS.has(exchange.operation)) webhooks.watch()
  }

  readonly findScriptedAnswer: NonNullable<RequestHooks<World>['findScriptedAnswer']> = (model, words) =>
    this.#host.inference.takeAnswer(model, words)

  async prepare(): Promise<void> {
    if (this.world.needsTokenizer) await loadTokenizer()
  }

  whenWebhooksSettled(): Promise<void> {
    return this.#host.webhooks.whenSettled()
  }

  onSet(clock: ClockSetting): void {
    this.#observerSlot.report({ do: 'setClock', clock })
  }

  readonly fetch = async (
    input: Request | URL | string,
    init: RequestInit & IncomingRequest = {},
  ): Promise<Response> => {
    const content = fetchContent(input, init)
    if (content !== undefined) return content
    const isWhole = input instanceof Request && input.body === null && Object.keys(init).length === 0
    const created = isWhole ? input : createInProcessRequest(input, init)
    const signal = signalOf(input, init)
    signal?.throwIfAborted()
    const leave = mayWait(input, init) && created.body !== null ? new AbortController() : undefined
    const request = leave === undefined ? created : withWatchedBody(created, leave)
    const left = leave?.signal ?? signal
    if (leave) signal?.addEventListener('abort', () => leave.abort(signal.reason), { once: true, signal: left! })
    try {
      const answer = await this.answer(request, left ? { ...init, ...beginUnlessAborted(left) } : init)
      const delivered = answer instanceof WireFaultResponse ? await this.deliverFault(answer, request) : answer
      return asFetched(delivered, request.url, signal)
    } finally {
      // Some errors of a request that did not begin are not the reason itself.
      left?.throwIfAborted()
      leave?.abort()
    }
  }

  deliverFault(answer: WireFaultResponse, request: Request): Promise<Response> {
    const { clock } = this
    const { signal } = request
    const { name, ...requestInfo } = this.#describeRequest(request, NO_INCOMING)
    const start = { since: clock.elapsed, sinceMs: monotonicMs() }
    const pendingRequest = { request: name, ...requestInfo, ...start, isReported: false, source: request }
    return deliverFaultInProcess(answer, duration => clock.hold(duration, { signal, request: pendingRequest }))
  }

  answer(request: Request, incoming: IncomingRequest = NO_INCOMING): Response | Promise<Response> {
    const { observer } = this.#observerSlot
    return observer === undefined
      ? this.#answer(request, incoming)
      : observer.answer(request, incoming, this.#answer, false)
  }

  look(request: Request, incoming: IncomingRequest): Response | Promise<Response> {
    const answer: AnswerRequest = (request, incoming) => this.#host.api.answer(this.world, request, incoming)
    const { observer } = this.#observerSlot
    return observer === undefined ? answer(request, incoming) : observer.answer(request, incoming, answer, true)
  }

  createWaiter({ request, incoming }: RequestContext): ResponseWaiter {
    const { inferencePace } = this.#host.options
    const waiter = new ClockResponseWaiter(this.clock, inferencePace, () => this.#describeRequest(request, incoming))
    return incoming.waiterFor?.(waiter, this.clock) ?? waiter
  }

  readonly #answer: AnswerRequest = (request, incoming) => {
    this.inFlight.activity++
    const response = this.#host.api.answer(this.world, request, incoming, this)
    const { mode } = this.clock
    if (mode === 'on-poll') return this.#trackInFlight(request, this.#moveAfterPoll(request, response, incoming.path))
    if (!(response instanceof Promise)) {
      if (mode === 'idle') this.clock.onAnswered()
      return response
    }
    return this.#trackInFlight(request, response)
  }

  #describeRequest(request: Request, { path, controlPath }: IncomingRequest): PendingRequestInfo {
    const target = (path ?? toPathAndQuery(request.url)).split('?', 1)[0]!
    return {
      name: `${request.method} ${target}`,
      operation: this.#host.api.findOperationId(request.method, target),
      // By the host that the client asked, as for the base_url of a world.
      controlUrl: controlPath === undefined ? undefined : new URL(request.url).origin + controlPath,
    }
  }

  async #trackInFlight(request: Request, response: Promise<Response>): Promise<Response> {
    try {
      return await this.inFlight.track(request, response)
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
    const polled = this.#host.api.findPolledResource(request.method, path ?? toPathAndQuery(request.url))
    if (polled !== undefined) await this.clock.onPolled(polled)
    return response
  }
}

/** The requests that a simulator has not answered yet. Its clock waits for them. */
export class InFlightRequests implements RequestsInFlight {
  activity = 0
  readonly #requests = new Map<Promise<Response>, Request>()
  #loading = 0

  get count(): number {
    return this.#requests.size
  }

  get names(): readonly string[] {
    return Array.from(this.#requests.values(), describeRequest)
  }

  get isLoading(): boolean {
    return this.#loading > 0
  }

  /** Counts a request until its answer. Returns the answer. */
  async track(request: Request, response: Promise<Response>): Promise<Response> {
    this.#requests.set(response, request)
    try {
      return await response
    } finally {
      this.#requests.delete(response)
      this.activity++
    }
  }

  /** Counts as loading until the code is loaded, or cannot be. */
  onLoading(code: Promise<unknown>): void {
    this.#loading++
    const end = () => {
      this.#loading--
    }
    code.then(end, end)
  }
}
