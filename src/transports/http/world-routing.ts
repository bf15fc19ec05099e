/** Which world of a server a request belongs to, and its tokens on the way in and out. */

import { WireFaultResponse } from '../../faults/broken-response.ts'
import { WorldReplaced } from '../../kernel/world-replaced.ts'
import { tryParseJson } from '../../lib/json-text.ts'
import type { ResponseWaiter } from '../../service/endpoint.ts'
import { KEY_HEADER, presentedToken } from '../../service/http/authentication.ts'
import type { ClockResponseWaiter } from '../../simulator/answer-waiter.ts'
import type { Simulator } from '../../simulator/simulator.ts'
import {
  DEFAULT_WORLD,
  type Destination,
  type ServedWorld,
  TooManyWorlds,
  type Worlds,
} from '../../simulator/worlds.ts'

const WORLD_PATH = /^\/_sim\/worlds\/([^/?]+)(\/[^?].*)$/
const TOKENS_PATH = /^(\/v1\/api-tokens)(?:\/([^/?]+))?(\/?(?:\?.*)?)$/

/** What a door knows of a request beside the request. */
export interface RoutedRequest {
  readonly clientAddress: string | undefined
  readonly path: string
  /** How its client waits for answers of models, where it has another way than the world's own. */
  readonly waiterFor?: ((own: ClockResponseWaiter, sim: Simulator) => ResponseWaiter) | undefined
  /** Does to the connection what an answer of a simulator cannot say: the door's part of a fault of the wire. */
  readonly deliver?: (from: Simulator, answer: Response) => Response | Promise<Response>
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

/** The token that a request names, for `Worlds.of`. */
export function tokenOf(request: Request, worlds: Worlds): string | undefined {
  return presentedToken(name => request.headers.get(name), worlds.keyHeaders)
}

/**
 * Answers a request to the service at the root address: its token tells the world. What leads there is taken from
 * tokens on the way in and put on those in the answer, so the world never sees it.
 */
export function answerRootRequest(
  worlds: Worlds,
  request: Request,
  incoming: RoutedRequest,
): Response | Promise<Response> {
  if (worlds.hasOnlyDefault)
    return worlds.default.trackUse(() =>
      deliverResponse(worlds.default, incoming, forward(worlds.default, request, incoming)),
    )
  let destination: Destination
  try {
    destination = worlds.route(tokenOf(request, worlds))
  } catch (error) {
    if (!(error instanceof TooManyWorlds)) throw error
    return serverResponse(worlds.default, 429, error.message)
  }
  const { world, isRouted, hint } = destination
  if (!isRouted)
    return world.trackUse(() => deliverResponse(world, incoming, withHint(forward(world, request, incoming), hint)))
  const readHeader = (name: string) => request.headers.get(name)
  const header = (name: string) =>
    isCredential(name, world) ? toWorldHeader(world, readHeader(name)) : readHeader(name)
  return world.trackUse(() => {
    const response = forward(world, request, { ...incoming, path: toWorldPath(world, incoming.path) }, header)
    const hasTokens = TOKENS_PATH.test(incoming.path) && request.method !== 'HEAD'
    const routedResponse = hasTokens
      ? Promise.resolve(response).then(response => withRoutedTokens(world, response))
      : response
    return deliverResponse(world, incoming, routedResponse)
  })
}

/** Answers a request to the service below a world's own address, where tokens are as the world knows them. */
export function answerWorldRequest(
  worlds: Worlds,
  world: ServedWorld,
  request: Request,
  incoming: RoutedRequest,
): Response | Promise<Response> {
  const hint = tokenOf(request, worlds)?.endsWith(`.${world.name}`)
    ? `leave .${world.name} out below base_url`
    : undefined
  return world.trackUse(() => deliverResponse(world, incoming, withHint(forward(world, request, incoming), hint)))
}

function forward(
  { name, sim }: ServedWorld,
  request: Request,
  { clientAddress, path, waiterFor }: RoutedRequest,
  header?: (name: string) => string | null,
): Response | Promise<Response> {
  const controlPath = name === DEFAULT_WORLD ? '/_sim' : `/_sim/worlds/${name}/_sim`
  // By the address that was asked, as for the base_url of a world.
  const controlUrl = () => `${new URL(request.url).origin}${controlPath}`
  const answered = sim.answer(request, { clientAddress, path, waiterFor, header, control: controlUrl })
  if (!(answered instanceof Promise)) return answered
  return answered.catch((error: unknown) => unanswered(sim, `${request.method} ${path.split('?', 1)[0]}`, error))
}

/** Answers a request whose world was replaced while it waited. Throws every other error again. */
function unanswered({ clock }: Simulator, request: string, error: unknown): Response {
  if (!(error instanceof WorldReplaced)) throw error
  const detail = `Failed to answer ${request}: the world was reset, restored or deleted while the request waited. Send it again.`
  const headers = { 'content-type': 'application/json', date: clock.now.toUTCString(), 'x-sim-error': detail }
  return new Response(JSON.stringify({ detail }), { status: 500, headers })
}

function deliverResponse(
  { sim }: ServedWorld,
  { deliver }: RoutedRequest,
  response: Response | Promise<Response>,
): Response | Promise<Response> {
  if (deliver === undefined) return response
  return response instanceof Promise ? response.then(response => deliver(sim, response)) : deliver(sim, response)
}

/** An answer of the server itself, at the time of a world. */
export function serverResponse({ sim }: ServedWorld, status: number, error: string, hint?: string): Response {
  const headers = {
    'content-type': 'application/json',
    date: sim.clock.now.toUTCString(),
    ...(hint !== undefined && { 'x-sim-hint': hint }),
  }
  return new Response(JSON.stringify({ error }), { status, headers })
}

function isCredential(name: string, { sim }: ServedWorld): boolean {
  return name === 'authorization' || name === KEY_HEADER || name === sim.api.keyHeader
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
  // What a fault garbled is no JSON any more.
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

/** A token that is refused here and good elsewhere: the refusal stays as it is, and a header says so. */
function withHint(response: Response | Promise<Response>, hint: string | undefined): Response | Promise<Response> {
  if (hint === undefined) return response
  if (response instanceof Promise) return response.then(response => withHint(response, hint))
  if (response.status === 401) response.headers.set('x-sim-hint', hint)
  return response
}
