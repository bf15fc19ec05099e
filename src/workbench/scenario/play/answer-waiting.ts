/** The waits of a scenario's client: for an answer that a fault delays, and for one that its world holds. */

import { formatDuration, type Micros, SECOND } from '../../../kernel/duration.ts'
import { Cancellation, type CancelSignal } from '../../../lib/cancellation.ts'
import type { HoldingWaiter, IncomingRequest, WaiterClock } from '../../../service/http/incoming-request.ts'
import type { ResponseWaiter } from '../../../service/results.ts'
import { callContext } from './timeline.ts'

/**
 * Lets time pass for an awaited answer, by at most this span. It may be less: to the next planned step, or to the end
 * of a move in progress.
 */
export type PassTime = (span: Micros) => Promise<unknown>

/** Virtual time in microseconds after which a client gives up, unless it says otherwise. */
export const CLIENT_TIMEOUT = 60 * SECOND

/** The response waits; polling earlier than after `delay` is useless. */
interface StillWaiting {
  readonly delay: Micros
}

/** The state of a response: complete, or waiting. */
export type ResponsePoll = { readonly answer: Response } | StillWaiting

/** The state of the next piece of a body: received, past the end, or waiting. */
type ChunkPoll = { readonly piece: Uint8Array } | { readonly isOver: true } | StillWaiting

type Body = ReadableStream<Uint8Array>

/** A request that a world may hold until its time has come. */
export class PolledResponse {
  readonly #response: Promise<Response>
  readonly #cancellation = new Cancellation()
  #waiter: HoldingWaiter | undefined
  #now: () => Micros = () => 0
  /** Simulated time until which it waits; undefined while it does not wait. */
  #waitsUntil: Micros | undefined
  #onWait = () => {}
  #waitBegan!: Promise<void>
  #reader: ReadableStreamDefaultReader<Uint8Array> | undefined
  #pendingRead: ReturnType<ReadableStreamDefaultReader<Uint8Array>['read']> | undefined

  /**
   * @internal
   * @param send sends the request with this waiter
   */
  constructor(send: (waiterFor: NonNullable<IncomingRequest['waiterFor']>) => Response | Promise<Response>) {
    this.#expectWait()
    this.#response = Promise.resolve(send((defaultWaiter, clock) => this.#createWaiter(defaultWaiter, clock)))
    // `look` throws it.
    this.#response.catch(() => {})
  }

  /** Whether its body takes simulated time, so that it has to be read piece by piece. */
  get isPaced(): boolean {
    return this.#waiter !== undefined && !this.#waiter.isInstant
  }

  /** Resolves, without moving simulated time, once the response is complete or waits. Throws the error of the request. */
  async look(): Promise<ResponsePoll> {
    const answer = await this.#untilKnown(this.#response)
    return 'delay' in answer ? answer : { answer }
  }

  /** Does the same for the next piece of the body, as a fault may have changed it. */
  async pollChunk(body: Body): Promise<ChunkPoll> {
    this.#reader ??= body.getReader()
    this.#pendingRead ??= this.#reader.read()
    const next = await this.#untilKnown(this.#pendingRead)
    if ('delay' in next) return next
    this.#pendingRead = undefined
    return next.done ? { isOver: true } : { piece: next.value }
  }

  /** Cancels the request and frees its resources in the world. */
  async leave(reason: Error): Promise<void> {
    await this.#reader?.cancel(reason).catch(() => {})
    this.#cancellation.abort(reason)
    await this.#response.catch(() => {})
  }

  async #untilKnown<Value extends object>(value: Promise<Value>): Promise<Value | StillWaiting> {
    for (;;) {
      const result = await Promise.race([value, this.#waitBegan])
      if (result !== undefined) return result
      if (this.#waitsUntil !== undefined) return { delay: Math.max(0, this.#waitsUntil - this.#now()) }
      this.#expectWait()
    }
  }

  /** Waits with a signal that is aborted with the given one, or if the client leaves. */
  async #whileWanted(signal: CancelSignal, wait: (wanted: CancelSignal) => Promise<void>): Promise<void> {
    const wanted = new Cancellation()
    const sources = [signal, this.#cancellation]
    const abort = () => wanted.abort(sources.find(source => source.aborted)!.reason)
    for (const source of sources) source.addEventListener('abort', abort)
    try {
      if (sources.some(source => source.aborted)) abort()
      await wait(wanted)
    } finally {
      for (const source of sources) source.removeEventListener('abort', abort)
    }
  }

  #expectWait(): void {
    this.#waitBegan = new Promise(resolve => {
      this.#onWait = resolve
    })
  }

  #createWaiter(waiter: HoldingWaiter, clock: WaiterClock): ResponseWaiter {
    this.#waiter = waiter
    this.#now = () => clock.elapsed
    return {
      get isInstant() {
        return waiter.isInstant
      },
      now: () => waiter.now(),
      wait: async (delay, signal, part, call) => {
        this.#waitsUntil = clock.elapsed + delay
        this.#onWait()
        try {
          await this.#whileWanted(signal, wanted => waiter.hold(delay, wanted, part, call, true))
        } finally {
          this.#waitsUntil = undefined
          this.#expectWait()
        }
      },
    }
  }
}

