/** The requests that a simulator received, for tests that inspect their client. */

import type { DecidedBy } from '../../kernel/journal.ts'
import type { OpenName } from '../../lib/fields.ts'
import { LIMITS } from '../../lib/limits.ts'
import { once } from '../../lib/once.ts'
import { bodyOf, type Exchange } from '../../service/http/exchange.ts'
import type { operations } from '../../service/index.ts'
import type { World } from '../../simulation/world.ts'
import { subjectsOf } from './request-subjects.ts'

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
  /** The parsed JSON, or the text; undefined for no body and for an upload. A body that is cut or nested too deep is text. */
  readonly body: unknown
  /** Unknown fields, as in `query stauts` or `body hub.repo_name`. Only with `strictRequests`. */
  readonly unread?: readonly string[]
  /** Position of its journal entry. */
  readonly seq: number
  /** The world's time when it took its step in the world, ISO 8601. Its client may have waited for the answer since. */
  readonly sentAt: string
  /** The id of the API token that it was authenticated with; `''` for none. */
  readonly client: string
  /**
   * Ids of things that its path, query or body names, then of those that it created or changed. The name of a model that
   * a deployment of the account serves gives the id of that deployment.
   */
  readonly subjects: readonly string[]
  /** Seconds that the answer asked its client to wait, in `Retry-After`. */
  readonly retryAfter?: number
  /** The fault rule, or the words of the refusal. Undefined for a success of the request alone. */
  readonly reason?: string
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

/** What happened to a log. `cleared`: the world was replaced. `closed`: nothing will be added. */
export type LogChange = 'added' | 'cleared' | 'closed'

/** The requests of one simulator. Bodies are parsed on demand, so that adding a request costs next to nothing. */
export class RequestLog {
  #entries: Exchange[] = []
  #chars = 0
  /** The number of requests since the log was cleared. Each has a number, from 1. */
  total = 0
  /** How many worlds it has had: 1, and one more after each reset or restore. */
  worlds = 1
  #listeners: readonly ((change: LogChange) => void)[] = []
  /** All requests by operation and status, also those that are no longer kept. */
  readonly #counts = new Map<string, Map<number, number>>()

  /** Adds an exchange. Of a long path and a long body it keeps the begin. */
  add(exchange: Exchange): void {
    const { path, text } = exchange
    const isLong = path.length > LIMITS.requestPath || (text !== undefined && text.length > LIMITS.requestBody)
    const entry = isLong
      ? { ...exchange, path: shorten(path, LIMITS.requestPath), text: text && shorten(text, LIMITS.requestBody) }
      : exchange
    this.#count(entry.operation, entry.status)
    this.#entries.push(entry)
    this.#chars += sizeOf(entry)
    if (this.#entries.length >= 2 * LIMITS.requests) this.#drop(LIMITS.requests)
    let excess = 0
    for (let chars = this.#chars; chars > LIMITS.requestCharacters && excess < this.#entries.length - 1; excess++) {
      chars -= sizeOf(this.#entries[excess]!)
    }
    if (excess > 0) this.#drop(excess)
    this.total++
    if (this.#listeners.length > 0) this.#notify('added')
  }

  /** Adds the requests of another log whose answers came with the journal entry at `last` or before. */
  copyEntries(other: RequestLog, last: number): void {
    for (const entry of other.#entries.filter(({ lastSeq }) => lastSeq <= last)) this.add(entry)
  }

  /** How many of them are no longer listed. */
  get dropped(): number {
    return this.total - Math.min(LIMITS.requests, this.#entries.length)
  }

  /** Returns the request with a number; undefined if it is no longer listed, or unknown. */
  read(world: World, number: number): ReceivedRequest | undefined {
    const entry = this.#find(number)
    return entry && toReceived(world, entry)
  }

  /** Returns the position of the newest journal entry when the request with a number was answered. */
  endOf(number: number): number | undefined {
    return this.#find(number)?.lastSeq
  }

  #find(number: number): Exchange | undefined {
    return number > this.dropped && number <= this.total ? this.#entries.at(number - this.total - 1) : undefined
  }

  /** Calls `listener` after each change from now on. Returns a function that removes it. */
  listen(listener: (change: LogChange) => void): () => void {
    this.#listeners = [...this.#listeners, listener]
    return () => {
      this.#listeners = this.#listeners.filter(other => other !== listener)
    }
  }

  /** The number of listeners. */
  get listeners(): number {
    return this.#listeners.length
  }

  /** Tells the listeners that nothing will be added. */
  close(): void {
    this.#notify('closed')
  }

  #notify(change: LogChange): void {
    for (const listener of this.#listeners) listener(change)
  }

  #drop(count: number): void {
    for (const dropped of this.#entries.splice(0, count)) this.#chars -= sizeOf(dropped)
  }

  /** What is listed, oldest first. */
  get exchanges(): readonly Exchange[] {
    return this.#entries.slice(-LIMITS.requests)
  }

  /** The numbers of the listed requests, by the position of their journal entry. */
  get numbers(): ReadonlyMap<number, number> {
    return numberRequests(this.exchanges, this.dropped)
  }

  /** The same as users see it. Bodies and subjects are read from what is kept on first use. */
  list(world: World): readonly ReceivedRequest[] {
    return this.exchanges.map(exchange => toReceived(world, exchange))
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
    for (const { operation, unread = [] } of this.exchanges) {
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
    this.total = 0
    this.worlds++
    this.#notify('cleared')
  }
}

/**
 * Numbers requests as a reader counts them: in the order in which they took their steps in the world, from 1.
 *
 * @param dropped the number of requests before them
 */
export function numberRequests(exchanges: readonly Pick<Exchange, 'seq'>[], dropped = 0): ReadonlyMap<number, number> {
  const seqs = exchanges.map(({ seq = 0 }) => seq).sort((one, other) => one - other)
  return new Map(seqs.map((seq, index) => [seq, dropped + index + 1]))
}

function toReceived(world: World, exchange: Exchange): ReceivedRequest {
  const { operation, method, path, status, decidedBy, unread, endedAt, seq = 0, sentAt, client, reason } = exchange
  const parsed = once(() => bodyOf(exchange))
  const at = world.clock.iso(endedAt)
  const subjects = once(() => subjectsOf(world, exchange, parsed()))
  return Object.setPrototypeOf(
    {
      seq,
      operation,
      method,
      path,
      sentAt: sentAt === endedAt ? at : world.clock.iso(sentAt),
      at,
      status,
      decidedBy,
      ...(reason !== undefined && { reason }),
      ...(exchange.retryAfter !== undefined && { retryAfter: exchange.retryAfter / 1e6 }),
      client,
      get subjects() {
        return subjects()
      },
      get body() {
        return parsed()
      },
      ...(unread !== undefined && { unread }),
    },
    INSPECTED,
  )
}

/** Shows the values of getters where a request is printed. */
const INSPECTED = {
  [Symbol.for('nodejs.util.inspect.custom')](
    this: object,
    _depth: number,
    options: object,
    inspect: (value: unknown, options: object) => string,
  ): string {
    return inspect({ ...this }, options)
  },
}

/** Characters that an entry keeps alive. */
function sizeOf({ path, text = '', unread = [], reason = '' }: Exchange): number {
  return unread.reduce((sum, field) => sum + field.length, path.length + text.length + reason.length)
}

function shorten(text: string, maxLength: number): string {
  if (text.length <= maxLength) return text
  // A slice keeps the whole text alive; a parsed copy does not.
  return JSON.parse(JSON.stringify(text.slice(0, maxLength)))
}
