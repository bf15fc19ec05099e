/**
 * Clients that have closed their side of the connection and may still read: `nc -N`, `socket.shutdown(SHUT_WR)`.
 *
 * They look the same as clients that have left. A response without a wait is sent. If the response has to wait, the
 * client counts as gone.
 */
import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import type { ResponseWaiter } from '../../service/results.ts'

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