/**
 * Waits for the end of an answer's delay. Time does not move while a condition is evaluated or a planned step runs.
 * There a delayed answer comes at once.
 *
 * @param what the request, as in `GET /deploy/list`
 * @param wait lets time pass by at most this span
 * @param timeout microseconds after which the client gives up
 * @throws Error with `broken: true` for an answer after that time, or one that never comes
 */
export async function waitOutDelay(
  delay: Micros,
  what: string,
  wait: PassTime,
  clock: { readonly elapsed: Micros },
  timeout: Micros,
): Promise<void> {
  const at = clock.elapsed + Math.min(delay, timeout)
  while (findFrozenContext() === undefined && clock.elapsed < at) await wait(at - clock.elapsed)
  if (delay <= timeout) return
  const error = new Error(`no answer to ${what} within ${formatDuration(timeout)}`)
  throw Object.assign(error, { broken: true })
}

/** A request, its name as in `POST /v1/chat/completions`, and what lets time pass for its answer. */
interface AwaitedRequest {
  readonly request: Request
  readonly what: string
  readonly pass: PassTime
}

/**
 * Waits until the world answers, and moves its time meanwhile. A chat to a deployment without instances is answered
 * when an instance has started.
 *
 * @param first its state now
 * @param clock the world's clock
 * @throws Error with `broken: true` if no answer came within the client's timeout, or time cannot move; the reason of
 *   the signal if the client gives up. Its place is then free
 */
export async function waitForHeldResponse(
  held: PolledResponse,
  first: ResponsePoll,
  { request, what, pass }: AwaitedRequest,
  clock: { readonly elapsed: Micros },
  timeout: Micros,
): Promise<Response> {
  let abort = () => {}
  const gone = new Promise<never>((_, reject) => {
    // The request must stay referenced: without it, its signal no longer follows that of the client.
    abort = () => reject(request.signal.reason)
  })
  gone.catch(() => {})
  request.signal.addEventListener('abort', abort)
  try {
    return await Promise.race([gone, poll()])
  } catch (error) {
    if (request.signal.aborted) await held.leave(request.signal.reason)
    throw error
  } finally {
    request.signal.removeEventListener('abort', abort)
  }

  async function poll(): Promise<Response> {
    const deadline = clock.elapsed + timeout
    for (let state = first; ; state = await held.look()) {
      if ('answer' in state) return state.answer
      const frozenIn = findFrozenContext()
      const left = deadline - clock.elapsed
      if (frozenIn !== undefined || left <= 0) {
        const why = frozenIn ? describeFrozenTime(frozenIn) : ` within ${formatDuration(timeout)}`
        const error = broken(`no answer to ${what}${why}`)
        await held.leave(error)
        throw error
      }
      await pass(Math.min(state.delay, left))
    }
  }
}

/**
 * Returns an answer whose reader moves time to each chunk. If time cannot move, or the body breaks off, reading fails
 * with an error that has `broken: true`.
 */
export function readPacedBody(
  held: PolledResponse,
  { status, headers, body: source }: Response,
  { request, what, pass }: AwaitedRequest,
): Response {
  let leave = () => {}
  const end = () => request.signal.removeEventListener('abort', leave)
  const body = new ReadableStream<Uint8Array>(
    {
      start(controller) {
        leave = () => {
          controller.error(request.signal.reason)
          held.leave(request.signal.reason)
        }
        request.signal.addEventListener('abort', leave, { once: true })
      },
      async pull(controller) {
        for (;;) {
          const state = await held.pollChunk(source!).catch((error: unknown) => {
            end()
            throw broken(`the answer to ${what} broke off`, error)
          })
          if ('piece' in state) return controller.enqueue(state.piece)
          if ('isOver' in state) {
            end()
            return controller.close()
          }
          const frozenIn = findFrozenContext()
          if (frozenIn !== undefined) {
            const error = broken(`no more of the answer to ${what}${describeFrozenTime(frozenIn)}`)
            end()
            await held.leave(error)
            throw error
          }
          await pass(state.delay)
        }
      },
      cancel: async reason => {
        end()
        await held.leave(reason)
      },
    },
    { highWaterMark: 0 },
  )
  return new Response(body, { status, headers })
}

/** Returns the name of the step or condition in which time does not move; undefined if it can move. */
function findFrozenContext(): string | undefined {
  const inside = callContext.getStore()
  return inside === undefined || inside.isOver ? undefined : inside.name
}

function describeFrozenTime(name: string): string {
  return `: it waits for time, and time does not move in '${name}'`
}

function broken(message: string, cause?: unknown): Error {
  return Object.assign(new Error(message, { cause }), { broken: true })
}
