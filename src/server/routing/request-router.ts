/**
 * Which part of a host answers a request: the service of a world, the control plane, or a guard. A host is a server, or a
 * page that runs the simulator itself.
 */
import type { GuardRefusal } from '../control/guards.ts'
import type { Control } from '../control/index.ts'
import type { ServedWorld } from '../worlds/served-world.ts'
import type { Worlds } from '../worlds/worlds.ts'
import type { Cors } from './cors.ts'
import {
  answerRootRequest,
  answerWorldRequest,
  type HttpRequest,
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

/** Paths of commands that can take long: moves of the clock, and requests that the control plane sends. */
const LONG_PATH = /^\/_sim\/(?:clock\/(?:advance|next|until)|requests)\/?$/

/** A request that a router answers, with what its host does while the answer takes long. */
export interface RoutedRequest extends HttpRequest {
  /** Called with the answer to a command that can take long. Returns the answer to deliver. */
  trackCommand?(answer: Promise<Response>): Promise<Response>
  /** Called before a body that is a stream. */
  trackStream?(): void
}

/** Rejects requests that may not reach the host. */
export interface RequestGuards<Incoming> {
  /** Rejects a request to the service that a page of another site could have sent. */
  checkService(incoming: Incoming, hasToken: () => boolean): GuardRefusal | undefined
  /** Rejects a request to the control plane that a page of another site could have sent. */
  checkOrigin(incoming: Incoming): GuardRefusal | undefined
  /** Rejects a request without the control token, if the host requires one. */
  checkToken(incoming: Incoming): GuardRefusal | undefined
}

interface Access<Incoming> {
  /** Default: every request may reach the host, because only its own code can send one. */
  readonly guards?: RequestGuards<Incoming>
  readonly controlToken?: string | undefined
  /** Lets pages of other origins use the service. Default: the host grants them nothing. */
  readonly cors?: Cors | undefined
  /** The files of the control room. Default: the host has none below its address. */
  readonly pageFiles?: PageFiles
}

/** Where the control room is. Below it are its script and its style. */
export const PAGE_PATH = '/_sim/ui'

/** The files of the control room. */
export interface PageFiles {
  /** Returns the answer to a GET below the path of the page; undefined if the path is not one of its files. */
  answer(pathname: string): Promise<Response> | undefined
}

export class RequestRouter<Incoming extends RoutedRequest> {
  readonly #worlds: Worlds
  readonly #control: Control
  readonly #access: Access<Incoming>

  constructor(worlds: Worlds, control: Control, access: Access<Incoming> = {}) {
    this.#worlds = worlds
    this.#control = control
    this.#access = access
  }

  answer(request: Request, incoming: Incoming): Answered {
    const { path } = incoming
    const worldPath = parseWorldPath(path)
    if (isControlPath(worldPath?.path ?? path)) return this.#answerControl(request, incoming, worldPath)
    const { cors } = this.#access
    // The service of a world below /_sim shares its address with the control plane.
    if (cors === undefined || worldPath !== undefined) return this.#answerService(request, incoming, worldPath)
    const preflight = cors.answerPreflight(request)
    if (preflight !== undefined) return preflight
    const answer = cors.allows(headerOf(incoming, request, 'origin'))
      ? answerRootRequest(this.#worlds, request, incoming)
      : this.#answerService(request, incoming, undefined)
    if (answer instanceof Promise) return answer.then(response => cors.withHeaders(request, response))
    return cors.withHeaders(request, answer)
  }

  #answerService(request: Request, incoming: Incoming, worldPath: WorldPath | undefined): Answered {
    const rejection = this.#access.guards?.checkService(incoming, () => tokenOf(request, this.#worlds) !== undefined)
    if (rejection !== undefined) return this.#reject(this.#worlds.default, rejection)
    if (worldPath === undefined) return answerRootRequest(this.#worlds, request, incoming)
    return this.#answerWorld(request, incoming, worldPath)
  }

  #answerWorld(request: Request, incoming: Incoming, { name, path }: WorldPath): Answered {
    const world = this.#worlds.get(name)
    if (world === undefined) return worldNotFound(this.#worlds, name)
    incoming.path = path
    return answerWorldRequest(this.#worlds, world, request, incoming)
  }

  #answerControl(request: Request, incoming: Incoming, worldPath: WorldPath | undefined): Answered {
    const worlds = this.#worlds
    const target = worldPath?.path ?? incoming.path
    const pathname = target.split('?', 1)[0]!
    const isRead = request.method === 'GET' || request.method === 'HEAD'
    const page = isRead ? this.#answerPage(pathname, worldPath) : undefined
    // Health and the root reveal nothing worth a token, and probes have none.
    const isOpen = page !== undefined || pathname === '/' || pathname === '/_sim/health' || pathname === '/_sim/health/'
    const { guards } = this.#access
    const rejection =
      (pathname === '/' ? undefined : guards?.checkOrigin(incoming)) ??
      (isOpen ? undefined : guards?.checkToken(incoming))
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
    const isLong = request.method === 'POST' && LONG_PATH.test(pathname)
    return (isLong ? (incoming.trackCommand?.(response) ?? response) : response).then(answer => {
      if (incoming.mayStream) incoming.trackStream?.()
      return withSecurityHeaders(answer)
    })
  }

  /** The files of the control room are not secret: the page asks for the control token itself. */
  #answerPage(pathname: string, worldPath: WorldPath | undefined): Promise<Response> | undefined {
    if (!pathname.startsWith(PAGE_PATH)) return undefined
    if (worldPath === undefined) return this.#access.pageFiles?.answer(pathname)
    const headers = { location: `${PAGE_PATH}#/?world=${encodeURIComponent(worldPath.name)}` }
    return pathname === PAGE_PATH ? Promise.resolve(new Response(null, { status: 302, headers })) : undefined
  }

  #reject(world: ServedWorld, { status, message }: GuardRefusal): Response {
    return withSecurityHeaders(serverResponse(world, status, message))
  }
}

/** Returns a header, from the fields of the transport if it has them: a `Request` makes its headers with the first read. */
function headerOf({ headerFields }: HttpRequest, request: Request, name: string): string | undefined {
  return headerFields === undefined
    ? (request.headers.get(name) ?? undefined)
    : String(headerFields[name] ?? '') || undefined
}
