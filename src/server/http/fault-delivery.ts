/** Delivers wire faults to a socket. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response'
import type { Micros } from '../../kernel/duration.ts'
import { delayUnlessAborted } from '../../lib/real-time.ts'
import { deriveBody, truncateBody, withBody } from '../../simulator/faults/body-streams.ts'
import { chunkSchedule, isStreamed, transferTime, type WireFaultResponse } from '../../simulator/faults/wire-faults.ts'

interface DeliveryOptions {
  /** Simulated seconds per real second; undefined if delays take no real time. */
  readonly pace: number | undefined
  /** Connections on which no response will ever come. */
  readonly hangingSockets: Set<Socket>
  /** Called with each promise that the client has to wait for. */
  readonly trackWait: <Value>(wait: Promise<Value>) => Promise<Value>
}

/** Applies a fault to the connection. If delays take no real time, a header tells the delay. */
export async function deliverFaultToSocket(
  answer: WireFaultResponse,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  { pace, hangingSockets, trackWait }: DeliveryOptions,
): Promise<Response> {
  const { outcome } = answer
  const { socket } = incoming
  const keepOpen = () => {
    hangingSockets.add(socket)
    const closed = new Promise<void>(onClose => outgoing.once('close', onClose))
    void trackWait(closed).then(() => hangingSockets.delete(socket))
  }
  switch (outcome.kind) {
    case 'reset':
    case 'refused':
      // An accepted connection can no longer be refused; a reset is the nearest effect.
      socket.resetAndDestroy()
      return RESPONSE_ALREADY_SENT
    case 'hang':
      keepOpen()
      return RESPONSE_ALREADY_SENT
    case 'delayed': {
      if (pace === undefined) return withDelayHeader(answer, outcome.delay)
      await trackWait(delayUnlessAborted(outcome.delay / 1000 / pace, abortedOnClose(outgoing)))
      return answer.withoutFault
    }
    case 'cut': {
      if (isStreamed(answer)) {
        await sendChunks(outgoing, answer, truncateBody(answer.body!, outcome.after), piece => outgoing.write(piece))
        // Announces a chunk that never comes.
        if (outcome.chunked) socket.write('400\r\n')
        socket.destroySoon()
        return RESPONSE_ALREADY_SENT
      }
      const bytes = new Uint8Array(await answer.arrayBuffer())
      const framing = outcome.chunked ? { 'transfer-encoding': 'chunked' } : { 'content-length': bytes.length }
      const part = bytes.subarray(0, outcome.after)
      const { 'content-length': _, ...headers } = Object.fromEntries(answer.headers)
      outgoing.writeHead(answer.status, { ...headers, ...framing })
      outgoing.flushHeaders()
      if (outcome.chunked) socket.write(`${bytes.length.toString(16)}\r\n`)
      if (part.length > 0) socket.write(part)
      socket.destroySoon()
      return RESPONSE_ALREADY_SENT
    }
    case 'silent': {
      await sendChunks(outgoing, answer, answer.body!, piece => outgoing.write(piece))
      keepOpen()
      return RESPONSE_ALREADY_SENT
    }
    case 'slow': {
      const bytes = isStreamed(answer) ? undefined : new Uint8Array(await answer.arrayBuffer())
      const whole = bytes === undefined ? answer.withoutFault : withBody(answer, bytes)
      if (pace === undefined && bytes === undefined) return whole
      if (pace === undefined) return withDelayHeader(whole, transferTime(bytes!.length, outcome.bytesPerSecond))
      if (bytes !== undefined) whole.headers.set('content-length', String(bytes.length))
      const signal = abortedOnClose(outgoing)
      const isComplete = await sendChunks(outgoing, whole, whole.body!, async piece => {
        const { size, interval: each } = chunkSchedule(piece.length, outcome.bytesPerSecond)
        for (let at = 0; at < piece.length; at += size) {
          if (await trackWait(delayUnlessAborted(each / 1000 / pace, signal))) {
            outgoing.write(piece.subarray(at, at + size))
          }
        }
      })
      if (isComplete) outgoing.end()
      else socket.destroySoon()
      return RESPONSE_ALREADY_SENT
    }
  }
}

/** Sends a body as it comes, and returns whether it is complete. If the client leaves, the body is cancelled. */
async function sendChunks(
  outgoing: ServerResponse,
  { status, headers }: Response,
  body: ReadableStream<Uint8Array>,
  send: (piece: Uint8Array) => unknown,
): Promise<boolean> {
  const reader = body.getReader()
  outgoing.once('close', () => reader.cancel().catch(() => {}))
  outgoing.writeHead(status, Object.fromEntries(headers))
  outgoing.flushHeaders()
  try {
    for (let next = await reader.read(); !next.done; next = await reader.read()) await send(next.value)
    return true
  } catch {
    return false
  }
}

/** Sends an answer without a type, which the listener would give one. */
export async function sendUntyped(outgoing: ServerResponse, answer: Response): Promise<Response> {
  const { body } = answer
  // The response of the listener gives a text a type when its body is first read.
  answer.headers.delete('content-type')
  if (await sendChunks(outgoing, answer, body!, piece => outgoing.write(piece))) outgoing.end()
  else outgoing.req.socket.destroySoon()
  return RESPONSE_ALREADY_SENT
}

/** Returns the response with its delay in a header, for a clock that does not move by itself. */
function withDelayHeader(answer: Response, delay: Micros): Response {
  const headers = new Headers(answer.headers)
  headers.set('x-sim-delay', String(delay))
  return withBody(answer, answer.body, headers)
}

/** Aborted when the client leaves. */
function abortedOnClose(outgoing: ServerResponse): AbortSignal {
  const controller = new AbortController()
  outgoing.once('close', () => controller.abort())
  return controller.signal
}

/**
 * Returns the answer as it is sent: if its body is a stream that breaks, the connection is cut. The listener would print
 * the error of each stream.
 */
export function cutWhenBroken(answer: Response, outgoing: ServerResponse): Response {
  if (!isStreamed(answer) || answer.body === null) return answer
  const body = deriveBody(answer.body, async (reader, controller) => {
    try {
      const { done, value } = await reader.read()
      if (done) controller.close()
      else controller.enqueue(value)
    } catch {
      outgoing.req.socket.destroySoon()
    }
  })
  return withBody(answer, body)
}
