/** Transport: the simulator as an HTTP server. */

import { createServer, type IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { getRequestListener } from '@hono/node-server'
import { LIMITS } from '../../lib/limits.ts'
import { clearRealTimeout, realDelay, setRealTimeout } from '../../lib/real-time.ts'
import { UNROUTED } from '../../service/http/exchange.ts'
import { loadTokenizer } from '../../service/openai/tokenizer.ts'
import type { Simulator } from '../../simulator/simulator.ts'
import type { TimelineLibrary } from '../../simulator/timelines.ts'
import type { WritePage } from '../control/endpoint.ts'
import { hostGuard, isLoopback, originGuard, serviceGuard, tokenGuard } from '../control/guards.ts'
import { createControl } from '../control/index.ts'
import { Cors } from '../routing/cors.ts'
import { RequestRouter } from '../routing/request-router.ts'
import { Worlds, type WorldsOptions } from '../worlds/worlds.ts'
import { answerBadRequests, findBadTarget, toOriginForm } from './bad-requests.ts'
import type { Latency } from './latency.ts'
import {
  type Connections,
  closeGracefully,
  DEFAULT_HOST,
  DEFAULT_PORT,
  HalfOpenConnections,
  ListenError,
  listen,
  reachableHost,
} from './listen.ts'
import { BUNDLED_PAGE_FILES } from './page-files.ts'
import { type ServedRequest, ServedRequests } from './served-requests.ts'
import { afterReadyBody, type BodyListeners, type ServerContext, ServerRequest } from './server-request.ts'

/**
 * Sends the text of a response with its head in one plain write. Node's own `end` adds an empty chunk, and then a vectored
 * write copies and encodes all chunks.
 */
export class WholeResponse extends ServerResponse<IncomingMessage> {
  override end(...args: unknown[]): this {
    const [text] = args
    const { socket } = this
    // Without a head, or in chunks, Node decides the framing.
    if (args.length !== 1 || typeof text !== 'string' || socket === null || !this.headersSent || this.chunkedEncoding)
      return super.end(...(args as []))
    socket.cork()
    // If each character is a byte, nothing has to be encoded.
    this.write(text, Buffer.byteLength(text) === text.length ? 'latin1' : 'utf8')
    socket.uncork()
    return super.end()
  }
}

export type { Latency } from './latency.ts'
export { DEFAULT_HOST, DEFAULT_PORT, ListenError } from './listen.ts'
export type { ServedRequest } from './served-requests.ts'

/** Slow and silent clients are disconnected, so that they cannot hold the server's sockets. */
const TIMEOUTS = {
  headersTimeout: LIMITS.headersTime,
  requestTimeout: LIMITS.requestTime,
  // Longer than clients leave a connection idle: a connection that closes while its client sends loses the request.
  keepAliveTimeout: 75_000,
  connectionsCheckingInterval: 2_000,
} as const
/** How long after its start a server loads the tokenizer, if no request has done so before. */
const PRELOAD_MS = 300

export interface ServeOptions extends WorldsOptions {
  /** Default: 4010. 0 takes a free port. */
  readonly port?: number
  /** Default: 127.0.0.1. Any host but a loopback name requires a `controlToken`. */
  readonly hostname?: string
  /** Takes the caller's address from X-Forwarded-For. */
  readonly trustProxy?: boolean
  /** Accepted values of the Host header beside loopback names, addresses and names of one label. */
  readonly allowHosts?: readonly string[]
  /** Token that the control plane requires if other machines can reach it. Ignored on loopback. */
  readonly controlToken?: string
  /** Default: `scaled` on a scaled clock, otherwise `instant`. */
  readonly latency?: Latency
  /** Scenarios whose timelines it can play in its worlds. Default: none. */
  readonly scenarios?: TimelineLibrary
  /** Keeps the past of the world from the start. Default: from the first `POST /_sim/past`. */
  readonly keepPast?: boolean
  /** Writes saved pages, for `GET /_sim/page`. Default: the server has none. */
  readonly writePage?: WritePage
  /** The origin whose pages may use the service, or `*` for every origin. They never reach `/_sim`. Default: none. */
  readonly cors?: string
  /** Called with each request that was answered. It must not throw. */
  readonly onRequest?: (request: ServedRequest) => void
  /**
   * The process has no other use than the server: lighter classes replace the global `Request` and `Response`, which
   * saves about a third of the cost of a request.
   */
  readonly ownProcess?: boolean
}

export interface Server {
  /** Where to reach it from this machine, as in `http://127.0.0.1:4010`. */
  readonly url: string
  readonly port: number
  /** Requests that are being answered. */
  readonly inFlight: number
  /** The worlds that it serves. */
  readonly worlds: Worlds
  /** Takes no more requests, lets those in flight end (for 5 s at most) and closes every connection. */
  close(): Promise<void>
}

/**
 * Serves a simulator over HTTP: its API at the root and its control plane under `/_sim`. More worlds can be created, each
 * with an address and tokens of its own.
 *
 * @throws ListenError if the port is taken, or the address does not belong to this machine
 * @example
 * const server = await serve(createSimulator(), { port: 0 })
 * await fetch(`${server.url}/_sim/health`)
 * await server.close()
 */
export async function serve(sim: Simulator, options: ServeOptions = {}): Promise<Server> {
  const { port = DEFAULT_PORT, hostname = DEFAULT_HOST, controlToken, trustProxy = false } = options
  const isPublic = !isLoopback(hostname)
  if (isPublic && (controlToken === undefined || controlToken.trim() === '')) {
    throw new ListenError(
      'NO_CONTROL_TOKEN',
      `Failed to listen on ${hostname}: other machines could command the simulator. Give a control token, or listen on ${DEFAULT_HOST}.`,
    )
  }
  const checkHost = hostGuard(options.allowHosts)
  const worlds = new Worlds(sim, options)
  const hangingSockets = new Set<Socket>()
  const connections: Connections = new Map()
  let inFlight = 0
  const server = createServer(
    { ...TIMEOUTS, requireHostHeader: false, ServerResponse: WholeResponse },
    (incoming: IncomingMessage, outgoing: ServerResponse) => {
      // Every time in a response is simulated time. A response without a date gets none.
      outgoing.sendDate = false
      // The host is in its header, which a guard checks. The target may name another one.
      incoming.url = toOriginForm(incoming.url ?? '/')
      inFlight++
      const connection = connections.get(incoming.socket)!
      connection.requests++
      connection.lastResponse = outgoing
      outgoing.on('close', () => {
        inFlight--
        connection.requests--
      })
      const rejection = findBadTarget(incoming) ?? checkHost(incoming.headers.host)
      if (rejection === undefined) return afterReadyBody(incoming, outgoing, listeners)
      const rejected = { method: incoming.method ?? '', path: incoming.url ?? '', status: rejection.status }
      const { elapsed } = sim.clock
      servedRequests.add(worlds.default, { ...UNROUTED, ...rejected, sentAt: elapsed, endedAt: elapsed }, '')
      outgoing.writeHead(rejection.status, { 'content-type': 'application/json', connection: 'close' })
      outgoing.end(JSON.stringify('message' in rejection ? { error: rejection.message } : { detail: rejection.detail }))
    },
  )
  const halfOpen = new HalfOpenConnections(server)
  const checkToken = isPublic ? tokenGuard(controlToken!) : () => undefined
  const control = createControl(worlds, { library: options.scenarios, writePage: options.writePage })
  if (options.keepPast) control.pasts.keep(sim)
  const requestRouter = new RequestRouter<ServerRequest>(worlds, control, {
    guards: {
      checkService: ({ incoming }, hasToken) => serviceGuard(incoming, hasToken),
      checkOrigin: ({ incoming }) => originGuard(incoming),
      checkToken: ({ incoming }) => checkToken(incoming),
    },
    controlToken,
    pageFiles: BUNDLED_PAGE_FILES,
    cors: options.cors === undefined ? undefined : new Cors(options.cors),
  })
  const servedRequests = new ServedRequests(options.onRequest)
  const context: ServerContext = {
    ...{ latency: options.latency, halfOpen, hangingSockets, trustProxy, servedRequests },
    hasCors: options.cors !== undefined,
  }
  const answerIncoming = (request: Request, sides: Sides) => {
    const [incoming, outgoing] = [sides.incoming as IncomingMessage, sides.outgoing as ServerResponse]
    const serverRequest = new ServerRequest(request, incoming, outgoing, context)
    const answer = requestRouter.answer(request, serverRequest)
    if (options.onRequest === undefined) return answer
    return Promise.resolve(answer).then(response => {
      reportOutside(serverRequest, request.method, response.status)
      return response
    })
  }
  const overrideGlobalObjects = options.ownProcess ?? false
  const listeners: BodyListeners = {
    onRead: getRequestListener(answerIncoming, { overrideGlobalObjects, autoCleanupIncoming: false }),
    onUnread: getRequestListener(drainBeforeAnswer(answerIncoming), { overrideGlobalObjects }),
  }
  /** Reports a request that no pipeline answered, such as one for the document or a refusal of a guard. */
  const reportOutside = (request: ServerRequest, method: string, status: number) => {
    if (request.isReported) return
    request.world ??= worlds.default
    const { elapsed } = request.world.sim.clock
    request.onAnswered({ ...UNROUTED, method, path: request.path, status, sentAt: elapsed, endedAt: elapsed })
  }
  answerBadRequests(server, connections)
  server.maxConnections = LIMITS.connections
  server.on('connection', (socket: Socket) => {
    connections.set(socket, { requests: 0, lastResponse: undefined })
    socket.on('close', () => connections.delete(socket))
  })
  await listen(server, port, hostname)
  const address = server.address()
  const boundPort = typeof address === 'object' && address !== null ? address.port : port
  // Later: it blocks the process for a tenth of a second, and a client that polls health would wait for that.
  if (sim.world.needsTokenizer)
    realDelay(PRELOAD_MS)
      .then(loadTokenizer)
      .catch(() => {})

  let closing: Promise<void> | undefined
  return {
    url: `http://${reachableHost(hostname)}:${boundPort}`,
    port: boundPort,
    worlds,
    get inFlight() {
      return inFlight
    },
    close() {
      // A client that waits for a long advance gets a response that says how far it came.
      worlds.interrupt()
      for (const socket of hangingSockets) socket.destroy()
      closing ??= closeGracefully(server, connections)
      return closing
    },
  }
}

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
function drainBeforeAnswer(listener: (request: Request, sides: Sides) => Answered) {
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
