/** Requests that are no HTTP, or too much of it: Node turns them away before there is a request, and says why to nobody. */
import { type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'

/** By what Node finds; whatever else is 400. */
const STATUSES: Readonly<Record<string, number>> = {
  HPE_HEADER_OVERFLOW: 431,
  HPE_CHUNK_EXTENSIONS_OVERFLOW: 413,
  ERR_HTTP_REQUEST_TIMEOUT: 408,
}

/** Has a server answer them in the shape of its other refusals, `{"detail": …}`, and hang up. */
export function answerBadRequests(server: Server): void {
  /** The last answer on a connection: behind a head that is sent nothing else may come. */
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
