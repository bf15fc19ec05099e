/** What reads of lists and of files showed a client about one thing: ends can be read without a read of the thing. */

import { DEPLOYMENT_LIFECYCLE } from '../../data/records/enums.ts'
import type { Micros } from '../../kernel/duration.ts'
import { hasRole, isAbout, isUsable } from './facts.ts'
import {
  firstStatusOf,
  isKnownStatus,
  isOwnKind,
  isTerminalStatus,
  showsEnd,
  statusHistory,
  statusInAnswer,
} from './lifecycles.ts'
import type { Conduct, CreatedKind, CreatedThing, ObservedRequest } from './observation.ts'

type ShownThing = Pick<CreatedThing, 'kind' | 'id' | 'status'>

/** The provider's kinds of things whose lists show a status as a read does. */
const LISTED: ReadonlySet<CreatedKind> = new Set(['deployment', 'batch'])

/** Entries of a page of batches without `limit`. */
const BATCHES_OF_PAGE = 20

/**
 * Tells whether a read showed its client that a thing had ended: a read of the thing, a list with its terminal status, or
 * a read of the output or the error file of a batch, which exist from its end on.
 *
 * @param endedAt when the thing ended; undefined if that is unknown
 */
export function tellsEnd(
  conduct: Conduct,
  request: ObservedRequest,
  thing: ShownThing,
  endedAt: Micros | undefined,
): boolean {
  if (showsEnd(conduct, request, thing, endedAt) || readsResults(conduct, request, thing)) return true
  if (endedAt === undefined || request.sentAt < endedAt) return false
  const status = listedStatus(conduct, request, thing)
  return status !== undefined && isTerminalStatus(conduct, thing.kind, status)
}

/**
 * Returns the status with which a list showed a deployment, a batch or a record; undefined if the request reads no list, or a list
 * without the thing. Without an answer, the state of the world at that time tells.
 */
export function listedStatus(conduct: Conduct, request: ObservedRequest, thing: ShownThing): string | undefined {
  const { method, answer, path, fault } = request
  const isOwn = isOwnKind(conduct, thing.kind)
  const isList = (isOwn || LISTED.has(thing.kind)) && hasRole(conduct, request, `list ${thing.kind}`)
  if (!isList || method !== 'GET' || fault?.kind === 'stale' || !isUsable(request)) {
    return undefined
  }
  if (answer !== undefined && !JSON.stringify(answer).includes(thing.id)) return undefined
  const shown = statusInAnswer(conduct, answer, thing)
  // A names profile can rename the status of an answer.
  if (shown !== undefined && isKnownStatus(conduct, thing.kind, shown)) return shown
  const status = statusAt(conduct, thing, request.sentAt)
  if (answer !== undefined || status === undefined || isOwn) return status
  const query = new URLSearchParams(/\?(.*)/s.exec(path)?.[1])
  const isShown = thing.kind === 'batch' ? isOnPage(conduct, request, thing.id, query) : isAskedFor(status, query)
  return isShown ? status : undefined
}

/** Returns the status that a thing had at a time, as far as the journal tells; undefined before its creation. */
function statusAt(conduct: Conduct, thing: ShownThing, time: Micros): string | undefined {
  const status = statusHistory(conduct, thing).findLast(({ since }) => since <= time)?.status
  if (status !== undefined) return status
  const isCreated = conduct.sim.journal
    .entries()
    .some(entry => entry.subject === thing.id && entry.kind === `${thing.kind}.created` && entry.time <= time)
  return isCreated ? firstStatusOf(thing.kind) : undefined
}

/** Tells whether a list of deployments has those of a status. */
function isAskedFor(status: string, query: URLSearchParams): boolean {
  const asked = (query.get('status') ?? '').split(',').map(word => word.trim())
  const words = asked.filter(word => word !== '')
  // A names profile can rename statuses. Its words are not looked at, so that no client is accused of them.
  return words.length === 0 || words.includes(status) || words.some(word => !DEPLOYMENT_LIFECYCLE.has(word))
}

/** Tells whether a page of batches, newest first, had a batch. */
function isOnPage({ sim }: Conduct, request: ObservedRequest, id: string, query: URLSearchParams): boolean {
  const later = new Set<string>()
  for (const { kind, subject, seq, time } of sim.journal.entries()) {
    const isLater = request.seq === undefined ? time > request.sentAt : seq > request.seq
    if (isLater && kind === 'batch.created') later.add(subject)
  }
  const ids = sim.world.batches.list().map(batch => batch.id)
  const newestFirst = ids.filter(other => !later.has(other)).reverse()
  const names = [...query.keys()]
  // A names profile can rename the parameters.
  if (names.length > 0 && !names.includes('after') && !names.includes('limit')) return true
  const after = query.get('after')
  const begin = after === null ? 0 : newestFirst.indexOf(after) + 1
  const limit = Number(query.get('limit') ?? BATCHES_OF_PAGE)
  return newestFirst.slice(begin, begin + limit).includes(id)
}

/** Tells whether a request read the output or the error file of a batch. */
export function readsResults(conduct: Conduct, request: ObservedRequest, { kind, id }: ShownThing): boolean {
  if (kind !== 'batch' || !hasRole(conduct, request, 'content file') || request.method !== 'GET') return false
  const { output_file_id, error_file_id } = conduct.sim.world.batches.get(id)?.toRecord() ?? {}
  return isUsable(request) && [output_file_id, error_file_id].some(file => file && isAbout(request, file))
}
