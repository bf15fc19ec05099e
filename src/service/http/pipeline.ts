/**
 * From a request to its answer: route, faults around the rest, authentication, validation, handler, response.
 *
 * A request enters its world in one synchronous step, when its body is complete. What takes no body is answered
 * without a promise.
 */
import type { PolledResource } from '../../simulation/reporting/progress.ts'
import { type AnyEndpoint, DeferredResult, type Operations, RefusalError, type ResponseWaiter } from '../endpoint.ts'
import type { VendorMapping } from '../naming/translation.ts'
import { loadTokenizer } from '../openai/tokenizer.ts'
import { type RawBody, readBody } from './body.ts'
import { getRouter } from './compiled-operation.ts'
import {
  createHeaderReader,
  EMPTY_INPUT,
  type IncomingRequest,
  type RequestContext,
  requestTarget,
  toPathAndQuery,
  translateRequest,
} from './request-context.ts'
import { createFaultRefusal, omitBodyForHead, Responses, type ResponsesOptions } from './responses.ts'
import { findUnreadInput, rejectUnknownFields, toVendorLocation, validateInput } from './validate-input.ts'
import { Details } from './validation-errors.ts'

/** A request on its way, as faults see it. */
export interface InterceptedRequest<Backend> {
  backend: Backend
  operationId: string
  endpoint: AnyEndpoint
  method: string
  path: string
  params: Readonly<Record<string, string>>
  /** The query without its question mark. */
  search: string
  request: Request
  incoming: IncomingRequest
  /**
   * Puts a request into the journal that never reaches its endpoint; the status is 0 where the client gets none. Where it
   * has a body, a promise: until that is read for whoever looks at what was asked.
   */
  recordUnhandled(status: number, cause: number): void | Promise<void>
  /** Answers in the endpoint's place, in its own error shape. */
  refuse(status: number, message: string, headers?: Readonly<Record<string, string>>): Response
  /** Answers in the endpoint's place with a text that is no JSON. */
  respondText(status: number, text: string, contentType: string): Response
  /** A place in the endpoint's answer as the client finds it: its fields by the names that the world has for them. */
  toVendorFieldPath(steps: readonly string[]): readonly string[]
}

/** How a request goes on to its endpoint, where faults have a hand in it. */
export interface NextOptions<Backend> {
  /** Another copy of the request, where its body has to be read twice. */
  request?: Request
  /** Position in the journal of what the request is caused by. */
  cause?: number
  /** What the endpoint looks at in place of the context; who is asking is judged by the context all the same. */
  handlerBackend?: Backend
}

export type Next<Backend> = (nextOptions?: NextOptions<Backend>) => Response | Promise<Response>

/** Wraps everything behind the route: faults of the wire. */
export type Middleware<Backend> = (
  intercepted: InterceptedRequest<Backend>,
  next: Next<Backend>,
) => Response | Promise<Response>

export interface PipelineOptions<Backend, Scope> extends ResponsesOptions<Backend> {
  operations: Operations<Scope>
  /** Judges who is asking and returns what handlers get besides their input. Throws `Refused`. */
  createScope(
    backend: Backend,
    endpoint: AnyEndpoint,
    header: (name: string) => string | null,
    incoming: IncomingRequest,
  ): Scope
  /** Opens and closes a request in the journal; `operation` is `''` where no route matched. */
  openEntry?(backend: Backend, operation: string, method: string, path: string, cause?: number): unknown
  closeEntry?(backend: Backend, entry: unknown, status: number): void
  /** A request that was closed as a success while its answer was waited for came to another end. */
  amendEntry?(entry: unknown, status: number): void
  /** What handlers get when they look at another context than the one that judged who is asking. */
  replaceBackend?(scope: Scope, backend: Backend): Scope
  /** The names of the world, where it has some. */
  mapping?: VendorMapping | undefined
  /** Refuses query parameters that are not declared; otherwise they are ignored, as unknown fields of a body are. */
  strictQuery?: boolean
  /** Refuses fields of a body that are not declared, and tells of all that nothing reads. */
  strictRequests?: boolean
}

export interface Pipeline<Backend> {
  /** Answers a request; at once where it has no body. `around` stands around everything behind the route. */
  answer(
    backend: Backend,
    request: Request,
    incoming?: IncomingRequest,
    middleware?: Middleware<Backend>,
  ): Response | Promise<Response>
  /** The operation a method and path lead to. */
  findOperationId(method: string, path: string): string | undefined
  /** The things whose progress a request looks at; undefined for one that looks at none. */
  findPolledResource(method: string, target: string): PolledResource | undefined
}

