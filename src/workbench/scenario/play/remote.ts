/** A world of a running server in which a scenario is played over HTTP. */

import type { Micros } from '../../../kernel/duration.ts'
import type { Entry, EntryFields } from '../../../kernel/journal.ts'
import { monotonicMs } from '../../../lib/real-time.ts'
import { NO_CHUNK_HEADER, POLLED_BODY_HEADER, POLLED_RESPONSE_HEADER } from '../../../server/worlds/polled-response.ts'
import type { LedgerEntry } from '../../../simulation/account/ledger-types.ts'
import { CLIENT_TIMEOUT, readPacedBody, waitForHeldResponse, waitOutDelay } from './answer-waiting.ts'
import { BrokenConnection, type ControlClient, reasonOf } from './control-client.ts'
import type { CommandPath, PassTime, ScenarioEnvironment, ScenarioFaults, ScenarioInference } from './environment.ts'
import { RemoteClock } from './remote-clock.ts'
import { RemoteCluster } from './remote-cluster.ts'
import { RemoteWorld } from './remote-world.ts'

/** A world that a server has made. */
interface CreatedWorld {
  /** Path of the world on its server. */
  readonly path: string
  readonly baseUrl: string
  readonly token: string
  readonly seed: string
  readonly epochMs: number
}

export class RemoteEnvironment implements ScenarioEnvironment {
  readonly seed: string
  readonly baseUrl: string
  readonly token: string
  readonly clock: RemoteClock
  bug: unknown
  readonly #world: RemoteWorld
  readonly #cluster: RemoteCluster
  readonly #activity = { count: 0, requestsInFlight: 0 }

