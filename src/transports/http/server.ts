/** Door: the simulator as an HTTP server. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { isIP, type Socket } from 'node:net'
import { getRequestListener } from '@hono/node-server'
import { hostGuard, isLoopback, originGuard, serviceGuard, tokenGuard } from '../../control/guards.ts'
import { createControl } from '../../control/index.ts'
import { truncateBody } from '../../faults/body-streams.ts'
import { isEventStream, WireFaultResponse } from '../../faults/broken-response.ts'
import type { Micros } from '../../kernel/duration.ts'
import { delayUnlessAborted, monotonicMs, realDelay } from '../../lib/real-time.ts'
import type { ResponseWaiter } from '../../service/endpoint.ts'
import { toPathAndQuery } from '../../service/http/request-context.ts'
import { loadTokenizer } from '../../service/openai/tokenizer.ts'
import type { ClockResponseWaiter } from '../../simulator/answer-waiter.ts'
import {
  NO_CHUNK_HEADER,
  POLLED_BODY_HEADER,
  POLLED_RESPONSE_HEADER,
  PolledResponse,
} from '../../simulator/polled-response.ts'
import type { Simulator } from '../../simulator/simulator.ts'
import type { TimelineLibrary } from '../../simulator/timelines.ts'
import { type ServedWorld, TooManyWorlds, Worlds, type WorldsOptions } from '../../simulator/worlds.ts'
import { answerBadRequests } from './bad-requests.ts'
import { cutWhenBroken, deliverFaultToSocket } from './fault-delivery.ts'
import { DisconnectAwareWaiter, HalfOpenConnections } from './half-open-clients.ts'
import { drainBeforeAnswer } from './request-drain.ts'
import {
  answerRootRequest,
  answerWorldRequest,
  parseWorldPath,
  type RoutedRequest,
  serverResponse,
  tokenOf,
} from './world-routing.ts'

export const DEFAULT_PORT = 4010
export const DEFAULT_HOST = '127.0.0.1'

/** Slow and silent clients are cut off, so that they cannot hold the server's sockets. */
const TIMEOUTS = {
  headersTimeout: 10_000,
  requestTimeout: 60_000,
  // Longer than clients leave a connection idle: one that is closed while its client sends on it loses the request.
  keepAliveTimeout: 75_000,
  connectionsCheckingInterval: 2_000,
} as const
const MAX_CONNECTIONS = 1_024
/** How long `close` lets requests in flight go on. */
const GRACE_MS = 5_000
/** How long after its start a server loads the tokenizer, where no request has done so before. */
const PRELOAD_MS = 300
/** How often a closing server looks for connections that have become idle. */
const IDLE_CHECK_MS = 20

/** How long a delayed answer takes: as long as it says, that by the speed of the clock, or no time at all. */
export type Latency = 'real' | 'scaled' | 'instant'