export function createPipeline<Backend, Scope extends object>(
  options: PipelineOptions<Backend, Scope>,
): Pipeline<Backend> {
  const { mapping } = options
  const router = getRouter(options.operations, mapping)
  const responses = new Responses<Backend>(options)

  return { answer, findOperationId, findPolledResource }

  function answer(
    backend: Backend,
    request: Request,
    incoming: IncomingRequest = {},
    middleware?: Middleware<Backend>,
  ): Response | Promise<Response> {
    const { method } = request
    const target = incoming.path ?? toPathAndQuery(request.url)
    const queryStart = target.indexOf('?')
    const path = queryStart < 0 ? target : target.slice(0, queryStart)
    const match = router.match(method, path)
    if (match === undefined) return respondUnrouted(backend, method, path, incoming, 404, 'Not Found')
    if ('allow' in match) {
      return respondUnrouted(backend, method, path, incoming, 405, 'Method Not Allowed', {
        allow: match.allow.join(', '),
      })
    }
    const search = queryStart < 0 ? '' : target.slice(queryStart + 1)
    const vendorContext = { backend, request, incoming, operation: match.target, path, params: match.params, search }
    const context = mapping === undefined ? vendorContext : translateRequest(mapping, vendorContext)
    return middleware === undefined ? runOperation(context, {}) : runMiddleware(context, middleware)
  }

  function runMiddleware(
    context: RequestContext<Backend>,
    middleware: Middleware<Backend>,
  ): Response | Promise<Response> {
    const { backend, request, incoming, operation: compiled, path, params, search } = context
    const { method } = request
    const { operationId, endpoint } = compiled
    const intercepted: InterceptedRequest<Backend> = {
      ...{ backend, operationId, endpoint, method, path, params, search, request, incoming },
      recordUnhandled(status, cause) {
        options.closeEntry?.(backend, options.openEntry?.(backend, operationId, method, path, cause), status)
        const notify = (text?: string) =>
          incoming.onReceived?.({ operation: operationId, method, path: requestTarget(context), status, text })
        if (incoming.onReceived === undefined || endpoint.body === undefined || request.body === null) return notify()
        return request.text().then(notify, () => notify())
      },
      refuse: (status, message, headers) =>
        omitBodyForHead(method, responses.failure(context, createFaultRefusal(status, message, headers), EMPTY_INPUT)),
      toVendorFieldPath: steps => compiled.responseMapping?.returns.toVendorFieldPath(steps) ?? steps,
      respondText: (status, text, contentType) =>
        omitBodyForHead(method, responses.text(backend, status, text, contentType)),
    }
    return middleware(intercepted, (nextOptions = {}) =>
      runOperation(
        nextOptions.request === undefined ? context : { ...context, request: nextOptions.request },
        nextOptions,
      ),
    )
  }

  function findOperationId(method: string, path: string): string | undefined {
    const match = router.match(method, path)
    return match !== undefined && 'target' in match ? match.target.operationId : undefined
  }

  function findPolledResource(method: string, target: string): PolledResource | undefined {
    const match = router.match(method, target.split('?', 1)[0]!)
    return match !== undefined && 'target' in match
      ? match.target.endpoint.findPolledResource?.(match.params)
      : undefined
  }

  /** A request that no route leads anywhere still is a request of its world. */
  function respondUnrouted(
    backend: Backend,
    method: string,
    path: string,
    incoming: IncomingRequest,
    status: number,
    detail: string,
    headers?: Record<string, string>,
  ): Response | Promise<Response> {
    const respond = () => {
      const entry = options.openEntry?.(backend, '', method, path)
      options.closeEntry?.(backend, entry, status)
      return omitBodyForHead(method, responses.json(backend, status, JSON.stringify({ detail }), headers))
    }
    const waiting = incoming.beforeHandling?.()
    return waiting instanceof Promise ? waiting.then(respond) : respond()
  }

  function runOperation(
    context: RequestContext<Backend>,
    nextOptions: NextOptions<Backend>,
  ): Response | Promise<Response> {
    const { operation, incoming } = context
    if (operation.readsBody || operation.lacksTokenizer) return runAsync(context, nextOptions)
    try {
      const waiting = incoming.beforeHandling?.()
      if (!(waiting instanceof Promise)) {
        const answered = handle(context, undefined, nextOptions)
        return answered instanceof Promise ? answered.catch(error => respondFailure(context, error)) : answered
      }
      return waiting.then(() => handle(context, undefined, nextOptions)).catch(error => respondFailure(context, error))
    } catch (error) {
      return respondFailure(context, error)
    }
  }

  async function runAsync(context: RequestContext<Backend>, nextOptions: NextOptions<Backend>): Promise<Response> {
    try {
      // Judged now as well, so that nobody makes us read half a gigabyte without a token.
      const scope = tryCreateScope(context)
      const rawBody = scope instanceof RefusalError ? { refused: scope } : await readBody(context, scope)
      if (context.operation.lacksTokenizer) await loadTokenizer()
      const waiting = context.incoming.beforeHandling?.()
      if (waiting instanceof Promise) await waiting
      const response = handle(context, rawBody, nextOptions)
      return response instanceof Promise ? await response : response
    } catch (error) {
      return respondFailure(context, error)
    }
  }

  /** What happens in the world on the way to a request's moment may fail; it must not fail without an answer. */
  function respondFailure(context: RequestContext<Backend>, error: unknown): Response {
    if (error instanceof NoAnswerError) throw error.cause
    return responses.failure(context, error, EMPTY_INPUT)
  }

  function tryCreateScope(context: RequestContext<Backend>): Scope | RefusalError {
    try {
      return options.createScope(
        context.backend,
        context.operation.endpoint,
        createHeaderReader(context),
        context.incoming,
      )
    } catch (error) {
      // What is no refusal is a bug; it comes again, and is told, when the request takes its place.
      return error instanceof RefusalError ? error : new RefusalError(500, String(error))
    }
  }

  function handle(
    context: RequestContext<Backend>,
    rawBody: RawBody,
    nextOptions: NextOptions<Backend>,
  ): Response | Promise<Response> {
    const { backend, request, incoming, operation: compiled, path, params, search } = context
    const { operationId, endpoint } = compiled
    const quotable = { params, search, text: rawBody !== undefined && 'text' in rawBody ? rawBody.text : undefined }
    const unreadInput = options.strictRequests ? findUnreadInput(context, rawBody) : undefined
    const entry = options.openEntry?.(backend, operationId, request.method, path, nextOptions.cause)
    const finish = (response: Response): Response => {
      options.closeEntry?.(backend, entry, response.status)
      return notify(response)
    }
    const notify = (response: Response): Response => {
      incoming.onReceived?.({
        operation: operationId,
        method: request.method,
        path: requestTarget(context),
        status: response.status,
        text: quotable.text,
        ...(unreadInput !== undefined && {
          unread: [...unreadInput.query.places, ...unreadInput.body.places].map(loc => toVendorLocation(loc, compiled)),
        }),
      })
      return omitBodyForHead(request.method, response)
    }
    const failure = (error: unknown): Response => {
      let response: Response
      try {
        response = responses.failure(context, error, quotable)
      } catch (thrown) {
        // Whoever hears of bugs may throw, and the request is over all the same.
        options.closeEntry?.(backend, entry, 500)
        throw new NoAnswerError(thrown)
      }
      return finish(response)
    }
    const respondDeferred = (value: DeferredResult<unknown>): Response | Promise<Response> => {
      const result = value.resolve(incoming.waiter ?? INSTANT_WAITER)
      if (!(result instanceof Promise)) return finish(responses.success(context, result))
      // Its step is over, and others take theirs while its client waits.
      options.closeEntry?.(backend, entry, 200)
      return result
        .then(
          answer => responses.success(context, answer),
          (error: unknown) => {
            // A client that left, or a world that is gone: nobody is there to be answered.
            if (!(error instanceof RefusalError)) throw new NoAnswerError(error)
            return responses.failure(context, error, quotable)
          },
        )
        .then(response => {
          if (response.status !== 200) options.amendEntry?.(entry, response.status)
          return notify(response)
        })
    }
    try {
      const ownScope = options.createScope(backend, endpoint, createHeaderReader(context), incoming)
      const scope =
        nextOptions.handlerBackend === undefined
          ? ownScope
          : (options.replaceBackend?.(ownScope, nextOptions.handlerBackend) ?? ownScope)
      const validated = validateInput(context, rawBody, options.strictQuery ?? false)
      const input = unreadInput === undefined ? validated : rejectUnknownFields(validated, unreadInput, compiled)
      if (input instanceof Details) return finish(responses.invalid(context, input.list(), quotable))
      const value = endpoint.handle(Object.assign(input, { request }, scope) as never)
      if (value instanceof DeferredResult) return respondDeferred(value)
      if (!(value instanceof Promise)) return finish(responses.success(context, value))
      return value.then(settled => finish(responses.success(context, settled))).catch(failure)
    } catch (error) {
      return failure(error)
    }
  }
}

/** A request that ends without an answer: its client sees the cause. */
class NoAnswerError extends Error {
  constructor(cause: unknown) {
    super('no answer', { cause })
  }
}

/** Nobody waits, so what only time can bring never comes. */
const INSTANT_WAITER: ResponseWaiter = {
  isInstant: true,
  now: () => 0,
  wait: (_, signal) => new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
}
