/** What a handler returns besides a JSON value, and how a client waits for it. */

import type { Micros } from '../kernel/duration.ts'
import type { CancelSignal } from '../lib/cancellation.ts'
import type { InferenceHandle } from '../simulation/inference/request-row.ts'

/** An answer whose JSON text exists already, so that lists of unchanged things are joined, not serialised. */
export class JsonText {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }

  /** A JSON array of texts. */
  static list(texts: readonly string[]): JsonText {
    return new JsonText(`[${texts.join(',')}]`)
  }
}

/** An answer of raw bytes, in pieces. */
export class Bytes {
  readonly chunks: readonly Uint8Array[]
  /** Clients save it under this name. */
  readonly filename: string | undefined
  /** Default: that of the endpoint. */
  readonly contentType: string | undefined
  constructor(
    chunks: readonly Uint8Array[],
    about: { readonly filename?: string; readonly contentType?: string } = {},
  ) {
    this.chunks = chunks
    this.filename = about.filename
    this.contentType = about.contentType
  }
}

/** Pieces of a body that are sent together, as text or bytes. */
export interface BodyChunk {
  readonly content: string | Uint8Array<ArrayBuffer>
  readonly isLast: boolean
}

/** A body that is made while it is read. It is read in one of two ways: as a stream, or by `read`. */
export interface PulledBody {
  /**
   * Returns what is due; a promise if nothing is due yet. Undefined: the body was cancelled. Throws, or rejects, if the
   * body breaks.
   */
  read(): BodyChunk | undefined | Promise<BodyChunk | undefined>
  /** Ends the body because its client has left. */
  cancel(): void
  toStream(): ReadableStream<Uint8Array<ArrayBuffer>>
}

/** An answer of raw bytes, sent as they come. */
export class ByteStream {
  readonly body: PulledBody
  readonly contentType: string
  constructor(body: PulledBody, contentType: string) {
    this.body = body
    this.contentType = contentType
  }
}

/** An answer of server-sent events, sent as they come. */
export class ServerSentEvents {
  readonly body: PulledBody | ReadableStream<Uint8Array<ArrayBuffer>>
  constructor(body: PulledBody | ReadableStream<Uint8Array<ArrayBuffer>>) {
    this.body = body
  }
}

/** How a client waits for a response that takes time. */
export interface ResponseWaiter {
  /** Whether responses come as soon as an instance works on them. Otherwise they take their simulated time. */
  readonly isInstant: boolean
  /** Called with the inference request before the first wait for it. */
  onBegin?(call: InferenceHandle): void
  /** Returns the simulated microseconds on the client's clock. */
  now(): Micros
  /**
   * Waits on that clock. Rejects if `signal` is aborted or the world is replaced.
   *
   * @param part of the answer: its turn with an instance, for which it looks again when `delay` is over; its head,
   *   without which the request is in flight; or its body
   * @param call the inference request, for messages about pending requests
   */
  wait(delay: Micros, signal: CancelSignal, part: AnswerPart, call: InferenceHandle): Promise<void>
}

/** A part of an answer that its client may have to wait for. */
export type AnswerPart = 'turn' | 'head' | 'body'

/**
 * A result that may have to be waited for. The request has already entered its world in one step. The result is known once
 * simulated time has passed, or at once with an instant waiter.
 */
export class DeferredResult<Value> {
  readonly resolve: (waiter: ResponseWaiter) => HandlerResult<Value> | Promise<HandlerResult<Value>>
  /** @param resolve returns what the client gets, or throws RefusalError */
  constructor(resolve: (waiter: ResponseWaiter) => HandlerResult<Value> | Promise<HandlerResult<Value>>) {
    this.resolve = resolve
  }
}

export type HandlerResult<Value> = Value | JsonText | Bytes | ByteStream | ServerSentEvents
