/** Requests that are invalid or oversized HTTP: Node rejects them before the listener is called. */
import { type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import type { Connections } from './listen.ts'

/** Status by Node's error code. Default: 400. */
const STATUSES: Readonly<Record<string, number>> = {
  HPE_HEADER_OVERFLOW: 431,
  HPE_CHUNK_EXTENSIONS_OVERFLOW: 413,
  ERR_HTTP_REQUEST_TIMEOUT: 408,
}

/** Returns the refusal of a request without a host or with an invalid target; undefined for any other. */
export function findBadTarget({ headers, url = '' }: IncomingMessage) {
  if (headers.host === undefined) return { status: 400, detail: 'Bad Request: the Host header is missing' }
  if (url.startsWith('/') && !(url.includes('\\') && url.split('?', 1)[0]!.includes('\\'))) return undefined
  return { status: 400, detail: 'Bad Request: the target is not a path' }
}

/** Returns path and query of a target that names a scheme and a host; any other target as it is. */
export function toOriginForm(target: string): string {
  if (target.startsWith('/')) return target
  const [, path] = /^https?:\/\/[^/?#]*(.*)$/is.exec(target) ?? []
  if (path === undefined) return target
  return path.startsWith('/') ? path : `/${path}`
}

/** Makes a server answer them with `{"detail": …}`, as its other refusals, and close the connection. */
export function answerBadRequests(server: Server, connections: Connections): void {
  server.on('checkExpectation', (_: IncomingMessage, answer: ServerResponse) => {
    answer.sendDate = false
    answer.writeHead(417, { 'content-type': 'application/json', connection: 'close' })
    answer.end(JSON.stringify({ detail: STATUS_CODES[417] }))
  })
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => {
    const answer = connections.get(socket)?.lastResponse
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
