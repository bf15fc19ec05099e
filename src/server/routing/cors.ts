/** Headers that let pages of another origin use the service. The control plane never gets them. */

/** Response headers that a page may read. */
const EXPOSED_HEADERS = 'Allow, Date, Retry-After, WWW-Authenticate, X-Sim-Delay, X-Sim-Error, X-Sim-Hint'
/** Seconds for which a browser keeps the answer to a preflight. */
const PREFLIGHT_MAX_AGE = '600'

export class Cors {
  readonly #allowed: string

  /** @param allowed an origin, or `*` for every origin */
  constructor(allowed: string) {
    this.#allowed = allowed
  }

  /** Whether a page of this origin may use the service. */
  allows(origin: string | undefined): origin is string {
    return origin !== undefined && (this.#allowed === '*' || origin.toLowerCase() === this.#allowed.toLowerCase())
  }

  /** Returns the answer to a preflight; undefined for any other request. */
  answerPreflight(request: Request): Response | undefined {
    const { headers, method } = request
    const requestedMethod = headers.get('access-control-request-method')
    if (method !== 'OPTIONS' || requestedMethod === null) return undefined
    const answer = new Response(null, { status: 204 })
    if (!this.allows(headers.get('origin') ?? undefined)) return this.withHeaders(request, answer)
    answer.headers.set('access-control-allow-methods', 'GET, HEAD, POST, PUT, PATCH, DELETE')
    // A browser does not count Authorization as part of *.
    const requestedHeaders = headers.get('access-control-request-headers')
    if (requestedHeaders !== null) answer.headers.set('access-control-allow-headers', requestedHeaders)
    answer.headers.set('access-control-max-age', PREFLIGHT_MAX_AGE)
    return this.withHeaders(request, answer)
  }

  /** Adds the headers to an answer, if the page of the request may read it. */
  withHeaders<Answer extends Response>(request: Request, answer: Answer): Answer {
    if (this.#allowed !== '*') answer.headers.append('vary', 'Origin')
    if (!this.allows(request.headers.get('origin') ?? undefined)) return answer
    answer.headers.set('access-control-allow-origin', this.#allowed)
    answer.headers.set('access-control-expose-headers', EXPOSED_HEADERS)
    return answer
  }
}
