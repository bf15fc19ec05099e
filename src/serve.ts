/** Door: the simulator as an HTTP server. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { isIP, type Socket } from 'node:net'
import { getRequestListener } from '@hono/node-server'
import { pathOf } from './api/asked.ts'
import type { Patience } from './api/endpoint.ts'
import { loadTokenizer } from './api/tokenizer.ts'
import { AWAITED_HEADER, AwaitedAnswer, NO_PIECE_HEADER, PIECES_HEADER } from './awaited-answer.ts'
import { breakAnswer, cutWhenBroken } from './broken-connection.ts'
import type { ClientPatience } from './client-patience.ts'
import { patience, pause } from './clock/turns.ts'
import { hostGuard, isLoopback, originGuard, serviceGuard, tokenGuard } from './control/guards.ts'
import { createControl } from './control/index.ts'
import { cutBody } from './faults/bodies.ts'
import { BrokenAnswer, isStream } from './faults/broken.ts'
import { HalfClosed, HearingPatience } from './half-closed.ts'
import type { Micros } from './kernel/duration.ts'
import { monotonicMs } from './kernel/pacer.ts'
import { drainedBefore } from './request-drain.ts'
import { type Arrival, answerAtRoot, answerBelow, tokenOf, told, worldBelow } from './routing.ts'
import type { Simulator } from './simulator.ts'
import type { TimelineLibrary } from './timelines.ts'
import { answerUnreadable } from './unreadable-requests.ts'
import { type ServedWorld, TooManyWorlds, Worlds, type WorldsOptions } from './worlds.ts'

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
const MOST_CONNECTIONS = 1_024
/** How long `close` lets requests in flight go on. */
const GRACE_MS = 5_000
/** How long after its start a server loads the tokenizer, where no request has done so before. */
const PRELOAD_MS = 300
/** How often a closing server looks for connections that have become idle. */
const LOOK_MS = 20

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
  const turnAwayHost = hostGuard(options.allowHosts)
  const turnAwayStranger = isPublic ? tokenGuard(controlToken!) : () => undefined
  const worlds = new Worlds(sim, options)
  const control = createControl(worlds, options.scenarios)

  const answerControl = (world: ServedWorld, request: Request, arrival: Arrival) => {
    const answered = world.using(() => control.answer(world.sim, request, arrival))
    return answered instanceof Promise ? answered.then(guarded) : guarded(answered)
  }

  const listener = getRequestListener(
    drainedBefore((request, env) => {
      const incoming = env.incoming as IncomingMessage
      const path = pathOf(request.url)
      const clientAddress = addressOf(incoming, trustProxy)
      const outgoing = env.outgoing as ServerResponse
      const bringAbout = (from: Simulator, answer: Response) => broughtAbout(from, answer, incoming, outgoing)
      const patienceOf = (own: ClientPatience, sim: Simulator) =>
        new HearingPatience(halfClosed, incoming.socket, patienceFor(own, sim))
      const below = worldBelow(path)
      const isService = !isControl(below?.path ?? path)
      const astray = isService ? serviceGuard(incoming, () => tokenOf(request, worlds) !== undefined) : undefined
      if (astray !== undefined) return guarded(told(worlds.default, astray.status, astray.message))
      if (!isControl(path)) return answerAtRoot(worlds, request, { clientAddress, path, bringAbout, patienceOf })
      if (below !== undefined && isService) {
        const world = worlds.get(below.name)
        if (world === undefined) return noWorld(worlds, below.name)
        const arrival = { clientAddress, path: below.path }
        if (incoming.headers['x-sim-client'] === 'scenario') {
          // A number is all that it takes to read the answer of another client: guarded as the control plane is.
          const comesBack = PIECES_HEADER in incoming.headers || AWAITED_HEADER in incoming.headers
          const away = turnAwayStranger(incoming) ?? (comesBack ? originGuard(incoming) : undefined)
          if (away !== undefined) return guarded(told(world, away.status, away.message))
          return answerStage(world, request, arrival, bringAbout)
        }
        return answerBelow(worlds, world, request, { ...arrival, bringAbout, patienceOf })
      }
      const target = below?.path ?? path
      const word = target.split('?', 1)[0]!
      // Health and the root tell nothing that would be worth a token, and probes have none.
      const isOpen = word === '/' || word === '/_sim/health' || word === '/_sim/health/'
      const away =
        (word === '/' ? undefined : originGuard(incoming)) ?? (isOpen ? undefined : turnAwayStranger(incoming))
      if (away !== undefined) return guarded(told(worlds.default, away.status, away.message))
      const world = below === undefined ? commanded(worlds, request, word, controlToken) : worlds.get(below.name)
      if (world === undefined) return noWorld(worlds, below!.name)
      if (world instanceof Response) return guarded(world)
      return answerControl(world, request, { clientAddress, path: target })
    }),
    { overrideGlobalObjects: options.ownProcess ?? false },
  )

  /** Answers that stages wait for, and bodies that they read, by the world and the number that they ask for them by. */
  const awaited = new WeakMap<Simulator, { held: Map<string, AwaitedAnswer>; bodies: Map<string, PacedBody> }>()
  let numbered = 0

  /** A stage moves the time of its world itself, so it is told at once what has to wait, and asks again. */
  async function answerStage(
    world: ServedWorld,
    request: Request,
    arrival: Arrival,
    bringAbout: (from: Simulator, answer: Response) => Response | Promise<Response>,
  ): Promise<Response> {
    const { sim } = world
    const { held: known, bodies } = awaited.get(sim) ?? { held: new Map(), bodies: new Map() }
    awaited.set(sim, { held: known, bodies })
    const pieces = request.headers.get(PIECES_HEADER)
    if (pieces !== null) return world.using(() => nextPiece(world, bodies, pieces, request.method))
    const asked = request.headers.get(AWAITED_HEADER)
    const number = asked ?? String(++numbered)
    const one =
      asked === null
        ? new AwaitedAnswer(patienceOf => answerBelow(worlds, world, request, { ...arrival, patienceOf }))
        : known.get(asked)
    if (one === undefined) return told(world, 404, `Failed to find the answer ${number}: nobody waits for it.`)
    known.delete(number)
    if (asked !== null && request.method === 'DELETE') {
      await world.using(() => one.leave(new Error('its client has given up')))
      return new Response(null, { status: 204 })
    }
    const seen = await world.using(() => one.look())
    if ('answer' in seen) {
      const body = one.isPaced ? pacedBody(seen.answer) : undefined
      if (body === undefined) return bringAbout(sim, seen.answer)
      bodies.set(number, { one, body })
      const headers = new Headers(seen.answer.headers)
      headers.set(PIECES_HEADER, number)
      return new Response(null, { status: seen.answer.status, headers })
    }
    known.set(number, one)
    return new Response(null, {
      status: 204,
      headers: { [AWAITED_HEADER]: number, 'x-sim-delay': String(seen.delay) },
    })
  }

  /** Connections on which nothing will ever come. */
  const hanging = new Set<Socket>()

  function broughtAbout(
    from: Simulator,
    answer: Response,
    incoming: IncomingMessage,
    outgoing: ServerResponse,
  ): Response | Promise<Response> {
    if (!(answer instanceof BrokenAnswer)) return cutWhenBroken(answer, outgoing)
    const { speed } = from.clock
    const latency = options.latency ?? (speed === undefined ? 'instant' : 'scaled')
    const pace = latency === 'real' ? 1 : latency === 'scaled' ? speed : undefined
    const waits = <Value>(wait: Promise<Value>) => halfClosed.during(incoming.socket, wait)
    const broken = breakAnswer(answer, incoming, outgoing, { pace, hanging, waits })
    return broken.then(sent => cutWhenBroken(sent, outgoing))
  }

  const patienceFor = patienceOver(options.latency)

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
    const away = turnAwayHost(incoming.headers.host)
    if (away === undefined) return void listener(incoming, outgoing)
    outgoing.writeHead(away.status, { 'content-type': 'application/json', connection: 'close' })
    outgoing.end(JSON.stringify({ error: away.message }))
  })
  const halfClosed = new HalfClosed(server)
  answerUnreadable(server)
  server.maxConnections = MOST_CONNECTIONS
  server.on('connection', (socket: Socket) => {
    connections.set(socket, 0)
    socket.on('close', () => connections.delete(socket))
  })
  await listening(server, port, hostname)
  const address = server.address()
  const bound = typeof address === 'object' && address !== null ? address.port : port
  // Not at once: it holds the process for a tenth of a second, in which whoever waits for health would wait on.
  if (sim.world.needsTokenizer)
    pause(PRELOAD_MS)
      .then(loadTokenizer)
      .catch(() => {})

  let closing: Promise<void> | undefined
  return {
    url: `http://${reachable(hostname)}:${bound}`,
    port: bound,
    worlds,
    get inFlight() {
      return inFlight
    },
    close() {
      // Whoever waits for a long advance gets an answer that says how far it came.
      worlds.interrupt()
      for (const socket of hanging) socket.destroy()
      closing ??= closed(server, connections)
      return closing
    },
  }
}

