/** What a client in this process sees of a broken answer: what its `fetch` would do. */
import type { Micros } from '../kernel/duration.ts'
import { cutBody } from './bodies.ts'
import { type BrokenAnswer, isStream, piecesOf } from './broken.ts'

/** Waits for the client's clock; rejects when the client gives up or its world is gone. */
export type Wait = (delay: Micros) => Promise<void>

/**
 * The answer as it arrives, in its time.
 *
 * @throws TypeError `fetch failed` with `cause.code`, as Node's fetch does, where no answer arrives
 */
export async function arrive(answer: BrokenAnswer, wait: Wait): Promise<Response> {
  const { fate } = answer
  switch (fate.kind) {
    case 'reset':
      throw failed('read ECONNRESET', 'ECONNRESET', { errno: -104, syscall: 'read' })
    case 'refused':
      throw failed('connect ECONNREFUSED', 'ECONNREFUSED', { errno: -111, syscall: 'connect' })
    case 'hang':
      await wait(Number.POSITIVE_INFINITY)
      return answer.mended
    case 'delayed':
      await wait(fate.by)
      return answer.mended
    case 'cut':
      return streamed(answer, cutBody(answer.body!, fate.after))
    case 'slow':
      return streamed(answer, slow(isStream(answer) ? answer : await whole(answer), fate.bytesPerSecond, wait))
  }
}

function failed(message: string, code: string, more: object): TypeError {
  return new TypeError('fetch failed', { cause: Object.assign(new Error(message), { code, ...more }) })
}

/** The same with all of its body in one piece. */
async function whole(answer: BrokenAnswer): Promise<Response> {
  return new Response(await answer.arrayBuffer())
}

function streamed(answer: BrokenAnswer, body: ReadableStream<Uint8Array>): Response {
  return new Response(body, { status: answer.status, headers: answer.headers })
}

/** The pieces come in their time whether somebody reads or not: a connection has room for what waits. */
function slow({ body }: Response, bytesPerSecond: number, wait: Wait): ReadableStream<Uint8Array> {
  const reader = body!.getReader()
  let isWanted = true
  return new ReadableStream({
    start(controller) {
      const send = async () => {
        for (let next = await reader.read(); !next.done; next = await reader.read()) {
          const bytes = next.value
          const { size, each } = piecesOf(bytes.length, bytesPerSecond)
          for (let at = 0; at < bytes.length; at += size) {
            await wait(each)
            if (!isWanted) return
            controller.enqueue(bytes.subarray(at, at + size))
          }
        }
        if (isWanted) controller.close()
      }
      send().catch(error => {
        if (!isWanted) return
        controller.error(error)
        reader.cancel(error).catch(() => {})
      })
    },
    cancel(reason) {
      isWanted = false
      return reader.cancel(reason)
    },
  })
}
