/** Sends bodies that are made while they are read. */
import type { ServerResponse } from 'node:http'
import type { BodyChunk, PulledBody } from '../../service/results.ts'

/**
 * Sends a body as it is made. What is due at once leaves in one write, with the head. If the client leaves, the body is
 * cancelled. If the body breaks, the connection is cut.
 */
export function sendPulledBody(
  outgoing: ServerResponse,
  headers: Readonly<Record<string, string>>,
  body: PulledBody,
): void {
  if (outgoing.destroyed) {
    body.cancel()
    return
  }
  outgoing.on('close', () => body.cancel())
  const cut = () => outgoing.req.socket.destroySoon()
  /** Sends a chunk. Returns whether the next one can be read. */
  const send = (chunk: BodyChunk | undefined): boolean => {
    // A body that was cancelled has no client.
    if (chunk === undefined || outgoing.destroyed) return false
    const { content, isLast } = chunk
    if (isLast) outgoing.end(content)
    else if (outgoing.write(content)) return true
    else outgoing.once('drain', readNext)
    return false
  }
  const readNext = (): void => {
    try {
      for (let next = body.read(); ; next = body.read()) {
        if (next instanceof Promise) {
          outgoing.flushHeaders()
          next.then(chunk => send(chunk) && readNext()).catch(cut)
          return
        }
        if (!send(next)) return
      }
    } catch {
      outgoing.flushHeaders()
      cut()
    }
  }
  outgoing.writeHead(200, headers)
  readNext()
}
