/** The requests of the clients of one simulator: answered, delivered, and counted while they are in flight. */

import { monotonicMs } from '../lib/real-time.ts'
import { createInProcessRequest } from '../service/client/in-process-request.ts'
import { type IncomingRequest, NO_INCOMING } from '../service/http/incoming-request.ts'
import { type RequestContext, type RequestHooks, toPathAndQuery } from '../service/http/request-context.ts'
import type { Api } from '../service/http/service.ts'
import type { ResponseWaiter } from '../service/results.ts'
import type { World } from '../simulation/world.ts'
import { ClockResponseWaiter, type PendingRequestInfo } from './clock/answer-waiter.ts'
import type { SimulatorClock } from './clock/simulator-clock.ts'
import { WireFaultResponse } from './faults/broken-response.ts'
import { deliverFaultInProcess } from './faults/deliver-in-process.ts'
import { InFlightRequests } from './in-flight-requests.ts'
import type { AnswerRequest, ObserverSlot } from './observer.ts'
import type { SimulatorOptions } from './options.ts'

/** The simulator that the requests reach. */
export interface RequestHost {
  readonly world: World
  readonly clock: SimulatorClock
  readonly api: Api
  readonly options: SimulatorOptions
}

export class ClientRequests {
  readonly #host: RequestHost
  readonly #hooks: RequestHooks<World>
  readonly #observerSlot: ObserverSlot
  /** The requests that are not answered yet. */
  readonly inFlight = new InFlightRequests()

  constructor(host: RequestHost, hooks: RequestHooks<World>, observerSlot: ObserverSlot) {
    this.#host = host
    this.#hooks = hooks
    this.#observerSlot = observerSlot
  }

  async fetch(input: Request | URL | string, init: RequestInit & IncomingRequest = {}): Promise<Response> {
    const isWhole = input instanceof Request && Object.keys(init).length === 0
    const request = isWhole ? input : createInProcessRequest(input, init)
    const answer = await this.answer(request, init)
    return answer instanceof WireFaultResponse ? this.deliverFault(answer, request) : answer
  }

  deliverFault(answer: WireFaultResponse, request: Request): Promise<Response> {
    const { clock } = this.#host
    const { signal } = request
    const { name, ...requestInfo } = this.#describeRequest(request, NO_INCOMING)
    const start = { since: clock.elapsed, sinceMs: monotonicMs() }
    const pendingRequest = { request: name, ...requestInfo, ...start, isReported: false }
    return deliverFaultInProcess(answer, duration => clock.hold(duration, { signal, request: pendingRequest }))
  }

  answer(request: Request, incoming: IncomingRequest = NO_INCOMING): Response | Promise<Response> {
    const { observer } = this.#observerSlot
    return observer === undefined
      ? this.#answer(request, incoming)
      : observer.answer(request, incoming, this.#answer, false)
  }

  look(request: Request, incoming: IncomingRequest): Response | Promise<Response> {
    const answer: AnswerRequest = (request, incoming) => this.#host.api.answer(this.#host.world, request, incoming)
    const { observer } = this.#observerSlot
    return observer === undefined ? answer(request, incoming) : observer.answer(request, incoming, answer, true)
  }

  createWaiter({ request, incoming }: RequestContext): ResponseWaiter {
    const { clock, options } = this.#host
    const waiter = new ClockResponseWaiter(clock, options.inferencePace, () => this.#describeRequest(request, incoming))
    return incoming.waiterFor?.(waiter, clock) ?? waiter
  }

  readonly #answer: AnswerRequest = (request, incoming) => {
    this.inFlight.activity++
    const { api, world, clock } = this.#host
    const response = api.answer(world, request, incoming, this.#hooks)
    const { mode } = clock
    if (mode === 'on-poll') return this.#trackInFlight(request, this.#moveAfterPoll(request, response, incoming.path))
    if (!(response instanceof Promise)) {
      if (mode === 'idle') clock.onAnswered()
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
      this.#host.clock.onAnswered()
    }
  }

  /** Returns the response. If it shows a resource in progress, the on-poll clock moves after it. */
  async #moveAfterPoll(
    request: Request,
    pendingResponse: Response | Promise<Response>,
    path: string | undefined,
  ): Promise<Response> {
    const { api, clock } = this.#host
    const response = await pendingResponse
    if (!response.ok) return response
    const polled = api.findPolledResource(request.method, path ?? toPathAndQuery(request.url))
    if (polled !== undefined) await clock.onPolled(polled)
    return response
  }
}
