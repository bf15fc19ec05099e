/** The body of an answer, as far as one has read it. */

import { concatBytes, encodeBase64 } from '../../../lib/bytes.ts'

/** A body that is read: by a client, or by a fault that changes it. */
export class AnswerBody {
  readonly #type: string
  #parts: Uint8Array<ArrayBuffer>[] = []
  #text: string | undefined
  /** Whether it was read to its end. */
  isWhole = false

  /** @param type its content type */
  constructor(type: string) {
    this.#type = type
  }

  /** Returns a body that was read as text. */
  static ofText(type: string, text: string): AnswerBody {
    const body = new AnswerBody(type)
    body.#text = text
    body.isWhole = true
    return body
  }

  add(part: Uint8Array<ArrayBuffer>): void {
    this.#parts.push(part)
    this.#text = undefined
  }

  get isEvents(): boolean {
    return this.#type.startsWith('text/event-stream')
  }

  /** The text so far. That of sound and pictures is their base64. */
  get text(): string {
    if (this.#text === undefined) {
      this.#text = this.isSoundOrPicture ? encodeBase64(this.#bytes) : new TextDecoder().decode(this.#bytes)
    }
    return this.#text
  }

  /** Whether it has no text. Files of rows are sent as bytes, too. */
  get isSoundOrPicture(): boolean {
    return /^(?:audio|image|video)\//.test(this.#type) || this.#bytes.includes(0)
  }

  get #bytes(): Uint8Array<ArrayBuffer> {
    if (this.#parts.length !== 1) this.#parts = [concatBytes(this.#parts)]
    return this.#parts[0]!
  }
}

/**
 * Returns a body that passes on another one, and adds what is read of it to `record`.
 *
 * @param settle settles as a reading of the body does, or never
 */
export function recordBody(
  body: ReadableStream<Uint8Array<ArrayBuffer>>,
  record: AnswerBody,
  onEnd: (error?: unknown) => void = () => {},
  settle: <Value>(reading: Promise<Value>) => Promise<Value> = reading => reading,
): ReadableStream<Uint8Array<ArrayBuffer>> {
  let reader: ReadableStreamDefaultReader<Uint8Array<ArrayBuffer>> | undefined
  let isCancelled = false
  return new ReadableStream({
    type: 'bytes',
    async pull(controller) {
      try {
        // Only a body that is read is locked, so that its other readers can be used until then.
        reader ??= body.getReader()
        const { done, value } = await settle(reader.read())
        if (done) {
          record.isWhole = true
          onEnd()
        } else record.add(value.slice())
        // One that was cancelled meanwhile takes nothing more.
        if (isCancelled) return
        if (!done) return controller.enqueue(value)
        controller.close()
        controller.byobRequest?.respond(0)
      } catch (error) {
        onEnd(error)
        controller.error(error)
      }
    },
    cancel(reason) {
      isCancelled = true
      return reader === undefined ? body.cancel(reason) : reader.cancel(reason)
    },
  })
}
