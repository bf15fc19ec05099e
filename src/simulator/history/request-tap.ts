/** A request that is being recorded: its steps in the world, and the pieces of its answer. */

import type { Micros } from '../../kernel/duration.ts'
import type { Exchange } from '../../service/http/exchange.ts'
import type { HoldingWaiter, IncomingRequest, WaiterClock } from '../../service/http/incoming-request.ts'
import type { ResponseWaiter } from '../../service/results.ts'
import type { InferenceHandle } from '../../simulation/inference/request-row.ts'
import { encodeBytes } from './bodies.ts'
import type { AnswerContent, Position, ReadLine, RecordedBody, StepLines } from './lines.ts'

/** Where lines go. */
interface LineSink {
  readonly position: Position
  add(line: StepLines): void
  /** @param isArrived the request waits for its first step */
  addRequest(request: RequestTap, body: RecordedBody | undefined, isArrived: boolean): void
  /** Returns the body of a request as it is kept. */
  keepBody(request: RequestTap, body: string | Uint8Array): RecordedBody
}

/** Passes a request on as its transport has it. A getter is asked when the value is needed, which many never are. */
export class RequestTap implements IncomingRequest {
  readonly number: number
  readonly request: Request
  readonly incoming: IncomingRequest
  readonly isLook: boolean
  /** The whole body, if it is an upload. */
  upload: RecordedBody | undefined = undefined
  /** Whether a fault has acted, which may have changed the answer after it was made. */
  isChanged = false
  /** Whether it has a line. */
  hasBegun = false
  readonly #sink: LineSink
  #isUploadWritten = false
  /** Whether a step had the body. */
  #isBodyKept = false
  /** The body that no step had: a fault answered before an endpoint read it. */
  #unreadBody: RecordedBody | undefined
  #waiter: RecordedWaiter | undefined

  constructor(sink: LineSink, number: number, request: Request, incoming: IncomingRequest, isLook: boolean) {
    this.number = number
    this.request = request
    this.incoming = incoming
    this.isLook = isLook
    this.#sink = sink
  }

  get clientAddress(): string | undefined {
    return this.incoming.clientAddress
  }

  get path(): string | undefined {
    return this.incoming.path
  }

  /** @internal */
  get header(): IncomingRequest['header'] {
    return this.incoming.header
  }

  /** @internal */
  get headerFields(): IncomingRequest['headerFields'] {
    return this.incoming.headerFields
  }

  get controlPath(): string | undefined {
    return this.incoming.controlPath
  }

  get text(): string | undefined {
    return this.upload === undefined ? this.incoming.text : undefined
  }

  enter(): void | Promise<void> {
    return this.incoming.enter?.()
  }

  onStep(sent: string | Uint8Array | undefined): void {
    this.incoming.onStep?.(sent)
    const { upload } = this
    const kept = sent === undefined || upload !== undefined ? undefined : this.#sink.keepBody(this, sent)
    this.#isBodyKept ||= sent !== undefined
    if (!this.hasBegun) {
      this.hasBegun = true
      this.#isUploadWritten = upload !== undefined
      this.#sink.addRequest(this, upload ?? kept, false)
      return
    }
    const body = upload === undefined ? kept : this.#isUploadWritten ? undefined : upload
    this.#isUploadWritten = true
    this.#sink.add({ step: this.number, at: this.#sink.position, ...(body !== undefined && { body }) })
  }

  /** Adds the line of a request that has arrived, before its first step. */
  arrive(): void {
    this.hasBegun = true
    this.#isUploadWritten = this.upload !== undefined
    this.#sink.addRequest(this, this.upload, true)
  }