type HttpServer = ReturnType<typeof createServer>
/** Open connections, and the requests in flight on each. */
type Connections = Map<Socket, number>

function listening(server: HttpServer, port: number, hostname: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => reject(listenError(error, port, hostname)))
    server.listen(port, hostname, resolve)
  })
}

function listenError(error: NodeJS.ErrnoException, port: number, hostname: string): ListenError {
  const code = error.code ?? 'UNKNOWN'
  const [cause, remedy] = REASONS[code] ?? [error.message, 'Give another address: --host, --port.']
  const next = port < 65_535 ? port + 1 : port - 1
  return new ListenError(
    code,
    `Failed to listen on ${inUrl(hostname)}:${port}: ${cause}. ${remedy.replace('{next}', String(next))}`,
    { cause: error },
  )
}

const REASONS: Readonly<Record<string, readonly [cause: string, remedy: string]>> = {
  EADDRINUSE: ['the port is taken', 'Stop the other process, or give another port: --port {next}.'],
  EACCES: ['this user may not take the port', `Give one above 1023: --port ${DEFAULT_PORT}.`],
  EADDRNOTAVAIL: ['no such address on this machine', `Give one of its own: --host ${DEFAULT_HOST}.`],
  ENOTFOUND: ['no such host', `Give an address of this machine: --host ${DEFAULT_HOST}.`],
  EAI_AGAIN: ['the name could not be resolved', `Give an address of this machine: --host ${DEFAULT_HOST}.`],
}

