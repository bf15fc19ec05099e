/** What comes of requests, as responses: at the time of the world and in its words. */
import type { Asked, Sent } from './asked.ts'
import { Bytes, type ErrorShape, Events, Invalid, JsonText, Refused } from './endpoint.ts'
import type { Detail } from './validation.ts'

const EVENTS = { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-cache' } as const

export interface ResponsesOptions<Context> {
  /** Milliseconds since 1970 of the context's time, for the `Date` header. */
  time(context: Context): number
  /** Hears of what no handler should throw; the caller gets a 500. */
  onBug?(error: unknown, operation: string): void
}

/** The responses of one pipeline. */
export class Responses<Context> {
  readonly #options: ResponsesOptions<Context>
  #second = Number.NaN
  #date = ''

  constructor(options: ResponsesOptions<Context>) {
    this.#options = options
  }

  /** What an endpoint returned. */
  success({ context, one: { endpoint, speaks } }: Asked<Context>, value: unknown): Response {
    if (value instanceof JsonText) return this.json(context, 200, speaks?.returns.outwardText(value.text) ?? value.text)
    if (value instanceof Events) {
      return new Response(value.body, { headers: { ...EVENTS, date: this.#dateOf(context) } })
    }
    if (value instanceof Bytes) {
      return bytes(value, { 'content-type': endpoint.produces, date: this.#dateOf(context) })
    }
    return this.json(context, 200, JSON.stringify(speaks === undefined ? value : speaks.returns.outward(value)))
  }

  /** A 422. */
  invalid({ context, one: { speaks } }: Asked<Context>, detail: readonly Detail[], sent: Sent): Response {
    const told = speaks === undefined ? detail : speaks.details(detail, sent)
    return this.json(context, 422, JSON.stringify({ detail: told }))
  }

  /** What an endpoint threw: a refusal, or a bug of ours. */
  failure(asked: Asked<Context>, error: unknown, sent: Sent): Response {
    const { context, one } = asked
    if (error instanceof Refused) {
      const body = error.body ?? errorBody(one.endpoint.errors, error.message)
      const told = one.speaks === undefined || error.isQuoted ? body : one.speaks.refusal(body, sent)
      return this.json(context, error.status, JSON.stringify(told), error.headers)
    }
    if (error instanceof Invalid) {
      return this.invalid(asked, [{ loc: [...error.loc], msg: error.message, type: error.type }], sent)
    }
    this.#options.onBug?.(error, one.operation)
    const headers = { 'x-sim-error': headerSafe(`${one.operation}: ${String(error)}`) }
    return this.json(context, 500, JSON.stringify({ detail: 'Internal Server Error' }), headers)
  }

  json(context: Context, status: number, text: string, more?: Readonly<Record<string, string>>): Response {
    const headers = { 'content-type': 'application/json', date: this.#dateOf(context) }
    return new Response(text, { status, headers: more === undefined ? headers : { ...headers, ...more } })
  }

  /** A text that is no JSON. */
  page(context: Context, status: number, text: string, contentType: string): Response {
    return new Response(text, { status, headers: { 'content-type': contentType, date: this.#dateOf(context) } })
  }

  #dateOf(context: Context): string {
    const second = Math.floor(this.#options.time(context) / 1000)
    if (second !== this.#second) {
      this.#second = second
      this.#date = new Date(second * 1000).toUTCString()
    }
    return this.#date
  }
}

/** What a method gets of an answer: HEAD its head. */
export function whole(method: string, response: Response): Response {
  return method === 'HEAD' ? new Response(null, { status: response.status, headers: response.headers }) : response
}

/** The service's 422 lists what is wrong field by field; every other refusal has the endpoint's shape. */
export function refusedByFault(
  status: number,
  message: string,
  headers: Readonly<Record<string, string>> | undefined,
): Refused {
  const body = status === 422 ? { detail: [{ loc: ['body'], msg: message, type: 'value_error' }] } : undefined
  return new Refused(status, message, headers, body)
}

function errorBody(shape: ErrorShape, message: string): unknown {
  if (shape === 'simple') return { error: message }
  return { detail: shape === 'detail' ? message : { error: message } }
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
