/** The requests that a simulator received, for tests that inspect their client. */

import type { Micros } from '../kernel/duration.ts'
import type { DecidedBy } from '../kernel/journal.ts'
import { parseJsonOrText } from '../lib/json-text.ts'
import type { OpenName } from '../lib/open-name.ts'
import { LIMITS } from '../limits.ts'
import type { AnsweredRequest } from '../service/http/request-context.ts'
import type { operations } from '../service/index.ts'

/** A request that a simulator answered, or that a wire fault prevented from being answered. */
export interface ReceivedRequest {
  /** As in `createLlmDeployment`; `''` for a request to an unknown path. */
  readonly operation: OpenName<keyof typeof operations>
  readonly method: string
  /** Path and query. */
  readonly path: string
  /** The world's time when it was answered, ISO 8601. */
  readonly at: string
  /** 0 if a fault left the client without a response. */
  readonly status: number
  /** What decided the answer; `none` for the request alone. */
  readonly decidedBy: DecidedBy
  /** The parsed JSON, or the text; undefined for no body and for an upload. A long body is cut and left as text. */
  readonly body: unknown
  /** Unknown fields, as in `query stauts` or `body hub.repo_name`. Only with `strictRequests`. */
  readonly unread?: readonly string[]
}

/** A field that clients send and nothing reads. */
export interface UnreadField {
  readonly operation: OpenName<keyof typeof operations>
  /** As in `query stauts` or `body hub.repo_name`; `body` if the endpoint reads no body. */
  readonly what: string
  /** Requests that had it. */
  readonly times: number
}

/** How many requests to an operation a simulator answered with a status. */
export interface RequestCount {
  /** `''` for requests to unknown paths. */
  readonly operation: string
  /** 0 if a fault left the client without a response. */
  readonly status: number
  readonly count: number
}

interface LogEntry extends Pick<ReceivedRequest, 'operation' | 'method' | 'path' | 'status' | 'decidedBy'> {
  readonly unread: readonly string[] | undefined
  readonly text: string | undefined
  readonly time: Micros
}

/** The requests of one simulator. Bodies are parsed on demand, so that adding a request costs next to nothing. */
export class RequestLog {
  #entries: LogEntry[] = []
  #chars = 0
  /** All requests by operation and status, also those that are no longer kept. */
  readonly #counts = new Map<string, Map<number, number>>()

  /** @param status 0 if a fault left the client without a response */
  add(request: AnsweredRequest, status: number, time: Micros): void {
    const { operationId: operation, method, target: path, text, unread, decidedBy } = request
    this.#count(operation, status)
    this.#entries.push({
      operation,
      method,
      path: shorten(path, LIMITS.requestPath),
      status,
      decidedBy,
      text: text && shorten(text, LIMITS.requestBody),
      unread,
      time,
    })
    this.#chars += sizeOf(this.#entries.at(-1)!)
    if (this.#entries.length >= 2 * LIMITS.requests) this.#drop(LIMITS.requests)
    let excess = 0
    for (let chars = this.#chars; chars > LIMITS.requestCharacters && excess < this.#entries.length - 1; excess++) {
      chars -= sizeOf(this.#entries[excess]!)
    }
    if (excess > 0) this.#drop(excess)
  }

  #drop(count: number): void {
    for (const dropped of this.#entries.splice(0, count)) this.#chars -= sizeOf(dropped)
  }

  /** Oldest first. */
  list(iso: (time: Micros) => string): readonly ReceivedRequest[] {
    return this.#entries.slice(-LIMITS.requests).map(({ text, unread, time, ...request }) => ({
      ...request,
      ...(unread !== undefined && { unread }),
      at: iso(time),
      body: text === undefined ? undefined : parseJsonOrText(text),
    }))
  }

  /**
   * Returns the unread fields of the kept requests, by first occurrence.
   *
   * @throws RangeError without strict requests
   */
  unreadFields(isStrict: boolean): UnreadField[] {
    if (!isStrict) {
      throw new RangeError(
        'Failed to list unread fields: strict requests are off. Start with --strict-requests, or createSimulator({ strictRequests: true }).',
      )
    }
    const counts = new Map<string, UnreadField>()
    for (const { operation, unread = [] } of this.#entries.slice(-LIMITS.requests)) {
      for (const field of unread) {
        const key = `${operation} ${field}`
        counts.set(key, { operation, what: field, times: (counts.get(key)?.times ?? 0) + 1 })
      }
    }
    return [...counts.values()]
  }

  #count(operation: string, status: number): void {
    let counts = this.#counts.get(operation)
    if (counts === undefined) {
      counts = new Map()
      this.#counts.set(operation, counts)
    }
    counts.set(status, (counts.get(status) ?? 0) + 1)
  }

  /** Returns the number of requests by operation and status, in their order. */
  counts(): RequestCount[] {
    const operations = [...this.#counts].sort(([a], [b]) => (a < b ? -1 : 1))
    return operations.flatMap(([operation, counts]) =>
      [...counts].sort(([a], [b]) => a - b).map(([status, count]) => ({ operation, status, count })),
    )
  }

  clear(): void {
    this.#counts.clear()
    this.#entries = []
    this.#chars = 0
  }
}

/** Characters that an entry keeps alive. */
function sizeOf({ path, text = '', unread = [] }: LogEntry): number {
  return unread.reduce((sum, field) => sum + field.length, path.length + text.length)
}

function shorten(text: string, maxLength: number): string {
  if (text.length <= maxLength) return text
  // A slice keeps the whole text alive; a parsed copy does not.
  return JSON.parse(JSON.stringify(text.slice(0, maxLength)))
}
