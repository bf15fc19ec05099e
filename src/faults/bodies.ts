/** Bodies to which something happens on their way, each piece as it comes. Whoever leaves is heard where they come from. */
import { bodyCut } from '../api/body-cut.ts'

type Body = ReadableStream<Uint8Array<ArrayBuffer>>

/** The first bytes of a body, and never all of it, or nothing would be missing; then it fails as `fetch` has it. */
export function cutBody(body: Body, after: number): Body {
  const reader = body.getReader()
  let left = after
  // The last byte that came: it goes on when there is another.
  let kept = new Uint8Array(0)
  return new ReadableStream(
    {
      async pull(controller) {
        while (left > 0) {
          const { done, value } = await reader.read()
          if (done) break
          const come = joined(kept, value)
          const part = come.subarray(0, Math.max(0, Math.min(left, come.length - 1)))
          kept = come.slice(-1)
          left -= part.length
          if (part.length > 0) return controller.enqueue(part)
        }
        controller.error(bodyCut())
        await reader.cancel()
      },
      cancel: reason => reader.cancel(reason),
    },
    { highWaterMark: 0 },
  )
}

/** A body each of whose pieces is changed. */
export function changedBody(body: Body, change: (piece: Uint8Array<ArrayBuffer>) => Uint8Array<ArrayBuffer>): Body {
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

function joined(one: Uint8Array, other: Uint8Array): Uint8Array<ArrayBuffer> {
  const both = new Uint8Array(one.length + other.length)
  both.set(one)
  both.set(other, one.length)
  return both
}