  constructor(control: ControlClient, { path, baseUrl, token, seed, epochMs }: CreatedWorld) {
    this.baseUrl = baseUrl
    this.token = token
    this.seed = seed
    this.#world = new RemoteWorld(control, path, epochMs)
    this.#cluster = new RemoteCluster(this.#world)
    this.clock = new RemoteClock(this.#world, this.#activity)
  }

  get revision(): number {
    return this.#world.clock.now + this.#world.changeCount
  }

  get heartbeat(): number {
    return this.revision + (this.#world.isBusy ? monotonicMs() : 0)
  }

  get waitReason(): string | undefined {
    return this.clock.waitReason
  }

  async send(request: Request, pass: PassTime, timeout = CLIENT_TIMEOUT): Promise<Response> {
    const before = this.#world.lastReadSeq
    const first = await this.#sendRequest(request)
    const number = first.headers.get(POLLED_RESPONSE_HEADER)
    const response = number === null ? first : await this.#waitForHeldResponse(first, number, request, pass, timeout)
    // The journal recorded a success while the answer was pending.
    if (number !== null && !response.ok) await this.#world.inOrder(() => this.#world.rereadRequests(before))
    const hangs = response.headers.has('x-sim-hang')
    const delay = hangs ? Number.POSITIVE_INFINITY : Number(response.headers.get('x-sim-delay') ?? 0)
    const { clock } = this
    const wait = (span: Micros) => (clock.isMoving ? clock.moveBeside(clock.elapsed + span) : pass(span))
    if (delay > 0) await waitOutDelay(delay, this.#nameOf(request), wait, this.clock, timeout)
    const pieces = response.headers.get(POLLED_BODY_HEADER)
    return pieces === null ? response : this.#readPacedBody(response, pieces, request, pass)
  }

  async #sendRequest(request: Request): Promise<Response> {
    this.#activity.count++
    this.#activity.requestsInFlight++
    try {
      return await this.#world.inOrder(() => this.#forward(request))
    } finally {
      this.#activity.requestsInFlight--
      this.#activity.count++
    }
  }

  /** Polls for an answer that the world holds, and moves time to it. */
  #waitForHeldResponse(
    first: Response,
    number: string,
    request: Request,
    pass: PassTime,
    timeout: Micros,
  ): Promise<Response> {
    const again = (method: string) =>
      this.#sendRequest(new Request(request.url, { method, headers: { [POLLED_RESPONSE_HEADER]: number } }))
    let known: Response | undefined = first
    const held = {
      look: async () => {
        const answer = known ?? (await again('GET'))
        known = undefined
        return answer.headers.has(POLLED_RESPONSE_HEADER)
          ? { delay: Number(answer.headers.get('x-sim-delay')) }
          : { answer }
      },
      leave: () => again('DELETE'),
      pass,
    }
    return waitForHeldResponse(held, request, this.#nameOf(request), this.clock, timeout)
  }

  /** Polls for each chunk of a body that the world sends as time moves. */
  #readPacedBody(response: Response, number: string, request: Request, pass: PassTime): Response {
    const again = (method: string) =>
      this.#sendRequest(new Request(request.url, { method, headers: { [POLLED_BODY_HEADER]: number } }))
    const read = async () => {
      const piece = await again('GET')
      const none = piece.headers.get(NO_CHUNK_HEADER)
      if (none === 'over') return { isOver: true as const }
      if (none !== null) throw new BrokenConnection(`the connection broke during ${this.#nameOf(request)}`)
      const delay = piece.headers.get('x-sim-delay')
      return delay === null ? { piece: new Uint8Array(await piece.arrayBuffer()) } : { delay: Number(delay) }
    }
    const leave = () => again('DELETE')
    return readPacedBody(response, { read, leave, pass }, request, this.#nameOf(request))
  }

  waitForTime(span: Micros, over: Promise<unknown>): Promise<void> {
    return this.clock.waitForTime(span, over)
  }

  async runCommand(path: CommandPath): Promise<unknown> {
    return this.#world.inOrder(() => this.#cluster.run(path))
  }

  get faults(): ScenarioFaults {
    const world = this.#world
    const pathOf = (id: string) => `/faults/${encodeURIComponent(id)}`
    return {
      add: rule => world.sendChange(() => world.request('POST', '/faults', rule)),
      list: () => world.inOrder(() => world.request('GET', '/faults')),
      get: id => world.inOrder(() => world.request('GET', pathOf(id))),
      remove: async id => void (await world.sendChange(() => world.request('DELETE', pathOf(id)))),
      clear: async () => void (await world.sendChange(() => world.request('DELETE', '/faults'))),
    }
  }

  get inference(): ScenarioInference {
    const world = this.#world
    const remove = async (path: string) => void (await world.sendChange(() => world.request('DELETE', path)))
    return {
      add: rule => world.sendChange(() => world.request('POST', '/inference', rule)),
      remove: name => remove(`/inference/${encodeURIComponent(name)}`),
      clear: () => remove('/inference'),
    }
  }

  async balance(): Promise<number> {
    const { balance_microcents } = await this.#get('/ledger')
    return balance_microcents
  }

  async ledgerEntries(): Promise<readonly LedgerEntry[]> {
    const { entries } = await this.#get('/ledger')
    return entries.map((entry: { time: string }) => ({ ...entry, time: this.#world.clock.elapsedAt(entry.time) }))
  }

  addNote(kind: string, subject: string, fields: EntryFields): void {
    this.#world.addNote(kind, subject, fields)
  }

  async journalEntries(): Promise<readonly Entry[]> {
    await this.#world.inOrder(() => this.#world.readJournal())
    return this.#world.entries
  }

  async digest(): Promise<string> {
    const { digest } = await this.#get('/digest')
    return digest
  }

  async close(): Promise<void> {
    const { control, path } = this.#world
    // The world is gone as well if its server is gone.
    await this.#world.inOrder(() => control.request('DELETE', path)).catch(() => {})
  }

  #get(path: string) {
    return this.#world.inOrder(() => this.#world.request('GET', path))
  }

  /** Returns method and path of a request without the path of the world, as in one process. */
  #nameOf({ method, url }: Request): string {
    const { pathname } = new URL(url)
    const base = new URL(this.baseUrl).pathname
    return `${method} ${pathname.startsWith(`${base}/`) ? pathname.slice(base.length) : pathname}`
  }

  async #forward(request: Request): Promise<Response> {
    const { method } = request
    // A request to any host reaches this world, as it does in one process.
    const { pathname, search } = new URL(request.url)
    const base = new URL(this.baseUrl)
    const path = pathname.startsWith(`${base.pathname}/`) ? pathname : `${base.pathname}${pathname}`
    const headers = new Headers(request.headers)
    headers.set('x-sim-client', 'scenario')
    for (const [name, value] of Object.entries(this.#world.control.headers)) headers.set(name, value)
    const body = request.body === null ? undefined : await request.arrayBuffer()
    this.#world.onServiceRequest(method === 'GET' || method === 'HEAD')
    const init = { method, headers, signal: request.signal, ...(body !== undefined && { body }) }
    const broken = () => new BrokenConnection(`the connection broke during ${method} ${pathname}`)
    let response: Response
    try {
      response = await fetch(`${base.origin}${path}${search}`, init)
    } catch (error) {
      if (request.signal.aborted) throw error
      const reason = reasonOf(error)
      if (reason === 'ECONNREFUSED') throw new Error(`Failed to go on: the server at ${base.origin} is gone.`)
      throw broken()
    }
    let bytes: ArrayBuffer
    try {
      bytes = await response.arrayBuffer()
    } catch (error) {
      if (request.signal.aborted) throw error
      // The client has the head of the answer, as in one process.
      const { status, headers } = response
      return new Response(new ReadableStream({ start: controller => controller.error(broken()) }), { status, headers })
    }
    const bug = response.headers.get('x-sim-error')
    if (bug !== null) this.bug ??= new Error(bug)
    const { status, statusText } = response
    const isEmpty = bytes.byteLength === 0
    return new Response(isEmpty ? null : bytes, { status, statusText, headers: response.headers })
  }
}
