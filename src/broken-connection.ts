/** What becomes of a broken answer at a socket. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response'
import { patience } from './clock/turns.ts'
import { cutBody } from './faults/bodies.ts'
import { type BrokenAnswer, isStream, piecesOf, transferTime } from './faults/broken.ts'
import type { Micros } from './kernel/duration.ts'

interface Breaking {
  /** Simulated seconds in a real one; undefined where nobody waits. */
  readonly pace: number | undefined
  /** Connections on which nothing will ever come. */
  readonly hanging: Set<Socket>
  /** Told of what the client has to wait for. */
  readonly waits: <Value>(wait: Promise<Value>) => Promise<Value>
}

/** Does to the connection what the fault says. What a client would have to wait for says so in a header where it comes at once. */
export async function breakAnswer(
  answer: BrokenAnswer,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  { pace, hanging, waits }: Breaking,
): Promise<Response> {
  const { fate } = answer
  const { socket } = incoming
  switch (fate.kind) {
    case 'reset':
    case 'refused':
      // A connection that was taken cannot be refused any more: the nearest to it is one that ends at once.
      socket.resetAndDestroy()
      return RESPONSE_ALREADY_SENT
    case 'hang':
      if (pace === undefined && incoming.headers['x-sim-client'] === 'scenario') {
        return new Response(null, { status: 204, headers: { 'x-sim-hang': '1' } })
      }
      hanging.add(socket)
      void waits(new Promise<void>(left => outgoing.once('close', left))).then(() => hanging.delete(socket))
      return RESPONSE_ALREADY_SENT
    case 'delayed': {
      if (pace === undefined) return inNoTime(answer, fate.by)
      await waits(patience(fate.by / 1000 / pace, gone(outgoing)))
      return answer.mended
    }
    case 'cut': {
      if (isStream(answer)) {
        await sendPieces(outgoing, answer, cutBody(answer.body!, fate.after), piece => outgoing.write(piece))
        // Of a chunk that is announced nothing comes.
        if (fate.chunked) socket.write('400\r\n')
        socket.destroySoon()
        return RESPONSE_ALREADY_SENT
      }
      const bytes = new Uint8Array(await answer.arrayBuffer())
      const framing = fate.chunked ? { 'transfer-encoding': 'chunked' } : { 'content-length': bytes.length }
      const part = bytes.subarray(0, fate.after)
      outgoing.writeHead(answer.status, { ...Object.fromEntries(answer.headers), ...framing })
      outgoing.flushHeaders()
      if (fate.chunked) socket.write(`${bytes.length.toString(16)}\r\n`)
      if (part.length > 0) socket.write(part)
      socket.destroySoon()
      return RESPONSE_ALREADY_SENT
    }
    case 'slow': {
      if (isStream(answer)) {
        if (pace === undefined) return answer.mended
        const signal = gone(outgoing)
        const isWhole = await sendPieces(outgoing, answer, answer.body!, async piece => {
          const { size, each } = piecesOf(piece.length, fate.bytesPerSecond)
          for (let at = 0; at < piece.length; at += size) {
            if (await waits(patience(each / 1000 / pace, signal))) outgoing.write(piece.subarray(at, at + size))
          }
        })
        if (isWhole) outgoing.end()
        else socket.destroySoon()
        return RESPONSE_ALREADY_SENT
      }
      const bytes = new Uint8Array(await answer.arrayBuffer())
      const whole = new Response(bytes, { status: answer.status, headers: answer.headers })
      if (pace === undefined) return inNoTime(whole, transferTime(bytes.length, fate.bytesPerSecond))
      const { size, each } = piecesOf(bytes.length, fate.bytesPerSecond)
      outgoing.writeHead(answer.status, { ...Object.fromEntries(answer.headers), 'content-length': bytes.length })
      outgoing.flushHeaders()
      const signal = gone(outgoing)
      for (let at = 0; at < bytes.length; at += size) {
        if (!(await waits(patience(each / 1000 / pace, signal)))) return RESPONSE_ALREADY_SENT
        outgoing.write(bytes.subarray(at, at + size))
      }
      outgoing.end()
      return RESPONSE_ALREADY_SENT
    }
  }
}

/** Sends a body as it comes; says whether it came to its end. A client that leaves is heard where the body comes from. */
async function sendPieces(
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

/** On a clock that stands nothing can be waited for: the answer says how late it would have been. */
function inNoTime(answer: Response, by: Micros): Response {
  const headers = new Headers(answer.headers)
  headers.set('x-sim-delay', String(by))
  return new Response(answer.body, { status: answer.status, headers })
}

/** Aborted when the client leaves. */
function gone(outgoing: ServerResponse): AbortSignal {
  const controller = new AbortController()
  outgoing.once('close', () => controller.abort())
  return controller.signal
}

/**
 * Returns the answer as it is sent: if its body is a stream that breaks, the connection is cut. The listener would print
 * the error of each stream.
 */
export function cutWhenBroken(answer: Response, outgoing: ServerResponse): Response {
  // Streams answer POST only; a look at the headers makes every answer slower.
  if (outgoing.req.method !== 'POST' || !isStream(answer) || answer.body === null) return answer
  const reader = answer.body.getReader()
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          const { done, value } = await reader.read()
          if (done) controller.close()
          else controller.enqueue(value)
        } catch {
          outgoing.req.socket.destroySoon()
        }
      },
      cancel: reason => reader.cancel(reason),
    },
    { highWaterMark: 0 },
  )
  return new Response(body, { status: answer.status, headers: answer.headers })
}
