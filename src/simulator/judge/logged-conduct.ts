/** The conduct that a request log tells, before what only the world knows is added. */

import type { Micros } from '../../kernel/duration.ts'
import type { ReceivedRequest } from '../exchanges/request-log.ts'
import { LoggedRequest } from './logged-request.ts'
import type { Conduct } from './observation.ts'
import { DEFAULT_POLLS_AT_MOST } from './rules/polls-at-most.ts'

/** The part of a conduct that a log tells. */
export interface LoggedConduct extends Omit<Conduct, 'sim' | 'created' | 'owned' | 'endedAt'> {
  readonly requests: readonly LoggedRequest[]
}

/**
 * Returns the conduct of the clients of a log, in the order in which they sent their requests. They count as clients that
 * returned.
 *
 * @param elapsedAt returns the time of the world of an ISO 8601 time
 */
export function conductOfLog(
  received: readonly Omit<ReceivedRequest, 'subjects'>[],
  elapsedAt: (iso: string) => Micros,
  pollsAtMost: number | undefined = DEFAULT_POLLS_AT_MOST,
): LoggedConduct {
  const requests = received
    .map(request => new LoggedRequest(request, elapsedAt))
    .sort((one, other) => one.seq - other.seq)
  return {
    ...{ requests, crashes: 0, isFromLog: true, startedAt: 0 },
    end: { kind: 'returned', result: undefined },
    settings: { pollsAtMost },
  }
}
