/**
 * From a request to its response: route, faults, authentication, body, validation, handler, response.
 *
 * A request enters its world in one synchronous step, after its body has been read. A request without a body is answered
 * without a promise, and so is one whose body the transport has read.
 */
import type { DecidedBy, RequestEntry } from '../../kernel/journal.ts'
import type { PolledResource } from '../../simulation/reporting/progress.ts'
import type { Operations } from '../endpoint.ts'
import type { VendorMapping } from '../naming/translation.ts'
import type { Routes } from '../operation-table.ts'
import { RefusalError } from '../refusals.ts'
import { DeferredResult } from '../results.ts'
import { formParts, OTHER_FORM, type RawBody, readBody, takeReadText } from './bodies/body.ts'
import { type CompiledOperation, getRouter } from './compiled-operation.ts'
import { UNROUTED } from './exchange.ts'
import { type IncomingRequest, NO_INCOMING } from './incoming-request.ts'
import {
  type ContextHost,
  NAMES_HEADER,
  type NextOptions,
  NO_HOOKS,
  RequestContext,
  type RequestHooks,
  toPathAndQuery,
} from './request-context.ts'
import { createFaultRefusal, omitBodyForHead, Responses, type ResponsesOptions } from './responses.ts'
import { translateRoute } from './routed-path.ts'
import type { Router } from './router.ts'
import { findUnreadInput, hasBody, rejectUnknownFields, toUnreadFields, validateInput } from './validate-input.ts'
import { Details } from './validation-errors.ts'

/** A request that ends without a response: its client gets the cause. */
export class NoResponseError extends Error {
  constructor(cause: unknown) {
    super('no response', { cause })
  }
}

/** Ends a request before its first step in the world if its client has left by then. */
export function beginUnlessAborted(signal: AbortSignal): Pick<IncomingRequest, 'onStep'> {
  let hasBegun = false
  return {
    onStep() {
      if (!hasBegun && signal.aborted) throw new NoResponseError(signal.reason)
      hasBegun = true
    },
  }
}

export class Pipeline<Backend, Scope extends object> {
  readonly #options: PipelineOptions<Backend, Scope>
  readonly #router: Router<CompiledOperation>
  readonly #responses: Responses<Backend>
  readonly #contextHost: ContextHost<Backend>

