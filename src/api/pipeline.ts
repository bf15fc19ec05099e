/**
 * From a request to its answer: route, faults around the rest, authentication, validation, handler, response.
 *
 * A request enters its world in one synchronous step, when its body is complete. What takes no body is answered
 * without a promise.
 */
import type { Polled } from '../cluster/unfinished.ts'
import { type Asked, type Call, headerReader, heard, NOTHING, pathOf, targetOf } from './asked.ts'
import { type AnyEndpoint, Deferred, type Operations, type Patience, Refused } from './endpoint.ts'
import { spoken, strangers, strictly, validate } from './input.ts'
import { type Payload, read } from './payload.ts'
import { routerOf } from './prepared.ts'
import { Responses, type ResponsesOptions, refusedByFault, whole } from './responses.ts'
import { loadTokenizer } from './tokenizer.ts'
import { Details } from './validation.ts'
import type { Wording } from './wording.ts'

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

export interface PipelineOptions<Context, Scope> extends ResponsesOptions<Context> {
  operations: Operations<Scope>
  /** Judges who is asking and returns what handlers get besides their input. Throws `Refused`. */
  admit(context: Context, endpoint: AnyEndpoint, header: (name: string) => string | null, call: Call): Scope
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
}

export interface Pipeline<Context> {
  /** Answers a request; at once where it has no body. `around` stands around everything behind the route. */
  answer(context: Context, request: Request, call?: Call, around?: Around<Context>): Response | Promise<Response>
  /** The operation a method and path lead to. */
  operationOf(method: string, path: string): string | undefined
  /** The things whose progress a request looks at; undefined for one that looks at none. */
  polledBy(method: string, target: string): Polled | undefined
}

