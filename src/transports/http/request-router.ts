/** Which part of a server answers a request: the service of a world, the control plane, or a guard. */
import type { IncomingMessage } from 'node:http'
import { type GuardRefusal, originGuard, serviceGuard } from '../../control/guards.ts'
import type { Control } from '../../control/index.ts'
import type { ServedWorld, Worlds } from '../../simulator/worlds.ts'
import type { Cors } from './cors.ts'
import { PAGE_PATH, PageFiles } from './page-files.ts'
import { isPoll, PollingClients } from './polling-clients.ts'
import type { ServerRequest } from './server-request.ts'
import {
  answerRootRequest,
  answerWorldRequest,
  isControlPath,
  parseWorldPath,
  selectWorld,
  serverResponse,
  tokenOf,
  type WorldPath,
  withSecurityHeaders,
  worldNotFound,
} from './world-routing.ts'

type Answered = Response | Promise<Response>

/** Paths of commands that move the clock, and can take long. */
const MOVE_PATH = /^\/_sim\/clock\/(?:advance|next|until)\/?$/

interface ControlAccess {
  /** Rejects a request without the control token, if the server requires one. */
  checkToken(incoming: IncomingMessage): GuardRefusal | undefined
  readonly controlToken: string | undefined
  /** Lets pages of other origins use the service. Default: the server grants them nothing. */
  readonly cors: Cors | undefined
}

export class RequestRouter {
  readonly #worlds: Worlds
  readonly #control: Control
  readonly #access: ControlAccess
  readonly #pollingClients: PollingClients
  readonly #pageFiles = new PageFiles()

  constructor(worlds: Worlds, control: Control, access: ControlAccess) {
    this.#worlds = worlds
    this.#control = control
    this.#access = access
    this.#pollingClients = new PollingClients(worlds)
  }

  answer(request: Request, incoming: ServerRequest): Answered {
    const { path } = incoming
    const worldPath = parseWorldPath(path)
    if (isControlPath(worldPath?.path ?? path)) return this.#answerControl(request, incoming, worldPath)
    const { cors } = this.#access
    // The service of a world below /_sim shares its address with the control plane.
    if (cors === undefined || worldPath !== undefined) return this.#answerService(request, incoming, worldPath)
    const preflight = cors.answerPreflight(request)
    if (preflight !== undefined) return preflight
    const answer = cors.allows(incoming.incoming.headers.origin)
      ? answerRootRequest(this.#worlds, request, incoming)
      : this.#answerService(request, incoming, undefined)
    if (answer instanceof Promise) return answer.then(response => cors.withHeaders(request, response))
    return cors.withHeaders(request, answer)
  }

  #answerService(request: Request, incoming: ServerRequest, worldPath: WorldPath | undefined): Answered {
    const rejection = serviceGuard(incoming.incoming, () => tokenOf(request, this.#worlds) !== undefined)
    if (rejection !== undefined) return this.#reject(this.#worlds.default, rejection)
    if (worldPath === undefined) return answerRootRequest(this.#worlds, request, incoming)
    return this.#answerWorld(request, incoming, worldPath)
  }

  #answerWorld(request: Request, incoming: ServerRequest, { name, path }: WorldPath): Answered {
    const world = this.#worlds.get(name)
    if (world === undefined) return worldNotFound(this.#worlds, name)
    incoming.path = path
    const { headers } = incoming.incoming
    if (headers['x-sim-client'] !== 'scenario') return answerWorldRequest(this.#worlds, world, request, incoming)
    // A number is enough to read the response to another client, so a poll is guarded as the control plane is.
    const rejection =
      this.#access.checkToken(incoming.incoming) ?? (isPoll(headers) ? originGuard(incoming.incoming) : undefined)
    return rejection === undefined
      ? this.#pollingClients.answer(world, request, incoming)
      : this.#reject(world, rejection)
  }

  #answerControl(request: Request, incoming: ServerRequest, worldPath: WorldPath | undefined): Answered {
    const worlds = this.#worlds
    const target = worldPath?.path ?? incoming.path
    const pathname = target.split('?', 1)[0]!
    // Health and the root reveal nothing worth a token, and probes have none.
    const page = request.method === 'GET' ? this.#answerPage(pathname, worldPath) : undefined
    const isOpen = page !== undefined || pathname === '/' || pathname === '/_sim/health' || pathname === '/_sim/health/'
    const rejection =
      (pathname === '/' ? undefined : originGuard(incoming.incoming)) ??
      (isOpen ? undefined : this.#access.checkToken(incoming.incoming))
    if (rejection !== undefined) return this.#reject(worlds.default, rejection)
    if (page !== undefined) return page.then(withSecurityHeaders)
    const world =
      worldPath === undefined
        ? selectWorld(worlds, request, pathname, this.#access.controlToken)
        : worlds.get(worldPath.name)
    if (world === undefined) return worldNotFound(worlds, worldPath!.name)
    if (world instanceof Response) return withSecurityHeaders(world)
    incoming.path = target
    incoming.world = world
    const response = world.trackUse(() => this.#control.answer(world.sim, request, incoming))
    if (!(response instanceof Promise)) return withSecurityHeaders(response)
    const isMove = request.method === 'POST' && MOVE_PATH.test(pathname)
    return (isMove ? incoming.trackMove(response) : response).then(answer => {
      if (incoming.mayStream) incoming.trackStream()
      return withSecurityHeaders(answer)
    })
  }

  /** The files of the control room are not secret: the page asks for the control token itself. */
  #answerPage(pathname: string, worldPath: WorldPath | undefined): Promise<Response> | undefined {
    if (!pathname.startsWith(PAGE_PATH)) return undefined
    if (worldPath === undefined) return this.#pageFiles.answer(pathname)
    const headers = { location: `${PAGE_PATH}#/?world=${encodeURIComponent(worldPath.name)}` }
    return pathname === PAGE_PATH ? Promise.resolve(new Response(null, { status: 302, headers })) : undefined
  }

  #reject(world: ServedWorld, { status, message }: GuardRefusal): Response {
    return withSecurityHeaders(serverResponse(world, status, message))
  }
}