export interface ServeOptions extends WorldsOptions {
  /** 4010 unless given; 0 takes a free one. */
  readonly port?: number
  /** 127.0.0.1 unless given. Any other than a loopback name asks for a `controlToken`. */
  readonly hostname?: string
  /** Takes the caller's address from X-Forwarded-For. */
  readonly trustProxy?: boolean
  /** Host names that the server goes by, beside loopback names, addresses and names of one label. */
  readonly allowHosts?: readonly string[]
  /** What the control plane asks for where other machines reach it; on loopback it asks for nothing. */
  readonly controlToken?: string
  /** Unless given, as the clock moves: `scaled` on a scaled clock, `instant` on a manual one. */
  readonly latency?: Latency
  /** Scenarios whose timelines it can play in its worlds; none unless given. */
  readonly scenarios?: TimelineLibrary
  /**
   * The process is the server's alone: the global `Request` and `Response` give way to lighter ones, which saves about
   * a third of the cost of a request.
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

/** The server could not be started where it was asked to. */
export class ListenError extends Error {
  override readonly name = 'ListenError'
  readonly code: string
  /** The exit code of a process that ends by it. */
  readonly exitCode = 2
  constructor(code: string, message: string, options?: ErrorOptions) {
    super(message, options)
    this.code = code
  }
}

/**
 * Serves a simulator over HTTP: its API at the root, its control plane under `/_sim`, and beside it as many more worlds
 * as are asked for, each under an address and with tokens of its own.
 *
 * @throws ListenError when the port is taken, or the address is none of this machine
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
  const checkToken = isPublic ? tokenGuard(controlToken!) : () => undefined
  const worlds = new Worlds(sim, options)
  const control = createControl(worlds, options.scenarios)

  const answerControl = (world: ServedWorld, request: Request, incomingRequest: RoutedRequest) => {
    const response = world.trackUse(() => control.answer(world.sim, request, incomingRequest))
    return response instanceof Promise ? response.then(withSecurityHeaders) : withSecurityHeaders(response)
  }

  const listener = getRequestListener(
    drainBeforeAnswer((request, env) => {
      const incoming = env.incoming as IncomingMessage
      const path = toPathAndQuery(request.url)
      const clientAddress = clientAddressOf(incoming, trustProxy)
      const outgoing = env.outgoing as ServerResponse
      const deliver = (from: Simulator, answer: Response) => deliverAnswer(from, answer, incoming, outgoing)
      const waiterFor = (own: ClockResponseWaiter, sim: Simulator) =>
        new DisconnectAwareWaiter(halfOpen, incoming.socket, createWaiter(own, sim))
      const worldPath = parseWorldPath(path)
      const isService = !isControlPath(worldPath?.path ?? path)
      const astray = isService ? serviceGuard(incoming, () => tokenOf(request, worlds) !== undefined) : undefined
      if (astray !== undefined)
        return withSecurityHeaders(serverResponse(worlds.default, astray.status, astray.message))
      if (!isControlPath(path)) return answerRootRequest(worlds, request, { clientAddress, path, deliver, waiterFor })
      if (worldPath !== undefined && isService) {
        const world = worlds.get(worldPath.name)
        if (world === undefined) return worldNotFound(worlds, worldPath.name)
        const incomingRequest = { clientAddress, path: worldPath.path }
        if (incoming.headers['x-sim-client'] === 'scenario') {
          // A number is all that it takes to read the answer of another client: guarded as the control plane is.
          const comesBack = POLLED_BODY_HEADER in incoming.headers || POLLED_RESPONSE_HEADER in incoming.headers
          const rejection = checkToken(incoming) ?? (comesBack ? originGuard(incoming) : undefined)
          if (rejection !== undefined)
            return withSecurityHeaders(serverResponse(world, rejection.status, rejection.message))
          return answerScenarioClient(world, request, incomingRequest, deliver)
        }
        return answerWorldRequest(worlds, world, request, { ...incomingRequest, deliver, waiterFor })
      }
      const target = worldPath?.path ?? path
      const pathname = target.split('?', 1)[0]!
      // Health and the root tell nothing that would be worth a token, and probes have none.
      const isOpen = pathname === '/' || pathname === '/_sim/health' || pathname === '/_sim/health/'
      const away = (pathname === '/' ? undefined : originGuard(incoming)) ?? (isOpen ? undefined : checkToken(incoming))
      if (away !== undefined) return withSecurityHeaders(serverResponse(worlds.default, away.status, away.message))
      const world =
        worldPath === undefined ? selectWorld(worlds, request, pathname, controlToken) : worlds.get(worldPath.name)
      if (world === undefined) return worldNotFound(worlds, worldPath!.name)
      if (world instanceof Response) return withSecurityHeaders(world)
      return answerControl(world, request, { clientAddress, path: target })
    }),
    { overrideGlobalObjects: options.ownProcess ?? false },
  )

  /** Answers that stages wait for, and bodies that they read, by the world and the number that they ask for them by. */
  const polledByWorld = new WeakMap<Simulator, { held: Map<string, PolledResponse>; bodies: Map<string, PacedBody> }>()
  let lastNumber = 0

  /** A stage moves the time of its world itself, so it is told at once what has to wait, and asks again. */
  async function answerScenarioClient(
    world: ServedWorld,
    request: Request,
    incomingRequest: RoutedRequest,
    deliver: (from: Simulator, answer: Response) => Response | Promise<Response>,
  ): Promise<Response> {
    const { sim } = world
    const { held: responses, bodies } = polledByWorld.get(sim) ?? { held: new Map(), bodies: new Map() }
    polledByWorld.set(sim, { held: responses, bodies })
    const bodyNumber = request.headers.get(POLLED_BODY_HEADER)
    if (bodyNumber !== null) return world.trackUse(() => nextChunk(world, bodies, bodyNumber, request.method))
    const responseNumber = request.headers.get(POLLED_RESPONSE_HEADER)
    const number = responseNumber ?? String(++lastNumber)
    const polled =
      responseNumber === null
        ? new PolledResponse(waiterFor => answerWorldRequest(worlds, world, request, { ...incomingRequest, waiterFor }))
        : responses.get(responseNumber)
    if (polled === undefined)
      return serverResponse(world, 404, `Failed to find the answer ${number}: nobody waits for it.`)
    responses.delete(number)
    if (responseNumber !== null && request.method === 'DELETE') {
      await world.trackUse(() => polled.leave(new Error('its client has given up')))
      return new Response(null, { status: 204 })
    }
    const result = await world.trackUse(() => polled.look())
    if ('answer' in result) {
      const body = polled.isPaced ? pacedBody(result.answer) : undefined
      if (body === undefined) return deliver(sim, result.answer)
      bodies.set(number, { one: polled, body })
      const headers = new Headers(result.answer.headers)
      headers.set(POLLED_BODY_HEADER, number)
      return new Response(null, { status: result.answer.status, headers })
    }
    responses.set(number, polled)
    return new Response(null, {
      status: 204,
      headers: { [POLLED_RESPONSE_HEADER]: number, 'x-sim-delay': String(result.delay) },
    })
  }

