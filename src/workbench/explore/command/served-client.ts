/** Answers the requests of a client in another process, and records them as the client sees them. */

import { type Micros, SECOND } from '../../../kernel/duration.ts'
import { delayUnlessAborted, monotonicMs, realDelay } from '../../../lib/real-time.ts'
import type { ServedWorld } from '../../../server/worlds/served-world.ts'
import { toPathAndQuery } from '../../../service/http/request-context.ts'
import { isStreamed, WireFaultResponse } from '../../../simulator/faults/wire-faults.ts'
import type { FetchOptions, Simulator } from '../../../simulator/simulator.ts'
import { type ClientExchange, noteBytes, type RequestRecorder } from '../run/request-recorder.ts'

/** How long a client waits at least before it repeats a request, or tries again after a failure. */
const ASSUMED_WAIT = 10 * SECOND
/** How far a poll moves time for a client that moves time itself. */
const OWN_STEP = '1ms'
/** How long a client waits for an answer that never comes. */
const ASSUMED_TIMEOUT = 30 * SECOND

/**
 * Moves the time of a world for a client in another process. Its waits are real, and too short to be those of the world.
 */
export class ClientWaits {
  readonly #sim: Simulator
  #open = 0
  #last: ClientExchange | undefined
  /** When the last open request ended, in real milliseconds and in the time of the world. */
  #quietSince: { readonly ms: number; readonly elapsed: Micros } | undefined
  /** Whether the client moves the time itself, through the control plane. Its waits are then exact. */
  movesTime = false
  /** Whether the simulator moved the time for the client. */
  isAssumed = false
  /** Real milliseconds between its requests, in whole seconds. */
  sleptMs = 0
  /** Real milliseconds in which it waited for answers that never came. */
  hungMs = 0

  constructor(sim: Simulator) {
    this.#sim = sim
  }

