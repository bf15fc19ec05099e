/** The context of a request after routing. */
import type { Micros } from '../../kernel/duration.ts'
import type { DecidedBy, RequestEntry } from '../../kernel/journal.ts'
import type { ScriptedAnswer } from '../openai/scripted-answers.ts'
import type { ResponseWaiter } from '../results.ts'
import type { CompiledOperation } from './compiled-operation.ts'
import type { Exchange } from './exchange.ts'
import type { IncomingRequest } from './incoming-request.ts'

/** If a request has this header with the value `neutral`, its response has the neutral names. */
export const NAMES_HEADER = 'x-sim-names'

/** How a request reaches its endpoint, if a fault changes it. */
export interface NextOptions<Backend> {
  /** Another copy of the request, if its body has to be read twice. */
  readonly request?: Request
  /** Position in the journal of the entry that causes the request. */
  readonly cause?: number
  /** The backend that the handler reads. Authentication uses the backend of the context. */
  readonly handlerBackend?: Backend
  /** The status that the client gets in place of the endpoint's; 0 for no response. */
  readonly deliveredStatus?: number
}

/** What a simulator does with the requests of its clients. One object serves all of them. */
export interface RequestHooks<Backend> {
  /**
   * Called right before the one step of a request: moves the clock, or waits in a queue.
   *
   * @param operationId undefined if no route matches
   */
  enter?(backend: Backend, operationId: string | undefined): void | Promise<void>
  /** Creates the waiter of a client. Default: only the end of the request ends the wait. */
  createWaiter?(context: RequestContext<Backend>): ResponseWaiter
  /** Called when a request waits for code that is loaded on first use. */
  onLoading?(code: Promise<void>): void
  /** Called with each request after it was answered. One that was in progress at a reset has the `backend` of before. */
  onAnswered?(exchange: Exchange, backend: Backend): void
  /** Returns the scripted answer to a prompt, if a rule matches. */
  findScriptedAnswer?(model: string, words: string): ScriptedAnswer | undefined
  /** Wraps everything behind the route: faults of the wire. */
  middleware?(context: RequestContext<Backend>, next: Next<Backend>): Response | Promise<Response>
}

export const NO_HOOKS: RequestHooks<never> = Object.freeze({})

export type Next<Backend> = (options?: NextOptions<Backend>) => Response | Promise<Response>

export type Middleware<Backend> = NonNullable<RequestHooks<Backend>['middleware']>

/** What a context needs of its pipeline. */
export interface ContextHost<Backend> {
  recordUnhandled(context: RequestContext<Backend>, status: number, cause?: number): void | Promise<void>
  isAuthenticated(context: RequestContext<Backend>): boolean
  refuse(
    context: RequestContext<Backend>,
    status: number,
    message: string,
    headers?: Readonly<Record<string, string>>,
  ): Response
  respondText(context: RequestContext<Backend>, status: number, text: string, contentType: string): Response
}

/** A request whose operation is known. */
export class RequestContext<Backend = unknown> {
  readonly backend: Backend
  readonly request: Request
  readonly incoming: IncomingRequest
  readonly operation: CompiledOperation
  /** Without the query, in the neutral names. */
  readonly path: string
  /** In the neutral names. */
  readonly params: Readonly<Record<string, string>>
  /** The query without its question mark. */
  readonly search: string
  readonly hooks: RequestHooks<Backend>
  readonly #host: ContextHost<Backend>
  /** Position in the journal of the entry that causes the request. */
  readonly cause: number | undefined
  /** The backend that the handler reads in place of `backend`. */
  readonly handlerBackend: Backend | undefined
  /** The status that the client gets in place of the endpoint's. */
  readonly deliveredStatus: number | undefined
  /** The body as text; undefined for no body and for an upload. */
  text: string | undefined
  seq: number | undefined
  sentAt: Micros | undefined
  client = ''
  retryAfter: Micros | undefined
  /** Fields that nothing reads, as in `body hub.repo`; undefined unless the world looks for them. */
  unread: readonly string[] | undefined
  decidedBy: DecidedBy = 'none'
  reason: string | undefined
  /** Whether the response goes to the transport as it is made. */
  isDirect = false
  #waiter: ResponseWaiter | undefined

  constructor(
    host: ContextHost<Backend>,
    hooks: RequestHooks<Backend>,
    backend: Backend,
    request: Request,
    incoming: IncomingRequest,
    operation: CompiledOperation,
    path: string,
    params: Readonly<Record<string, string>>,
    search: string,
    { cause, handlerBackend, deliveredStatus }: NextOptions<Backend> = NO_OPTIONS,
  ) {
    this.#host = host
    this.hooks = hooks
    this.backend = backend
    this.request = request
    this.incoming = incoming
    this.operation = operation
    this.path = path
    this.params = params
    this.search = search
    this.cause = cause
    this.handlerBackend = handlerBackend
    this.deliveredStatus = deliveredStatus
  }

