/** Starts and stops listening on an address. */
import type { createServer, Server, ServerResponse } from 'node:http'
import { isIP, type Socket } from 'node:net'
import { realDelay } from '../../lib/real-time.ts'
import type { ResponseWaiter } from '../../service/results.ts'

export const DEFAULT_PORT = 4010
export const DEFAULT_HOST = '127.0.0.1'

/** How long `close` lets requests in flight go on. */
const GRACE_MS = 5_000
/** How often a closing server looks for connections that have become idle. */
const IDLE_CHECK_MS = 20

/** Thrown if the server cannot listen on its address. */
export class ListenError extends Error {
  override readonly name = 'ListenError'
  readonly code: string
  /** The exit code of a process that ends with this error. */
  readonly exitCode = 2
  constructor(code: string, message: string, options?: ErrorOptions) {
    super(message, options)
    this.code = code
  }
}

export type HttpServer = ReturnType<typeof createServer>
/** What a server knows of an open connection. */
export interface Connection {
  /** Its requests in flight. */
  requests: number
  /** After its head no other response may be sent. */
  lastResponse: ServerResponse | undefined
}

export type Connections = Map<Socket, Connection>

export function listen(server: HttpServer, port: number, hostname: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => reject(listenError(error, port, hostname)))
    server.listen(port, hostname, resolve)
  })
}

function listenError(error: NodeJS.ErrnoException, port: number, hostname: string): ListenError {
  const code = error.code ?? 'UNKNOWN'
  const [cause, remedy] = LISTEN_ERRORS[code] ?? [error.message, 'Give another address: --host, --port.']
  const next = port < 65_535 ? port + 1 : port - 1
  return new ListenError(
    code,
    `Failed to listen on ${hostInUrl(hostname)}:${port}: ${cause}. ${remedy.replace('{next}', String(next))}`,
    { cause: error },
  )
}

const LISTEN_ERRORS: Readonly<Record<string, readonly [cause: string, remedy: string]>> = {
  EADDRINUSE: ['the port is taken', 'Stop the other process, or give another port: --port {next}.'],
  EACCES: ['this user may not take the port', `Give one above 1023: --port ${DEFAULT_PORT}.`],
  EADDRNOTAVAIL: ['no such address on this machine', `Give one of its own: --host ${DEFAULT_HOST}.`],
  ENOTFOUND: ['no such host', `Give an address of this machine: --host ${DEFAULT_HOST}.`],
  EAI_AGAIN: ['the name could not be resolved', `Give an address of this machine: --host ${DEFAULT_HOST}.`],
}

/** Takes no more requests, lets those in flight end (for 5 s at most) and closes every connection. */
export async function closeGracefully(server: HttpServer, connections: Connections): Promise<void> {
  let isClosed = false
  const closedPromise = new Promise<void>(resolve => {
    server.close(() => {
      isClosed = true
      resolve()
    })
  })
  for (let waited = 0; !isClosed && waited < GRACE_MS; waited += IDLE_CHECK_MS) {
    // A client keeps a connection alive that was busy when the server closed. Node's own closeIdleConnections leaves
    // out connections without a request, which browsers open in advance.
    for (const [socket, { requests }] of connections) if (requests === 0) socket.destroySoon()
    await Promise.race([closedPromise, realDelay(IDLE_CHECK_MS)])
  }
  server.closeAllConnections()
  await closedPromise
}

/** Returns the host to reach a server by; a loopback address if it listens on all addresses. */
export function reachableHost(hostname: string): string {
  if (hostname === '0.0.0.0') return '127.0.0.1'
  return hostname === '::' ? '[::1]' : hostInUrl(hostname)
}

function hostInUrl(hostname: string): string {
  return isIP(hostname) === 6 ? `[${hostname}]` : hostname
}

export class HalfOpenConnections {
  /** Number of waits by connection. */
  readonly #waits = new Map<Socket, number>()

  /** Makes a server answer them. By default Node closes their connections. */
  constructor(server: Server) {
    Object.assign(server, { httpAllowHalfOpen: true })
    server.on('connection', (socket: Socket) => {
      socket.once('end', () => {
        if (this.#waits.has(socket)) socket.destroy()
      })
    })
  }

  /** Tracks a promise that the client of a connection has to wait for. */
  async trackWait<Value>(socket: Socket, wait: Promise<Value>): Promise<Value> {
    if (socket.readableEnded) socket.destroy()
    this.#waits.set(socket, (this.#waits.get(socket) ?? 0) + 1)
    try {
      return await wait
    } finally {
      const remaining = this.#waits.get(socket)! - 1
      if (remaining > 0) this.#waits.set(socket, remaining)
      else this.#waits.delete(socket)
    }
  }
}

/** Returns a waiter that waits until the client closes its side of the connection. */
export function untilClosed(halfOpen: HalfOpenConnections, socket: Socket, inner: ResponseWaiter): ResponseWaiter {
  return {
    get isInstant() {
      return inner.isInstant
    },
    now: () => inner.now(),
    wait: (...args) => halfOpen.trackWait(socket, inner.wait(...args)),
  }
}
