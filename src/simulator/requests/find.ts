/** Finds received requests: `sim.findRequests`, and `GET /_sim/requests`. */

import { DURATION_PATTERN, type Micros, micros } from '../../kernel/duration.ts'
import { assertKnownKeys } from '../../lib/known-keys.ts'
import { quote } from '../../lib/quote.ts'
import type { ReceivedRequest } from '../exchanges/request-log.ts'
import type { Simulator } from '../simulator-interface.ts'
import { compilePattern, PATTERN_FIELDS, type RequestPattern } from './pattern.ts'

/**
 * A moment: ISO 8601, a Date, a duration since the start of the world such as `90s`, Unix seconds as text, or microseconds
 * since the start of the world.
 */
export type Moment = string | Date | Micros

/** The times in which requests were sent. Both ends belong to it. */
export interface RequestWindow {
  readonly from?: Moment | undefined
  readonly to?: Moment | undefined
}

/** Which requests are listed. */
export interface RequestFilter extends RequestPattern, RequestWindow {
  /** Only requests whose `seq` is higher. */
  readonly after?: number | undefined
  /** The maximum number: the oldest that match. Default: all. */
  readonly limit?: number | undefined
}

/** The requests that match, oldest first, and whether there could be more. */
export interface FoundRequests {
  readonly requests: readonly ReceivedRequest[]
  /** Requests that match, also those beyond `limit`. */
  readonly matched: number
  /** Requests since the world began or was reset that are no longer kept. */
  readonly dropped: number
}

export const WINDOW_FIELDS = ['from', 'to'] as const satisfies readonly (keyof RequestWindow)[]
const FILTER_FIELDS = [...PATTERN_FIELDS, ...WINDOW_FIELDS, ...(['after', 'limit'] as const)]

/**
 * Returns the received requests that match a filter.
 *
 * @throws RangeError for an unknown field, operation, status or token, and for an invalid time
 * @example findRequests(sim, { operation: 'create*', status: '4xx', from: '10m' }).requests
 */
export function findRequests(sim: Simulator, filter: RequestFilter = {}): FoundRequests {
  const context = 'Failed to list requests'
  assertKnownKeys(filter, FILTER_FIELDS, context, { noun: 'field' })
  const { from, to, after = 0, limit = Number.POSITIVE_INFINITY, ...pattern } = filter
  assertWhole(after, 'after', context)
  if (limit !== Number.POSITIVE_INFINITY) assertWhole(limit, 'limit', context)
  const { matches } = compilePattern(sim, pattern, context)
  const isWithin = compileWindow(sim, { from, to }, context)
  const found = sim.requests.filter(request => request.seq > after && isWithin(request) && matches(request))
  return { requests: found.slice(0, limit), matched: found.length, dropped: sim.requestLog.dropped }
}

/**
 * Returns the test whether a request was sent within a window.
 *
 * @internal
 */
export function compileWindow(
  { world: { clock } }: Simulator,
  { from, to }: RequestWindow,
  context: string,
): (request: Pick<ReceivedRequest, 'sentAt'>) => boolean {
  if (from === undefined && to === undefined) return () => true
  const start = from === undefined ? Number.NEGATIVE_INFINITY : parseMoment(clock, from, 'from', context)
  const end = to === undefined ? Number.POSITIVE_INFINITY : parseMoment(clock, to, 'to', context)
  if (start > end) {
    throw new RangeError(
      `${context}: the window from ${quote(from)} to ${quote(to)} ends before it begins. Swap the two.`,
    )
  }
  return ({ sentAt }) => {
    const time = clock.elapsedAt(sentAt)
    return time >= start && time <= end
  }
}

const DURATION = new RegExp(DURATION_PATTERN)

/**
 * Returns a moment in microseconds since the epoch of the world.
 *
 * @param context what failed, as in `Failed to list requests`
 * @throws RangeError for an invalid moment
 * @internal
 */
export function parseMoment(
  clock: Simulator['world']['clock'],
  moment: Moment,
  field: string,
  context: string,
): Micros {
  const text = typeof moment === 'string' ? moment.trim() : ''
  const time =
    typeof moment === 'number'
      ? moment
      : /^-?\d+(\.\d+)?$/.test(text)
        ? clock.fromUnix(Number(text))
        : DURATION.test(text)
          ? micros(text)
          : moment instanceof Date || text !== ''
            ? // In a query a raw plus is a space.
              clock.elapsedAt(moment instanceof Date ? moment : text.replace(/ (\d\d:?\d\d)$/, '+$1'))
            : Number.NaN
  if (Number.isFinite(time)) return time
  throw new RangeError(
    `${context}: invalid time ${quote(moment)} in '${field}'. Give ISO 8601 as in '2026-01-01T00:00:00Z', ` +
      "or a time since the start of the world as in '90s'.",
  )
}

/** @throws RangeError for another value than a whole number from 0 */
export function assertWhole(value: unknown, field: string, context: string): void {
  if (Number.isSafeInteger(value) && (value as number) >= 0) return
  throw new RangeError(`${context}: ${field} is ${quote(value)}. Give a whole number from 0.`)
}
