/**
 * From a request to its answer: route, faults around the rest, authentication, validation, handler, response.
 *
 * A request enters its world in one synchronous step, when its body is complete. What takes no body is answered
 * without a promise.
 */
import * as z from 'zod'
import type { Polled } from '../cluster/unfinished.ts'
import {
  type AnyEndpoint,
  Bytes,
  Deferred,
  type ErrorShape,
  Events,
  type Fields,
  Invalid,
  JsonText,
  type Operations,
  type Patience,
  pathsOf,
  Refused,
} from './endpoint.ts'
import { parseBody } from './json-body.ts'
import { readForm, readUpload, type Upload, unreadable } from './multipart.ts'
import { Router } from './router.ts'
import type { ScriptedAnswer } from './scripted.ts'
import { strangersIn } from './strangers.ts'
import { loadTokenizer, tokenizer } from './tokenizer.ts'
import { type Detail, details, notPermitted, type Place } from './validation.ts'
import type { EndpointWords, Wording } from './wording.ts'

/** Asks for answers in the neutral words, whatever names the world has, with the value `neutral`. */
export const NAMES_HEADER = 'x-sim-names'

/** Largest JSON body in bytes. */
export const MAX_JSON_BYTES = 64 * 1_048_576

/** What a door knows of a request beside the request. */
export interface Call {
  /** Where the caller is; 127.0.0.1 unless said. */
  clientAddress?: string | undefined
  /** Path and query below the base address, where the request's own URL has a prefix. */
  path?: string | undefined
  /** Reads a header, where the door rewrites some. */
  header?: ((name: string) => string | null) | undefined
  /** Called when the request takes its place, right before its one step: to move the clock, or to wait in a queue. */
  enter?: (() => void | Promise<void>) | undefined
  /** What is answered in place of a model. */
  scripted?: ((model: string, words: string) => ScriptedAnswer | undefined) | undefined
  /** How the client waits for an answer that takes time; it does not unless said. */
  patience?: Patience | undefined
  /** Hears of the request when it has been answered. */
  received?: ((request: Received) => void) | undefined
}

/** A request that was answered. */
export interface Received {
  readonly operation: string
  readonly method: string
  /** Path and query below the base address, as they came. */
  readonly path: string
  readonly status: number
  /** The body as text; undefined where there was none, or it was an upload. */
  readonly text: string | undefined
  /** What of it nothing reads, where the world looks for that. */
  readonly unread?: readonly string[]
}

/** A request on its way, as faults see it. */
export interface Passage<Context> {
  context: Context
  operation: string
  endpoint: AnyEndpoint
  method: string
  path: string
  params: Readonly<Record<string, string>>
  /** The query without its question mark. */
  search: string
  request: Request
  call: Call
  /**
   * Puts a request into the journal that never reaches its endpoint; the status is 0 where the client gets none. Where it
   * has a body, a promise: until that is read for whoever looks at what was asked.
   */
  record(status: number, cause: number): void | Promise<void>
  /** Answers in the endpoint's place, in its own error shape. */
  refuse(status: number, message: string, headers?: Readonly<Record<string, string>>): Response
  /** Answers in the endpoint's place with a text that is no JSON. */
  page(status: number, text: string, contentType: string): Response
  /** A place in the endpoint's answer as the client finds it: its fields by the names that the world has for them. */
  spelled(steps: readonly string[]): readonly string[]
}

/** How a request goes on to its endpoint, where faults have a hand in it. */
export interface Way<Context> {
  /** Another copy of the request, where its body has to be read twice. */
  request?: Request
  /** Position in the journal of what the request is caused by. */
  cause?: number
  /** What the endpoint looks at in place of the context; who is asking is judged by the context all the same. */
  seen?: Context
}

export type Proceed<Context> = (way?: Way<Context>) => Response | Promise<Response>

/** Wraps everything behind the route: faults of the wire. */
export type Around<Context> = (passage: Passage<Context>, proceed: Proceed<Context>) => Response | Promise<Response>

