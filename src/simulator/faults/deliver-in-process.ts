/** Delivers a wire fault to a client in this process, as `fetch` would. */
import type { Micros } from '../../kernel/duration.ts'
import { createConnectionClosedError } from '../../lib/connection-closed.ts'
import { deriveBody, truncateBody, withBody } from './body-streams.ts'
import { chunkSchedule, isStreamed, SILENCE, type WireFaultResponse } from './broken-response.ts'

/** Waits on the clock. It rejects if the client aborts or the world ends. */
export type ClientSleep = (delay: Micros) => Promise<void>

/**
 * Returns the response that the client receives, at its time.
 *
 * @throws TypeError `fetch failed` with `cause.code`, as Node's fetch does, if no response arrives
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
    case 'silent':
      return withBody(
        answer,
        deriveBody(answer.body!, async (reader, controller) => {
          const { done, value } = await reader.read()
          if (!done) return controller.enqueue(value)
          await sleep(SILENCE)
          controller.error(createConnectionClosedError())
        }),
      )
    case 'slow':
      return withBody(
        answer,
        throttledBody(isStreamed(answer) ? answer : await withBufferedBody(answer), outcome.bytesPerSecond, sleep),
      )
  }
}

function fetchError(message: string, code: string, details: object): TypeError {
  return new TypeError('fetch failed', { cause: Object.assign(new Error(message), { code, ...details }) })
}

/** Returns the response with its body in one chunk. */
async function withBufferedBody(answer: WireFaultResponse): Promise<Response> {
  return new Response(await answer.arrayBuffer())
}

/** Returns the body in timed chunks. They do not wait for the reader, because a connection has buffers. */
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
