/** Which world of a host a request belongs to, and its tokens on the way in and out. */

import { WorldReplaced } from '../../kernel/loop.ts'
import { tryParseJson } from '../../lib/json-text.ts'
import { type HeaderReader, KEY_HEADER, presentedToken, SECOND_KEY_HEADER } from '../../service/http/authentication.ts'
import type { IncomingRequest } from '../../service/http/incoming-request.ts'
import { WireFaultResponse } from '../../simulator/faults/wire-faults.ts'
import type { Simulator } from '../../simulator/simulator.ts'
import { DEFAULT_WORLD, type ServedWorld } from '../worlds/served-world.ts'
import { type Destination, TooManyWorlds, type Worlds } from '../worlds/worlds.ts'

const WORLD_PATH = /^\/_sim\/worlds\/([^/?]+)(\/[^?].*)$/
const TOKENS_PATH = /^(\/v1\/api-tokens)(?:\/([^/?]+))?(\/?(?:\?.*)?)$/

/** A request to one of several worlds. */
export interface HttpRequest extends IncomingRequest {
  /** Path and query below the address of the world. */
  path: string
  header?: HeaderReader | undefined
  controlPath?: string | undefined
  /** The world that answers it. */
  world?: ServedWorld | undefined
  /** Whether the body of the response may be a stream that follows the clock of the world. */
  mayStream?: boolean
  /** Does to the connection what a response cannot express: the transport's part of a wire fault. */
  deliver?(sim: Simulator, response: Response): Response | Promise<Response>
}

/** A world named in a path, and the path below it: `/_sim/worlds/w1/deploy/list`. */
export interface WorldPath {
  readonly name: string
  readonly path: string
}

/** The world under whose address a path lies; undefined for a path of the root, and for the world itself. */
export function parseWorldPath(path: string): WorldPath | undefined {
  // The cheap look first: it is asked of every request of the control plane.
  if (!path.startsWith('/_sim/worlds/')) return undefined
  const [, name, rest] = WORLD_PATH.exec(path) ?? []
  return name === undefined ? undefined : { name, path: rest! }
}

/** Whether a path below the address of a world belongs to the control plane. */
export function isControlPath(path: string): boolean {
  return path === '/' || path.startsWith('/?') || /^\/_sim(?:[/?]|$)/.test(path)
}

/** The token that a request names, for `Worlds.of`. */
export function tokenOf(request: Request, worlds: Worlds): string | undefined {
  return presentedToken(name => request.headers.get(name), worlds.keyHeaders)
}

/**
 * Answers a request to the service at the root address: its token selects the world. The routing suffix is removed from
 * tokens in the request and added to tokens in the response, so the world never sees it.
 */
export function answerRootRequest(
  worlds: Worlds,
  request: Request,
  incoming: HttpRequest,
): Response | Promise<Response> {
  if (worlds.hasOnlyDefault) return forward(worlds.default, request, incoming)
  const destination = routeOrRefuse(worlds, tokenOf(request, worlds))
  if (destination instanceof Response) return destination
  const { world, isRouted, hint } = destination
  if (!isRouted) return forward(world, request, incoming, response => withHint(response, hint))
  const hasTokens = TOKENS_PATH.test(incoming.path) && request.method !== 'HEAD'
  incoming.path = toWorldPath(world, incoming.path)
  incoming.header = headerReader(world, request)
  return forward(world, request, incoming, hasTokens ? response => withRoutedTokens(world, response) : undefined)
}

/** Returns the world of a token, or the refusal of a new world beyond the maximum. */
function routeOrRefuse(worlds: Worlds, token: string | undefined): Destination | Response {
  try {
    return worlds.route(token)
  } catch (error) {
    if (!(error instanceof TooManyWorlds)) throw error
    return serverResponse(worlds.default, 429, error.message)
  }
}

/** Reads the headers of a request, with credentials as their world knows them. */
function headerReader(world: ServedWorld, { headers }: Request): HeaderReader {
  return name => {
    const value = headers.get(name)
    return isCredential(name, world) ? toWorldHeader(world, value) : value
  }
}

/** Answers a request to the service below a world's own address. The token that leads to it at the root works too. */
export function answerWorldRequest(
  worlds: Worlds,
  world: ServedWorld,
  request: Request,
  incoming: HttpRequest,
): Response | Promise<Response> {
  const token = tokenOf(request, worlds)
  if (token !== undefined && world.toWorldToken(token) !== token) incoming.header = headerReader(world, request)
  return forward(world, request, incoming)
}

type Transform = (response: Response) => Response | Promise<Response>

/** Answers a request by its world and delivers the response. `transform` changes the response before that. */
function forward(
  world: ServedWorld,
  request: Request,
  incoming: HttpRequest,
  transform?: Transform,
): Response | Promise<Response> {
  const { name } = world
  incoming.world = world
  incoming.controlPath = name === DEFAULT_WORLD ? '/_sim' : `/_sim/worlds/${name}/_sim`
  return world.trackUse(() => {
    const response = world.answer(request, incoming)
    if (response instanceof Promise) return forwardAsync(world, request, incoming, response, transform)
    const transformed = transform?.(response) ?? response
    if (transformed instanceof Promise) return forwardAsync(world, request, incoming, transformed)
    return incoming.deliver?.(world.sim, transformed) ?? transformed
  })
}