export interface PipelineOptions<Context, Scope> {
  operations: Operations<Scope>
  /** Judges who is asking and returns what handlers get besides their input. Throws `Refused`. */
  admit(context: Context, endpoint: AnyEndpoint, header: (name: string) => string | null, call: Call): Scope
  /** Milliseconds since 1970 of the context's time, for the `Date` header. */
  time(context: Context): number
  /** Opens and closes a request in the journal; `operation` is `''` where no route matched. */
  open?(context: Context, operation: string, method: string, path: string, cause?: number): unknown
  close?(context: Context, entry: unknown, status: number): void
  /** A request that was closed as a success while its answer was waited for came to another end. */
  amend?(entry: unknown, status: number): void
  /** What handlers get when they look at another context than the one that judged who is asking. */
  look?(scope: Scope, seen: Context): Scope
  /** The names of the world, where it has some. */
  wording?: Wording | undefined
  /** Refuses query parameters that are not declared; otherwise they are ignored, as unknown fields of a body are. */
  strictQuery?: boolean
  /** Refuses fields of a body that are not declared, and tells of all that nothing reads. */
  strictRequests?: boolean
  /** Hears of what no handler should throw; the caller gets a 500. */
  onBug?(error: unknown, operation: string): void
}

export interface Pipeline<Context> {
  /** Answers a request; at once where it has no body. `around` stands around everything behind the route. */
  answer(context: Context, request: Request, call?: Call, around?: Around<Context>): Response | Promise<Response>
  /** The operation a method and path lead to. */
  operationOf(method: string, path: string): string | undefined
  /** The things whose progress a request looks at; undefined for one that looks at none. */
  polledBy(method: string, target: string): Polled | undefined
}

/** An operation with what can be settled before the first request. */
interface Prepared {
  operation: string
  endpoint: AnyEndpoint
  params: z.ZodObject | undefined
  query: z.ZodObject | undefined
  /** The query when there is none, where that is valid. */
  emptyQuery: unknown
  readsBody: boolean
  /** The names that requests may have beside the neutral ones. */
  hears: EndpointWords | undefined
  /** The names that answers have. */
  speaks: EndpointWords | undefined
}

type Payload = { text: string } | { fields: Record<string, string> } | { refused: Refused } | Upload | undefined

/** Routers by what they were made from: neither changes, and a process makes many pipelines of them. */
const routers = new WeakMap<object, Router<Prepared>>()

function routerOf(operations: object, wording: Wording | undefined): Router<Prepared> {
  const made = routers.get(wording ?? operations)
  if (made !== undefined) return made
  const prepared = Object.entries(operations).map(([operation, endpoint]) =>
    prepare(operation, endpoint as AnyEndpoint, wording),
  )
  const router = new Router(
    prepared.flatMap(one => {
      const { method } = one.endpoint
      const paths = pathsOf(one.endpoint)
      const named = wording === undefined ? paths : paths.flatMap(path => wording.paths(path))
      return named.map(each => [{ method, path: each }, one] as const)
    }),
  )
  routers.set(wording ?? operations, router)
  return router
}

