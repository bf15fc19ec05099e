/** Bodies that arrive together with the head of their request, as most do. They are read without a promise. */
import type { IncomingMessage, ServerResponse } from 'node:http'

/** A message whose body has been read. The request listener takes a body from this field. */
type ReadMessage = IncomingMessage & { rawBody?: Buffer }

const NO_BYTES = Buffer.alloc(0)
const REPLACEMENT = '\ufffd'
const BYTE_ORDER_MARK = 0xfeff

type Listener = (incoming: IncomingMessage, outgoing: ServerResponse) => unknown

/** What answers requests whose body has been read, or is empty, and all others. */
export interface BodyListeners {
  readonly onRead: Listener
  readonly onUnread: Listener
}

/** Answers a request. If its whole body came with the head, the body is read first. */
export function afterReadyBody(incoming: IncomingMessage, outgoing: ServerResponse, listeners: BodyListeners): void {
  const { method, headers } = incoming
  if (method === 'GET' || method === 'HEAD' || headers['transfer-encoding'] !== undefined) {
    listeners.onUnread(incoming, outgoing)
    return
  }
  const length = Number(headers['content-length'] ?? 0)
  // The parser hands over the head first, and then in the same task the body that came with it.
  process.nextTick(() => {
    if (incoming.readableLength !== length || incoming.destroyed) return listeners.onUnread(incoming, outgoing)
    ;(incoming as ReadMessage).rawBody = incoming.read() ?? NO_BYTES
    listeners.onRead(incoming, outgoing)
  })
}

/** Returns the text of a body that has been read; undefined for one that has not, or that may not be UTF-8. */
export function readTextOf(incoming: IncomingMessage): string | undefined {
  const { rawBody } = incoming as ReadMessage
  if (rawBody === undefined) return undefined
  const text = rawBody.toString('utf8')
  // A mark of the byte order is omitted, and invalid bytes are refused, by what reads the bytes.
  return text.charCodeAt(0) !== BYTE_ORDER_MARK && !text.includes(REPLACEMENT) ? text : undefined
}