  constructor(options: PipelineOptions<Backend, Scope>) {
    this.#options = options
    this.#router = getRouter(options.operations, options.routes ?? options.operations, options.mapping)
    this.#responses = new Responses(options)
    this.#contextHost = {
      recordUnhandled: (context, status, cause) => this.#recordUnhandled(context, status, cause),
      isAuthenticated: context => !(this.#tryCreateScope(context) instanceof RefusalError),
      refuse: (context, status, message, headers) =>
        omitBodyForHead(context.method, this.#responses.failure(context, createFaultRefusal(status, message, headers))),
      respondText: ({ backend, method }, status, text, contentType) =>
        omitBodyForHead(method, this.#responses.text(backend, status, text, contentType)),
    }
  }

  /** Makes responses keep what they were made of, for `sourceOf`. */
  keepSources(): void {
    this.#responses.keepsSources = true
  }

  /** Answers a request; without a promise if it has no body to read. */
  answer(
    backend: Backend,
    request: Request,
    incoming: IncomingRequest = NO_INCOMING,
    hooks: RequestHooks<Backend> = NO_HOOKS,
  ): Response | Promise<Response> {
    const { method } = request
    const target = incoming.path ?? toPathAndQuery(request.url)
    const queryStart = target.indexOf('?')
    const path = queryStart < 0 ? target : target.slice(0, queryStart)
    const match = this.#router.match(method, path)
    if (match === undefined) return this.#answerUnrouted(backend, hooks, incoming, method, target, 404, 'Not Found')
    if ('allow' in match) {
      const headers = { allow: match.allow.join(', ') }
      return this.#answerUnrouted(backend, hooks, incoming, method, target, 405, 'Method Not Allowed', headers)
    }
    const search = queryStart < 0 ? '' : target.slice(queryStart + 1)
    const context = this.#createContext(backend, hooks, request, incoming, match.target, path, match.params, search)
    const { middleware } = hooks
    context.isDirect = middleware === undefined
    return middleware === undefined
      ? this.#run(context)
      : middleware(context, options => (options === undefined ? this.#run(context) : this.#runFor(context, options)))
  }

  /** Answers a request that a fault changes. */
  #runFor(context: RequestContext<Backend>, options: NextOptions<Backend>): Response | Promise<Response> {
    const { incoming } = context
    const answer = this.#run(context.with(options))
    if (incoming.onTruth === undefined) return answer
    const keep = (truth: Response) => incoming.onTruth!(truth)
    return answer instanceof Promise ? answer.then(keep) : keep(answer)
  }

  /** Returns the operation that a method and a path lead to. */
  findOperationId(method: string, path: string): string | undefined {
    const match = this.#router.match(method, path)
    return match !== undefined && 'target' in match ? match.target.operationId : undefined
  }

  /** Returns the resource whose progress a request reads, or undefined. */
  findPolledResource(method: string, target: string): PolledResource | undefined {
    const match = this.#router.match(method, target.split('?', 1)[0]!)
    return match !== undefined && 'target' in match
      ? match.target.endpoint.findPolledResource?.(match.params)
      : undefined
  }

  #createContext(
    backend: Backend,
    hooks: RequestHooks<Backend>,
    request: Request,
    incoming: IncomingRequest,
    operation: CompiledOperation,
    path: string,
    params: Readonly<Record<string, string>>,
    search: string,
  ): RequestContext<Backend> {
    const { mapping } = this.#options
    const host = this.#contextHost
    if (mapping === undefined) {
      return new RequestContext(host, hooks, backend, request, incoming, operation, path, params, search)
    }
    const namesHeader =
      incoming.header === undefined ? request.headers.get(NAMES_HEADER) : incoming.header(NAMES_HEADER)
    const routed = translateRoute(mapping, { operation, path, params, search }, namesHeader === 'neutral')
    return new RequestContext(
      host,
      hooks,
      backend,
      request,
      incoming,
      routed.operation,
      routed.path,
      routed.params,
      routed.search,
    )
  }

  /** Answers a request that no route matches. It is a request of its world all the same. */
  #answerUnrouted(
    backend: Backend,
    hooks: RequestHooks<Backend>,
    incoming: IncomingRequest,
    method: string,
    target: string,
    status: number,
    detail: string,
    headers?: Record<string, string>,
  ): Response | Promise<Response> {
    const respond = () => {
      incoming.onStep?.(undefined)
      const entry = this.#options.openEntry?.(backend, '', method, target.split('?', 1)[0]!)
      this.#options.closeEntry?.(backend, entry, status, 'none')
      const { now: endedAt } = this.#options.clock(backend)
      const about = { method, path: target, status, reason: detail, seq: entry?.seq, sentAt: entry?.time ?? endedAt }
      const exchange = { ...UNROUTED, ...about, endedAt, lastSeq: this.#lastSeq(backend) }
      hooks.onAnswered?.(exchange, backend)
      incoming.onAnswered?.(exchange)
      return omitBodyForHead(method, this.#responses.json(backend, status, JSON.stringify({ detail }), headers))
    }
    const entering = incoming.enter?.() ?? hooks.enter?.(backend, undefined)
    return entering instanceof Promise ? entering.then(respond) : respond()
  }

  #run(context: RequestContext<Backend>): Response | Promise<Response> {
    const { operation } = context
    const readsBody = operation.readsBody || (this.#options.strictInput === true && hasBody(context))
    const readText = readsBody ? takeReadText(context) : undefined
    if ((readsBody && readText === undefined) || operation.mayLackTokenizer) return this.#runAsync(context)
    try {
      const entering = context.enter()
      if (entering instanceof Promise) return this.#runAfter(entering, context, readText)
      const response = this.#handle(context, readText)
      return response instanceof Promise ? response.catch(error => this.#respondFailure(context, error)) : response
    } catch (error) {
      return this.#respondFailure(context, error)
    }
  }

  async #runAfter(entering: Promise<void>, context: RequestContext<Backend>, body: RawBody): Promise<Response> {
    try {
      await entering
      return await this.#handle(context, body)
    } catch (error) {
      return this.#respondFailure(context, error)
    }
  }

  async #runAsync(context: RequestContext<Backend>): Promise<Response> {
    try {
      // An unauthenticated client must not make the simulator read half a gigabyte.
      const refusalOrScope = this.#tryCreateScope(context)
      const rawBody =
        refusalOrScope instanceof RefusalError ? { refused: refusalOrScope } : await readBody(context, refusalOrScope)
      if (context.operation.mayLackTokenizer) {
        const code = context.operation.loadTokenizer(refusalOrScope, context.params)
        context.hooks.onLoading?.(code)
        await code
      }
      const entering = context.enter()
      if (entering instanceof Promise) await entering
      const response = this.#handle(context, rawBody)
      return response instanceof Promise ? await response : response
    } catch (error) {
      return this.#respondFailure(context, error)
    }
  }

  /** Events on the way to the time of a request may fail. The request is answered all the same. */
  #respondFailure(context: RequestContext<Backend>, error: unknown): Response {
    if (error instanceof NoResponseError) throw error.cause
    return this.#responses.failure(context, error)
  }

  /** Throws RefusalError for a caller who may not send the request. Its body then counts as unread. */
  #createScope(context: RequestContext<Backend>): Scope {
    try {
      return this.#options.createScope(context)
    } catch (error) {
      if (context.incoming.text !== undefined) context.text = undefined
      throw error
    }
  }

