/** Facts of an observation that several rules need, and the evidence for them. */

import { BATCH_LIFECYCLE, DEPLOYMENT_LIFECYCLE } from '../../data/records/enums.ts'
import type { Micros } from '../../kernel/duration.ts'
import { attempt } from '../../lib/attempt.ts'
import type { Role } from '../../service/endpoint.ts'
import { RENTAL_LIFECYCLES } from '../../simulation/rentals/rental-row.ts'
import type { Conduct, CreatedKind, CreatedThing, ObservedRequest } from './observation.ts'
import type { Evidence, Violation } from './rule.ts'
import { operationOf, pathOf } from './words.ts'

/** Those of the provider's things. Records of a user's tables have none. */
const LIFECYCLES: {
  readonly [Kind in CreatedKind]?: { readonly statuses: readonly string[]; readonly terminal: ReadonlySet<string> }
} = {
  deployment: DEPLOYMENT_LIFECYCLE,
  adapter: DEPLOYMENT_LIFECYCLE,
  hosted: RENTAL_LIFECYCLES.hosted,
  container: RENTAL_LIFECYCLES.container,
  batch: BATCH_LIFECYCLE,
}

/** Fault kinds that leave a 2xx without its body. */
const BODY_FAULTS: ReadonlySet<string> = new Set(['empty', 'truncated', 'garbled', 'html'])

/** How deep values of clients are read. */
const MAX_DEPTH = 8

/** Tells whether an operation has a role, as in `read batch`. */
export function hasRole(
  { sim }: Pick<Conduct, 'sim'>,
  { operation }: Pick<ObservedRequest, 'operation'>,
  role: Role,
): boolean {
  return sim.api.operations[operation]?.roles.includes(role) === true
}

/** Returns the kind of thing for which an operation does something; undefined for none. */
export function kindFor(
  { sim }: Pick<Conduct, 'sim'>,
  { operation }: Pick<ObservedRequest, 'operation'>,
  verb: 'create' | 'read',
): string | undefined {
  const role = sim.api.operations[operation]?.roles.find(one => one.startsWith(`${verb} `))
  return role?.slice(verb.length + 1)
}

/** Returns requests as evidence. */
export function requestEvidence(...requests: readonly ObservedRequest[]): Evidence[] {
  return requests.map(request => ({ kind: 'request', request }))
}

/** Returns the journal entries of a subject as evidence, oldest first. */
export function entryEvidence({ sim }: Pick<Conduct, 'sim'>, subject: string): Evidence[] {
  const entries = sim.journal.entries().filter(entry => entry.subject === subject)
  return entries.map(entry => ({ kind: 'entry', entry }))
}

/** Returns the postings of a subject as evidence, oldest first. */
export function postingEvidence({ sim }: Pick<Conduct, 'sim'>, subject: string): Evidence[] {
  const postings = sim.ledger.entries().filter(posting => posting.subject === subject)
  return postings.map(posting => ({ kind: 'posting', posting }))
}

/** Returns all that shows what a thing did and cost: its request, its journal entries, its postings. */
export function thingEvidence(observation: Conduct, { id, request }: CreatedThing): Evidence[] {
  return [...requestEvidence(request), ...entryEvidence(observation, id), ...postingEvidence(observation, id)]
}

/**
 * Returns a violation at a request, which is its evidence.
 *
 * @param more what else it has, or has in place of that
 */
export function violationAt(
  request: ObservedRequest | undefined,
  words: string,
  more: Partial<Violation> = {},
): Violation {
  const operation = request === undefined ? '' : operationOf(request)
  return { words, operation, evidence: request === undefined ? [] : requestEvidence(request), ...more }
}

/** Returns the number of the last start of the client, from 1. */
export function lastStartOf({ crashes }: Pick<Conduct, 'crashes'>): number {
  return crashes + 1
}

/** Tells whether a request got a 2xx whose body the client could use. */
export function isUsable({ outcome, status, readError, fault }: ObservedRequest): boolean {
  return outcome === 'answered' && status >= 200 && status < 300 && readError === undefined && !breaksBody(fault)
}

/** Returns the path of a request without its query and its escapes: one text for all requests to one thing. */
export function thingPathOf(request: Pick<ObservedRequest, 'path'>): string {
  return decodeText(pathOf(request))
}

/** Tells whether the path of a request has this id as a segment. */
export function isAbout(request: Pick<ObservedRequest, 'path'>, id: string): boolean {
  const path = pathOf(request)
  return path.includes(id) && path.split('/').some(segment => decodeText(segment) === id)
}

/** Returns the last segment of the path of a request. */
export function lastSegment(request: Pick<ObservedRequest, 'path'>): string {
  const path = pathOf(request)
  return decodeText(path.slice(path.lastIndexOf('/') + 1))
}

/** Tells whether the last start of the client had read the id of a thing in an answer. */
export function knewId(observation: Conduct, id: string): boolean {
  const start = lastStartOf(observation)
  return observation.requests.some(
    request =>
      request.start === start &&
      request.outcome === 'answered' &&
      request.answer !== undefined &&
      JSON.stringify(request.answer).includes(id),
  )
}

/** Tells whether a status of a kind of thing is terminal. */
export function isTerminalStatus(kind: CreatedKind, status: string): boolean {
  return LIFECYCLES[kind]?.terminal.has(status) === true
}

