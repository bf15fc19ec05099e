/** What clients have asked a simulator: for tests that look at their own client. */

import type { Micros } from '../kernel/duration.ts'
import { parseJsonOrText } from '../lib/json-text.ts'
import type { AnsweredRequest } from '../service/http/request-context.ts'

/** Requests that are kept, the newest. */
const MAX_REQUESTS = 1_000
/** Characters that are kept of a body. */
const MAX_BODY_CHARS = 65_536

/** A request that a simulator answered, or that a fault of the wire befell on its way. */
export interface ReceivedRequest {
  /** As in `createLlmDeployment`: a path that leads nowhere is no request of any operation, and not kept. */
  readonly operation: string
  readonly method: string
  /** Path and query. */
  readonly path: string
  /** The world's time when it was answered, ISO 8601. */
  readonly at: string
  /** 0 where a fault left the client without an answer. */
  readonly status: number
  /** The body, parsed where it is JSON; undefined where there was none, or it was an upload. Longer ones are cut to text. */
  readonly body: unknown
  /** What of it nothing reads, as in `query stauts` or `body hub.repo_name`; told with `strictRequests` alone. */
  readonly unread?: readonly string[]
}

/** Something that clients send and nothing reads. */
export interface UnreadField {
  readonly operation: string
  /** As in `query stauts` or `body hub.repo_name`; `body` alone where an endpoint reads none. */
  readonly what: string
  /** Requests that had it. */
  readonly times: number
}

/** The requests of one simulator. Told on demand: keeping one must cost next to nothing. */
export class RequestLog {
  #entries: { readonly request: AnsweredRequest; readonly time: Micros }[] = []

  add(request: AnsweredRequest, time: Micros): void {
    this.#entries.push({ request: withShortBody(request), time })
    if (this.#entries.length >= 2 * MAX_REQUESTS) this.#entries.splice(0, MAX_REQUESTS)
  }

  /** Oldest first. */
  list(iso: (time: Micros) => string): readonly ReceivedRequest[] {
    return this.#entries.slice(-MAX_REQUESTS).map(({ request: { text, ...request }, time }) => ({
      ...request,
      at: iso(time),
      body: text === undefined ? undefined : parseJsonOrText(text),
    }))
  }

  /** What nothing read of the requests that are kept, in the order in which it came first. */
  unreadFields(): UnreadField[] {
    const counts = new Map<string, UnreadField>()
    for (const { request } of this.#entries.slice(-MAX_REQUESTS)) {
      for (const field of request.unread ?? []) {
        const key = `${request.operation} ${field}`
        counts.set(key, { operation: request.operation, what: field, times: (counts.get(key)?.times ?? 0) + 1 })
      }
    }
    return [...counts.values()]
  }

  clear(): void {
    this.#entries = []
  }
}

function withShortBody(request: AnsweredRequest): AnsweredRequest {
  const { text } = request
  if (text === undefined || text.length <= MAX_BODY_CHARS) return request
  // A slice holds on to the whole text it is of; what was written anew does not.
  return { ...request, text: JSON.parse(JSON.stringify(text.slice(0, MAX_BODY_CHARS))) }
}
