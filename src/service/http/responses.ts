/** Creates the responses of a pipeline: at the time of the world and with its vendor names. */

import type { Micros } from '../../kernel/duration.ts'
import type { RequestEntry } from '../../kernel/journal.ts'
import { WorldReplaced } from '../../kernel/loop.ts'
import { hash32Pair } from '../../kernel/random.ts'
import { byteLengthOf } from '../../lib/bytes.ts'
import { Slices } from '../../lib/slices.ts'
import { splitChunks } from '../../simulation/batches/files.ts'
import type { ErrorShape } from '../endpoint.ts'
import { createMessageErrorBody } from '../messages/error-body.ts'
import type { EndpointMapping, SchemaMapping } from '../naming/endpoint-mapping.ts'
import { createCompatErrorBody } from '../openai/error-body.ts'
import { InvalidInputError, RefusalError } from '../refusals.ts'
import { ByteStream, Bytes, JsonText, ServerSentEvents } from '../results.ts'
import { readRetryAfter } from './exchange.ts'
import type { RequestContext } from './request-context.ts'
import { keepSource, sourceOf } from './response-source.ts'
import type { ValidationDetail } from './validation-errors.ts'

const EVENT_STREAM_HEADERS = {
  'cache-control': 'no-cache',
  'content-type': 'text/event-stream; charset=utf-8',
} as const

export interface ResponsesOptions<Backend> {
  /** Returns the time of the backend: its epoch in milliseconds since 1970, and microseconds since then. */
  clock(backend: Backend): { readonly epochMs: number; readonly now: Micros }
  /** Returns the id of a request from its journal entry, for endpoints whose answers have it in a header. */
  createRequestId?(backend: Backend, entry: RequestEntry | undefined): string
  /** Returns the JSON of an answer for its reader. Default: as it is. A `JsonText` is always sent as it is. */
  show?(backend: Backend, json: string): string
  /** Whether an answer to a GET has an `etag`. A request with this value in `if-none-match` gets a 304 for an equal answer. */
  readonly hasRevisions?: boolean
  /** Called with exceptions that are bugs; the client gets a 500. */
  onBug?(error: unknown, operation: string): void
}

/** The responses of one pipeline. */
export class Responses<Backend> {
  /** Whether responses keep what they were made of, for `sourceOf`. */
  keepsSources = false
  readonly #options: ResponsesOptions<Backend>
  #cachedSecond = Number.NaN
  #cachedDate = ''

  constructor(options: ResponsesOptions<Backend>) {
    this.#options = options
  }

