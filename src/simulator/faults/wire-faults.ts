/** Wire faults: what they do to a response, and how a client in this process gets one, as from `fetch`. */
import { type Micros, micros } from '../../kernel/duration.ts'
import { createConnectionClosedError } from '../../lib/errors.ts'
import { deriveBody, truncateBody, withBody } from './body-streams.ts'

/** What a wire fault does to a response on its way to the client. */
export type WireOutcome =
  /** The connection is reset before the response. */
  | { readonly kind: 'reset' }
  /** The connection is refused. */
  | { readonly kind: 'refused' }
  /** The response never arrives, and the connection stays open. */
  | { readonly kind: 'hang' }
  /** The response arrives after a delay. */
  | { readonly kind: 'delayed'; readonly delay: Micros }
  /** The connection is closed after this many bytes of the body. */
  | { readonly kind: 'cut'; readonly after: number; readonly chunked: boolean }
  /** The body arrives at this rate. */
  | { readonly kind: 'slow'; readonly bytesPerSecond: number }
  /** After the body nothing comes, and the connection stays open: in a process for `SILENCE`. */
  | { readonly kind: 'silent' }

/** How long Node's fetch waits for the next part of a body. */
export const SILENCE = micros('5m')

/** A response with a wire fault, which a `Response` cannot express. Each transport delivers its outcome as well as it can. */
export class WireFaultResponse extends Response {
  readonly outcome: WireOutcome

  /** @param response the response without the fault */
  constructor(outcome: WireOutcome, response?: Response) {
    super(response?.body ?? null, response ?? { status: 200 })
    this.outcome = outcome
  }

  /** The response without the fault. */
  get withoutFault(): Response {
    return new Response(this.body, this)
  }
}

export function isEventStream(answer: Response): boolean {
  return answer.headers.get('content-type')?.startsWith('text/event-stream') ?? false
}

/**
 * Returns whether a response is an event stream, or audio that is sent while it is made. Its body follows the clock of the
 * world, so it must not be buffered.
 */
export function isStreamed(answer: Response): boolean {
  if (isEventStream(answer)) return true
  const { headers } = answer
  return !headers.has('content-length') && (headers.get('content-type')?.startsWith('audio/') ?? false)
}

/** Returns how a slow body is sent: the size of a chunk in bytes, and its time. */
export function chunkSchedule(
  bytes: number,
  bytesPerSecond: number,
): { readonly size: number; readonly interval: Micros } {
  // Ten chunks per second, and at most 100 in all: a slow megabyte would otherwise need 10,000 timers.
  const size = Math.max(1, Math.ceil(bytesPerSecond / 10), Math.ceil(bytes / 100))
  return { size, interval: Math.round((size / bytesPerSecond) * 1_000_000) }
}

/** Returns the time of a body at a rate. */
export function transferTime(bytes: number, bytesPerSecond: number): Micros {
  const { size, interval } = chunkSchedule(bytes, bytesPerSecond)
  return Math.ceil(bytes / size) * interval
}

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
    case 'slow': {
      const whole = isStreamed(answer) ? answer : new Response(await answer.arrayBuffer())
      return withBody(answer, throttledBody(whole, outcome.bytesPerSecond, sleep))
    }
  }
}

function fetchError(message: string, code: string, details: object): TypeError {
  return new TypeError('fetch failed', { cause: Object.assign(new Error(message), { code, ...details }) })
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
            // A copy: its reader may detach what it gets.
            controller.enqueue(bytes.slice(offset, offset + size))
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