  /** Returns the context of the same request with the changes of a fault. */
  with(options: NextOptions<Backend>): RequestContext<Backend> {
    const { hooks, backend, incoming, operation, path, params, search } = this
    const request = options.request ?? this.request
    const host = this.#host
    const context = new RequestContext(
      host,
      hooks,
      backend,
      request,
      incoming,
      operation,
      path,
      params,
      search,
      options,
    )
    context.decide(this.decidedBy, this.reason)
    context.client = this.client
    return context
  }

  /** Records what decided the answer. The first decision counts: a fault rule acts before the endpoint. */
  decide(decidedBy: DecidedBy, reason: string | undefined): void {
    if (this.decidedBy !== 'none') return
    this.decidedBy = decidedBy
    this.reason = reason
  }

  /** Notes the entry of the request in the journal; undefined if no journal has it. */
  noteEntry(entry: RequestEntry | undefined): void {
    if (entry === undefined) return
    this.seq = entry.seq
    this.sentAt = entry.time
  }

  /** Returns the request with its end. */
  toExchange(status: number, endedAt: Micros, lastSeq: number): Exchange {
    return {
      operation: this.operationId,
      method: this.method,
      path: this.target,
      text: this.text,
      client: this.client,
      unread: this.unread,
      sentAt: this.sentAt ?? endedAt,
      endedAt,
      status: this.deliveredStatus ?? status,
      retryAfter: this.retryAfter,
      decidedBy: this.decidedBy,
      reason: this.reason,
      seq: this.seq,
      lastSeq,
    }
  }

  get method(): string {
    return this.request.method
  }

  get operationId(): string {
    return this.operation.operationId
  }

  get endpoint(): CompiledOperation['endpoint'] {
    return this.operation.endpoint
  }

  /** Returns the value of a header by its neutral name, or null. */
  header(name: string): string | null {
    const { requestMapping } = this.operation
    for (const vendorName of requestMapping?.names.headers.get(name) ?? []) {
      const value = this.#readHeader(vendorName)
      if (value !== null && value !== '') return value
    }
    return this.#readHeader(name)
  }

  #readHeader(name: string): string | null {
    const { header } = this.incoming
    return header === undefined ? this.request.headers.get(name) : header(name)
  }

  /** Path and query below the base address, as the client sent them. */
  get target(): string {
    if (this.operation.requestMapping !== undefined) return this.incoming.path ?? toPathAndQuery(this.request.url)
    return this.search === '' ? this.path : `${this.path}?${this.search}`
  }

  /** How the client waits for a response that takes time. Created on first use: few responses have to be waited for. */
  get waiter(): ResponseWaiter {
    this.#waiter ??= this.hooks.createWaiter?.(this) ?? ENDLESS_WAITER
    return this.#waiter
  }

  /** Brings the world to the time of the request. Returns a promise if the request has to wait for its turn. */
  enter(): void | Promise<void> {
    const delay = this.incoming.enter?.()
    if (delay !== undefined) return delay.then(() => this.hooks.enter?.(this.backend, this.operationId))
    return this.hooks.enter?.(this.backend, this.operationId)
  }

  /**
   * Records a request that never reaches its endpoint. Returns a promise if the body has to be read for the request log.
   *
   * @param status 0 if the client gets no response
   * @param cause position in the journal of the fault, if one is the cause
   */
  recordUnhandled(status: number, cause?: number): void | Promise<void> {
    return this.#host.recordUnhandled(this, status, cause)
  }

  /** Returns whether the caller may use the endpoint now. */
  isAuthenticated(): boolean {
    return this.#host.isAuthenticated(this)
  }

  /** Returns a refusal in the error shape of the endpoint. */
  refuse(status: number, message: string, headers?: Readonly<Record<string, string>>): Response {
    return this.#host.refuse(this, status, message, headers)
  }

  /** Returns a response in place of the endpoint's whose body is not JSON. */
  respondText(status: number, text: string, contentType: string): Response {
    return this.#host.respondText(this, status, text, contentType)
  }

  /** Returns a place in the endpoint's response by the names that the client has for its fields. */
  toVendorFieldPath(steps: readonly string[]): readonly string[] {
    return this.operation.responseMapping?.returns.toVendorFieldPath(steps) ?? steps
  }
}

/** The waiter without a clock: an event that only time can bring never comes. */
const ENDLESS_WAITER: ResponseWaiter = {
  isInstant: true,
  now: () => 0,
  wait: (_, signal) => new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
}

const NO_OPTIONS: NextOptions<never> = Object.freeze({})

/** Returns path and query of an absolute URL without parsing the rest of it. */
export function toPathAndQuery(url: string): string {
  const start = url.indexOf('/', url.indexOf('://') + 3)
  if (start < 0) return '/'
  const hash = url.indexOf('#', start)
  return hash < 0 ? url.slice(start) : url.slice(start, hash)
}
