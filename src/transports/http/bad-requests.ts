/** Requests that are invalid or oversized HTTP: Node rejects them before the listener is called. */
import { type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'

/** Status by Node's error code. Default: 400. */
const STATUSES: Readonly<Record<string, number>> = {
  HPE_HEADER_OVERFLOW: 431,
  HPE_CHUNK_EXTENSIONS_OVERFLOW: 413,
  ERR_HTTP_REQUEST_TIMEOUT: 408,
}

/** Makes a server answer them with `{"detail": …}`, as its other refusals, and close the connection. */
export function answerBadRequests(server: Server): void {
  /** The last response on a connection. After its head no other response may be sent. */
  const lastResponses = new WeakMap<Socket, ServerResponse>()
  server.on('request', ({ socket }: IncomingMessage, answer: ServerResponse) => lastResponses.set(socket, answer))
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => {
    const answer = lastResponses.get(socket)
    const isAnswered = answer?.headersSent === true && !answer.writableFinished
    if (socket.writable && !isAnswered) socket.write(rawResponse(STATUSES[error.code ?? ''] ?? 400))
    socket.destroy(error)
  })
}

function rawResponse(status: number): string {
  const detail = STATUS_CODES[status]!
  const body = JSON.stringify({ detail })
  const headers = ['content-type: application/json', `content-length: ${body.length}`, 'connection: close']
  return [`HTTP/1.1 ${status} ${detail}`, ...headers, '', body].join('\r\n')
}