export function createPipeline<Context, Scope extends object>(
  options: PipelineOptions<Context, Scope>,
): Pipeline<Context> {
  const { wording } = options
  const router = routerOf(options.operations, wording)
  let dateSecond = Number.NaN
  let dateText = ''

  return { answer, operationOf, polledBy }

  function answer(
    context: Context,
    request: Request,
    call: Call = {},
    around?: Around<Context>,
  ): Response | Promise<Response> {
    const { method } = request
    const target = call.path ?? pathOf(request.url)
    const mark = target.indexOf('?')
    const path = mark < 0 ? target : target.slice(0, mark)
    const match = router.match(method, path)
    if (match === undefined) return astray(context, method, path, call, 404, 'Not Found')
    if ('allow' in match) {
      return astray(context, method, path, call, 405, 'Method Not Allowed', { allow: match.allow.join(', ') })
    }
    const search = mark < 0 ? '' : target.slice(mark + 1)
    if (wording !== undefined) {
      const { one, params, path: neutral } = heard(wording, match.target, match.params, path, request, call)
      return pass(context, request, call, one, neutral, params, search, around)
    }
    return pass(context, request, call, match.target, path, match.params, search, around)
  }

  function pass(
    context: Context,
    request: Request,
    call: Call,
    one: Prepared,
    path: string,
    params: Readonly<Record<string, string>>,
    search: string,
    around: Around<Context> | undefined,
  ): Response | Promise<Response> {
    if (around === undefined) return run(context, request, call, one, path, params, search, {})
    const { method } = request
    const { operation, endpoint } = one
    const passage: Passage<Context> = {
      ...{ context, operation, endpoint, method, path, params, search, request, call },
      record(status, cause) {
        options.close?.(context, options.open?.(context, operation, method, path, cause), status)
        const asked = one.hears === undefined ? target(path, search) : (call.path ?? pathOf(request.url))
        const tell = (text?: string) => call.received?.({ operation, method, path: asked, status, text })
        if (call.received === undefined || endpoint.body === undefined || request.body === null) return tell()
        return request.text().then(tell, () => tell())
      },
      refuse: (status, message, headers) =>
        whole(method, failure(context, one, refusedByFault(status, message, headers), NOTHING)),
      spelled: steps => one.speaks?.returns.spelled(steps) ?? steps,
      page(status, text, contentType) {
        const headers = { 'content-type': contentType, date: dateOf(context) }
        return whole(method, new Response(text, { status, headers }))
      },
    }
    return around(passage, (way = {}) => run(context, way.request ?? request, call, one, path, params, search, way))
  }

  function operationOf(method: string, path: string): string | undefined {
    const match = router.match(method, path)
    return match !== undefined && 'target' in match ? match.target.operation : undefined
  }

  function polledBy(method: string, target: string): Polled | undefined {
    const match = router.match(method, target.split('?', 1)[0]!)
    return match !== undefined && 'target' in match ? match.target.endpoint.polls?.(match.params) : undefined
  }

  /** A request that no route leads anywhere still is a request of its world. */
  function astray(
    context: Context,
    method: string,
    path: string,
    call: Call,
    status: number,
    detail: string,
    headers?: Record<string, string>,
  ): Response | Promise<Response> {
    const respond = () => {
      const entry = options.open?.(context, '', method, path)
      options.close?.(context, entry, status)
      return whole(method, json(context, status, JSON.stringify({ detail }), headers))
    }
    const waiting = call.enter?.()
    return waiting instanceof Promise ? waiting.then(respond) : respond()
  }

  function run(
    context: Context,
    request: Request,
    call: Call,
    one: Prepared,
    path: string,
    params: Readonly<Record<string, string>>,
    search: string,
    way: Way<Context>,
  ): Response | Promise<Response> {
    const serveWith = (payload: Payload) => serve(context, request, call, one, path, params, search, payload, way)
    // What happens in the world on the way to this request's moment may fail; it must not fail without an answer.
    const failed = (error: unknown) => {
      if (error instanceof Unanswered) throw error.cause
      return failure(context, one, error, NOTHING)
    }
    if (one.readsBody || isLacking(one.endpoint)) return later().catch(failed)
    let waiting: void | Promise<void>
    try {
      waiting = call.enter?.()
    } catch (error) {
      return failed(error)
    }
    return waiting instanceof Promise ? waiting.then(() => serveWith(undefined)).catch(failed) : serveWith(undefined)

    async function later(): Promise<Response> {
      // Judged now as well, so that nobody makes us read half a gigabyte without a token.
      const scope = admitted(context, request, call, one.endpoint)
      const payload = scope instanceof Refused ? { refused: scope } : await read(request, call, one.endpoint, scope)
      if (isLacking(one.endpoint)) await loadTokenizer()
      await call.enter?.()
      return serveWith(payload)
    }
  }

  function admitted(context: Context, request: Request, call: Call, endpoint: AnyEndpoint): Scope | Refused {
    try {
      return options.admit(context, endpoint, headerReader(request, call), call)
    } catch (error) {
      // What is no refusal is a bug; it comes again, and is told, when the request takes its place.
      return error instanceof Refused ? error : new Refused(500, String(error))
    }
  }

  function serve(
    context: Context,
    request: Request,
    call: Call,
    one: Prepared,
    path: string,
    params: Readonly<Record<string, string>>,
    search: string,
    payload: Payload,
    way: Way<Context>,
  ): Response | Promise<Response> {
    const { operation, endpoint } = one
    const sent = { params, search, text: payload !== undefined && 'text' in payload ? payload.text : undefined }
    const strange = options.strictRequests ? strangers(one, request, call, search, payload) : undefined
    const entry = options.open?.(context, operation, request.method, path, way.cause)
    const finish = (response: Response): Response => {
      options.close?.(context, entry, response.status)
      return told(response)
    }
    const told = (response: Response): Response => {
      call.received?.({
        operation,
        method: request.method,
        path: one.hears === undefined ? target(path, search) : (call.path ?? pathOf(request.url)),
        status: response.status,
        text: sent.text,
        ...(strange !== undefined && { unread: strange.map(({ loc }) => spoken(loc, one)) }),
      })
      return whole(request.method, response)
    }
    const deferred = (value: Deferred<unknown>): Response | Promise<Response> => {
      const settled = value.settle(call.patience ?? AT_ONCE)
      if (!(settled instanceof Promise)) return finish(success(context, one, settled))
      // Its step is over, and others take theirs while its client waits.
      options.close?.(context, entry, 200)
      return settled
        .then(
          answer => success(context, one, answer),
          (error: unknown) => {
            // A client that left, or a world that is gone: nobody is there to be answered.
            if (!(error instanceof Refused)) throw new Unanswered(error)
            return failure(context, one, error, sent)
          },
        )
        .then(response => {
          if (response.status !== 200) options.amend?.(entry, response.status)
          return told(response)
        })
    }
    try {
      const judged = options.admit(context, endpoint, headerReader(request, call), call)
      const scope = way.seen === undefined ? judged : (options.look?.(judged, way.seen) ?? judged)
      const valid = validate(one, params, search, payload, options.strictQuery ?? false)
      const input = strange === undefined ? valid : strictly(valid, strange, one)
      if (Array.isArray(input)) return finish(invalid(context, one, input, sent))
      const value = endpoint.handle(Object.assign(input, { request }, scope) as never)
      if (value instanceof Deferred) return deferred(value)
      if (!(value instanceof Promise)) return finish(success(context, one, value))
      return value
        .then(settled => finish(success(context, one, settled)))
        .catch((error: unknown) => finish(failure(context, one, error, sent)))
    } catch (error) {
      return finish(failure(context, one, error, sent))
    }
  }

  function success(context: Context, { endpoint, speaks }: Prepared, value: unknown): Response {
    if (value instanceof JsonText) return json(context, 200, speaks?.returns.outwardText(value.text) ?? value.text)
    if (value instanceof Events) return new Response(value.body, { headers: { ...EVENTS, date: dateOf(context) } })
    if (value instanceof Bytes) return bytes(value, { 'content-type': endpoint.produces, date: dateOf(context) })
    return json(context, 200, JSON.stringify(speaks === undefined ? value : speaks.returns.outward(value)))
  }

  function invalid(context: Context, { speaks }: Prepared, detail: readonly Detail[], sent: Sent): Response {
    const told = speaks === undefined ? detail : speaks.details(detail, sent)
    return json(context, 422, JSON.stringify({ detail: told }))
  }

  function failure(context: Context, one: Prepared, error: unknown, sent: Sent): Response {
    if (error instanceof Refused) {
      const body = error.body ?? errorBody(one.endpoint.errors, error.message)
      const told = one.speaks === undefined ? body : one.speaks.refusal(body, sent)
      return json(context, error.status, JSON.stringify(told), error.headers)
    }
    if (error instanceof Invalid) {
      return invalid(context, one, [{ loc: [...error.loc], msg: error.message, type: error.type }], sent)
    }
    options.onBug?.(error, one.operation)
    const headers = { 'x-sim-error': headerSafe(`${one.operation}: ${String(error)}`) }
    return json(context, 500, JSON.stringify({ detail: 'Internal Server Error' }), headers)
  }

  function json(context: Context, status: number, text: string, more?: Readonly<Record<string, string>>): Response {
    const headers = { 'content-type': 'application/json', date: dateOf(context) }
    return new Response(text, { status, headers: more === undefined ? headers : { ...headers, ...more } })
  }

  function dateOf(context: Context): string {
    const second = Math.floor(options.time(context) / 1000)
    if (second !== dateSecond) {
      dateSecond = second
      dateText = new Date(second * 1000).toUTCString()
    }
    return dateText
  }
}

