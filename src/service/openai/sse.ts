/** Answers in pieces, as server-sent events or bytes. Each piece is sent when its token is due. */

import type { Micros } from '../../kernel/duration.ts'
import { normalQuantile } from '../../kernel/exact-math.ts'
import { type EntityKey, purpose } from '../../kernel/random.ts'
import { createConnectionClosedError } from '../../lib/errors.ts'
import type { InferenceHandle } from '../../simulation/inference/request-row.ts'
import type { World } from '../../simulation/world.ts'
import { type BodyChunk, ByteStream, type PulledBody, type ResponseWaiter, ServerSentEvents } from '../results.ts'
import { type AbortSource, waitForChange } from './request-lifecycle.ts'

const JITTER_DRAW = purpose('answer.jitter')
/** Maximum jitter, as a share of the time of one token. Below half, so tokens keep their order. */
const MAX_JITTER = 0.45
/** Maximum length of a chunk of events, in characters. */
const CHUNK_CHARACTERS = 16_384

/** A piece of an answer with the index of its token; -1 for a piece before the first token. */
interface TimedPiece {
  readonly token: number
}

export interface SseFrame extends TimedPiece {
  /** The field `event`. Default: the event has only data. */
  readonly event?: string
  /** JSON, or `[DONE]`. */
  readonly data: string
}

interface TimedBodyOptions<Piece extends TimedPiece> {
  readonly world: World
  readonly handle: InferenceHandle
  /** Key of the random draws of token times. */
  readonly key: EntityKey
  /** Length of the longest answer in tokens, or in pieces of a media model. */
  readonly longestAnswer: number
  readonly waiter: ResponseWaiter
  readonly client: AbortSource
  /** Pieces in order, created when they are sent. */
  readonly frames: Iterator<Piece>
  /** Returns the last piece of an answer that ended early. Default: the body ends with a connection error. */
  readonly createLossFrame?: ((handle: InferenceHandle) => Piece) | undefined
}

/** How pieces become chunks. Pieces that are due together are joined up to `maxLength`. */
interface PieceFormat<Piece, Encoded extends { readonly length: number }> {
  readonly encode: (piece: Piece) => Encoded
  readonly join: (encodedPieces: readonly Encoded[]) => BodyChunk['content']
  readonly maxLength: number
}

const EVENT_FORMAT: PieceFormat<SseFrame, string> = {
  encode: formatFrame,
  join: texts => texts.join(''),
  maxLength: CHUNK_CHARACTERS,
}

/** Streams the answer to a request that an instance works on as server-sent events. */
export function createEventStream(options: TimedBodyOptions<SseFrame>): ServerSentEvents {
  return new ServerSentEvents(new TimedBody(options, EVENT_FORMAT))
}

/** A piece of an answer of bytes. */
export interface BytePiece extends TimedPiece {
  readonly bytes: Uint8Array<ArrayBuffer>
}

/** Every piece is a chunk of its own. */
const BYTE_FORMAT: PieceFormat<BytePiece, Uint8Array<ArrayBuffer>> = {
  encode: ({ bytes }) => bytes,
  join: ([bytes]) => bytes ?? new Uint8Array(0),
  maxLength: 1,
}

/** Streams the answer to a request that an instance works on as bytes. */
export function createByteStream(options: TimedBodyOptions<BytePiece>, contentType: string): ByteStream {
  return new ByteStream(new TimedBody(options, BYTE_FORMAT), contentType)
}

/**
 * The body of the answer to a request that an instance works on. If the client cancels or aborts, the request releases its
 * place. If the instance is lost, the body ends with the piece of `createLossFrame`, or with a connection error.
 */
class TimedBody<Piece extends TimedPiece, Encoded extends { readonly length: number }> implements PulledBody {
  readonly #options: TimedBodyOptions<Piece>
  readonly #format: PieceFormat<Piece, Encoded>
  readonly #dueTimeOf: (token: number) => Micros
  #next: IteratorResult<Piece>
  #sentTokens = 0
  #isEnded = false

  constructor(options: TimedBodyOptions<Piece>, format: PieceFormat<Piece, Encoded>) {
    const { world, handle, key, longestAnswer, frames } = options
    this.#options = options
    this.#format = format
    this.#dueTimeOf = createTokenTimes(world, handle, key, longestAnswer)
    this.#next = frames.next()
  }

