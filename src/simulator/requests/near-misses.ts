/** The requests that come closest to a pattern. */

import type { ReceivedRequest } from '../exchanges/request-log.ts'
import { type CompiledPattern, formatDifference } from './pattern.ts'

/** A request that almost matches, and what differs. */
export interface NearMiss extends Pick<ReceivedRequest, 'seq' | 'operation' | 'method' | 'path' | 'status' | 'sentAt'> {
  /** As in `body.model: expected "a", received "b"`. */
  readonly differs: readonly string[]
}

const MAX_NEAR = 3
/** The most differences that are listed of a request. */
const MAX_DIFFERENCES = 10

/**
 * How far a difference takes a request from a pattern. Another operation is another intent; another status or body is
 * the same intent with another outcome.
 */
const WEIGHTS: Readonly<Record<string, number>> = { operation: 10, path: 6, method: 3, subject: 3, token: 2 }

/** Returns the closest requests with what differs, closest first. At equal distance, a newer request comes first. */
export function nearMissesOf(pattern: CompiledPattern, requests: readonly ReceivedRequest[]): NearMiss[] {
  return requests
    .map(request => {
      const found = pattern.mismatches(request)
      const distance = found.reduce((sum, { path }) => sum + (WEIGHTS[path] ?? 1), 0)
      return { request, found, distance }
    })
    .sort((one, other) => one.distance - other.distance || other.request.seq - one.request.seq)
    .slice(0, MAX_NEAR)
    .map(({ request: { seq, operation, method, path, status, sentAt }, found }) => {
      const more = found.length - MAX_DIFFERENCES
      const differs = found.slice(0, MAX_DIFFERENCES).map(formatDifference)
      return {
        seq,
        operation,
        method,
        path,
        status,
        sentAt,
        differs: more > 0 ? [...differs, `${more} more`] : differs,
      }
    })
}