async function forwardAsync(
  { sim }: ServedWorld,
  request: Request,
  incoming: HttpRequest,
  answering: Promise<Response>,
  transform?: Transform,
): Promise<Response> {
  let response: Response
  try {
    response = await answering
  } catch (error) {
    response = unanswered(sim, `${request.method} ${incoming.path.split('?', 1)[0]}`, error)
  }
  if (transform !== undefined) response = await transform(response)
  return incoming.deliver?.(sim, response) ?? response
}

/** Answers a request whose world was replaced while it waited. Throws every other error again. */
function unanswered({ clock }: Simulator, request: string, error: unknown): Response {
  if (!(error instanceof WorldReplaced)) throw error
  const detail = `Failed to answer ${request}: the world was reset, restored or deleted while the request waited. Send it again.`
  const headers = { 'content-type': 'application/json', date: clock.now.toUTCString(), 'x-sim-error': detail }
  return new Response(JSON.stringify({ detail }), { status: 409, headers })
}

/** An answer of the server itself, at the time of a world. */
export function serverResponse({ sim }: ServedWorld, status: number, error: string, hint?: string): Response {
  const { apiTokens } = sim.world
  const headers = {
    'content-type': 'application/json',
    date: sim.clock.now.toUTCString(),
    ...(hint !== undefined && { 'x-sim-hint': apiTokens.hideSecrets(hint) }),
  }
  return new Response(apiTokens.hideSecrets(JSON.stringify({ error })), { status, headers })
}

/** What concerns the server, whichever world a token selects. */
const SERVER_PATH = /^(?:\/|\/_sim(?:\/(?:health|worlds(?:\/.*)?))?\/?)$/

/** The world that a command at the root address is for: an API token selects it, and without one it is the default. */
export function selectWorld(
  worlds: Worlds,
  request: Request,
  path: string,
  controlToken: string | undefined,
): ServedWorld | Response {
  const token = tokenOf(request, worlds)
  if (worlds.hasOnlyDefault || SERVER_PATH.test(path) || token === undefined || token === controlToken)
    return worlds.default
  const destination = routeOrRefuse(worlds, token)
  if (destination instanceof Response) return destination
  const { world, hint } = destination
  if (hint === undefined) return world
  // A command to a world that is gone must not become one to another world.
  return serverResponse(worlds.default, 404, `Failed to find the world of this token: ${hint}.`, hint)
}

export function worldNotFound(worlds: Worlds, name: string): Response {
  const hint = worlds.explainMissing(name)
  return withSecurityHeaders(serverResponse(worlds.default, 404, `Failed to find the world: ${hint}.`, hint))
}

/** Keeps other origins from loading an answer of the control plane as a script or an image. */
export function withSecurityHeaders(response: Response): Response {
  response.headers.set('cross-origin-resource-policy', 'same-origin')
  response.headers.set('x-content-type-options', 'nosniff')
  return response
}

function isCredential(name: string, { sim }: ServedWorld): boolean {
  return (
    name === 'authorization' || name === KEY_HEADER || name === SECOND_KEY_HEADER || sim.api.keyHeaders.includes(name)
  )
}

function toWorldHeader(world: ServedWorld, value: string | null): string | null {
  return value === null ? null : value.replace(/\S+(?=\s*$)/, token => world.toWorldToken(token))
}

/** A path may name a token by its value: journal and digest shall not learn what leads here. */
function toWorldPath(world: ServedWorld, path: string): string {
  return path.replace(TOKENS_PATH, (whole, prefix: string, token: string | undefined, rest: string) =>
    token === undefined ? whole : `${prefix}/${world.toWorldToken(token)}${rest}`,
  )
}

async function withRoutedTokens(world: ServedWorld, response: Response): Promise<Response> {
  if (response instanceof WireFaultResponse) {
    return new WireFaultResponse(response.outcome, await withRoutedTokens(world, response.withoutFault))
  }
  const { status, headers } = response
  const text = await response.text()
  const isJson = status === 200 && headers.get('content-type') === 'application/json'
  // What a fault garbled is not JSON any more.
  const body = isJson ? tryParseJson(text) : undefined
  if (body === undefined) return new Response(text, { status, headers })
  const withRoutedToken = (record: unknown) =>
    typeof record === 'object' && record !== null && 'token' in record
      ? { ...record, token: world.toRoutedToken(String(record.token)) }
      : record
  return new Response(JSON.stringify(Array.isArray(body) ? body.map(withRoutedToken) : withRoutedToken(body)), {
    status,
    headers,
  })
}

/** Adds a hint to the refusal of a token that another world or address accepts. */
function withHint(response: Response, hint: string | undefined): Response {
  if (hint !== undefined && response.status === 401) response.headers.set('x-sim-hint', hint)
  return response
}
