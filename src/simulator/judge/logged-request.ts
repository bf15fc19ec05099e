/** Requests of a request log, as rules read them. */

import type { Micros } from '../../kernel/duration.ts'
import type { DecidedBy } from '../../kernel/journal.ts'
import { deepFreeze } from '../../lib/deep-freeze.ts'
import type { ReceivedRequest } from '../exchanges/request-log.ts'
import { faultOf } from './facts.ts'
import type { ObservedRequest, RequestOutcome } from './observation.ts'

/** A request of a request log. Its body is parsed when it is first read. A rule cannot change it. */
export class LoggedRequest implements ObservedRequest {
  readonly index: number
  readonly seq: number
  readonly client: string
  readonly operation: string
  readonly method: string
  readonly path: string
  readonly sentAt: Micros
  readonly endedAt: Micros
  readonly outcome: RequestOutcome
  readonly status: number
  readonly retryAfter: Micros | undefined
  readonly decidedBy: DecidedBy
  readonly fault: ObservedRequest['fault']
  readonly start = 1
  readonly answer = undefined
  readonly readError = undefined
  readonly #received: Omit<ReceivedRequest, 'subjects'>

  /** @param elapsedAt returns the time of the world of an ISO 8601 time */
  constructor(received: Omit<ReceivedRequest, 'subjects'>, elapsedAt: (iso: string) => Micros) {
    const { seq, client, operation, method, path, sentAt, at, status, retryAfter, decidedBy } = received
    this.#received = received
    this.index = seq
    this.seq = seq
    this.client = client
    this.operation = operation
    this.method = method
    this.path = path
    this.sentAt = elapsedAt(sentAt)
    this.endedAt = elapsedAt(at)
    this.outcome = status === 0 ? 'failed' : 'answered'
    this.status = status
    this.retryAfter = retryAfter === undefined ? undefined : Math.round(retryAfter * 1e6)
    this.decidedBy = decidedBy
    this.fault = faultOf(received)
    Object.freeze(this)
  }

  get body(): unknown {
    return deepFreeze(this.#received.body)
  }
}
