/** Facts of an observation that several rules need, and the evidence for them. */

import { attempt } from '../../lib/errors.ts'
import type { Role, RoleVerb } from '../../service/endpoint.ts'
import type { Conduct, CreatedThing, ObservedRequest } from './observation.ts'
import type { Evidence, Violation } from './rule.ts'
import { operationOf, pathOf } from './words.ts'

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

/** Returns the kind of thing for which an operation does one of some things; undefined for none. */
export function kindFor(
  { sim }: Pick<Conduct, 'sim'>,
  { operation }: Pick<ObservedRequest, 'operation'>,
  ...verbs: readonly RoleVerb[]
): string | undefined {
  const role = sim.api.operations[operation]?.roles.find(one => verbs.some(verb => one.startsWith(`${verb} `)))
  return role?.slice(role.indexOf(' ') + 1)
}

/** Tells whether a record of a kind that a request makes is a payment, and no thing. */
export function isPayment(conduct: Pick<Conduct, 'sim'>, request: ObservedRequest, kind: string): boolean {
  return hasRole(conduct, request, `pay ${kind}`) && !hasRole(conduct, request, `create ${kind}`)
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

/** Returns what a request has in place of the last parameter of its route: the id of the thing that it is about. */
export function idInPath({ sim }: Pick<Conduct, 'sim'>, request: Pick<ObservedRequest, 'operation' | 'path'>): string {
  const path = pathOf(request)
  const route = sim.api.operations[request.operation]?.path ?? '}'
  if (route.endsWith('}')) return decodeText(path.slice(path.lastIndexOf('/') + 1))
  // From the end, because the name of a model can have more than one segment.
  const fromEnd = route.slice(route.lastIndexOf('}')).split('/').length
  return decodeText(path.split('/').at(-fromEnd) ?? '')
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

/** Tells whether a request of the client ended a thing, or found it ended: a delete, stop or cancel of it. */
export function endsThing(conduct: Pick<Conduct, 'sim'>, request: ObservedRequest, id: string): boolean {
  const isDone = request.outcome === 'answered' && (request.status < 300 || [400, 404, 410].includes(request.status))
  return isDone && isAbout(request, id) && kindFor(conduct, request, 'delete', 'stop') !== undefined
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

function breaksBody(fault: ObservedRequest['fault']): boolean {
  return fault !== undefined && BODY_FAULTS.has(fault.kind)
}

function decodeText(text: string): string {
  return attempt(() => decodeURIComponent(text)) ?? text
}
