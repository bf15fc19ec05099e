/** What clients have asked a simulator: for tests that look at their own client. */
import type { Received } from './api/asked.ts'
import type { Micros } from './kernel/duration.ts'
import { jsonOrText } from './store/json-text.ts'

/** Requests that are kept, the newest. */
const MOST_REQUESTS = 1_000
/** Characters that are kept of a body. */
const MOST_TEXT = 65_536

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
export interface Unread {
  readonly operation: string
  /** As in `query stauts` or `body hub.repo_name`; `body` alone where an endpoint reads none. */
  readonly what: string
  /** Requests that had it. */
  readonly times: number
}

/** The requests of one simulator. Told on demand: keeping one must cost next to nothing. */
export class ReceivedRequests {
  #kept: { readonly request: Received; readonly time: Micros }[] = []

  add(request: Received, time: Micros): void {
    this.#kept.push({ request: shortened(request), time })
    if (this.#kept.length >= 2 * MOST_REQUESTS) this.#kept.splice(0, MOST_REQUESTS)
  }

  /** Oldest first. */
  list(iso: (time: Micros) => string): readonly ReceivedRequest[] {
    return this.#kept.slice(-MOST_REQUESTS).map(({ request: { text, ...request }, time }) => ({
      ...request,
      at: iso(time),
      body: text === undefined ? undefined : jsonOrText(text),
    }))
  }

  /** What nothing read of the requests that are kept, in the order in which it came first. */
  unread(): Unread[] {
    const found = new Map<string, Unread>()
    for (const { request } of this.#kept.slice(-MOST_REQUESTS)) {
      for (const what of request.unread ?? []) {
        const key = `${request.operation} ${what}`
        found.set(key, { operation: request.operation, what, times: (found.get(key)?.times ?? 0) + 1 })
      }
    }
    return [...found.values()]
  }

  clear(): void {
    this.#kept = []
  }
}

function shortened(request: Received): Received {
  const { text } = request
  if (text === undefined || text.length <= MOST_TEXT) return request
  // A slice holds on to the whole text it is of; what was written anew does not.
  return { ...request, text: JSON.parse(JSON.stringify(text.slice(0, MOST_TEXT))) }
}