async function closed(server: HttpServer, connections: Connections): Promise<void> {
  let done = false
  const end = new Promise<void>(resolve => {
    server.close(() => {
      done = true
      resolve()
    })
  })
  for (let waited = 0; !done && waited < GRACE_MS; waited += LOOK_MS) {
    // A connection that was busy when the server closed is kept alive by its client; idle now, it may go. Node's own
    // closeIdleConnections spares one that never sent a request, as browsers open them in advance.
    for (const [socket, requests] of connections) if (requests === 0) socket.destroySoon()
    await Promise.race([end, pause(LOOK_MS)])
  }
  server.closeAllConnections()
  await end
}

/** A body that a stage reads as it moves time. */
interface PacedBody {
  readonly one: AwaitedAnswer
  readonly body: ReadableStream<Uint8Array>
}

/** The body of a stream as its client gets to see it; undefined for an answer that is none, or of which nothing comes. */
function pacedBody(answer: Response): ReadableStream<Uint8Array> | undefined {
  if (!isStream(answer)) return undefined
  if (!(answer instanceof BrokenAnswer)) return answer.body!
  return answer.fate.kind === 'cut' ? cutBody(answer.body!, answer.fate.after) : undefined
}

/** What a stage that comes back for a piece of a body gets. */
async function nextPiece(
  world: ServedWorld,
  bodies: Map<string, PacedBody>,
  number: string,
  method: string,
): Promise<Response> {
  const found = bodies.get(number)
  if (found === undefined) return told(world, 404, `Failed to find the body ${number}: nobody reads it.`)
  const { one, body } = found
  const none = (how: 'over' | 'broken') => {
    bodies.delete(number)
    return new Response(null, { status: 204, headers: { [NO_PIECE_HEADER]: how } })
  }
  if (method === 'DELETE') {
    await one.leave(new Error('its client has stopped reading'))
    return none('over')
  }
  try {
    const seen = await one.read(body)
    if ('isOver' in seen) return none('over')
    if ('delay' in seen) return new Response(null, { status: 204, headers: { 'x-sim-delay': String(seen.delay) } })
    return new Response(seen.piece as Uint8Array<ArrayBuffer>)
  } catch {
    return none('broken')
  }
}

