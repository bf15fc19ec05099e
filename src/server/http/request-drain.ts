/** The rest of a request body whose reader stopped: while it is on the wire, the connection cannot carry another request. */

import type { IncomingMessage, ServerResponse } from 'node:http'
import { LIMITS } from '../../lib/limits.ts'
import { clearRealTimeout, setRealTimeout } from '../../lib/real-time.ts'

type Answered = Response | Promise<Response>
/** The two sides of a request, as the listener hands them over. */
interface Sides {
  readonly incoming: object
  readonly outgoing: object
}

/**
 * Wraps a listener: if it read a body in part, the rest is read before the answer is sent, so that the connection can
 * carry another request. If the rest is too large or too slow, the answer gets `Connection: close`.
 */
export function drainBeforeAnswer(listener: (request: Request, sides: Sides) => Answered) {
  return (request: Request, sides: Sides): Answered => {
    const answered = listener(request, sides)
    // A synchronous response is created before the body is read.
    if (!(answered instanceof Promise)) return answered
    return answered.then(response => {
      const incoming = sides.incoming as IncomingMessage
      const isReadInPart = incoming.readableDidRead && !incoming.readableEnded && !incoming.destroyed
      if (!isReadInPart) return response
      return drained(incoming, sides.outgoing as ServerResponse).then(() => response)
    })
  }
}

async function drained(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
  if (Number(incoming.headers['content-length'] ?? 0) <= LIMITS.drainedBytes) await untilEnd(incoming)
  if (!incoming.readableEnded && !outgoing.headersSent) outgoing.setHeader('connection', 'close')
}

/** Resolves at the end of the body, at its limits, or when the client has left. */
function untilEnd(incoming: IncomingMessage): Promise<void> {
  return new Promise(resolve => {
    let bytes = 0
    const count = (chunk: Uint8Array) => {
      bytes += chunk.length
      if (bytes > LIMITS.drainedBytes) end()
    }
    const end = () => {
      clearRealTimeout(timer)
      incoming.off('data', count).off('close', end).off('end', end)
      resolve()
    }
    const timer = setRealTimeout(end, LIMITS.drainTime)
    // The stream of the request pauses the socket while it has no reader.
    incoming.removeAllListeners('data')
    incoming.on('data', count).on('close', end).on('end', end)
    incoming.resume()
  })
}
