/** Which world of a server a request belongs to, and its tokens on the way in and out. */

import { KEY_HEADER, namedToken } from './api/auth.ts'
import type { Patience } from './api/endpoint.ts'
import type { ClientPatience } from './client-patience.ts'
import { BrokenAnswer } from './faults/broken.ts'
import { WorldReplaced } from './kernel/world-replaced.ts'
import type { Simulator } from './simulator.ts'
import { jsonValue } from './store/json-text.ts'
import { DEFAULT_WORLD, type Destination, type ServedWorld, TooManyWorlds, type Worlds } from './worlds.ts'

const BELOW = /^\/_sim\/worlds\/([^/?]+)(\/[^?].*)$/
const TOKENS_PATH = /^(\/v1\/api-tokens)(?:\/([^/?]+))?(\/?(?:\?.*)?)$/

/** What a door knows of a request beside the request. */
export interface Arrival {
  readonly clientAddress: string | undefined
  readonly path: string
  /** How its client waits for answers of models, where it has another way than the world's own. */
  readonly patienceOf?: ((own: ClientPatience, sim: Simulator) => Patience) | undefined
  /** Does to the connection what an answer of a simulator cannot say: the door's part of a fault of the wire. */
  readonly bringAbout?: (from: Simulator, answer: Response) => Response | Promise<Response>
}

/** A world named in a path, and the path below it: `/_sim/worlds/w1/deploy/list`. */
export interface Below {
  readonly name: string
  readonly path: string
}

/** The world under whose address a path lies; undefined for a path of the root, and for the world itself. */
export function worldBelow(path: string): Below | undefined {
  // The cheap look first: it is asked of every request of the control plane.
  if (!path.startsWith('/_sim/worlds/')) return undefined
  const [, name, rest] = BELOW.exec(path) ?? []
  return name === undefined ? undefined : { name, path: rest! }
}

/** The token that a request names, for `Worlds.of`. */
export function tokenOf(request: Request, worlds: Worlds): string | undefined {
  return namedToken(name => request.headers.get(name), worlds.keyHeaders)
}

/**
 * Answers a request to the service at the root address: its token tells the world. What leads there is taken from
 * tokens on the way in and put on those in the answer, so the world never sees it.
 */
export function answerAtRoot(worlds: Worlds, request: Request, arrival: Arrival): Response | Promise<Response> {
  if (worlds.isOne)
    return worlds.default.using(() => delivered(worlds.default, arrival, asked(worlds.default, request, arrival)))
  let to: Destination
  try {
    to = worlds.of(tokenOf(request, worlds))
  } catch (error) {
    if (!(error instanceof TooManyWorlds)) throw error
    return told(worlds.default, 429, error.message)
  }
  const { world, isRouted, hint } = to
  if (!isRouted) return world.using(() => delivered(world, arrival, hinted(asked(world, request, arrival), hint)))
  const read = (name: string) => request.headers.get(name)
  const header = (name: string) => (isCredential(name, world) ? inwardHeader(world, read(name)) : read(name))
  return world.using(() => {
    const answered = asked(world, request, { ...arrival, path: inwardPath(world, arrival.path) }, header)
    const holdsTokens = TOKENS_PATH.test(arrival.path) && request.method !== 'HEAD'
    const told = holdsTokens ? Promise.resolve(answered).then(response => outwardAnswer(world, response)) : answered
    return delivered(world, arrival, told)
  })
}

/** Answers a request to the service below a world's own address, where tokens are as the world knows them. */
export function answerBelow(
  worlds: Worlds,
  world: ServedWorld,
  request: Request,
  arrival: Arrival,
): Response | Promise<Response> {
  const hint = tokenOf(request, worlds)?.endsWith(`.${world.name}`)
    ? `leave .${world.name} out below base_url`
    : undefined
  return world.using(() => delivered(world, arrival, hinted(asked(world, request, arrival), hint)))
}

function asked(
  { name, sim }: ServedWorld,
  request: Request,
  { clientAddress, path, patienceOf }: Arrival,
  header?: (name: string) => string | null,
): Response | Promise<Response> {
  const home = name === DEFAULT_WORLD ? '/_sim' : `/_sim/worlds/${name}/_sim`
  // By the address that was asked, as for the base_url of a world.
  const control = () => `${new URL(request.url).origin}${home}`
  const answered = sim.answer(request, { clientAddress, path, patienceOf, header, control })
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

function delivered(
  { sim }: ServedWorld,
  { bringAbout }: Arrival,
  answered: Response | Promise<Response>,
): Response | Promise<Response> {
  if (bringAbout === undefined) return answered
  return answered instanceof Promise ? answered.then(response => bringAbout(sim, response)) : bringAbout(sim, answered)
}

/** An answer of the server itself, at the time of a world. */
export function told({ sim }: ServedWorld, status: number, error: string, hint?: string): Response {
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

function inwardHeader(world: ServedWorld, value: string | null): string | null {
  return value === null ? null : value.replace(/\S+(?=\s*$)/, token => world.inward(token))
}

/** A path may name a token by its value: journal and digest shall not learn what leads here. */
function inwardPath(world: ServedWorld, path: string): string {
  return path.replace(TOKENS_PATH, (whole, home: string, token: string | undefined, rest: string) =>
    token === undefined ? whole : `${home}/${world.inward(token)}${rest}`,
  )
}

async function outwardAnswer(world: ServedWorld, response: Response): Promise<Response> {
  if (response instanceof BrokenAnswer) {
    return new BrokenAnswer(response.fate, await outwardAnswer(world, response.mended))
  }
  const { status, headers } = response
  const text = await response.text()
  const isJson = status === 200 && headers.get('content-type') === 'application/json'
  // What a fault garbled is no JSON any more.
  const body = isJson ? jsonValue(text) : undefined
  if (body === undefined) return new Response(text, { status, headers })
  const shown = (record: unknown) =>
    typeof record === 'object' && record !== null && 'token' in record
      ? { ...record, token: world.outward(String(record.token)) }
      : record
  return new Response(JSON.stringify(Array.isArray(body) ? body.map(shown) : shown(body)), { status, headers })
}

/** A token that is refused here and good elsewhere: the refusal stays as it is, and a header says so. */
function hinted(answered: Response | Promise<Response>, hint: string | undefined): Response | Promise<Response> {
  if (hint === undefined) return answered
  if (answered instanceof Promise) return answered.then(response => hinted(response, hint))
  if (answered.status === 401) answered.headers.set('x-sim-hint', hint)
  return answered
}