/** A client that waits real time for an answer that takes simulated time, once an instance works on it. */
function realPatience(own: Patience, { clock }: Simulator): Patience {
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
        if (!(await patience(Math.max(1, delay / 1000), signal))) throw signal.reason
        return
      }
      try {
        // No real time brings what is due in the world.
        await own.wait(delay, signal, part, call)
      } finally {
        // A move by hand may have gone past the whole answer by the time this is heard.
        if (call.isStarted) base = { world: call.startedAt, ms: monotonicMs() }
      }
    },
  }
}

/** How clients wait for answers of models, by the latency that was asked for. */
function patienceOver(latency: Latency | undefined): (own: ClientPatience, sim: Simulator) => Patience {
  if (latency === undefined) return own => own
  if (latency === 'real') return realPatience
  return (own, { clock }) => ({
    isInstant: latency === 'instant' || clock.speed === undefined,
    now: () => own.now(),
    wait: (...what) => own.wait(...what),
  })
}

/** The one place that tells the control plane from the service. */
function isControl(path: string): boolean {
  return path === '/' || path.startsWith('/?') || /^\/_sim(?:[/?]|$)/.test(path)
}

function addressOf(incoming: IncomingMessage, trustProxy: boolean): string | undefined {
  if (trustProxy) {
    const first = String(incoming.headers['x-forwarded-for'] ?? '')
      .split(',', 1)[0]!
      .trim()
    if (isIP(first) !== 0) return unwrapped(first)
  }
  const { remoteAddress } = incoming.socket
  return remoteAddress === undefined ? undefined : unwrapped(remoteAddress)
}

/** An IPv4 address that came over an IPv6 socket is an IPv4 address. */
function unwrapped(address: string): string {
  return address.startsWith('::ffff:') ? address.slice(7) : address
}

/** What concerns the server, whichever world a token selects. */
const OF_THE_SERVER = /^(?:\/|\/_sim(?:\/(?:health|worlds(?:\/.*)?))?\/?)$/

/** The world that a command at the root address is for: an API token selects it, and without one it is the default. */
function commanded(
  worlds: Worlds,
  request: Request,
  path: string,
  controlToken: string | undefined,
): ServedWorld | Response {
  const token = tokenOf(request, worlds)
  if (worlds.isOne || OF_THE_SERVER.test(path) || token === undefined || token === controlToken) return worlds.default
  try {
    const { world, hint } = worlds.of(token)
    if (hint === undefined) return world
    // A command to a world that is gone must not become one to another world.
    return told(worlds.default, 404, `Failed to find the world of this token: ${hint}.`, hint)
  } catch (error) {
    if (!(error instanceof TooManyWorlds)) throw error
    return told(worlds.default, 429, error.message)
  }
}

function noWorld(worlds: Worlds, name: string): Response {
  const hint = worlds.gone(name)
  return guarded(told(worlds.default, 404, `Failed to find the world: ${hint}.`, hint))
}

/** Keeps other origins from loading an answer of the control plane as a script or an image. */
function guarded(response: Response): Response {
  response.headers.set('cross-origin-resource-policy', 'same-origin')
  response.headers.set('x-content-type-options', 'nosniff')
  return response
}

/** The address to reach a server by that is bound to all of them. */
function reachable(hostname: string): string {
  if (hostname === '0.0.0.0') return '127.0.0.1'
  return hostname === '::' ? '[::1]' : inUrl(hostname)
}

function inUrl(hostname: string): string {
  return isIP(hostname) === 6 ? `[${hostname}]` : hostname
}
