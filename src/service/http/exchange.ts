/** A request and its answer: what logs, judgements and recordings tell of them. */

import type { Micros } from '../../kernel/duration.ts'
import type { DecidedBy } from '../../kernel/journal.ts'
import { parseJsonOrText } from '../../lib/json-text.ts'
import { isTooDeep } from './bodies/json-body.ts'

/** A request that has ended. The pipeline creates it then. Times are microseconds since the epoch of the world. */
export interface Exchange {
  /** `''` if no route matches. */
  readonly operation: string
  readonly method: string
  /** Path and query below the base address, as the client sent them. */
  readonly path: string
  /** The body as text; undefined for no body and for an upload. */
  readonly text: string | undefined
  /** The id of the API token that it was authenticated with; `''` for none. */
  readonly client: string
  /** Fields that nothing reads; undefined unless the world looks for them. */
  readonly unread: readonly string[] | undefined
  /** When it took its step in the world. */
  readonly sentAt: Micros
  readonly endedAt: Micros
  /** 0 if a fault left its client without a response. */
  readonly status: number
  /** The wait that the answer asks for in `Retry-After`. */
  readonly retryAfter: Micros | undefined
  readonly decidedBy: DecidedBy
  /** The fault rule, or the words of the refusal; undefined for a success of the request alone. */
  readonly reason: string | undefined
  /** Position of its entry in the journal; undefined if no journal has it. */
  readonly seq: number | undefined
  /** Position of the newest entry of the journal when it ended. */
  readonly lastSeq: number
}

/** What is known of a request that no route matches. */
export const UNROUTED = {
  ...{ operation: '', text: undefined, client: '', unread: undefined },
  ...{ retryAfter: undefined, decidedBy: 'none', reason: undefined, seq: undefined, lastSeq: 0 },
} as const satisfies Partial<Exchange>

/** Returns the body: parsed JSON, or the text if it is cut, nested too deep, or not JSON. */
export function bodyOf({ text }: Pick<Exchange, 'text'>): unknown {
  return text === undefined || isTooDeep(text) ? text : parseJsonOrText(text)
}

/** Returns the fault rule that decided an answer; undefined if none did. */
export function faultOf({
  decidedBy,
  reason = '',
}: Pick<Exchange, 'decidedBy' | 'reason'>): { readonly rule: string; readonly kind: string } | undefined {
  const hit = decidedBy === 'fault' ? /^(.*) \((\w+)\)$/s.exec(reason) : null
  return hit === null ? undefined : { rule: hit[1]!, kind: hit[2]! }
}

/** Seconds of a `Retry-After` above which it is nonsense: a year. */
const LONGEST_RETRY = 31_536_000

/**
 * Returns the wait that a `Retry-After` header asks for: seconds, or an HTTP date.
 *
 * @param unixMs the time from which a date counts, in milliseconds since 1970
 */
export function readRetryAfter(header: string | null | undefined, unixMs: number): Micros | undefined {
  if (!header?.trim()) return undefined
  const seconds = Number(header)
  if (Number.isFinite(seconds)) return seconds > LONGEST_RETRY ? undefined : Math.round(seconds * 1e6)
  const date = Date.parse(header)
  return Number.isFinite(date) ? Math.max(0, Math.round((date - unixMs) * 1000)) : undefined
}
