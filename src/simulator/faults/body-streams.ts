/** Bodies that are changed chunk by chunk. If the client cancels, the source is cancelled. */
import { concatBytes } from '../../lib/bytes.ts'
import { createConnectionClosedError } from '../../lib/connection-closed.ts'

type Body = ReadableStream<Uint8Array<ArrayBuffer>>

/** Returns the first bytes of a body, at least one byte short of all, followed by the error of a closed connection. */
export function truncateBody(body: Body, after: number): Body {
  const reader = body.getReader()
  let remaining = after
  // The last received byte. It is sent only after a further byte arrives.
  let lastByte = new Uint8Array(0)
  return new ReadableStream(
    {
      async pull(controller) {
        while (remaining > 0) {
          const { done, value } = await reader.read()
          if (done) break
          const available = concatBytes([lastByte, value])
          const part = available.subarray(0, Math.max(0, Math.min(remaining, available.length - 1)))
          lastByte = available.slice(-1)
          remaining -= part.length
          if (part.length > 0) return controller.enqueue(part)
        }
        controller.error(createConnectionClosedError())
        await reader.cancel()
      },
      cancel: reason => reader.cancel(reason),
    },
    { highWaterMark: 0 },
  )
}

/** Returns a body whose chunks are those of `body` after `change`. */
export function mapBody(body: Body, change: (piece: Uint8Array<ArrayBuffer>) => Uint8Array<ArrayBuffer>): Body {
  const reader = body.getReader()
  return new ReadableStream(
    {
      async pull(controller) {
        const { done, value } = await reader.read()
        if (done) controller.close()
        else controller.enqueue(change(value))
      },
      cancel: reason => reader.cancel(reason),
    },
    { highWaterMark: 0 },
  )
}
