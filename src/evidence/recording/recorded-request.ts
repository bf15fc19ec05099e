/** A request that is being recorded: its steps in the world, and the pieces of its answer. */

import type { Micros } from '../../kernel/duration.ts'
import type {
  AnsweredRequest,
  HoldingWaiter,
  IncomingRequest,
  WaiterClock,
} from '../../service/http/incoming-request.ts'
import type { ResponseWaiter } from '../../service/results.ts'
import type { InferenceHandle } from '../../simulation/inference/request-row.ts'
import { encodeBytes } from './bodies.ts'
import type { AnswerContent, Position, ReadLine, RecordedBody, RequestLine, StepLines } from './lines.ts'

/** Where lines go. */
interface LineSink {
  add(createLine: (at: Position) => StepLines): void
  /** Called after the line of a request. */
  onBegun(request: RecordedRequest): void
}

export class RecordedRequest implements IncomingRequest {
  readonly number: number
  /** The whole body, if it is an upload. */
  upload: RecordedBody | undefined
  /** Whether a fault has acted, which may have changed the answer after it was made. */
  isChanged = false
  readonly clientAddress: string | undefined
  readonly path: string | undefined
  readonly header: IncomingRequest['header']
  readonly headerFields: IncomingRequest['headerFields']
  readonly controlPath: string | undefined
  readonly #sink: LineSink
  readonly #incoming: IncomingRequest
  readonly #describe: (at: Position, text: string | undefined) => RequestLine
  #hasBegun = false
  #isUploadWritten = false
  #waiter: RecordedWaiter | undefined

  constructor(
    sink: LineSink,
    number: number,
    incoming: IncomingRequest,
    describe: (at: Position, text: string | undefined) => RequestLine,
  ) {
    this.number = number
    this.upload = undefined
    this.clientAddress = incoming.clientAddress
    this.path = incoming.path
    this.header = incoming.header
    this.headerFields = incoming.headerFields
    this.controlPath = incoming.controlPath
    this.#sink = sink
    this.#incoming = incoming
    this.#describe = describe
  }

  enter(): void | Promise<void> {
    return this.#incoming.enter?.()
  }

  onStep(text: string | undefined): void {
    this.#incoming.onStep?.(text)
    const hadBegun = this.#hasBegun
    this.#hasBegun = true
    this.#sink.add(at => {
      if (!hadBegun) {
        this.#isUploadWritten = this.upload !== undefined
        return this.#describe(at, text)
      }
      const body = this.upload === undefined ? text : this.#isUploadWritten ? undefined : this.upload
      this.#isUploadWritten = true
      return { step: this.number, at, ...(body !== undefined && { body }) }
    })
    if (!hadBegun) this.#sink.onBegun(this)
  }

  /** Adds the line of a request that has arrived, before its first step. */
  arrive(): void {
    this.#hasBegun = true
    this.#sink.add(at => ({ ...this.#describe(at, undefined), arrived: true }))
  }

  onAnswered(...args: [request: AnsweredRequest, status: number, time: number]): void {
    this.isChanged = args[0].decidedBy === 'fault'
    if (this.#waiter?.hasWaited) this.#sink.add(at => ({ ready: this.number, at, ...this.#clientTime }))
    this.#incoming.onAnswered?.(...args)
  }

  onStreamed(): void {
    this.#incoming.onStreamed?.()
  }

  waiterFor(defaultWaiter: HoldingWaiter, clock: WaiterClock): ResponseWaiter {
    const waiter = this.#incoming.waiterFor?.(defaultWaiter, clock) ?? defaultWaiter
    this.#waiter = new RecordedWaiter(waiter, clock, {
      onPaced: () => this.#sink.add(at => ({ waits: this.number, at })),
      onEnd: state => this.#sink.add(at => ({ end: this.number, state, at, ...this.#clientTime })),
    })
    return this.#waiter
  }

  /** Adds the line of the answer. A request without a step in the world gets its first line with it. */
  end(content: AnswerContent): void {
    if (!this.#hasBegun) this.onStep(undefined)
    const clientTime = this.#waiter?.differs ? this.#clientTime : undefined
    this.#sink.add(at => ({ answer: this.number, at, ...content, ...clientTime }))
  }

  /** Returns a body that adds a line for each piece that its client reads. */
  recordStream(body: ReadableStream<Uint8Array<ArrayBuffer>>): ReadableStream<Uint8Array<ArrayBuffer>> {
    const reader = body.getReader()
    let hasLeft = false
    const note = (content: Pick<ReadLine, 'piece' | 'body'>) => {
      if (!hasLeft) this.#sink.add(at => ({ read: this.number, at, ...content, ...this.#clientTime }))
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
  /** Whether something from outside can end the request. What the first step does is no line of its own. */
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
