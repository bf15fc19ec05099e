/** The service's API over a world: `Request` in, `Response` out. */
import type { Polled } from '../cluster/unfinished.ts'
import type { World } from '../cluster/world.ts'
import { authenticate } from './auth.ts'
import type { ApiScope, Operations } from './endpoint.ts'
import { documented, operations } from './index.ts'
import { openapi } from './openapi.ts'
import { type Around, type Call, createPipeline, pathOf } from './pipeline.ts'

export interface ApiOptions {
  /** Serves the endpoints that the interface document does not have but its lifecycles need. On by default. */
  neighbours?: boolean | undefined
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
  /** The things whose progress a request looks at; undefined for one that looks at none. */
  polledBy(method: string, target: string): Polled | undefined
}

const LOCALHOST = '127.0.0.1'
const OPENAPI_PATH = '/openapi.json'

export function createApi(options: ApiOptions = {}): Api {
  const served: Operations<ApiScope> = options.neighbours === false ? documented : operations
  const pipeline = createPipeline<World, ApiScope>({
    operations: served,
    admit: (world, endpoint, header, call) => ({
      world,
      token: authenticate(world.store, endpoint.auth, header, call.clientAddress ?? LOCALHOST),
    }),
    time,
    look: (scope, world) => ({ ...scope, world }),
    open: (world, operation, method, path, cause) => world.openRequest(operation, method, path, cause),
    close: (world, entry, status) => world.closeRequest(entry as ReturnType<World['openRequest']>, status),
    ...(options.onBug && { onBug: options.onBug }),
  })
  let document: string | undefined
  const describe = (world: World): Response => {
    document ??= JSON.stringify(openapi(served))
    const headers = { 'content-type': 'application/json', date: new Date(time(world)).toUTCString() }
    return new Response(document, { headers })
  }

  return {
    operations: served,
    operationOf: pipeline.operationOf,
    polledBy: pipeline.polledBy,
    answer(world, request, call, around) {
      return asksForOpenapi(request, call) ? describe(world) : pipeline.answer(world, request, call, around)
    },
  }
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