  /** Connections on which nothing will ever come. */
  const hangingSockets = new Set<Socket>()

  function deliverAnswer(
    sim: Simulator,
    answer: Response,
    incoming: IncomingMessage,
    outgoing: ServerResponse,
  ): Response | Promise<Response> {
    if (!(answer instanceof WireFaultResponse)) return cutWhenBroken(answer, outgoing)
    const { speed } = sim.clock
    const latency = options.latency ?? (speed === undefined ? 'instant' : 'scaled')
    const pace = latency === 'real' ? 1 : latency === 'scaled' ? speed : undefined
    const trackWait = <Value>(wait: Promise<Value>) => halfOpen.trackWait(incoming.socket, wait)
    const broken = deliverFaultToSocket(answer, incoming, outgoing, { pace, hangingSockets, trackWait })
    return broken.then(sent => cutWhenBroken(sent, outgoing))
  }

  const createWaiter = waiterFactory(options.latency)

  let inFlight = 0
  const connections: Connections = new Map()
  const server = createServer({ ...TIMEOUTS }, (incoming: IncomingMessage, outgoing: ServerResponse) => {
    // Every time in an answer is the world's; what has no date gets none.
    outgoing.sendDate = false
    inFlight++
    const { socket } = incoming
    connections.set(socket, (connections.get(socket) ?? 0) + 1)
    outgoing.on('close', () => {
      inFlight--
      if (connections.has(socket)) connections.set(socket, connections.get(socket)! - 1)
    })
    const rejection = checkHost(incoming.headers.host)
    if (rejection === undefined) return void listener(incoming, outgoing)
    outgoing.writeHead(rejection.status, { 'content-type': 'application/json', connection: 'close' })
    outgoing.end(JSON.stringify({ error: rejection.message }))
  })
  const halfOpen = new HalfOpenConnections(server)
  answerBadRequests(server)
  server.maxConnections = MAX_CONNECTIONS
  server.on('connection', (socket: Socket) => {
    connections.set(socket, 0)
    socket.on('close', () => connections.delete(socket))
  })
  await listen(server, port, hostname)
  const address = server.address()
  const boundPort = typeof address === 'object' && address !== null ? address.port : port
  // Not at once: it holds the process for a tenth of a second, in which whoever waits for health would wait on.
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
      // Whoever waits for a long advance gets an answer that says how far it came.
      worlds.interrupt()
      for (const socket of hangingSockets) socket.destroy()
      closing ??= closeGracefully(server, connections)
      return closing
    },
  }
}

type HttpServer = ReturnType<typeof createServer>
/** Open connections, and the requests in flight on each. */
type Connections = Map<Socket, number>

