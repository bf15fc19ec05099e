/** Bodies to which something happens on their way, each piece as it comes. Whoever leaves is heard where they come from. */
import { createConnectionClosedError } from '../lib/connection-closed.ts'

type Body = ReadableStream<Uint8Array<ArrayBuffer>>

/** The first bytes of a body, and never all of it, or nothing would be missing; then it fails as `fetch` has it. */
export function truncateBody(body: Body, after: number): Body {
  const reader = body.getReader()
  let remaining = after
  // The last byte that came: it goes on when there is another.
  let lastByte = new Uint8Array(0)
  return new ReadableStream(
    {
      async pull(controller) {
        while (remaining > 0) {
          const { done, value } = await reader.read()
          if (done) break
          const available = concatBytes(lastByte, value)
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

/** A body each of whose pieces is changed. */
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

function concatBytes(first: Uint8Array, second: Uint8Array): Uint8Array<ArrayBuffer> {
  const result = new Uint8Array(first.length + second.length)
  result.set(first)
  result.set(second, first.length)
  return result
}