/**
 * A request in neutral words: the journal has no others. Whoever asks for neutral answers gets them: the typed client,
 * which is the same whatever names a world has.
 */
function heard(
  wording: Wording,
  found: Prepared,
  named: Readonly<Record<string, string>>,
  path: string,
  request: Request,
  call: Call,
): { one: Prepared; params: Readonly<Record<string, string>>; path: string } {
  const params = found.hears!.params.inward(named) as Readonly<Record<string, string>>
  let neutral = wording.neutralPath(path, found.endpoint)
  for (const [name, value] of Object.entries(params)) {
    // What is one of some words needs no escapes.
    if (value !== named[name]) neutral = neutral.replace(`/${named[name]}`, `/${value}`)
  }
  const one = headerReader(request, call)(NAMES_HEADER) === 'neutral' ? { ...found, speaks: undefined } : found
  return { one, params, path: neutral }
}

function prepare(operation: string, endpoint: AnyEndpoint, wording: Wording | undefined): Prepared {
  const words = wording?.of(endpoint)
  const query = Object.keys(endpoint.query).length > 0 ? z.object(endpoint.query) : undefined
  const empty = query?.safeParse({})
  return {
    operation,
    endpoint,
    params: Object.values(endpoint.params).every(isPlainString) ? undefined : z.object(endpoint.params),
    query,
    emptyQuery: empty?.success ? Object.freeze(empty.data) : undefined,
    readsBody: endpoint.body !== undefined || endpoint.upload !== undefined,
    hears: words,
    speaks: words,
  }
}