function listen(server: HttpServer, port: number, hostname: string): Promise<void> {
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

async function closeGracefully(server: HttpServer, connections: Connections): Promise<void> {
  let isClosed = false
  const closedPromise = new Promise<void>(resolve => {
    server.close(() => {
      isClosed = true
      resolve()
    })
  })
  for (let waited = 0; !isClosed && waited < GRACE_MS; waited += IDLE_CHECK_MS) {
    // A connection that was busy when the server closed is kept alive by its client; idle now, it may go. Node's own
    // closeIdleConnections spares one that never sent a request, as browsers open them in advance.
    for (const [socket, requests] of connections) if (requests === 0) socket.destroySoon()
    await Promise.race([closedPromise, realDelay(IDLE_CHECK_MS)])
  }
  server.closeAllConnections()
  await closedPromise
}

/** A body that a stage reads as it moves time. */
interface PacedBody {
  readonly one: PolledResponse
  readonly body: ReadableStream<Uint8Array>
}

/** The body of a stream as its client gets to see it; undefined for an answer that is none, or of which nothing comes. */
function pacedBody(answer: Response): ReadableStream<Uint8Array> | undefined {
  if (!isEventStream(answer)) return undefined
  if (!(answer instanceof WireFaultResponse)) return answer.body!
  return answer.outcome.kind === 'cut' ? truncateBody(answer.body!, answer.outcome.after) : undefined
}

/** What a stage that comes back for a piece of a body gets. */
async function nextChunk(
  world: ServedWorld,
  bodies: Map<string, PacedBody>,
  number: string,
  method: string,
): Promise<Response> {
  const polledBody = bodies.get(number)
  if (polledBody === undefined) return serverResponse(world, 404, `Failed to find the body ${number}: nobody reads it.`)
  const { one: response, body } = polledBody
  const noChunk = (reason: 'over' | 'broken') => {
    bodies.delete(number)
    return new Response(null, { status: 204, headers: { [NO_CHUNK_HEADER]: reason } })
  }
  if (method === 'DELETE') {
    await response.leave(new Error('its client has stopped reading'))
    return noChunk('over')
  }
  try {
    const result = await response.pollChunk(body)
    if ('isOver' in result) return noChunk('over')
    if ('delay' in result) return new Response(null, { status: 204, headers: { 'x-sim-delay': String(result.delay) } })
    return new Response(result.piece as Uint8Array<ArrayBuffer>)
  } catch {
    return noChunk('broken')
  }
}

/** A client that waits real time for an answer that takes simulated time, once an instance works on it. */
function createRealTimeWaiter(inner: ResponseWaiter, { clock }: Simulator): ResponseWaiter {
  // Not before the request has entered its world, which may have been behind.
  let base: { readonly world: Micros; readonly ms: number } | undefined
  return {
    isInstant: false,
    now: () => {
      base ??= { world: clock.elapsed, ms: monotonicMs() }
      return base.world + Math.floor((monotonicMs() - base.ms) * 1000)
    },
    wait: async (delay, signal, part, call) => {
      if (part !== 'turn') {
        if (!(await delayUnlessAborted(Math.max(1, delay / 1000), signal))) throw signal.reason
        return
      }
      try {
        // No real time brings what is due in the world.
        await inner.wait(delay, signal, part, call)
      } finally {
        // A move by hand may have gone past the whole answer by the time this is heard.
        if (call.isStarted) base = { world: call.startedAt, ms: monotonicMs() }
      }
    },
  }
}

/** How clients wait for answers of models, by the latency that was asked for. */
function waiterFactory(latency: Latency | undefined): (inner: ClockResponseWaiter, sim: Simulator) => ResponseWaiter {
  if (latency === undefined) return own => own
  if (latency === 'real') return createRealTimeWaiter
  return (own, { clock }) => ({
    isInstant: latency === 'instant' || clock.speed === undefined,
    now: () => own.now(),
    wait: (...args) => own.wait(...args),
  })
}

/** The one place that tells the control plane from the service. */
function isControlPath(path: string): boolean {
  return path === '/' || path.startsWith('/?') || /^\/_sim(?:[/?]|$)/.test(path)
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

/** What concerns the server, whichever world a token selects. */
const SERVER_PATH = /^(?:\/|\/_sim(?:\/(?:health|worlds(?:\/.*)?))?\/?)$/

/** The world that a command at the root address is for: an API token selects it, and without one it is the default. */
function selectWorld(
  worlds: Worlds,
  request: Request,
  path: string,
  controlToken: string | undefined,
): ServedWorld | Response {
  const token = tokenOf(request, worlds)
  if (worlds.hasOnlyDefault || SERVER_PATH.test(path) || token === undefined || token === controlToken)
    return worlds.default
  try {
    const { world, hint } = worlds.route(token)
    if (hint === undefined) return world
    // A command to a world that is gone must not become one to another world.
    return serverResponse(worlds.default, 404, `Failed to find the world of this token: ${hint}.`, hint)
  } catch (error) {
    if (!(error instanceof TooManyWorlds)) throw error
    return serverResponse(worlds.default, 429, error.message)
  }
}

function worldNotFound(worlds: Worlds, name: string): Response {
  const hint = worlds.explainMissing(name)
  return withSecurityHeaders(serverResponse(worlds.default, 404, `Failed to find the world: ${hint}.`, hint))
}

/** Keeps other origins from loading an answer of the control plane as a script or an image. */
function withSecurityHeaders(response: Response): Response {
  response.headers.set('cross-origin-resource-policy', 'same-origin')
  response.headers.set('x-content-type-options', 'nosniff')
  return response
}

/** The address to reach a server by that is bound to all of them. */
function reachableHost(hostname: string): string {
  if (hostname === '0.0.0.0') return '127.0.0.1'
  return hostname === '::' ? '[::1]' : hostInUrl(hostname)
}

function hostInUrl(hostname: string): string {
  return isIP(hostname) === 6 ? `[${hostname}]` : hostname
}