  /** Returns the response for the result of an endpoint. */
  success(context: RequestContext<Backend>, value: unknown): Response {
    const {
      backend,
      incoming,
      operation: { endpoint, responseMapping },
    } = context
    if (value instanceof JsonText)
      return this.json(backend, 200, responseMapping?.returns.toVendorJson(value.text) ?? value.text)
    if (value instanceof ServerSentEvents) {
      incoming.onStreamed?.()
      const event = responseMapping?.event
      const headers = { ...EVENT_STREAM_HEADERS, date: this.#formatDate(backend) }
      if (event === undefined || event.isIdentity) return createStreamResponse(context, value.body, headers)
      return new Response(toStream(value.body).pipeThrough(translateEvents(event)), { headers })
    }
    if (value instanceof ByteStream) {
      incoming.onStreamed?.()
      const headers = { 'content-type': value.contentType, date: this.#formatDate(backend) }
      return createStreamResponse(context, value.body, headers)
    }
    if (value instanceof Bytes) {
      return createBytesResponse(value, {
        'content-type': value.contentType ?? endpoint.produces,
        ...(value.filename !== undefined && { 'content-disposition': toContentDisposition(value.filename) }),
        date: this.#formatDate(backend),
      })
    }
    const vendorValue = responseMapping === undefined ? value : responseMapping.returns.toVendor(value)
    if (endpoint.status === 204)
      return new Response(null, { status: 204, headers: { date: this.#formatDate(backend) } })
    const text = JSON.stringify(vendorValue)
    if (!this.#options.hasRevisions || context.method !== 'GET') return this.#shown(backend, endpoint.status, text)
    const { hi, lo } = hash32Pair(text, 0, 1)
    const etag = `"${hi.toString(16)}-${lo.toString(16)}"`
    if (context.request.headers.get('if-none-match') !== etag)
      return this.#shown(backend, endpoint.status, text, { etag })
    return new Response(null, { status: 304, headers: { etag, date: this.#formatDate(backend) } })
  }

  /** Returns a 422. */
  invalid(context: RequestContext<Backend>, issues: readonly ValidationDetail[]): Response {
    const {
      backend,
      operation: { responseMapping },
    } = context
    const vendorDetail = responseMapping === undefined ? issues : responseMapping.toVendorDetails(issues)
    const [first] = vendorDetail
    context.decide('none', first && `${first.loc.join('.')}: ${first.msg}`)
    return this.#shown(backend, 422, JSON.stringify({ detail: vendorDetail }, ['detail', 'loc', 'msg', 'type']))
  }

  /** Returns the response for an exception: a refusal, 409 if the world was replaced meanwhile, or 500 for a bug. */
  failure(context: RequestContext<Backend>, error: unknown): Response {
    const { backend, operation } = context
    if (error instanceof RefusalError) {
      context.decide(error.decidedBy, error.message)
      context.retryAfter = readRetryAfter(error.headers?.['retry-after'], this.#second(backend) * 1000)
      const neutralBody = createErrorBody(operation.errorShape, operation.withoutOwnBody(error))
      const body = error.isQuoted ? neutralBody : nameMessages(neutralBody, operation.responseMapping)
      return this.#shown(backend, error.status, JSON.stringify(body), error.headers)
    }
    if (error instanceof InvalidInputError) return this.invalid(context, [error.detail])
    if (error instanceof WorldReplaced) return this.json(backend, 409, JSON.stringify({ detail: error.message }))
    this.#options.onBug?.(error, operation.operationId)
    const headers = { 'x-sim-error': toHeaderValue(`${operation.operationId}: ${String(error)}`) }
    return this.json(backend, 500, JSON.stringify({ detail: 'Internal Server Error' }), headers)
  }

  /** Adds the header that names the request, if the endpoint has one. */
  nameRequest(
    { backend, endpoint }: RequestContext<Backend>,
    entry: RequestEntry | undefined,
    response: Response,
  ): void {
    const id = endpoint.requestIdHeader && this.#options.createRequestId?.(backend, entry)
    // The server's class creates its headers when they are first read, which costs a twentieth of a GET.
    if (id === undefined) return
    response.headers.set(endpoint.requestIdHeader!, id)
    const source = sourceOf(response)
    if (source !== undefined) source.headers[endpoint.requestIdHeader!] = id
  }

  #shown(backend: Backend, status: number, text: string, headers?: Readonly<Record<string, string>>): Response {
    return this.json(backend, status, this.#options.show?.(backend, text) ?? text, headers)
  }

  json(backend: Backend, status: number, text: string, extraHeaders?: Readonly<Record<string, string>>): Response {
    const headers = { 'content-type': 'application/json', date: this.#formatDate(backend) }
    const allHeaders = extraHeaders === undefined ? headers : { ...headers, ...extraHeaders }
    const response = new Response(text, { status, headers: allHeaders })
    if (this.keepsSources) keepSource(response, { text, headers: allHeaders })
    return response
  }

  /** Returns a text response that is not JSON. */
  text(backend: Backend, status: number, text: string, contentType: string): Response {
    return new Response(text, { status, headers: { 'content-type': contentType, date: this.#formatDate(backend) } })
  }

  #formatDate(backend: Backend): string {
    const second = this.#second(backend)
    if (second !== this.#cachedSecond) {
      this.#cachedSecond = second
      this.#cachedDate = new Date(second * 1000).toUTCString()
    }
    return this.#cachedDate
  }

  /** The Unix seconds of the time, rounded down. */
  #second(backend: Backend): number {
    const { epochMs, now } = this.#options.clock(backend)
    return Math.floor((epochMs + now / 1000) / 1000)
  }
}

/** Returns the response of a stream. If the transport takes the body, it sends the headers of its source. */
function createStreamResponse(
  { incoming, isDirect, method }: RequestContext,
  body: ServerSentEvents['body'],
  headers: Record<string, string>,
): Response {
  const isTaken = isDirect && method !== 'HEAD' && 'read' in body && (incoming.takeBody?.(body, headers) ?? false)
  if (!isTaken) return new Response(toStream(body), { headers })
  const response = new Response(null, { headers })
  keepSource(response, { text: '', headers })
  return response
}

function toStream(body: ServerSentEvents['body']): ReadableStream<Uint8Array<ArrayBuffer>> {
  return 'read' in body ? body.toStream() : body
}

/** Returns a stream that translates the data of server-sent events. Each chunk has whole events. */
function translateEvents(event: SchemaMapping): TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>> {
  const [decoder, encoder] = [new TextDecoder(), new TextEncoder()]
  return new TransformStream({
    transform(chunk, controller) {
      const text = decoder.decode(chunk)
      controller.enqueue(
        encoder.encode(text.replaceAll(/^data: (\{.*)$/gm, (_, data) => `data: ${event.toVendorJson(data)}`)),
      )
    },
  })
}

/** Returns the response without its body if the method is HEAD. The stream of such a body ends. */
export function omitBodyForHead(method: string, response: Response): Response {
  if (method !== 'HEAD') return response
  void response.body?.cancel()
  return new Response(null, { status: response.status, headers: response.headers })
}

/** Creates the refusal of a fault: a 422 lists issues by field, every other status has the endpoint's error shape. */
export function createFaultRefusal(
  status: number,
  message: string,
  headers: Readonly<Record<string, string>> | undefined,
): RefusalError {
  return new RefusalError(status, message, headers, status === 422 ? createInvalidBody(message) : undefined)
}

/** Returns the header for a file that a client saves. Names beyond ASCII have the form of RFC 6266. */
function toContentDisposition(filename: string): string {
  const ascii = filename.replace(/[^\x20-\x7e]|["\\]/g, '_')
  const exact = ascii === filename ? '' : `; filename*=UTF-8''${encodeURIComponent(filename.toWellFormed())}`
  return `attachment; filename="${ascii}"${exact}`
}

/** Bytes of a body that are sent together. */
const PIECE_BYTES = 65_536

function createBytesResponse(answer: Bytes, headers: Record<string, string>): Response {
  const { chunks } = answer
  const length = byteLengthOf(chunks)
  const wholeHeaders = { ...headers, 'content-length': String(length) }
  if (length <= PIECE_BYTES && chunks.length < 2) {
    return new Response((chunks[0] ?? null) as Uint8Array<ArrayBuffer> | null, { headers: wholeHeaders })
  }
  const pieces = splitChunks(chunks, PIECE_BYTES)
  const slices = new Slices()
  const stream = new ReadableStream<Uint8Array>({
    async pull(controller) {
      await slices.turnIfDue()
      const next = pieces.next()
      if (next.done) controller.close()
      // A copy: a reader may change or detach what it gets, and the bytes are those of the world.
      else controller.enqueue(new Uint8Array(next.value))
    },
  })
  const response = new Response(stream, { headers: wholeHeaders })
  return chunks.length === 1 ? withText(response, chunks[0]!) : response
}

/** Makes `text` of a response read the bytes where they are: that of the platform first joins the pieces to a copy. */
function withText(response: Response, bytes: Uint8Array): Response {
  const text = async () => {
    if (response.bodyUsed || response.body === null || response.body.locked)
      return Response.prototype.text.call(response)
    // Of a body that was cloned, the promise waits for the other side.
    response.body.cancel().catch(() => {})
    return new TextDecoder().decode(bytes)
  }
  // As methods of the platform are: what watches a client replaces them.
  return Object.defineProperty(response, 'text', { configurable: true, writable: true, value: text })
}

/** Header values are printable ASCII. */
function toHeaderValue(message: string): string {
  return message.replaceAll(/[^\x20-\x7e]/g, '?').slice(0, 200)
}

/**
 * Returns the body of a refusal in the error shape of its endpoint.
 *
 * A refusal with a body of its own keeps it. In an OpenAI-compatible route and in messages, only a 422 and scripted
 * bodies are kept.
 */
function createErrorBody(
  shape: ErrorShape,
  { status, message, body, isQuoted }: Pick<RefusalError, 'status' | 'message' | 'body' | 'isQuoted'>,
): unknown {
  if (shape === 'compat' || shape === 'message') {
    const keepsBody = isQuoted || status === 422 || (shape === 'compat' && hasErrorObject(body))
    if (body !== undefined && keepsBody) return body
    if (status === 422) return createInvalidBody(message)
    return shape === 'compat' ? createCompatErrorBody(status, message) : createMessageErrorBody(status, message)
  }
  // The core of inference gives its refusals the body of the OpenAI-compatible routes.
  if (body !== undefined && (isQuoted || !hasErrorObject(body))) return body
  if (shape === 'simple') return { error: message }
  return { detail: shape === 'detail' ? message : { error: message } }
}

/** Returns the body of a refusal with the vendor names in its messages. */
function nameMessages(body: unknown, mapping: EndpointMapping | undefined): unknown {
  if (mapping === undefined) return body
  return JSON.parse(JSON.stringify(body), (_, value) =>
    typeof value === 'string' ? mapping.nameMessage(value) : value,
  )
}

/** Returns the body of a 422 that is not about a field. */
function createInvalidBody(message: string): { readonly detail: readonly ValidationDetail[] } {
  return { detail: [{ loc: ['body'], msg: message, type: 'value_error' }] }
}

function hasErrorObject(body: unknown): boolean {
  return typeof body === 'object' && body !== null && typeof (body as { error?: unknown }).error === 'object'
}
