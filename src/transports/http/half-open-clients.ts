/**
 * Clients that have closed their side of the connection and may listen on: `nc -N`, `socket.shutdown(SHUT_WR)`.
 *
 * None of them can be told from one that has left, so an answer that needs no waiting is sent, and whoever has to wait for
 * time to pass has left.
 */
import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import type { Micros } from '../../kernel/duration.ts'
import type { ResponseWaiter } from '../../service/endpoint.ts'

export class HalfOpenConnections {
  /** Waits under way, by connection. */
  readonly #waits = new Map<Socket, number>()

  /** Has a server answer them: Node hangs up on them unless it is told. */
  constructor(server: Server) {
    Object.assign(server, { httpAllowHalfOpen: true })
    server.on('connection', (socket: Socket) => {
      socket.once('end', () => {
        if (this.#waits.has(socket)) socket.destroy()
      })
    })
  }

  /** What its client has to wait for. */
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

/**
 * A client that waits, until it closes its side of the connection. A class, for every request has one: an object that is
 * written down with a getter takes a fifth of what a GET takes.
 */
export class DisconnectAwareWaiter implements ResponseWaiter {
  readonly #halfOpen: HalfOpenConnections
  readonly #socket: Socket
  readonly #inner: ResponseWaiter

  constructor(halfOpen: HalfOpenConnections, socket: Socket, inner: ResponseWaiter) {
    this.#halfOpen = halfOpen
    this.#socket = socket
    this.#inner = inner
  }

  get isInstant(): boolean {
    return this.#inner.isInstant
  }

  now(): Micros {
    return this.#inner.now()
  }

  wait(...args: Parameters<ResponseWaiter['wait']>): Promise<void> {
    return this.#halfOpen.trackWait(this.#socket, this.#inner.wait(...args))
  }
}
