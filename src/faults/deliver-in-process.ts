/** What a client in this process sees of a broken answer: what its `fetch` would do. */
import type { Micros } from '../kernel/duration.ts'
import { truncateBody } from './body-streams.ts'
import { chunkSchedule, isEventStream, type WireFaultResponse } from './broken-response.ts'

/** Waits for the client's clock; rejects when the client gives up or its world is gone. */
export type ClientSleep = (delay: Micros) => Promise<void>

/**
 * The answer as it arrives, in its time.
 *
 * @throws TypeError `fetch failed` with `cause.code`, as Node's fetch does, where no answer arrives
 */
export async function deliverFaultInProcess(answer: WireFaultResponse, sleep: ClientSleep): Promise<Response> {
  const { outcome } = answer
  switch (outcome.kind) {
    case 'reset':
      throw fetchError('read ECONNRESET', 'ECONNRESET', { errno: -104, syscall: 'read' })
    case 'refused':
      throw fetchError('connect ECONNREFUSED', 'ECONNREFUSED', { errno: -111, syscall: 'connect' })
    case 'hang':
      await sleep(Number.POSITIVE_INFINITY)
      return answer.withoutFault
    case 'delayed':
      await sleep(outcome.delay)
      return answer.withoutFault
    case 'cut':
      return withBody(answer, truncateBody(answer.body!, outcome.after))
    case 'slow':
      return withBody(
        answer,
        throttledBody(isEventStream(answer) ? answer : await withBufferedBody(answer), outcome.bytesPerSecond, sleep),
      )
  }
}

function fetchError(message: string, code: string, details: object): TypeError {
  return new TypeError('fetch failed', { cause: Object.assign(new Error(message), { code, ...details }) })
}

/** The same with all of its body in one piece. */
async function withBufferedBody(answer: WireFaultResponse): Promise<Response> {
  return new Response(await answer.arrayBuffer())
}

function withBody(answer: WireFaultResponse, body: ReadableStream<Uint8Array>): Response {
  return new Response(body, { status: answer.status, headers: answer.headers })
}

/** The pieces come in their time whether somebody reads or not: a connection has room for what waits. */
function throttledBody({ body }: Response, bytesPerSecond: number, sleep: ClientSleep): ReadableStream<Uint8Array> {
  const reader = body!.getReader()
  let isOpen = true
  return new ReadableStream({
    start(controller) {
      const send = async () => {
        for (let next = await reader.read(); !next.done; next = await reader.read()) {
          const bytes = next.value
          const { size, interval } = chunkSchedule(bytes.length, bytesPerSecond)
          for (let offset = 0; offset < bytes.length; offset += size) {
            await sleep(interval)
            if (!isOpen) return
            controller.enqueue(bytes.subarray(offset, offset + size))
          }
        }
        if (isOpen) controller.close()
      }
      send().catch(error => {
        if (!isOpen) return
        controller.error(error)
        reader.cancel(error).catch(() => {})
      })
    },
    cancel(reason) {
      isOpen = false
      return reader.cancel(reason)
    },
  })
}