  read(): BodyChunk | undefined | Promise<BodyChunk | undefined> {
    if (this.#isEnded) return undefined
    return this.#next.done || this.#options.waiter.isInstant ? this.#take() : this.#takeWhenDue(this.#next.value)
  }

  cancel(): void {
    if (this.#isEnded) return
    this.#isEnded = true
    const { waiter, handle } = this.#options
    waiter.now()
    handle.abandon(this.#sentTokens)
  }

  toStream(): ReadableStream<Uint8Array<ArrayBuffer>> {
    const { signal } = this.#options.client
    const utf8 = new TextEncoder()
    let abort = () => {}
    const end = () => signal.removeEventListener('abort', abort)
    return new ReadableStream<Uint8Array<ArrayBuffer>>(
      {
        start: controller => {
          abort = () => {
            if (this.#isEnded) return
            this.cancel()
            // The server cancels the body in the same task and must not see this error as its own.
            queueMicrotask(() => controller.error(signal.reason))
          }
          signal.addEventListener('abort', abort, { once: true })
        },
        pull: async controller => {
          let chunk: BodyChunk | undefined
          try {
            chunk = await this.read()
          } catch (error) {
            end()
            throw error
          }
          if (chunk === undefined) return
          const { content, isLast } = chunk
          controller.enqueue(typeof content === 'string' ? utf8.encode(content) : content)
          if (!isLast) return
          end()
          controller.close()
        },
        cancel: () => {
          end()
          this.cancel()
        },
      },
      // Creates events only when the client reads.
      { highWaterMark: 0 },
    )
  }

  async #takeWhenDue({ token }: Piece): Promise<BodyChunk | undefined> {
    const { handle, waiter, client } = this.#options
    try {
      const dueTime = this.#dueTimeOf(token)
      for (let now = waiter.now(); now < dueTime && isInProgress(handle); now = waiter.now()) {
        await waitForChange(handle, waiter, dueTime - now, client, 'body')
      }
    } catch (error) {
      if (this.#isEnded) return undefined
      this.#isEnded = true
      throw error
    }
    return this.#isEnded ? undefined : this.#take()
  }

  /** Takes the pieces that are due. After the last one the request has ended. */
  #take(): BodyChunk {
    const { handle, waiter, frames, createLossFrame } = this.#options
    const { encode, join, maxLength } = this.#format
    if (handle.state === 'broken' || handle.state === 'cutOff' || handle.state === 'turnedAway') {
      this.#isEnded = true
      if (createLossFrame === undefined) throw createConnectionClosedError(handle.reason)
      return { content: join([encode(createLossFrame(handle))]), isLast: true }
    }
    const now = waiter.isInstant ? undefined : waiter.now()
    const due: Encoded[] = []
    let length = 0
    let next = this.#next
    while (!next.done && length < maxLength && (now === undefined || this.#dueTimeOf(next.value.token) <= now)) {
      const encoded = encode(next.value)
      due.push(encoded)
      length += encoded.length
      this.#sentTokens = next.value.token + 1
      next = frames.next()
    }
    this.#next = next
    if (next.done) {
      this.#isEnded = true
      handle.complete()
    }
    return { content: join(due), isLast: next.done === true }
  }
}

function formatFrame({ event, data }: SseFrame): string {
  return event === undefined ? `data: ${data}\n\n` : `event: ${event}\ndata: ${data}\n\n`
}

function isInProgress(handle: InferenceHandle): boolean {
  return handle.state === 'running' || handle.state === 'served'
}

/** Returns a function from token index to due time: even steps with the jitter of the profile. The last has no jitter. */
function createTokenTimes(
  world: World,
  handle: InferenceHandle,
  key: EntityKey,
  longestAnswer: number,
): (token: number) => number {
  const sigma = world.profile.timings.tokenJitter / Math.SQRT2
  return token => {
    if (token <= 0) return handle.firstTokenAt
    const position = Math.min(token, longestAnswer - 1)
    const drawnJitter =
      position === longestAnswer - 1 ? 0 : sigma * normalQuantile(world.chance.unit(key, JITTER_DRAW, token))
    const jitter = Math.max(-MAX_JITTER, Math.min(MAX_JITTER, drawnJitter))
    return handle.firstTokenAt + Math.ceil((position + jitter) * handle.tokenTime)
  }
}
