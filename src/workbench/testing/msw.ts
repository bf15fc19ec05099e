/** Transport: the simulator as MSW handlers, for `setupServer` and `setupWorker`. */

import { http } from 'msw'
import { escapeRegExp } from '../../lib/escape-regexp.ts'
import { toPathAndQuery } from '../../service/http/request-context.ts'
import { WireFaultResponse } from '../../simulator/faults/broken-response.ts'
import type { Simulator } from '../../simulator/simulator.ts'
import { withTeeableBody } from './teeable-body.ts'

export interface HandlerOptions {
  /** The simulated address of the service, with its path prefix. */
  readonly baseUrl: string
  /** One handler per endpoint, so that they can be listed and removed one by one. Default: one handler for all. */
  readonly perEndpoint?: boolean
  /** Unknown paths: the service's 404, or other handlers and the network. Default: `answer`. */
  readonly unknown?: 'answer' | 'fallthrough'
}

/**
 * What to give to `server.listen()` so that a call which no handler takes fails the test: the option has another name
 * in MSW 2 than in MSW 3, and each ignores the other's.
 *
 * @example beforeAll(() => server.listen(listenOptions))
 */
export const listenOptions = {
  /** A `data:` address sends no request: the openai package fetches one to test its `fetch`. */
  onUnhandledRequest(request: Request, print: { error(): void }): void {
    if (!request.url.startsWith('data:')) print.error()
  },
  onUnhandledFrame: 'error',
} as const

type Handler = ReturnType<typeof http.all>
type Method = 'get' | 'post' | 'put' | 'patch' | 'delete'

const OPENAPI_PATH = '/openapi.json'
const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const

/**
 * Handlers that answer everything below `baseUrl` with the simulator. What `server.use()` puts before them wins.
 *
 * @throws RangeError if `baseUrl` is not an absolute http address
 * @example
 * const server = setupServer(...handlers(sim, { baseUrl: 'https://api.example.test' }))
 * beforeAll(() => server.listen(listenOptions))
 */
export function handlers(sim: Simulator, options: HandlerOptions): Handler[] {
  // JavaScript callers may forget the second argument.
  if (typeof options?.baseUrl !== 'string') {
    throw new RangeError(
      "Failed to make handlers: there is no baseUrl. Give the address of the service, as in handlers(sim, { baseUrl: 'https://api.example.test' }).",
    )
  }
  const base = readBase(options.baseUrl)
  const prefix = base.pathname.replace(/\/+$/, '')
  const basePattern = escapeRegExp(base.origin + prefix)
  const fallsThrough = options.unknown === 'fallthrough'

  const answer = ({ request }: { request: Request }) => {
    const path = toPathAndQuery(request.url).slice(prefix.length)
    const absolutePath = path.startsWith('/') ? path : `/${path}`
    if (fallsThrough && !isServedPath(sim, request.method, absolutePath)) return undefined
    const response = sim.answer(request, { path: absolutePath })
    if (response instanceof Promise) return response.then(answer => toMswResponse(sim, answer, request))
    return toMswResponse(sim, response, request)
  }
  // A regular expression without groups: MSW decodes what groups and wildcards hold, and throws where it cannot.
  const catchAll = http.all(new RegExp(`^${basePattern}(?:/|$)`), answer)
  if (!options.perEndpoint) return [catchAll]

  const endpoints = Object.values(sim.api.routes).sort((a, b) => parameterCount(a.path) - parameterCount(b.path))
  return [
    ...endpoints.flatMap(({ method, path, mirror }) =>
      [path, ...(mirror === undefined ? [] : [mirror])]
        .flatMap(template => sim.api.servedPaths(template))
        .map(endpointPath =>
          http[method.toLowerCase() as Method](new RegExp(`^${basePattern}${toPathPattern(endpointPath)}/?$`), answer),
        ),
    ),
    catchAll,
  ]
}

/** A handler that throws answers 500, so a broken connection is `Response.error()`. */
function toMswResponse(sim: Simulator, answer: Response, request: Request): Response | Promise<Response> {
  if (!(answer instanceof WireFaultResponse)) return withTeeableBody(answer)
  return sim.deliverFault(answer, request).then(withTeeableBody, () => Response.error())
}

/** Whether the service has the path, under this method or another. */
function isServedPath(sim: Simulator, method: string, target: string): boolean {
  const path = target.split('?', 1)[0]!
  if (path === OPENAPI_PATH || sim.api.findOperationId(method, path) !== undefined) return true
  return METHODS.some(other => sim.api.findOperationId(other, path) !== undefined)
}

function readBase(baseUrl: string): URL {
  const { location } = globalThis as { location?: { href: string } }
  const url = URL.canParse(baseUrl, location?.href) ? new URL(baseUrl, location?.href) : undefined
  if (url === undefined || !/^https?:$/.test(url.protocol)) {
    throw new RangeError(
      `Failed to make handlers for '${baseUrl}': it is not an http address. Give one, as in 'https://api.example.test/v9'.`,
    )
  }
  return url
}

/** Literal words win over parameters, so what has fewer parameters comes first. */
function parameterCount(path: string): number {
  return path.split('{').length
}

/** `{model_name}` may hold one slash, raw or escaped; every other parameter is one segment. */
function toPathPattern(path: string): string {
  return path
    .split(/(\{\w+\})/)
    .map(part => {
      if (part === '{model_name}') return '[^/]+(?:/[^/]+)?'
      return part.startsWith('{') ? '[^/]+' : escapeRegExp(part)
    })
    .join('')
}
