/** Retries: requests that a client sends again because they failed. */

import type { Micros } from '../../kernel/duration.ts'
import { countWhile, groupBy } from '../../lib/lists.ts'
import { canonical } from './batch-rows.ts'
import type { ObservedRequest } from './observation.ts'

/** Statuses below 500 after which the same request can succeed. */
const RETRIED: ReadonlySet<number> = new Set([408, 409, 423, 425, 429])

/** Tells whether the same request can succeed if it is sent again: a lost answer, a 5xx, 408, 409, 423, 425 or 429. */
export function isRetryable({ outcome, status }: ObservedRequest): boolean {
  return outcome === 'answered' ? status >= 500 || RETRIED.has(status) : true
}

/** Returns a text that is equal for requests that ask for the same: method, path, query and body. */
export function keyOfQuestion({ method, path, body }: ObservedRequest): string {
  return `${method} ${path} ${body === undefined ? '' : canonical(body)}`
}

/** Returns a text that is equal for equal requests of one start of the client. */
export function keyOfRequest(request: ObservedRequest): string {
  return `${request.start} ${keyOfQuestion(request)}`
}

/** Returns the equal requests in their order, for each request that was sent more than once. */
export function repeatedRequests(requests: readonly ObservedRequest[]): ObservedRequest[][] {
  // Most requests have a path of their own, so their bodies need not be read.
  const byPath = groupBy(requests, ({ start, method, path }) => `${start} ${method} ${path}`)
  return [...byPath.values()]
    .filter(group => group.length > 1)
    .flatMap(group => [...groupBy(group, keyOfRequest).values()])
    .filter(group => group.length > 1)
}

/**
 * Returns the chains of retries: equal requests, each but the last failed before the next was sent. A chain has two or
 * more requests.
 */
export function retryChains(requests: readonly ObservedRequest[]): ObservedRequest[][] {
  const chains: ObservedRequest[][] = []
  for (const group of repeatedRequests(requests)) {
    let chain: ObservedRequest[] = []
    for (const request of group) {
      const last = chain.at(-1)
      const isRetry = last !== undefined && isRetryable(last) && (last.endedAt ?? last.sentAt) <= request.sentAt
      if (!isRetry) {
        if (chain.length > 1) chains.push(chain)
        chain = []
      }
      chain.push(request)
    }
    if (chain.length > 1) chains.push(chain)
  }
  return chains
}

/** Returns the pauses between the requests of a chain: from each failure to the next request. */
export function pausesOf(chain: readonly ObservedRequest[]): Micros[] {
  return chain.slice(1).map(({ sentAt }, i) => sentAt - (chain[i]!.endedAt ?? chain[i]!.sentAt))
}

/** Tells whether a request only reads. */
export function isRead({ method }: Pick<ObservedRequest, 'method'>): boolean {
  return method === 'GET' || method === 'HEAD'
}

/** Tells whether a request changed something: no read, and answered with a 2xx. */
export function isSuccessfulWrite(request: ObservedRequest): boolean {
  return !isRead(request) && request.outcome === 'answered' && request.status >= 200 && request.status < 300
}

/** Splits requests between writes: each part has those that no write came between. Both are in the order of sending. */
export function splitAtWrites(
  requests: readonly ObservedRequest[],
  writes: readonly ObservedRequest[],
): ObservedRequest[][] {
  const countBefore = (index: number) => countWhile(writes.length, nth => writes[nth]!.index < index)
  return [...groupBy(requests, ({ index }) => countBefore(index)).values()]
}
