/** What the server knows of a request beside the `Request` itself. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { isIP, type Socket } from 'node:net'
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response'
import { realDelay } from '../../lib/real-time.ts'
import type { Exchange } from '../../service/http/exchange.ts'
import type { HoldingWaiter, WaiterClock } from '../../service/http/incoming-request.ts'
import { toPathAndQuery } from '../../service/http/request-context.ts'
import type { BodyChunk, PulledBody, ResponseWaiter } from '../../service/results.ts'
import { WireFaultResponse } from '../../simulator/faults/wire-faults.ts'
import type { Simulator } from '../../simulator/simulator.ts'
import type { RoutedRequest } from '../routing/request-router.ts'
import type { HttpRequest } from '../routing/world-routing.ts'
import type { ServedWorld } from '../worlds/served-world.ts'
import { cutWhenBroken, deliverFaultToSocket, sendUntyped } from './fault-delivery.ts'
import { createLatencyWaiter, type Latency } from './latency.ts'
import { type HalfOpenConnections, untilClosed } from './listen.ts'
import type { ServedRequests } from './served-requests.ts'

/** Real milliseconds after which a client that has closed its side counts as gone. */
const LONG_COMMAND_MS = 200

/** What all requests of a server share. */
export interface ServerContext {
  /** Default: `scaled` on a scaled clock, otherwise `instant`. */
  readonly latency: Latency | undefined
  readonly halfOpen: HalfOpenConnections
  /** Connections on which no response will ever come. */
  readonly hangingSockets: Set<Socket>
  /** Takes the client's address from X-Forwarded-For. */
  readonly trustProxy: boolean
  /** Whether pages of other origins may use the service. */
  readonly hasCors: boolean
  readonly servedRequests: ServedRequests
}

/** A class, because every request has one: its methods cost nothing until a response waits or breaks. */
export class ServerRequest implements RoutedRequest {
  readonly incoming: IncomingMessage
  readonly clientAddress: string | undefined
  path: string
  header: HttpRequest['header']
  controlPath: string | undefined = undefined
  mayStream = false
  world: ServedWorld | undefined = undefined
  /** Whether the request was reported with what decided it. */
  isReported = false
  readonly #origin: string
  readonly #outgoing: ServerResponse
  readonly #server: ServerContext
  #taken: { readonly body: PulledBody; readonly headers: Readonly<Record<string, string>> } | undefined = undefined

  constructor(request: Request, incoming: IncomingMessage, outgoing: ServerResponse, server: ServerContext) {
    this.incoming = incoming
    this.clientAddress = clientAddressOf(incoming, server.trustProxy)
    this.path = toPathAndQuery(request.url)
    this.header = name => readHeader(incoming.rawHeaders, name)
    this.#origin = request.url.slice(0, request.url.indexOf('/', 8))
    this.#outgoing = outgoing
    this.#server = server
  }

  get headerFields(): NonNullable<HttpRequest['headerFields']> {
    return this.incoming.headers
  }

  get rawHeaders(): readonly string[] {
    return this.incoming.rawHeaders
  }

  get text(): string | undefined {
    return readTextOf(this.incoming)
  }

  onAnswered(exchange: Exchange): void {
    if (this.world === undefined) return
    this.isReported = true
    const control = `${this.#origin}${this.controlPath ?? '/_sim'}`
    this.#server.servedRequests.add(this.world, exchange, control)
  }

  waiterFor(defaultWaiter: HoldingWaiter, clock: WaiterClock): ResponseWaiter {
    const { halfOpen, latency } = this.#server
    return untilClosed(halfOpen, this.incoming.socket, createLatencyWaiter(latency, defaultWaiter, clock))
  }

  onStreamed(): void {
    this.mayStream = true
  }

  takeBody(body: PulledBody, headers: Readonly<Record<string, string>>): boolean {
    // The headers for pages of other origins are added to the response.
    if (this.#server.hasCors) return false
    this.#taken = { body, headers }
    return true
  }

  /** Ends the connection of a client that has left during a long command, which aborts its request. */
  async trackCommand(answer: Promise<Response>): Promise<Response> {
    const isLong = await Promise.race([answer.then(() => false), realDelay(LONG_COMMAND_MS).then(() => true)])
    return isLong ? this.#server.halfOpen.trackWait(this.incoming.socket, answer) : answer
  }

  /** Ends the connection of a client that leaves during a stream, also while the stream is silent. */
  trackStream(): void {
    const closed = new Promise<void>(resolve => this.#outgoing.once('close', resolve))
    void this.#server.halfOpen.trackWait(this.incoming.socket, closed)
  }

  deliver(sim: Simulator, response: Response): Response | Promise<Response> {
    if (this.#taken !== undefined) {
      sendPulledBody(this.#outgoing, this.#taken.headers, this.#taken.body)
      return RESPONSE_ALREADY_SENT
    }
    if (response instanceof WireFaultResponse) return this.#deliverFault(sim, response)
    // A rule can leave out the type. The listener would add another one.
    if (sim.faults.list().length > 0 && !response.headers.has('content-type') && response.body !== null)
      return sendUntyped(this.#outgoing, response)
    // The headers of a response are created when they are first read, which costs a twentieth of a create.
    return this.mayStream ? cutWhenBroken(response, this.#outgoing) : response
  }

  async #deliverFault({ clock: { speed } }: Simulator, response: WireFaultResponse): Promise<Response> {
    const { halfOpen, hangingSockets, latency = speed === undefined ? 'instant' : 'scaled' } = this.#server
    const pace = latency === 'real' ? 1 : latency === 'scaled' ? speed : undefined
    const trackWait = <Value>(wait: Promise<Value>) => halfOpen.trackWait(this.incoming.socket, wait)
    const options = { pace, hangingSockets, trackWait }
    const delivered = await deliverFaultToSocket(response, this.incoming, this.#outgoing, options)
    return cutWhenBroken(delivered, this.#outgoing)
  }
}

/**
 * Returns the value of a header, or null; several values are joined. The headers of a `Request` give the same, and are
 * created first.
 */
function readHeader(rawHeaders: readonly string[], name: string): string | null {
  const wanted = name.toLowerCase()
  const separator = wanted === 'cookie' ? '; ' : ', '
  let value: string | null = null
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const rawName = rawHeaders[i]!
    if (rawName.length !== wanted.length || (rawName !== wanted && rawName.toLowerCase() !== wanted)) continue
    value = value === null ? rawHeaders[i + 1]! : value + separator + rawHeaders[i + 1]!
  }
  return value
}

function clientAddressOf(incoming: IncomingMessage, trustProxy: boolean): string | undefined {
  if (trustProxy) {
    const first = String(incoming.headers['x-forwarded-for'] ?? '')
      .split(',', 1)[0]!
      .trim()
    if (isIP(first) !== 0) return toIPv4(first)
  }
  const { remoteAddress } = incoming.socket
  return remoteAddress === undefined ? undefined : toIPv4(remoteAddress)
}

/** An IPv4 address that came over an IPv6 socket is an IPv4 address. */
function toIPv4(address: string): string {
  return address.startsWith('::ffff:') ? address.slice(7) : address
}

/**
 * Sends a body as it is made. What is due at once leaves in one write, with the head. If the client leaves, the body is
 * cancelled. If the body breaks, the connection is cut.
 */
function sendPulledBody(outgoing: ServerResponse, headers: Readonly<Record<string, string>>, body: PulledBody): void {
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
