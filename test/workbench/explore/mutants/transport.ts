/** How the client of the mutants sends requests: timeouts, retries, back-off and what it prints. */
import type { FlowContext } from '../../../../src/workbench/explore/flow.ts'
import type { Has } from './mutations.ts'

// biome-ignore lint/suspicious/noExplicitAny: answers of the service are read as a client reads them.
export type Answer = any

/** An error answer. It has no header and no body of the request. */
export class ServiceError extends Error {
  readonly status: number
  /** What the service asks for, in milliseconds; undefined if it asks for no wait. */
  readonly retryAfterMs: number | undefined

  constructor(operation: string, status: number, retryAfter: string | null) {
    super(`${operation} was answered with ${status}`)
    this.status = status
    const ms = Number(retryAfter) * 1000
    this.retryAfterMs = retryAfter === null || !Number.isFinite(ms) ? undefined : ms
  }
}

export interface Call {
  readonly method: string
  readonly path: string
  /** The name of the call in logs and errors, without ids and tokens. */
  readonly name: string
  readonly body?: unknown
  /** A missing answer is a lag: the thing is known to be there. */
  readonly isKnown?: boolean
}

/** Pauses between the attempts, in milliseconds: they outlast an outage of a minute. */
const PAUSES_MS = [2_000, 4_000, 8_000, 16_000, 32_000, 60_000]
const TIMEOUT_MS = 90_000

export class Transport {
  readonly #context: FlowContext
  readonly #has: Has

  constructor(context: FlowContext, has: Has) {
    this.#context = context
    this.#has = has
  }

  /** Sends a request until it succeeds, or fails for good. Returns its JSON. */
  request({ isKnown = false, ...call }: Call): Promise<Answer> {
    return this.retry(call.name, () => this.once(call), isKnown)
  }

  /** Sends a request and returns its JSON. A body that cannot be read is a failure, whatever the status says. */
  async once(call: Omit<Call, 'isKnown'>): Promise<Answer> {
    const text = await this.text(call)
    if (this.#has('trustsEmptyAnswers') && text === '') return {}
    return JSON.parse(text)
  }

  /** Sends a request and returns the text of its answer. */
  async text({ method, path, name, body }: Omit<Call, 'isKnown'>): Promise<string> {
    const { fetch, url, token } = this.#context
    const isForm = body instanceof FormData
    const headers: Record<string, string> = { authorization: `Bearer ${token}` }
    if (!isForm && body !== undefined) headers['content-type'] = 'application/json'
    const response = await fetch(url + path, {
      method,
      headers,
      ...(body !== undefined && { body: isForm ? body : JSON.stringify(body) }),
      ...(!this.#has('noTimeout') && { signal: AbortSignal.timeout(TIMEOUT_MS) }),
    })
    if (!response.ok) {
      if (this.#has('logsHeaders')) console.error(`${name} failed`, { status: response.status, headers })
      throw new ServiceError(name, response.status, response.headers.get('retry-after'))
    }
    if (this.#has('logsTheToken')) console.log(`${name} with ${token}`)
    const readsOn = this.#has('keepsTruncatedBodies') || this.#has('keepsRowsOfFailedDownloads')
    return readsOn ? readWhatCame(response) : response.text()
  }

  /** Repeats a step while its error can pass. Waits as long as the service asks, and never shorter than the back-off. */
  async retry<Result>(name: string, step: () => Promise<Result>, isKnown = false): Promise<Result> {
    for (let attempt = 0; ; attempt++) {
      try {
        return await step()
      } catch (error) {
        const isLast = attempt === PAUSES_MS.length && !this.#has('retriesForever')
        if (this.#has('noRetry') || isLast || !this.canPass(error, isKnown)) throw error
        await this.pause(name, attempt, error)
      }
    }
  }

  /** Waits before another attempt. */
  async pause(name: string, attempt: number, error: unknown): Promise<void> {
    const backOff = PAUSES_MS[Math.min(attempt, PAUSES_MS.length - 1)]!
    const asked = error instanceof ServiceError ? (error.retryAfterMs ?? 0) : 0
    console.error(
      `${name}: attempt ${attempt + 1} failed, ${error instanceof ServiceError ? error.status : 'no answer'}`,
    )
    if (this.#has('retriesAtOnce')) return
    await this.#context.sleep(this.#has('ignoresRetryAfter') ? backOff : Math.max(backOff, asked))
  }

  /** Tells whether a repeated request can succeed: after a broken connection, an unreadable body, 408, 429 and 5xx. */
  canPass(error: unknown, isKnown = false): boolean {
    if (!(error instanceof ServiceError) || this.#has('retriesForever')) return true
    return error.status === 408 || error.status === 429 || error.status >= 500 || (isKnown && error.status === 404)
  }
}

/** Returns the part of a body that came before the connection broke. */
async function readWhatCame({ body }: Response): Promise<string> {
  const decoder = new TextDecoder()
  let text = ''
  try {
    for await (const chunk of body as unknown as AsyncIterable<Uint8Array>)
      text += decoder.decode(chunk, { stream: true })
  } catch {
    // The mutant takes what it has for the whole.
  }
  return text
}
