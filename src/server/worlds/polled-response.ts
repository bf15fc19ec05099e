/** Responses that wait for simulated time, for clients that move that time themselves and poll. */

import type { Micros } from '../../kernel/duration.ts'
import { Cancellation, type CancelSignal } from '../../lib/cancellation.ts'
import type { HoldingWaiter, IncomingRequest, WaiterClock } from '../../service/http/incoming-request.ts'
import type { ResponseWaiter } from '../../service/results.ts'

/** The number of a response that a scenario on a server has to poll for. */
export const POLLED_RESPONSE_HEADER = 'x-sim-awaited'
/** The number of a response whose body a scenario on a server polls for, piece by piece. */
export const POLLED_BODY_HEADER = 'x-sim-pieces'
/** Sent in place of a piece if the body is `over` or `broken`. */
export const NO_CHUNK_HEADER = 'x-sim-no-piece'

/** The response waits; polling earlier than after `delay` is useless. */
export interface StillWaiting {
  readonly delay: Micros
}

/** The state of a response: complete, or waiting. */
export type ResponsePoll = { readonly answer: Response } | StillWaiting

/** The state of the next piece of a body: received, past the end, or waiting. */
export type ChunkPoll = { readonly piece: Uint8Array } | { readonly isOver: true } | StillWaiting

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

  /** @param send sends the request with this waiter */
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
