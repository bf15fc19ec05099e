/** Coordinates: the requests of a run at which a fault can strike. */

import { tryParseJson } from '../../../lib/json-text.ts'
import type { ObservedRequest } from '../../../simulator/judge/observation.ts'

/** A request of a run, named so that the name stays true when other requests come or go. */
export interface Coordinate {
  readonly operation: string
  readonly method: string
  /** The path without its query. */
  readonly path: string
  /** Which request of this operation and path it is, from 1. */
  readonly nth: number
  /** Which request of this operation it is, whatever the path, from 1. */
  readonly nthOfOperation: number
  /** Its position among the requests of the run, from 1. It is true for this run alone. */
  readonly index: number
  /** Whether it asks for a stream of events. */
  readonly isStream: boolean
  /** The number of events with data that the client read of a stream. */
  readonly events: number
  /** How it ended for the client: the status of the answer, `failed` or `unanswered`. */
  readonly visibleStatus: string
  /** What the client saw: how the request ended and the statuses in the answer. Equal polls have equal texts. */
  readonly seen: string
}

export interface CoordinateOptions {
  /** Keeps every poll. Default: a run of equal polls counts as its first, second, middle and last one. */
  readonly exhaustive?: boolean
  /** The fields of records of own tables that have a status. Default: none. */
  readonly statusFields?: readonly string[] | undefined
}

/**
 * Returns the coordinates of a run. Requests to unknown paths have none: no fault rule matches them.
 *
 * A run of equal polls is a row of reads of one thing that look alike to the client. A client that behaves differently at
 * the 17th of 100 such polls counts them. So the first, the second, a middle one and the last are enough: the second is
 * the first one after a success, and the last is the one before the change.
 */
export function coordinatesOf(requests: readonly ObservedRequest[], options: CoordinateOptions = {}): Coordinate[] {
  const coordinates: Coordinate[] = []
  const fields = new Set(['status', ...(options.statusFields ?? [])])
  const counts = new Map<string, number>()
  const count = (key: string) => {
    const next = (counts.get(key) ?? 0) + 1
    counts.set(key, next)
    return next
  }
  for (const request of requests) {
    const { operation, method, index, body } = request
    const isStream = (body as { readonly stream?: unknown } | null | undefined)?.stream === true
    if (operation === '') continue
    const path = withoutQuery(request.path)
    const key = `${operation} ${path}`
    const nth = count(key)
    const nthOfOperation = count(operation)
    const status = visibleStatus(request)
    const seen = [status, ...statusesIn(request.answer, fields)].join(' ')
    const events = isStream ? (request.read?.text.match(/^data: (?!\[DONE\])/gm)?.length ?? 0) : 0
    const which = { operation, method, path, nth, nthOfOperation, index, isStream, events }
    coordinates.push({ ...which, visibleStatus: status, seen })
  }
  return options.exhaustive === true ? coordinates : collapse(coordinates)
}

/** Returns the path without its query. */
export function withoutQuery(path: string): string {
  const query = path.indexOf('?')
  return query < 0 ? path : path.slice(0, query)
}

/** Returns how a request ended for its client: the status of the answer, `unreadable`, `failed` or `unanswered`. */
export function visibleStatus({ outcome, status, readError }: ObservedRequest): string {
  if (outcome !== 'answered') return outcome
  return readError === undefined ? String(status) : `${status} unreadable`
}

/** The greatest depth at which statuses are looked for. */
const MAX_DEPTH = 3

/** Returns the texts of all fields of an answer that have a status. */
function statusesIn(answer: unknown, fields: ReadonlySet<string>, depth = 0): string[] {
  // A client that reads the text parses it itself.
  const value = typeof answer === 'string' && depth === 0 ? tryParseJson(answer) : answer
  if (typeof value !== 'object' || value === null || depth > MAX_DEPTH) return []
  if (Array.isArray(value)) return value.flatMap(entry => statusesIn(entry, fields, depth + 1))
  return Object.entries(value).flatMap(([name, inner]) =>
    fields.has(name) && typeof inner === 'string' ? [inner] : statusesIn(inner, fields, depth + 1),
  )
}

/** Drops the middle of each row of equal polls, except one of it. Other requests may stand between the polls. */
function collapse(coordinates: readonly Coordinate[]): Coordinate[] {
  const rows = new Map<string, Coordinate[][]>()
  for (const coordinate of coordinates) {
    const subject = `${coordinate.operation} ${coordinate.path}`
    const ofSubject = rows.get(subject) ?? []
    rows.set(subject, ofSubject)
    const row = ofSubject.at(-1)
    const isPoll = coordinate.method === 'GET'
    if (isPoll && row !== undefined && row[0]!.seen === coordinate.seen) row.push(coordinate)
    else ofSubject.push([coordinate])
  }
  const kept = new Set(
    [...rows.values()].flat().flatMap(row => [row[0], row[1], row[row.length >> 1], row[row.length - 1]]),
  )
  return coordinates.filter(coordinate => kept.has(coordinate))
}