/** Any string will do: nothing to check per request. */
function isPlainString(schema: z.ZodType): boolean {
  return schema instanceof z.ZodString && (schema.def.checks ?? []).length === 0
}

function isLacking(endpoint: AnyEndpoint): boolean {
  return endpoint.needs.includes('tokenizer') && tokenizer() === undefined
}

/** The input of `handle`, or every issue: path, query, body. */
function validate(
  one: Prepared,
  params: Readonly<Record<string, string>>,
  search: string,
  payload: Payload,
  strictQuery: boolean,
): { params: unknown; query: unknown; body: unknown; upload: unknown } | Detail[] {
  const issues: Detail[] = []
  let typedParams: unknown = params
  if (one.params !== undefined) {
    typedParams = { ...params, ...(parse('path', one.params, params, issues) as object) }
  }
  let query: unknown = EMPTY
  if (strictQuery && search !== '') issues.push(...unknownParameters(search, one.endpoint.query))
  if (one.query !== undefined) {
    query =
      search === '' && one.emptyQuery !== undefined
        ? one.emptyQuery
        : parse('query', one.query, queryOf(search, one), issues)
  }
  let body: unknown
  let upload: unknown
  if (payload !== undefined) {
    if ('refused' in payload) throw payload.refused
    if ('issues' in payload) issues.push(...payload.issues)
    else if ('fields' in payload) body = parseFields(one, payload.fields, issues)
    else if ('form' in payload) upload = parseForm(one, payload.form, issues)
    else body = parseText(one, payload.text, issues)
  }
  return issues.length > 0 ? issues : { params: typedParams, query, body, upload }
}

/** All that a client sent and nothing reads. */
function strangers(one: Prepared, request: Request, call: Call, search: string, payload: Payload): Detail[] {
  const fields = payload !== undefined && 'fields' in payload ? JSON.stringify(payload.fields) : undefined
  const text = payload !== undefined && 'text' in payload ? payload.text : fields
  const form = payload !== undefined && 'form' in payload ? payload.form.fields : undefined
  const found = strangersIn(one.endpoint, { search, text, form }, one.hears)
  if (one.readsBody || request.method === 'GET' || request.method === 'HEAD') return found
  return hasBody(request, headerReader(request, call))
    ? [...found, { loc: ['body'], msg: 'no body is read here', type: 'extra_forbidden' }]
    : found
}

function hasBody(request: Request, header: (name: string) => string | null): boolean {
  const length = header('content-length')
  if (length !== null) return Number(length) > 0
  // What came over a connection has a host, and announces its body; the server has a body for every POST all the same.
  return header('host') === null ? request.body !== null : header('transfer-encoding') !== null
}

