/** Connects the control room of a page with simulators in the same page. It needs no server and no network. */

import { unlessAborted } from '../../lib/cancellation.ts'
import { delayUnlessAborted } from '../../lib/real-time.ts'
import { asFetched } from '../../service/client/in-process-request.ts'
import { toPathAndQuery } from '../../service/http/request-context.ts'
import { deliverFaultInProcess, WireFaultResponse } from '../../simulator/faults/wire-faults.ts'
import type { Pasts } from '../../simulator/history/past/pasts.ts'
import { createSimulator, type Simulator, type SimulatorOptions } from '../../simulator/simulator.ts'
import type { WritePage } from '../control/endpoint.ts'
import { createControl } from '../control/index.ts'
import type { Connection } from '../page/store/ask.ts'
import { RequestRouter, type RoutedRequest } from '../routing/request-router.ts'
import { Worlds } from '../worlds/worlds.ts'

/** The address of a simulator in a page: the one that a server on this machine would have, so that commands fit both. */
export const PAGE_ORIGIN = 'http://127.0.0.1:4010'

export interface PageConnectionOptions {
  /** Default: `page`. */
  readonly home?: 'page' | 'file'
  /** Writes a saved page of a world. Default: the page cannot be saved. */
  readonly writePage?: WritePage | undefined
}

/** A connection to a simulator in this page. */
export interface PageConnection extends Connection {
  /** The worlds that it answers for. */
  readonly worlds: Worlds
  /** The pasts of the worlds that are kept. */
  readonly pasts: Pasts
}

/**
 * Creates a simulator in this page and connects to it. More worlds can be created, as at a server.
 *
 * @throws FixtureError or RangeError for invalid options, as `createSimulator` does
 * @example
 * const connection = openSimulatorInPage({ fixtures: 'default', clock: 'manual' })
 * await connection.send('/_sim/clock/advance', { method: 'POST', body: '{"by":"1h"}' })
 */
export function openSimulatorInPage(
  options: SimulatorOptions = {},
  connection: PageConnectionOptions = {},
): PageConnection {
  return connectInPage(
    createSimulator({ ...options, webhooks: { deliver: refuseWebhook, ...options.webhooks } }),
    connection,
  )
}

/** Connects to a simulator of this page, which becomes the default world. */
export function connectInPage(
  sim: Simulator,
  { home = 'page', writePage }: PageConnectionOptions = {},
): PageConnection {
  const worlds = new Worlds(sim)
  const control = createControl(worlds, { writePage })
  const router = new RequestRouter<PageRequest>(worlds, control)
  return {
    home,
    worlds,
    pasts: control.pasts,
    async send(path, init = {}) {
      const request = new Request(new URL(path, PAGE_ORIGIN), init)
      const answering = Promise.resolve().then(() => router.answer(request, new PageRequest(request)))
      const { signal } = init
      if (!signal) return answering
      return unlessAborted(answering, signal).then(response => asFetched(response, request.url, signal))
    },
  }
}

/** Fails each attempt of a webhook: a page reaches no other machine. */
export async function refuseWebhook(): Promise<never> {
  throw new Error('a simulator in a page sends no webhooks')
}

class PageRequest implements RoutedRequest {
  path: string
  header: RoutedRequest['header'] = undefined
  controlPath: string | undefined = undefined
  world: RoutedRequest['world'] = undefined
  readonly #request: Request

  constructor(request: Request) {
    this.path = toPathAndQuery(request.url)
    this.#request = request
  }

  /** Breaks an answer as its fault says. As at a server, a delay takes real time on a scaled clock alone. */
  deliver({ clock: { speed } }: Simulator, response: Response): Response | Promise<Response> {
    if (!(response instanceof WireFaultResponse)) return response
    const { signal } = this.#request
    return deliverFaultInProcess(response, async delay => {
      if (delay === Number.POSITIVE_INFINITY) await unlessAborted(new Promise(() => {}), signal)
      else if (speed !== undefined && !(await delayUnlessAborted(delay / 1000 / speed, signal))) throw signal.reason
    })
  }
}
