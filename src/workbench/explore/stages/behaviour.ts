/** What a client did and saw behind a fault. Faults that lead to the same behaviour can hardly lead to different pairs. */

import { coordinatesOf } from '../plan/coordinates.ts'
import type { Point } from '../plan/space.ts'
import type { RunResult } from '../run/run-result.ts'

/** Returns the position of the first request that differs or was sent at another time, from 1; undefined for none. */
export function findChange({ requests: before }: RunResult, { requests: now }: RunResult): number | undefined {
  const count = Math.max(before.length, now.length)
  for (let at = 0; at < count; at++) {
    const [one, other] = [before[at], now[at]]
    const isEqual = one?.method === other?.method && one?.path === other?.path && one?.sentAt === other?.sentAt
    if (!isEqual) return at + 1
  }
  return undefined
}

/**
 * Returns the behaviour behind a request as text: the later requests with their distances and outcomes, the end, and what
 * the fault left in the world. The client may see the latter only after another fault.
 */
export function describeBehaviour(point: Point, { requests, end, base, broken }: RunResult, after: number): string {
  const { kind, looksLike, leavesWork } = point
  const later = coordinatesOf(requests, { exhaustive: true }).filter(({ index }) => index > after)
  // A client that does the same a little later does the same.
  const sentAt = (index: number) => requests[index - 1]!.sentAt
  const begin = later[0] === undefined ? 0 : sentAt(later[0].index)
  const lines = later.map(({ method, path, index, seen }) => `${method} ${path} ${sentAt(index) - begin} ${seen}`)
  const created = base.created.map(({ id, isAlive }) => `${id} ${isAlive}`)
  const signatures = broken.map(({ signature }) => signature)
  return [kind, looksLike, leavesWork, after, end, ...created, ...signatures, ...lines].join('\n')
}

/** Requests behind a fault that are near it although the client does the same as without it: its retry, and one more. */
const NEAR_REQUESTS = 2

/**
 * Returns the last request of a run that is near its fault, from 1. Behind it, the client does and sees the same as in
 * the base run, only later.
 */
export function findLastNear(base: RunResult, run: RunResult): number {
  const before = coordinatesOf(base.requests, { exhaustive: true })
  const now = coordinatesOf(run.requests, { exhaustive: true })
  let equal = 0
  while (equal < Math.min(before.length, now.length)) {
    const [one, other] = [before.at(-1 - equal)!, now.at(-1 - equal)!]
    if (one.method !== other.method || one.path !== other.path || one.seen !== other.seen) break
    equal++
  }
  const lastNear = now.length - equal + NEAR_REQUESTS
  return now[Math.min(lastNear, now.length) - 1]?.index ?? 0
}