/** A body with fields that nothing reads is refused; what else is not read is only told of. */
function strictly(
  input: ReturnType<typeof validate>,
  strange: readonly Detail[],
  { readsBody }: Prepared,
): typeof input {
  const fields = readsBody ? strange.filter(({ loc }) => loc[0] === 'body') : []
  if (fields.length === 0) return input
  return Array.isArray(input) ? [...input, ...fields] : [...fields]
}

/** `body hub.repo`, by the names that the client has. */
function spoken([place, ...steps]: readonly string[], { speaks }: Prepared): string {
  const spelled = place === 'body' && speaks !== undefined ? (speaks.body?.spelled(steps) ?? steps) : steps
  return [place, ...(spelled.length > 0 ? [spelled.join('.')] : [])].join(' ')
}

const EMPTY = Object.freeze({})

const EVENTS = { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-cache' } as const

/** What a client sent, for messages that may quote it. */
export interface Sent {
  readonly params: Readonly<Record<string, string>>
  readonly search: string
  readonly text: string | undefined
}

/** Where a refusal quotes nothing that a client sent. */
const NOTHING: Sent = Object.freeze({ params: {}, search: '', text: undefined })
/** A request that ends without an answer: its client sees the cause. */
class Unanswered extends Error {
  constructor(cause: unknown) {
    super('no answer', { cause })
  }
}

/** Nobody waits, so what only time can bring never comes. */
const AT_ONCE: Patience = {
  isInstant: true,
  now: () => 0,
  wait: (_, signal) => new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
}

function parse(place: Place, schema: z.ZodType, value: unknown, issues: Detail[]): unknown {
  const result = schema.safeParse(value)
  if (result.success) return result.data
  // Reporting the input costs; only a refusal needs it.
  const found = schema.safeParse(value, { reportInput: true }).error?.issues ?? result.error.issues
  issues.push(...details(place, found, schema))
  return undefined
}

function parseText({ endpoint, hears }: Prepared, text: string, issues: Detail[]): unknown {
  const parsed = parseBody(text)
  if ('value' in parsed) {
    const value = hears === undefined ? parsed.value : hears.body!.inward(parsed.value)
    return parse('body', endpoint.body!, value, issues)
  }
  issues.push(parsed.issue)
  return undefined
}

function parseFields({ endpoint, hears }: Prepared, fields: Record<string, string>, issues: Detail[]): unknown {
  return parse('body', endpoint.body!, hears === undefined ? fields : hears.body!.inward(fields), issues)
}

function parseForm(
  { endpoint, hears }: Prepared,
  form: Extract<Upload, { form: unknown }>['form'],
  issues: Detail[],
): unknown {
  const fields = hears === undefined ? form.fields : hears.form!.inward(form.fields)
  const values = parse('body', z.object(endpoint.upload!.fields as Fields), fields, issues)
  if (form.file !== undefined) return Object.assign({}, values, { file: form.file, files: form.files })
  const { part = 'file' } = endpoint.upload!
  const msg = 'Value error, the part should be a file: give it a filename'
  issues.push(
    form.fileAsText
      ? { loc: ['body', part], msg, type: 'value_error' }
      : { loc: ['body', part], msg: 'Field required', type: 'missing' },
  )
  return undefined
}

/** The declared parameters; of one that is given twice the last counts. */
function queryOf(search: string, { endpoint, hears }: Prepared): unknown {
  const query: Record<string, string> = {}
  const fields = endpoint.query
  if (hears === undefined) {
    for (const [name, value] of new URLSearchParams(search)) if (Object.hasOwn(fields, name)) query[name] = value
    return query
  }
  return hears.query.inward(Object.fromEntries(new URLSearchParams(search)))
}

function unknownParameters(search: string, fields: Fields): Detail[] {
  const known = Object.keys(fields)
  const unknown = [...new Set(new URLSearchParams(search).keys())].filter(name => !known.includes(name))
  return unknown.map(name => ({ loc: ['query', name], ...notPermitted(name, known) }))
}

async function read(request: Request, call: Call, endpoint: AnyEndpoint, scope: unknown): Promise<Payload> {
  const header = headerReader(request, call)
  const encoding = header('content-encoding') ?? 'identity'
  if (encoding !== 'identity') {
    const told = 'Unsupported Media Type: send the body as it is, not compressed'
    return { refused: detail(415, told, { 'accept-encoding': 'identity' }) }
  }
  const contentType = header('content-type')
  if (endpoint.upload !== undefined) {
    const { part, fields, limit, limitFor } = endpoint.upload
    const required = requiredOf((fields ?? {}) as Fields)
    return readUpload(request, contentType, { part, required, limit: limit(scope as never), limitFor })
  }
  if (endpoint.consumes === 'form') return readForm(request, contentType)
  if (/^\s*(multipart\/|application\/x-www-form-urlencoded)/i.test(contentType ?? '')) {
    return { refused: unreadable(['application/json']) }
  }
  if (Number(header('content-length') ?? 0) > MAX_JSON_BYTES)
    return { refused: detail(413, 'Request Entity Too Large') }
  try {
    // Only a chunked body can be longer than it says.
    if (header('transfer-encoding') === null) return { text: await request.text() }
    return await readCounted(request)
  } catch {
    return { refused: detail(400, 'There was an error parsing the body') }
  }
}

function requiredOf(fields: Fields): string[] {
  return Object.keys(fields).filter(name => !fields[name]!.safeParse(undefined).success)
}

async function readCounted(request: Request): Promise<Payload> {
  const reader = request.body?.getReader()
  const decoder = new TextDecoder()
  let text = ''
  let bytes = 0
  while (reader !== undefined) {
    const { done, value } = await reader.read()
    if (done) break
    bytes += value.length
    if (bytes > MAX_JSON_BYTES) {
      reader.cancel().catch(() => {})
      return { refused: detail(413, 'Request Entity Too Large') }
    }
    text += decoder.decode(value, { stream: true })
  }
  return { text: text + decoder.decode() }
}

function target(path: string, search: string): string {
  return search === '' ? path : `${path}?${search}`
}

function headerReader(request: Request, call: Call): (name: string) => string | null {
  return call.header ?? (name => request.headers.get(name))
}

function detail(status: number, message: string, headers?: Readonly<Record<string, string>>): Refused {
  return new Refused(status, message, headers, { detail: message })
}

function errorBody(shape: ErrorShape, message: string): unknown {
  if (shape === 'simple') return { error: message }
  return { detail: shape === 'detail' ? message : { error: message } }
}

/** Path and query of an absolute URL, without parsing the rest of it. */
export function pathOf(url: string): string {
  const start = url.indexOf('/', url.indexOf('://') + 3)
  if (start < 0) return '/'
  const hash = url.indexOf('#', start)
  return hash < 0 ? url.slice(start) : url.slice(start, hash)
}

/** What a method gets of an answer: HEAD its head. */
function whole(method: string, response: Response): Response {
  return method === 'HEAD' ? new Response(null, { status: response.status, headers: response.headers }) : response
}

/** The service's 422 lists what is wrong field by field; every other refusal has the endpoint's shape. */
function refusedByFault(
  status: number,
  message: string,
  headers: Readonly<Record<string, string>> | undefined,
): Refused {
  const body = status === 422 ? { detail: [{ loc: ['body'], msg: message, type: 'value_error' }] } : undefined
  return new Refused(status, message, headers, body)
}

function bytes(answer: Bytes, headers: Record<string, string>): Response {
  const { chunks } = answer
  if (chunks.length < 2) return new Response((chunks[0] ?? null) as Uint8Array<ArrayBuffer> | null, { headers })
  let next = 0
  const stream = new ReadableStream<Uint8Array>({
    pull(controller) {
      if (next < chunks.length) controller.enqueue(chunks[next++]!)
      else controller.close()
    },
  })
  const length = chunks.reduce((sum, chunk) => sum + chunk.length, 0)
  return new Response(stream, { headers: { ...headers, 'content-length': String(length) } })
}

/** Header values are printable ASCII. */
function headerSafe(message: string): string {
  return message.replaceAll(/[^\x20-\x7e]/g, '?').slice(0, 200)
}
