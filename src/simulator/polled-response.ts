/** Answers that have to wait for the world's time, for whoever stands beside their client and moves that time. */

import type { Micros } from '../kernel/duration.ts'
import type { ResponseWaiter } from '../service/endpoint.ts'
import type { HoldingWaiter, IncomingRequest, WaiterClock } from '../service/http/request-context.ts'

/** Names an answer that a stage on a server has to come back for. */
export const POLLED_RESPONSE_HEADER = 'x-sim-awaited'
/** Names an answer whose body a stage on a server comes back for, piece by piece. */
export const POLLED_BODY_HEADER = 'x-sim-pieces'
/** On the answer to who comes back for a piece: there is none any more, because the body is `over` or `broken`. */
export const NO_CHUNK_HEADER = 'x-sim-no-piece'

/** It waits, and before so long nothing new can be known of it. */
export interface StillWaiting {
  readonly delay: Micros
}

/** Where an answer is: it has come, or it waits. */
export type ResponsePoll = { readonly answer: Response } | StillWaiting

/** Where the next piece of a body is: it has come, there is none, or it waits. */
export type ChunkPoll = { readonly piece: Uint8Array } | { readonly isOver: true } | StillWaiting

type Body = ReadableStream<Uint8Array>

/** A request that a world may hold until its time has come. */
export class PolledResponse {
  readonly #response: Promise<Response>
  readonly #cancellation = new AbortController()
  #waiter: HoldingWaiter | undefined
  #now: () => Micros = () => 0
  /** When it looks again by itself; undefined while it does not wait. */
  #waitsUntil: Micros | undefined
  #onWait = () => {}
  #waitBegan!: Promise<void>
  #reader: ReadableStreamDefaultReader<Uint8Array> | undefined
  #pendingRead: ReturnType<ReadableStreamDefaultReader<Uint8Array>['read']> | undefined

  /** @param send sends the request, whose client waits in the way that is given */
  constructor(send: (waiterFor: NonNullable<IncomingRequest['waiterFor']>) => Response | Promise<Response>) {
    this.#expectWait()
    this.#response = Promise.resolve(send((defaultWaiter, clock) => this.#createWaiter(defaultWaiter, clock)))
    // Told to whoever looks.
    this.#response.catch(() => {})
  }

  /** Whether its body comes as time goes, so that it has to be read piece by piece. */
  get isPaced(): boolean {
    return this.#waiter !== undefined && !this.#waiter.isInstant
  }

  /** Waits, for no time of the world, until it is known where the answer is. Throws what the client would be thrown. */
  async look(): Promise<ResponsePoll> {
    const answer = await this.#untilKnown(this.#response)
    return 'delay' in answer ? answer : { answer }
  }

  /** The same for the next piece of its body, or of what has become of that on the way. */
  async pollChunk(body: Body): Promise<ChunkPoll> {
    this.#reader ??= body.getReader()
    this.#pendingRead ??= this.#reader.read()
    const next = await this.#untilKnown(this.#pendingRead)
    if ('delay' in next) return next
    this.#pendingRead = undefined
    return next.done ? { isOver: true } : { piece: next.value }
  }

  /** Its client gives up, and what it had in the world is free. */
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
          await waiter.hold(delay, AbortSignal.any([signal, this.#cancellation.signal]), part, call, true)
        } finally {
          this.#waitsUntil = undefined
          this.#expectWait()
        }
      },
    }
  }
}
