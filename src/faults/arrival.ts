/** What a client in this process sees of a broken answer: what its `fetch` would do. */
import type { Micros } from '../kernel/duration.ts'
import { type BrokenAnswer, piecesOf } from './broken.ts'

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
      return streamed(answer, cut(await bytesOf(answer), fate.after))
    case 'slow':
      return streamed(answer, slow(await bytesOf(answer), fate.bytesPerSecond, wait))
  }
}

function failed(message: string, code: string, more: object): TypeError {
  return new TypeError('fetch failed', { cause: Object.assign(new Error(message), { code, ...more }) })
}

async function bytesOf(answer: BrokenAnswer): Promise<Uint8Array> {
  return new Uint8Array(await answer.arrayBuffer())
}

function streamed(answer: BrokenAnswer, body: ReadableStream<Uint8Array>): Response {
  return new Response(body, { status: answer.status, headers: answer.headers })
}

function cut(bytes: Uint8Array, after: number): ReadableStream<Uint8Array> {
  let isBegun = false
  return new ReadableStream({
    pull(controller) {
      if (!isBegun && after > 0) {
        isBegun = true
        return controller.enqueue(bytes.subarray(0, after))
      }
      const cause = Object.assign(new Error('other side closed'), { code: 'UND_ERR_SOCKET' })
      controller.error(new TypeError('terminated', { cause }))
    },
  })
}

/** The pieces come in their time whether somebody reads or not: a connection has room for what waits. */
function slow(bytes: Uint8Array, bytesPerSecond: number, wait: Wait): ReadableStream<Uint8Array> {
  const { size, each } = piecesOf(bytes.length, bytesPerSecond)
  let isWanted = true
  return new ReadableStream({
    start(controller) {
      const send = async () => {
        for (let at = 0; at < bytes.length; at += size) {
          await wait(each)
          if (!isWanted) return
          controller.enqueue(bytes.subarray(at, at + size))
        }
        controller.close()
      }
      send().catch(error => {
        if (isWanted) controller.error(error)
      })
    },
    cancel() {
      isWanted = false
    },
  })
}
