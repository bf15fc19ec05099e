/** Requests that no endpoint answers, and requests that end without a response. */
import type { AnsweredRequest } from './incoming-request.ts'

/** What is known of a request that no route matches. */
export const UNROUTED = {
  operationId: '',
  text: undefined,
  seq: undefined,
  sentAt: undefined,
  client: '',
  retryAfter: undefined,
  unread: undefined,
  decidedBy: 'none',
  reason: undefined,
} as const satisfies Partial<AnsweredRequest>

/** A request that ends without a response: its client gets the cause. */
export class NoResponseError extends Error {
  constructor(cause: unknown) {
    super('no response', { cause })
  }
}
