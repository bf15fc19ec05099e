/** The service's API over a world: `Request` in, `Response` out. */
import type { Polled } from '../cluster/unfinished.ts'
import type { World } from '../cluster/world.ts'
import { type Call, NAMES_HEADER, pathOf } from './asked.ts'
import { authenticate, KEY_HEADER } from './auth.ts'
import type { ApiScope, Operations } from './endpoint.ts'
import { documented, operations } from './index.ts'
import { namedDocument } from './named-document.ts'
import type { Names } from './names.ts'
import { openapi } from './openapi.ts'
import { type Around, createPipeline } from './pipeline.ts'
import { Wording } from './wording.ts'

export interface ApiOptions {
  /** Serves the endpoints that the interface document does not have but its lifecycles need. On by default. */
  neighbours?: boolean | undefined
  /** The names that paths, headers and bodies have for clients; the neutral ones unless given. */
  names?: Names | undefined
  /** Refuses fields of a body that are not declared. */
  strictRequests?: boolean | undefined
  /** Hears of exceptions that are bugs of ours; the caller gets a 500 with `x-sim-error`. */
  onBug?: ((error: unknown, operation: string) => void) | undefined
}

export interface Api {
  /** The operations it serves, by operation id. */
  readonly operations: Operations<ApiScope>
  /**
   * Answers a request to a world; at once, without a promise, where the request has no body to read.
   *
   * @param around faults of the wire, where there are any
   * @example await api.answer(world, new Request('http://sim/v1/voices', { headers: { authorization: 'Bearer …' } }))
   */
  answer(world: World, request: Request, call?: Call, around?: Around<World>): Response | Promise<Response>
  /** The operation a method and path lead to, undefined where none does. */
  operationOf(method: string, path: string): string | undefined
  /** The header that takes a token beside `Authorization`, by the name that clients have for it. */
  readonly keyHeader: string
  /** Every path under which an operation of this one is served: the neutral one, and that of the names. */
  pathsOf(path: string): readonly string[]
  /** The things whose progress a request looks at; undefined for one that looks at none. */
  polledBy(method: string, target: string): Polled | undefined
}

const LOCALHOST = '127.0.0.1'
const NOTHING_SCRIPTED = () => undefined
const OPENAPI_PATH = '/openapi.json'

/** @throws RangeError for names that have a meaning already where they would stand */
export function createApi(options: ApiOptions = {}): Api {
  const served: Operations<ApiScope> = options.neighbours === false ? documented : operations
  const wording = options.names && wordingOf(options.names, served)
  const pipeline = createPipeline<World, ApiScope>({
    operations: served,
    admit: (world, endpoint, header, call) => ({
      world,
      token: authenticate(world.store, endpoint.auth, header, call.clientAddress ?? LOCALHOST),
      scripted: call.scripted ?? NOTHING_SCRIPTED,
    }),
    time,
    look: (scope, world) => ({ ...scope, world }),
    open: (world, operation, method, path, cause) => world.openRequest(operation, method, path, cause),
    amend: (entry, status) => {
      ;(entry as ReturnType<World['openRequest']>).fields.status = status
    },
    close: (world, entry, status) => world.closeRequest(entry as ReturnType<World['openRequest']>, status),
    wording,
    ...(options.strictRequests && { strictRequests: true }),
    ...(options.onBug && { onBug: options.onBug }),
  })
  const documents = new Map<Wording | undefined, string>()
  const describe = (world: World, said: Wording | undefined): Response => {
    let text = documents.get(said)
    if (text === undefined) {
      const document = openapi(served)
      text = JSON.stringify(said === undefined ? document : namedDocument(document, said, served))
      documents.set(said, text)
    }
    const headers = { 'content-type': 'application/json', date: new Date(time(world)).toUTCString() }
    return new Response(text, { headers })
  }
  const answer: Api['answer'] = (world, request, call, around) => {
    if (wording === undefined) {
      return asksForOpenapi(request, call) ? describe(world, undefined) : pipeline.answer(world, request, call, around)
    }
    const header = wording.header(call?.header ?? (name => request.headers.get(name)))
    return asksForOpenapi(request, call)
      ? describe(world, header(NAMES_HEADER) === 'neutral' ? undefined : wording)
      : pipeline.answer(world, request, { ...call, header }, around)
  }

  return {
    operations: served,
    operationOf: pipeline.operationOf,
    keyHeader: wording?.names.header(KEY_HEADER) ?? KEY_HEADER,
    pathsOf: path => wording?.paths(path) ?? [path],
    polledBy: pipeline.polledBy,
    answer,
  }
}

/** What was compiled for some names over some operations: neither changes, and forks share both. */
const wordings = new WeakMap<Names, WeakMap<object, Wording>>()

function wordingOf(names: Names, served: Operations): Wording {
  const known = wordings.get(names) ?? new WeakMap<object, Wording>()
  wordings.set(names, known)
  const wording = known.get(served) ?? new Wording(names, served)
  known.set(served, wording)
  return wording
}

/** Milliseconds since 1970 of a world's time. */
function time(world: World): number {
  return world.clock.epochMs + world.clock.now / 1000
}

function asksForOpenapi(request: Request, call: Call | undefined): boolean {
  const target = call?.path ?? request.url
  // The cheap look first: it is asked of every request.
  return target.endsWith(OPENAPI_PATH) && request.method === 'GET' && (call?.path ?? pathOf(target)) === OPENAPI_PATH
}