  /**
   * Moves time by the wait of the client before a request: what it slept in real time, or what such a client waits in
   * production. Whole seconds count, so that the speed of the machine changes nothing.
   */
  async beforeRequest(method: string, path: string): Promise<void> {
    const { clock } = this.#sim
    const quiet = this.#open === 0 ? this.#quietSince : undefined
    if (this.#open === 0) this.noteHang()
    this.#open++
    if (quiet === undefined) return
    const moved = clock.elapsed - quiet.elapsed
    if (moved > 0 && !this.movesTime) {
      this.movesTime = true
      // Its polls would move time further than its own limits see.
      clock.set({ mode: 'on-poll', step: OWN_STEP })
    }
    const slept = Math.floor((monotonicMs() - quiet.ms) / 1000) * SECOND
    this.sleptMs += slept / 1000
    const wait = Math.max(slept, this.movesTime ? 0 : this.#assumedWait(method, path))
    // No client can move time while it waits for an answer.
    const assumed = this.#last?.outcome === 'unanswered' ? ASSUMED_TIMEOUT : 0
    const rest = assumed + Math.max(0, wait - moved)
    if (rest <= 0) return
    this.isAssumed = true
    await clock.advanceInSlices(rest / 1000)
  }

  afterRequest(request: ClientExchange): void {
    this.#open--
    this.#last = request
    if (this.#open === 0) this.#quietSince = { ms: monotonicMs(), elapsed: this.#sim.clock.elapsed }
  }

  /** Counts the real time since an answer that never came: the next request has come, or the process has ended. */
  noteHang(): void {
    if (this.#quietSince && this.#last?.outcome === 'unanswered') this.hungMs += monotonicMs() - this.#quietSince.ms
  }

  /** The process has ended: its open requests are over. */
  onExit(): void {
    this.#open = 0
    this.#quietSince = undefined
    this.#last = undefined
  }

  #assumedWait(method: string, path: string): Micros {
    const last = this.#last
    if (last === undefined) return 0
    const { outcome, status, readError, retryAfter } = last
    const isFailure = outcome !== 'answered' || readError !== undefined || status === 429 || status >= 500
    if (isFailure) return Math.max(retryAfter ?? 0, ASSUMED_WAIT)
    return last.method === method && last.path === path ? ASSUMED_WAIT : 0
  }
}

/** Real milliseconds in which the last bytes of a process arrive. */
const LAST_BYTES_MS = 5
/** Real milliseconds in which the requests of a process that has ended are carried out. */
const LAST_ANSWERS_MS = 1_000

export interface ServedClientOptions {
  readonly world: ServedWorld
  readonly recorder: RequestRecorder
  /** Called when a request has come. */
  onRequest(request: ClientExchange): void
  /** Called when the client waits for what never comes. */
  onSilence(record: ClientExchange): void
  /** Called when a request was carried out. Returns true if its client has ended with it. */
  endsWith(request: ClientExchange): boolean
}

export class ServedClient {
  readonly waits: ClientWaits
  readonly #options: ServedClientOptions
  readonly #sim: Simulator
  readonly #open = new Set<Promise<Response>>()
  #start = 1

  constructor(options: ServedClientOptions) {
    this.#options = options
    this.#sim = options.world.sim
    this.waits = new ClientWaits(this.#sim)
    const { answer } = options.world
    options.world.answer = (request, incoming) => {
      const response = this.#answer(request, incoming, answer)
      const close = () => this.#open.delete(response)
      this.#open.add(response)
      response.then(close, close)
      return response
    }
  }

  /** Resolves when the requests that the client sent before its end have an answer, or do not get one soon. */
  async settle(): Promise<void> {
    // What is still on its way in a socket.
    await realDelay(LAST_BYTES_MS)
    const answered = new AbortController()
    void Promise.allSettled(this.#open).then(() => answered.abort())
    await delayUnlessAborted(LAST_ANSWERS_MS, answered.signal)
  }

  /** The requests from now on are those of another start of the client. */
  startAgain(): void {
    this.#start++
    this.waits.onExit()
  }

  async #answer(request: Request, incoming: FetchOptions = {}, answer: Simulator['answer']): Promise<Response> {
    const sim = this.#sim
    const { recorder, onRequest, endsWith } = this.#options
    const { method } = request
    const path = incoming.path ?? toPathAndQuery(request.url)
    const start = this.#start
    await this.waits.beforeRequest(method, path)
    const operation = sim.api.findOperationId(method, path.split('?', 1)[0]!) ?? ''
    const record = recorder.begin({ start, operation, method, path, sentAt: sim.clock.elapsed })
    onRequest(record)
    const report = incoming.onAnswered?.bind(incoming)
    incoming.onAnswered = exchange => {
      record.endedAt = sim.clock.elapsed
      recorder.noteAnswered(record, exchange)
      report?.(exchange)
    }
    incoming.onForm = body => Object.assign(record, { body })
    incoming.onTruth = truth => recorder.noteTruth(record, truth)
    // A body that goes past the response is not recorded.
    incoming.takeBody = () => false
    try {
      const response = await answer(request, incoming)
      if (endsWith(record)) {
        record.endedAt = undefined
        return response
      }
      return await this.#note(record, response)
    } finally {
      if (start === this.#start) this.waits.afterRequest(record)
    }
  }

  /** Records how a response reaches the client. */
  async #note(record: ClientExchange, response: Response): Promise<Response> {
    const { recorder, onSilence } = this.#options
    const { clock, world } = this.#sim
    const outcome = response instanceof WireFaultResponse ? response.outcome : undefined
    if (outcome?.kind === 'hang' || outcome?.kind === 'silent') onSilence(record)
    if (outcome?.kind === 'hang') {
      record.endedAt = undefined
      return response
    }
    if (outcome?.kind === 'reset' || outcome?.kind === 'refused') {
      record.outcome = 'failed'
      record.readError = outcome.kind === 'reset' ? 'ECONNRESET' : 'ECONNREFUSED'
      return response
    }
    // The client cannot wait for time of the world, so the time comes to it.
    if (outcome?.kind === 'delayed') {
      await clock.advanceInSlices(outcome.delay / 1000)
      record.endedAt = clock.elapsed
    }
    const time = record.endedAt ?? clock.elapsed
    if (outcome?.kind === 'cut') record.readError = 'the connection closed within the body'
    // The server reads a stream as fast as its client.
    if (isStreamed(response)) return recorder.noteResponse(record, response, time, world.clock.epochMs)
    recorder.noteHead(record, response, time, world.clock.epochMs)
    if (outcome?.kind !== 'cut') await readAnswer(record, response)
    return response
  }
}

/** Reads the body that the client gets. */
async function readAnswer(record: ClientExchange, response: Response): Promise<void> {
  if (response.body === null) return
  const type = response.headers.get('content-type') ?? ''
  noteBytes(record, type, await response.clone().arrayBuffer())
  // The page of a proxy: the service sends none.
  if (type.startsWith('text/html')) record.readError = 'an HTML page'
  if (!type.includes('json') || typeof record.answer !== 'string') return
  try {
    JSON.parse(record.read!.text)
  } catch (error) {
    record.readError = (error as Error).message
  }
}