  #tryCreateScope(context: RequestContext<Backend>): Scope | RefusalError {
    try {
      return this.#options.createScope(context)
    } catch (error) {
      // Any other error is a bug: it is thrown again, and reported, when the request enters its world.
      return error instanceof RefusalError ? error : new RefusalError(500, String(error))
    }
  }

  /** The one step of a request in its world. */
  #handle(context: RequestContext<Backend>, rawBody: RawBody): Response | Promise<Response> {
    const { backend, operation, request } = context
    const { openEntry, replaceBackend, strictInput, isLax, strictRequests } = this.#options
    if (rawBody !== undefined && 'text' in rawBody) context.text = rawBody.text
    context.incoming.onForm?.(formParts(rawBody))
    context.incoming.onStep?.(rawBody !== undefined && 'bytes' in rawBody ? rawBody.bytes : context.text)
    const entry = openEntry?.(backend, operation.operationId, request.method, context.path, context.cause)
    context.noteEntry(entry)
    try {
      // Authenticates a request with a body a second time: while the body was read, time may have moved, the token may
      // have been deleted, or the world may have been reset.
      const ownScope = this.#createScope(context)
      const { handlerBackend } = context
      const scope = handlerBackend === undefined ? ownScope : (replaceBackend?.(ownScope, handlerBackend) ?? ownScope)
      const bodySchema = operation.bodySchemaFor(scope, context.params)
      const unreadInput = strictRequests ? findUnreadInput(context, rawBody, bodySchema) : undefined
      if (unreadInput !== undefined) context.unread = toUnreadFields(unreadInput, operation)
      const validated = validateInput(context, rawBody, { strictInput, isLax: isLax?.(context.backend) }, bodySchema)
      const input = unreadInput === undefined ? validated : rejectUnknownFields(validated, unreadInput, operation)
      if (input instanceof Details) return this.#finish(context, entry, this.#responses.invalid(context, input.list()))
      const value = operation.endpoint.handle(Object.assign(input, { request }, scope) as never)
      if (value instanceof DeferredResult) return this.#respondDeferred(context, entry, value)
      if (value instanceof Promise) return this.#finishAsync(context, entry, value)
      return this.#finish(context, entry, this.#responses.success(context, value))
    } catch (error) {
      return this.#fail(context, entry, error)
    }
  }

  async #finishAsync(
    context: RequestContext<Backend>,
    entry: RequestEntry | undefined,
    value: Promise<unknown>,
  ): Promise<Response> {
    try {
      return this.#finish(context, entry, this.#responses.success(context, await value))
    } catch (error) {
      return this.#fail(context, entry, error)
    }
  }

  #respondDeferred(
    context: RequestContext<Backend>,
    entry: RequestEntry | undefined,
    value: DeferredResult<unknown>,
  ): Response | Promise<Response> {
    const result = value.resolve(context.waiter)
    if (!(result instanceof Promise)) return this.#finish(context, entry, this.#responses.success(context, result))
    // The step of this request is over: others take theirs while its client waits.
    this.#options.closeEntry?.(context.backend, entry, 200, context.decidedBy)
    return result
      .then(
        value => this.#responses.success(context, value),
        (error: unknown) => {
          // The client has left, or the world is gone: there is no client to answer.
          if (!(error instanceof RefusalError)) {
            this.#options.amendEntry?.(entry, 0, context.decidedBy)
            this.#reportAnswer(context, 0)
            throw new NoResponseError(error)
          }
          return this.#responses.failure(context, error)
        },
      )
      .then(response => {
        const { decidedBy } = context
        if (response.status !== 200) this.#options.amendEntry?.(entry, response.status, decidedBy)
        return this.#deliver(context, entry, response)
      })
  }

  #fail(context: RequestContext<Backend>, entry: RequestEntry | undefined, error: unknown): Response {
    let response: Response
    try {
      response = this.#responses.failure(context, error)
    } catch (thrown) {
      // The user's `onBug` may throw. The request is over all the same.
      this.#options.closeEntry?.(context.backend, entry, 500, context.decidedBy)
      throw new NoResponseError(thrown)
    }
    return this.#finish(context, entry, response)
  }

  #finish(context: RequestContext<Backend>, entry: RequestEntry | undefined, response: Response): Response {
    this.#options.closeEntry?.(context.backend, entry, response.status, context.decidedBy)
    return this.#deliver(context, entry, response)
  }

  #deliver(context: RequestContext<Backend>, entry: RequestEntry | undefined, response: Response): Response {
    this.#responses.nameRequest(context, entry, response)
    this.#reportAnswer(context, response.status)
    return omitBodyForHead(context.method, response)
  }

  #recordUnhandled(context: RequestContext<Backend>, status: number, cause?: number): void | Promise<void> {
    const { openEntry, closeEntry } = this.#options
    const { backend, hooks, incoming, operationId, method, path, endpoint, request } = context
    // Its endpoint does not look at its token. Invalid ones do not matter here.
    const refusalOrScope = this.#tryCreateScope(context)
    const entry = openEntry?.(backend, operationId, method, path, cause)
    context.noteEntry(entry)
    closeEntry?.(backend, entry, status, context.decidedBy)
    if (hooks.onAnswered === undefined && incoming.onAnswered === undefined) return
    if (incoming.onForm !== undefined && OTHER_FORM.test(context.header('content-type') ?? '')) {
      const reading = refusalOrScope instanceof RefusalError ? undefined : readBody(context, refusalOrScope)
      return Promise.resolve(reading).then(body => {
        incoming.onForm!(formParts(body))
        this.#reportAnswer(context, status)
      })
    }
    if (endpoint.body === undefined || request.body === null) return this.#reportAnswer(context, status)
    return request.text().then(
      text => {
        context.text = text
        this.#reportAnswer(context, status)
      },
      () => this.#reportAnswer(context, status),
    )
  }

  #reportAnswer(context: RequestContext<Backend>, status: number): void {
    const { backend, hooks, incoming } = context
    if (hooks.onAnswered === undefined && incoming.onAnswered === undefined) return
    const exchange = context.toExchange(status, this.#options.clock(backend).now, this.#lastSeq(backend))
    hooks.onAnswered?.(exchange, backend)
    incoming.onAnswered?.(exchange)
  }

  #lastSeq(backend: Backend): number {
    return this.#options.lastSeq?.(backend) ?? 0
  }
}