/** Returns the statuses that a thing had, each with the time since which it had it, as far as the journal tells. */
export function statusHistory(
  { sim }: Pick<Conduct, 'sim'>,
  { kind, id }: Pick<CreatedThing, 'kind' | 'id'>,
): readonly { readonly status: string; readonly since: Micros }[] {
  const word = `${kind === 'adapter' ? 'deployment' : kind}.`
  return sim.journal.entries().flatMap(({ kind: entryKind, subject, time }) => {
    const status = entryKind.slice(word.length)
    const isStatus = subject === id && entryKind.startsWith(word) && isKnownStatus(kind, status)
    return isStatus ? [{ status, since: time }] : []
  })
}

/** Returns when a thing entered its present status, if the journal tells. */
export function statusSince(
  { sim }: Pick<Conduct, 'sim'>,
  { kind, id, status }: Pick<CreatedThing, 'kind' | 'id' | 'status'>,
): Micros | undefined {
  const word = kind === 'adapter' ? 'deployment' : kind
  return sim.journal.entries().findLast(entry => entry.subject === id && entry.kind === `${word}.${status}`)?.time
}

/**
 * Returns the status of a thing in an answer, as the answer of one thing or as an entry of a list; undefined if it has
 * none.
 */
export function statusInAnswer(answer: unknown, id: string, depth = 0): string | undefined {
  if (typeof answer !== 'object' || answer === null || depth > 3) return undefined
  const values = Object.values(answer)
  if (!Array.isArray(answer) && values.includes(id)) {
    const { status, state } = answer as { readonly status?: unknown; readonly state?: unknown }
    if (typeof status === 'string') return status
    if (typeof state === 'string') return state
  }
  for (const value of values) {
    const status = statusInAnswer(value, id, depth + 1)
    if (status !== undefined) return status
  }
  return undefined
}

/**
 * Tells whether the answer to a read shows that a thing had ended. A names profile can rename fields and statuses: then
 * the time of the request decides.
 *
 * @param endedAt when the thing ended; undefined if that is unknown
 */
export function showsEnd(
  request: ObservedRequest,
  { kind, id }: Pick<CreatedThing, 'kind' | 'id'>,
  endedAt: Micros | undefined,
): boolean {
  if (request.method !== 'GET' || !isUsable(request)) return false
  const status = statusInAnswer(request.answer, id)
  if (status !== undefined && isKnownStatus(kind, status)) return isTerminalStatus(kind, status)
  if (request.fault?.kind === 'stale' || !isAbout(request, id)) return false
  return endedAt !== undefined && request.sentAt >= endedAt
}

/** Tells whether a request of the client ended a thing, or found it ended: a delete, stop or cancel of it. */
export function endsThing(request: ObservedRequest, id: string): boolean {
  const isEnding = request.method === 'DELETE' || /\/(?:stop|cancel)$/.test(pathOf(request))
  const isDone = request.outcome === 'answered' && (request.status < 300 || [400, 404, 410].includes(request.status))
  return isEnding && isDone && isAbout(request, id)
}

/**
 * Calls `visit` with each value within a value of the client, and with the key that holds it. It reads arrays, maps,
 * headers and the own fields of objects and errors, to a depth of 8. It skips what `visit` returns false for.
 */
export function walk(value: unknown, visit: (value: unknown, key: string) => boolean | undefined): void {
  const seen = new Set<object>()
  const step = (value: unknown, key: string, depth: number): void => {
    if (attempt(() => visit(value, key)) === false) return
    if (typeof value !== 'object' || value === null || depth === MAX_DEPTH || seen.has(value)) return
    seen.add(value)
    for (const [name, child] of attempt(() => fieldsOf(value)) ?? []) step(child, name, depth + 1)
  }
  step(value, '', 0)
}

/** Returns the fields of an object with their names, those of an error with its message, stack and cause. */
function fieldsOf(value: object): Iterable<readonly [string, unknown]> {
  if (value instanceof Map || value instanceof Headers || value instanceof URLSearchParams) {
    return Array.from(value as Iterable<readonly [unknown, unknown]>, ([key, child]) => [String(key), child] as const)
  }
  if (value instanceof Set) return Array.from(value, child => ['', child] as const)
  if (value instanceof Request || value instanceof Response) {
    return [
      ['url', value.url],
      ['headers', value.headers],
    ]
  }
  const names =
    value instanceof Error
      ? new Set(['message', 'stack', 'cause', ...Object.getOwnPropertyNames(value)])
      : Object.keys(value)
  const fields = value as unknown as Readonly<Record<string, unknown>>
  return Array.from(names, name => [name, attempt(() => fields[name])] as const)
}

/** Returns the status with which things of a kind begin. */
export function firstStatusOf(kind: CreatedKind): string | undefined {
  return LIFECYCLES[kind]?.statuses[0]
}

/** Tells whether a kind of thing can have a status. */
export function isKnownStatus(kind: CreatedKind, status: string): boolean {
  return LIFECYCLES[kind]?.statuses.includes(status) === true
}

function breaksBody(fault: ObservedRequest['fault']): boolean {
  return fault !== undefined && BODY_FAULTS.has(fault.kind)
}

function decodeText(text: string): string {
  return attempt(() => decodeURIComponent(text)) ?? text
}