export function createPipeline<Context, Scope extends object>(
  options: PipelineOptions<Context, Scope>,
): Pipeline<Context> {
  const { wording } = options
  const router = routerOf(options.operations, wording)
  const responses = new Responses<Context>(options)

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
    const named = { context, request, call, one: match.target, path, params: match.params, search }
    const asked = wording === undefined ? named : heard(wording, named)
    return around === undefined ? run(asked, {}) : pass(asked, around)
  }

  function pass(asked: Asked<Context>, around: Around<Context>): Response | Promise<Response> {
    const { context, request, call, one, path, params, search } = asked
    const { method } = request
    const { operation, endpoint } = one
    const passage: Passage<Context> = {
      ...{ context, operation, endpoint, method, path, params, search, request, call },
      record(status, cause) {
        options.close?.(context, options.open?.(context, operation, method, path, cause), status)
        const tell = (text?: string) => call.received?.({ operation, method, path: targetOf(asked), status, text })
        if (call.received === undefined || endpoint.body === undefined || request.body === null) return tell()
        return request.text().then(tell, () => tell())
      },
      refuse: (status, message, headers) =>
        whole(method, responses.failure(asked, refusedByFault(status, message, headers), NOTHING)),
      spelled: steps => one.speaks?.returns.spelled(steps) ?? steps,
      page: (status, text, contentType) => whole(method, responses.page(context, status, text, contentType)),
    }
    return around(passage, (way = {}) =>
      run(way.request === undefined ? asked : { ...asked, request: way.request }, way),
    )
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
      return whole(method, responses.json(context, status, JSON.stringify({ detail }), headers))
    }
    const waiting = call.enter?.()
    return waiting instanceof Promise ? waiting.then(respond) : respond()
  }

  function run(asked: Asked<Context>, way: Way<Context>): Response | Promise<Response> {
    const { one, call } = asked
    if (one.readsBody || one.lacksTokenizer) return later(asked, way)
    try {
      const waiting = call.enter?.()
      if (!(waiting instanceof Promise)) {
        const answered = serve(asked, undefined, way)
        return answered instanceof Promise ? answered.catch(error => failed(asked, error)) : answered
      }
      return waiting.then(() => serve(asked, undefined, way)).catch(error => failed(asked, error))
    } catch (error) {
      return failed(asked, error)
    }
  }

  async function later(asked: Asked<Context>, way: Way<Context>): Promise<Response> {
    try {
      // Judged now as well, so that nobody makes us read half a gigabyte without a token.
      const scope = admitted(asked)
      const payload = scope instanceof Refused ? { refused: scope } : await read(asked, scope)
      if (asked.one.lacksTokenizer) await loadTokenizer()
      const waiting = asked.call.enter?.()
      if (waiting instanceof Promise) await waiting
      const answered = serve(asked, payload, way)
      return answered instanceof Promise ? await answered : answered
    } catch (error) {
      return failed(asked, error)
    }
  }

  /** What happens in the world on the way to a request's moment may fail; it must not fail without an answer. */
  function failed(asked: Asked<Context>, error: unknown): Response {
    if (error instanceof Unanswered) throw error.cause
    return responses.failure(asked, error, NOTHING)
  }

  function admitted(asked: Asked<Context>): Scope | Refused {
    try {
      return options.admit(asked.context, asked.one.endpoint, headerReader(asked), asked.call)
    } catch (error) {
      // What is no refusal is a bug; it comes again, and is told, when the request takes its place.
      return error instanceof Refused ? error : new Refused(500, String(error))
    }
  }

  function serve(asked: Asked<Context>, payload: Payload, way: Way<Context>): Response | Promise<Response> {
    const { context, request, call, one, path, params, search } = asked
    const { operation, endpoint } = one
    const sent = { params, search, text: payload !== undefined && 'text' in payload ? payload.text : undefined }
    const strange = options.strictRequests ? strangers(asked, payload) : undefined
    const entry = options.open?.(context, operation, request.method, path, way.cause)
    const finish = (response: Response): Response => {
      options.close?.(context, entry, response.status)
      return told(response)
    }
    const told = (response: Response): Response => {
      call.received?.({
        operation,
        method: request.method,
        path: targetOf(asked),
        status: response.status,
        text: sent.text,
        ...(strange !== undefined && {
          unread: [...strange.query.places, ...strange.body.places].map(loc => spoken(loc, one)),
        }),
      })
      return whole(request.method, response)
    }
    const failure = (error: unknown): Response => {
      let response: Response
      try {
        response = responses.failure(asked, error, sent)
      } catch (thrown) {
        // Whoever hears of bugs may throw, and the request is over all the same.
        options.close?.(context, entry, 500)
        throw new Unanswered(thrown)
      }
      return finish(response)
    }
    const deferred = (value: Deferred<unknown>): Response | Promise<Response> => {
      const settled = value.settle(call.patience ?? AT_ONCE)
      if (!(settled instanceof Promise)) return finish(responses.success(asked, settled))
      // Its step is over, and others take theirs while its client waits.
      options.close?.(context, entry, 200)
      return settled
        .then(
          answer => responses.success(asked, answer),
          (error: unknown) => {
            // A client that left, or a world that is gone: nobody is there to be answered.
            if (!(error instanceof Refused)) throw new Unanswered(error)
            return responses.failure(asked, error, sent)
          },
        )
        .then(response => {
          if (response.status !== 200) options.amend?.(entry, response.status)
          return told(response)
        })
    }
    try {
      const judged = options.admit(context, endpoint, headerReader(asked), call)
      const scope = way.seen === undefined ? judged : (options.look?.(judged, way.seen) ?? judged)
      const valid = validate(asked, payload, options.strictQuery ?? false)
      const input = strange === undefined ? valid : strictly(valid, strange, one)
      if (input instanceof Details) return finish(responses.invalid(asked, input.list(), sent))
      const value = endpoint.handle(Object.assign(input, { request }, scope) as never)
      if (value instanceof Deferred) return deferred(value)
      if (!(value instanceof Promise)) return finish(responses.success(asked, value))
      return value.then(settled => finish(responses.success(asked, settled))).catch(failure)
    } catch (error) {
      return failure(error)
    }
  }
}

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
