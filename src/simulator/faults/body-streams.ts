/** Bodies that are changed chunk by chunk. If the client cancels, the source is cancelled. */
import { concatBytes } from '../../lib/bytes.ts'
import { createConnectionClosedError } from '../../lib/errors.ts'

type Bytes = Uint8Array<ArrayBuffer>
type Body = ReadableStream<Bytes>

/** Returns a body that `pull` makes of the chunks of another one, when its client reads. */
export function deriveBody(
  body: Body,
  pull: (
    reader: ReadableStreamDefaultReader<Bytes>,
    controller: ReadableStreamDefaultController<Bytes>,
  ) => Promise<void>,
): Body {
  const reader = body.getReader()
  const cancel = (reason: unknown) => reader.cancel(reason)
  return new ReadableStream({ pull: controller => pull(reader, controller), cancel }, { highWaterMark: 0 })
}

/**
 * Returns the first bytes of a body, at least one byte short of all, followed by the error of a closed connection, or by
 * an end in order.
 */
export function truncateBody(body: Body, after: number, inOrder = false): Body {
  let remaining = after
  // The last received byte. It is sent only after a further byte arrives.
  let lastByte = new Uint8Array(0)
  return deriveBody(body, async (reader, controller) => {
    while (remaining > 0) {
      const { done, value } = await reader.read()
      if (done) break
      const available = concatBytes([lastByte, value])
      const part = available.subarray(0, Math.max(0, Math.min(remaining, available.length - 1)))
      lastByte = available.slice(-1)
      remaining -= part.length
      if (part.length > 0) return controller.enqueue(part)
    }
    if (inOrder) controller.close()
    else controller.error(createConnectionClosedError())
    await reader.cancel()
  })
}

/** Returns an answer with another body, and its own headers by default. */
export function withBody({ status, headers }: Response, body: BodyInit | null, changed: Headers = headers): Response {
  return new Response(body, { status, headers: changed })
}

/** A changed event, and how its body goes on: `end` closes it in order, `reset` with an error. Default: it goes on. */
export interface ChangedEvent {
  readonly text: string
  readonly then?: 'end' | 'reset'
}

/**
 * Returns an answer whose server-sent events are those of `answer` after `change`. Each chunk has whole events.
 *
 * @param onEnd called if the body comes to its own end
 */
export function mapEvents(answer: Response, change: (event: string) => ChangedEvent, onEnd: () => unknown): Response {
  const [decoder, encoder] = [new TextDecoder(), new TextEncoder()]
  let then: ChangedEvent['then']
  const body = deriveBody(answer.body!, async (reader, controller) => {
    for (let text = ''; then === undefined; ) {
      const { done, value } = await reader.read()
      if (done) {
        onEnd()
        return controller.close()
      }
      for (const event of decoder.decode(value).match(/.+?\n\n|.+$/gs) ?? []) {
        const changed = change(event)
        text += changed.text
        then = changed.then
        if (then !== undefined) break
      }
      if (text !== '') return controller.enqueue(encoder.encode(text))
    }
    if (then === 'end') controller.close()
    else controller.error(createConnectionClosedError())
    await reader.cancel()
  })
  return withBody(answer, body)
}

/**
 * Returns a body in pieces of `size` bytes, whatever its chunks are.
 *
 * @param onWhole called at the end of a body that has no two pieces
 */
export function splitBody(body: Body, size: number, onWhole: () => void): Body {
  let rest: Bytes = new Uint8Array(0)
  let pieces = 0
  return deriveBody(body, async (reader, controller) => {
    while (rest.length === 0) {
      const { done, value } = await reader.read()
      if (done) {
        if (pieces < 2) onWhole()
        return controller.close()
      }
      rest = value
    }
    pieces++
    // A copy: its reader may detach what it gets.
    controller.enqueue(rest.slice(0, size))
    rest = rest.subarray(size)
  })
}

/** Returns a body in which each chunk is `count` chunks of `body`. */
export function joinBody(body: Body, count: number): Body {
  return deriveBody(body, async (reader, controller) => {
    const chunks: Bytes[] = []
    while (chunks.length < count) {
      const { done, value } = await reader.read()
      if (!done) chunks.push(value)
      else if (chunks.length === 0) return controller.close()
      else break
    }
    controller.enqueue(concatBytes(chunks))
  })
}

/** Returns a body whose chunks are those of `body` after `change`. */
export function mapBody(body: Body, change: (piece: Bytes) => Bytes): Body {
  return deriveBody(body, async (reader, controller) => {
    const { done, value } = await reader.read()
    if (done) controller.close()
    else controller.enqueue(change(value))
  })
}
