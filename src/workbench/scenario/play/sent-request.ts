/** A request that a script sends as it is, and whose answer it can take later. */

import { DAY, type Micros } from '../../../kernel/duration.ts'
import type { PassTime } from './answer-waiting.ts'
import type { ScenarioEnvironment } from './environment.ts'

/** What a request has beside its method and path. */
export interface SendOptions {
  /** Headers. `null` leaves out one that is sent otherwise: `authorization`, or `content-type` of a value. */
  readonly headers?: Readonly<Record<string, string | null>> | undefined
  /** A text or bytes, as they are. Any other value is sent as JSON. */
  readonly body?: unknown
  /** The API token. Default: the first of the world. */
  readonly token?: string | undefined
}

/** The whole answer to a request. */
export interface SentAnswer {
  /** 0: no answer. */
  readonly status: number
  readonly headers: Headers
  /** The body as text, as far as it came. */
  readonly text: string
  /** Whether the body broke off. */
  readonly isBroken: boolean
}

/** A request that a script has sent. */
export interface SentRequest {
  /** Resolves when the request is in the world: it has its answer, or waits for time. */
  readonly sent: Promise<void>
  /** Returns the whole answer. If it is not there yet, time moves to it. It waits for a year at most. */
  answer(): Promise<SentAnswer>
  /** Gives up: the client of this request leaves. Does nothing if the whole answer is there. */
  leave(): void
}

/** The longest wait for an answer, in microseconds of the world. */
const TIMEOUT: Micros = 365 * DAY

/**
 * Returns the request that a script describes.
 *
 * @param what method and path, as in `GET /deploy/list`
 * @throws TypeError for another text
 */
export function createSentRequest(
  what: string,
  { headers = {}, body, token }: SendOptions,
  environment: ScenarioEnvironment,
): Request {
  const [, method, path] = /^([A-Z]+) (\/\S*)$/.exec(what) ?? []
  if (method === undefined) {
    throw new TypeError(
      `Failed to send '${what}': it is not a method with a path. Give both, as in 'GET /deploy/list'.`,
    )
  }
  const isRaw = body === undefined || typeof body === 'string' || body instanceof Uint8Array
  const all = {
    authorization: `Bearer ${token ?? environment.sim.token}`,
    ...(!isRaw && { 'content-type': 'application/json' }),
    ...headers,
  }
  const sent = new Headers(Object.entries(all).filter((entry): entry is [string, string] => entry[1] !== null))
  const content = isRaw ? (body as string | Uint8Array<ArrayBuffer> | undefined) : JSON.stringify(body)
  const base = environment.baseUrl.replace(/\/+$/, '')
  // Bytes have no content type of their own, and a request may have none.
  const bytes = typeof content === 'string' ? new TextEncoder().encode(content) : content
  return new Request(`${base}${path}`, { method, headers: sent, ...(bytes !== undefined && { body: bytes }) })
}

/** Sends a request beside a script. Time moves for its answer only when the script asks for it. */
export class BesideRequest {
  readonly #environment: ScenarioEnvironment
  readonly #passTime: PassTime
  readonly #client = new AbortController()
  /** Settled when the script asks for the answer, or gives up. */
  readonly #asked: Promise<void>
  #ask = () => {}
  #isAwaited = false
  #onEntered = () => {}
  #answer: Promise<SentAnswer> | undefined

  constructor(environment: ScenarioEnvironment, passTime: PassTime) {
    this.#environment = environment
    this.#passTime = passTime
    this.#asked = new Promise(resolve => {
      this.#ask = resolve
    })
  }

  /** Sends the request. Resolves when it is in the world. */
  async begin(request: Request): Promise<void> {
    const entered = new Promise<void>(resolve => {
      this.#onEntered = resolve
    })
    this.#answer = this.#receive(new Request(request, { signal: this.#client.signal }))
    await Promise.race([entered, this.#answer.catch(() => {})])
  }

  /** Returns the whole answer. Rejects with an error of the simulator or of the timeline. */
  async answer(): Promise<SentAnswer> {
    this.#isAwaited = true
    this.#ask()
    return this.#answer!
  }

  leave(): void {
    this.#client.abort(Object.assign(new Error('the client left'), { broken: true }))
    this.#ask()
  }

  async #receive(request: Request): Promise<SentAnswer> {
    let response: Response
    try {
      response = await this.#environment.send(request, this.#pass, TIMEOUT)
    } catch (error) {
      if (isBroken(error)) return { status: 0, headers: new Headers(), text: '', isBroken: true }
      throw error
    }
    const { status, headers } = response
    const decoder = new TextDecoder()
    let text = ''
    try {
      for await (const piece of response.body ?? []) text += decoder.decode(piece, { stream: true })
    } catch {
      return { status, headers, text, isBroken: true }
    }
    return { status, headers, text, isBroken: false }
  }

  readonly #pass: PassTime = async span => {
    this.#onEntered()
    this.#client.signal.throwIfAborted()
    await (this.#isAwaited ? this.#passTime(span) : this.#environment.waitForTime(span, this.#asked))
  }
}

function isBroken(error: unknown): boolean {
  return (error as { readonly broken?: unknown } | null | undefined)?.broken === true
}