  onAnswered(exchange: Exchange): void {
    const { decidedBy, text } = exchange
    this.isChanged = decidedBy === 'fault'
    const isUnread = text !== undefined && this.upload === undefined && !this.#isBodyKept
    if (isUnread) this.#unreadBody = this.#sink.keepBody(this, text)
    if (this.#waiter?.hasWaited && exchange.status !== 0)
      this.#sink.add({ ready: this.number, at: this.#sink.position, ...this.#clientTime })
    this.incoming.onAnswered?.(exchange)
  }

  onStreamed(): void {
    this.incoming.onStreamed?.()
  }

  waiterFor(defaultWaiter: HoldingWaiter, clock: WaiterClock): ResponseWaiter {
    const waiter = this.incoming.waiterFor?.(defaultWaiter, clock) ?? defaultWaiter
    this.#waiter = new RecordedWaiter(waiter, clock, {
      onPaced: () => this.#sink.add({ waits: this.number, at: this.#sink.position }),
      onEnd: state => this.#sink.add({ end: this.number, state, at: this.#sink.position, ...this.#clientTime }),
    })
    return this.#waiter
  }

  /** Adds the line of the answer. A request without a step in the world gets its first line with it. */
  end(content: AnswerContent): void {
    if (!this.hasBegun) this.onStep(undefined)
    const clientTime = this.#waiter?.differs ? this.#clientTime : undefined
    const unread = this.#unreadBody === undefined ? undefined : { sent: this.#unreadBody }
    this.#sink.add({ answer: this.number, at: this.#sink.position, ...content, ...clientTime, ...unread })
  }

  /** Returns a body that adds a line for each piece that its client reads. */
  recordStream(body: ReadableStream<Uint8Array<ArrayBuffer>>): ReadableStream<Uint8Array<ArrayBuffer>> {
    const reader = body.getReader()
    let hasLeft = false
    const note = (content: Pick<ReadLine, 'piece' | 'body'>) => {
      if (!hasLeft) this.#sink.add({ read: this.number, at: this.#sink.position, ...content, ...this.#clientTime })
    }
    return new ReadableStream<Uint8Array<ArrayBuffer>>(
      {
        pull: async controller => {
          this.#waiter?.allowEnd()
          try {
            const next = await reader.read()
            if (hasLeft) return
            if (next.done) {
              note({ body: 'over' })
              controller.close()
            } else {
              note({ piece: encodeBytes(next.value) })
              controller.enqueue(next.value)
            }
          } catch (error) {
            note({ body: 'broken' })
            if (!hasLeft) controller.error(error)
          }
        },
        cancel: reason => {
          this.#waiter?.allowEnd()
          const cancelled = reader.cancel(reason)
          note({ body: 'left' })
          hasLeft = true
          return cancelled
        },
      },
      { highWaterMark: 0 },
    )
  }

  /** What differs from the position for a client with a clock of its own. */
  get #clientTime(): { readonly now?: Micros } {
    const waiter = this.#waiter
    return waiter?.differs ? { now: waiter.lastNow } : {}
  }
}

interface WaitListener {
  /** Called once, if the answer takes time. */
  onPaced(): void
  onEnd(state: 'served' | 'left'): void
}

/** Tells what the client of a request waits for, and when it ends the request in the world. */
class RecordedWaiter implements ResponseWaiter {
  lastNow: Micros = 0
  differs = false
  hasWaited = false
  #isPaced = false
  /** Whether something from outside can end the request. What the first step does is not a line of its own. */
  #mayEnd = false
  /** That of a client which is replayed: it waits for the end, too. */
  #innerOnEnd: InferenceHandle['onEnd']
  readonly #inner: ResponseWaiter
  readonly #clock: WaiterClock
  readonly #listener: WaitListener

  constructor(inner: ResponseWaiter, clock: WaiterClock, listener: WaitListener) {
    this.#inner = inner
    this.#clock = clock
    this.#listener = listener
  }

  get isInstant(): boolean {
    const { isInstant } = this.#inner
    if (!isInstant && !this.#isPaced) {
      this.#isPaced = true
      this.#listener.onPaced()
    }
    return isInstant
  }

  now(): Micros {
    this.lastNow = this.#inner.now()
    this.differs = this.lastNow !== this.#clock.elapsed
    return this.lastNow
  }

  onBegin(call: InferenceHandle): void {
    this.#inner.onBegin?.(call)
    // A call that waits again begins again.
    if (call.onEnd === this.#onEnd) return
    this.#innerOnEnd = call.onEnd
    call.onEnd = this.#onEnd
  }

  readonly #onEnd: NonNullable<InferenceHandle['onEnd']> = (state, tokens) => {
    if (this.#mayEnd || state === 'left') this.#listener.onEnd(state)
    this.#innerOnEnd?.(state, tokens)
  }

  allowEnd(): void {
    this.#mayEnd = true
  }

  async wait(...args: Parameters<ResponseWaiter['wait']>): Promise<void> {
    this.#mayEnd = true
    this.hasWaited = true
    await this.#inner.wait(...args)
  }
}