/** What a pipeline knows about the operations that it answers and about its backend. */
interface PipelineOptions<Backend, Scope> extends ResponsesOptions<Backend> {
  readonly operations: Operations<Scope>
  /** The routes of all operations. Default: their declarations, which are then read at once. */
  readonly routes?: Routes
  /** Authenticates a request and returns what its handler gets besides the input. Throws RefusalError. */
  createScope(context: RequestContext<Backend>): Scope
  /** Returns the scope for a handler that reads another backend than the one that authenticated the request. */
  replaceBackend?(scope: Scope, backend: Backend): Scope
  /** Opens a request in the journal; `operationId` is `''` if no route matches. */
  openEntry?(
    backend: Backend,
    operationId: string,
    method: string,
    path: string,
    cause?: number,
  ): RequestEntry | undefined
  closeEntry?(backend: Backend, entry: RequestEntry | undefined, status: number, decidedBy: DecidedBy): void
  /** Changes the status of an entry that was closed as a success while the response was waited for. */
  amendEntry?(entry: RequestEntry | undefined, status: number, decidedBy: DecidedBy): void
  /** Returns the position of the newest entry of the journal. Default: 0. */
  lastSeq?(backend: Backend): number
  /** The names profile of the world. */
  readonly mapping?: VendorMapping | undefined
  /** Refuses undeclared query parameters, and fields where no body is read. Default: they are ignored. */
  readonly strictInput?: boolean
  /** Whether a backend accepts texts of digits as numbers, and `"true"` and `"false"` as booleans. Default: no. */
  isLax?(backend: Backend): boolean
  /** Refuses undeclared fields of a body, and reports everything that nothing reads. */
  readonly strictRequests?: boolean
}
