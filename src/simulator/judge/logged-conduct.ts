/** The conduct that a request log tells, before what only the world knows is added. */

import { deepFreeze } from '../../lib/deep-freeze.ts'
import { once } from '../../lib/once.ts'
import { bodyOf, type Exchange, faultOf } from '../../service/http/exchange.ts'
import type { Conduct, ObservedRequest } from './observation.ts'
import { DEFAULT_POLLS_AT_MOST } from './rules/polls-at-most.ts'

/** The part of a conduct that a log tells. */
type LoggedConduct = Omit<Conduct, 'sim' | 'created' | 'owned' | 'endedAt'>

/**
 * Returns the conduct of the clients of a log, in the order in which they sent their requests. They count as clients that
 * returned.
 *
 * @param numbers the number of each request, by the position of its journal entry
 */
export function conductOfLog(
  exchanges: readonly Exchange[],
  numbers: ReadonlyMap<number, number>,
  pollsAtMost: number | undefined = DEFAULT_POLLS_AT_MOST,
): LoggedConduct {
  const requests = exchanges.map(one => toObserved(one, numbers)).sort((one, other) => one.index - other.index)
  return {
    ...{ requests, crashes: 0, isFromLog: true, startedAt: 0 },
    end: { kind: 'returned', result: undefined },
    settings: { pollsAtMost },
  }
}

/** Returns a request as rules read it. Its body is parsed when it is first read. A rule cannot change it. */
function toObserved(exchange: Exchange, numbers: ReadonlyMap<number, number>): ObservedRequest {
  const { seq = 0, client, operation, method, path, sentAt, endedAt, status, retryAfter, decidedBy } = exchange
  const body = once(() => deepFreeze(bodyOf(exchange)))
  return Object.freeze({
    index: numbers.get(seq)!,
    ...{ start: 1, seq, client, operation, method, path, sentAt, endedAt, status, retryAfter, decidedBy },
    ...{ outcome: status === 0 ? 'failed' : 'answered', fault: faultOf(exchange) },
    ...{ answer: undefined, readError: undefined },
    get body() {
      return body()
    },
  } as const)
}
