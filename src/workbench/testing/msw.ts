/** Transport: the simulator as MSW handlers, for `setupServer` and `setupWorker`. */

import { http } from 'msw'
import { escapeRegExp } from '../../lib/patterns.ts'
import { toPathAndQuery } from '../../service/http/request-context.ts'
import { WireFaultResponse } from '../../simulator/faults/wire-faults.ts'
import type { Simulator } from '../../simulator/simulator.ts'

/** Bodies that MSW can copy without blocking the client. */

/**
 * Returns the same response with a body whose copies do not wait for each other. If a stream is teed, cancelling one half
 * ends only when the other half is cancelled too. MSW 2 tees every response and never reads its half. A client that awaits
 * the cancellation, as the openai package does before it retries, would wait forever, and the world would not notice.
 * Here the first copy that reads pulls each piece. A cancelled copy cancels the body unless another copy is being read.
 */
function withTeeableBody(answer: Response): Response {
  if (answer.body === null) return answer
  return new Response(createCopy(new SharedBody(answer.body), 0), answer)
}

/** What came of a body, for all its copies. */
class SharedBody {
  readonly #body: ReadableStream<Uint8Array<ArrayBuffer>>
  #reader: ReadableStreamDefaultReader<Uint8Array<ArrayBuffer>> | undefined
  readonly #chunks: Uint8Array<ArrayBuffer>[] = []
  #pendingRead: Promise<void> | undefined
  #isDone = false
  /** Copies that have a reader. */
  readonly #activeCopies = new Set<object>()

  constructor(body: ReadableStream<Uint8Array<ArrayBuffer>>) {
    this.#body = body
  }

  /** A piece by its place, when it is there; undefined past the last. */
  async chunkAt(index: number, copy: object): Promise<Uint8Array<ArrayBuffer> | undefined> {
    this.#activeCopies.add(copy)
    while (index >= this.#chunks.length && !this.#isDone) {
      // What fails once has failed for every copy.
      this.#pendingRead ??= this.#readNext()
      await this.#pendingRead
    }
    return this.#chunks[index]
  }

  async cancelCopy(copy: object, reason: unknown): Promise<void> {
    this.#activeCopies.delete(copy)
    if (this.#isDone || this.#activeCopies.size > 0) return
    this.#isDone = true
    await (this.#reader ?? this.#body).cancel(reason)
  }

  async #readNext(): Promise<void> {
    this.#reader ??= this.#body.getReader()
    const { done, value } = await this.#reader.read()
    if (done) this.#isDone = true
    else if (value.length > 0) this.#chunks.push(value)
    this.#pendingRead = undefined
  }
}

function createCopy(shared: SharedBody, start: number): ReadableStream<Uint8Array<ArrayBuffer>> {
  let index = start
  const copy = {}
  const stream = new ReadableStream({
    type: 'bytes',
    async pull(controller) {
      const chunk = await shared.chunkAt(index, copy)
      if (chunk !== undefined) {
        index++
        // Enqueueing transfers the buffer, so each copy gets its own. `slice` of a Buffer makes no copy.
        controller.enqueue(new Uint8Array(chunk))
        return
      }
      controller.close()
      // A reader with its own buffer waits for this.
      controller.byobRequest?.respond(0)
    },
    cancel: reason => shared.cancelCopy(copy, reason),
  })
  const tee = (): ReturnType<typeof stream.tee> => [createCopy(shared, index), createCopy(shared, index)]
  return Object.assign(stream, { tee })
}

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
    if (request.url.startsWith('data:')) return
    print.error()
    // In newer versions of MSW 2, the line above only prints, and the request would go to the network. They turn this
    // answer into a network error, and other errors into an answer with 500.
    throw Response.error()
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
 * @throws RangeError if `baseUrl` is not an absolute http address, or has a query, a fragment or a wildcard
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
  const isHttp = url !== undefined && /^https?:$/.test(url.protocol)
  if (isHttp && !/[?#*]/.test(baseUrl)) return url
  const problem = isHttp ? 'it has a query, a fragment or a wildcard' : 'it is not an http address'
  throw new RangeError(
    `Failed to make handlers for '${baseUrl}': ${problem}. Give one, as in 'https://api.example.test/v9'.`,
  )
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
