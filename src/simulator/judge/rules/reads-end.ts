import { DEPLOYMENT_LIFECYCLE } from '../../../data/records/enums.ts'
import type { Micros } from '../../../kernel/duration.ts'
import { comparisonOf } from '../answers/comparison.ts'
import { repeatedEffects } from '../created-things.ts'
import {
  endsThing,
  entryEvidence,
  idInPath,
  isAbout,
  isUsable,
  kindFor,
  lastStartOf,
  requestEvidence,
  violationAt,
} from '../facts.ts'
import { isOwnKind, isTerminalStatus, showsEnd, statusHistory, statusInAnswer, statusSince } from '../lifecycles.ts'
import { listedStatus, tellsEnd } from '../list-reads.ts'
import type { Conduct, CreatedKind, CreatedThing, Observation, ObservedRequest } from '../observation.ts'
import { isRead, splitAtWrites } from '../retries.ts'
import { defineRule, type Violation } from '../rule.ts'
import { formatSince, nameRequest, nameThing, operationOf, startSentence } from '../words.ts'
import { tellsOfLoss } from './done-as-said.ts'

/** Reads that may follow the one that showed the end, to see its details again. */
const FURTHER_READS = 2

type PolledThing = Pick<CreatedThing, 'kind' | 'id' | 'status'>

/**
 * A client that polls a deployment or a batch reads its end, and takes it for the end:
 * - A client that returned has read the terminal status of each batch and deployment that it began to poll, if the thing
 *   had it by then. A list with this status counts, and so do the output and the error file of a batch. A deployment that
 *   it read as running, or ended itself, needs no more.
 * - After an answer with the terminal status, at most two further reads show it again. More reads show a client that
 *   does not know the status, such as `expired`. After the client's own write to the thing, its reads are counted from 0.
 *
 * Records of a user's tables have the statuses that their table says. Only a client that reads the end of one without
 * faults must read it, since others can wait for something else.
 */
export const readsEnd = defineRule({
  summary: 'The client reads the terminal status of what it polls, and stops polling then.',
  advice:
    'Poll a batch until it is completed, failed, expired or cancelled. Poll a deployment until it is running, failed, ' +
    'stopped or deleted.',
  detail:
    'Batches and deployments that the client polled count. In a judgement, batches that it created count, too. An end that comes after the client has ended does not count. After it read the terminal status, the client may read the thing two more times, and again after each write to it. A list with this status is enough as its reading of the end, and so is the output or the error file of a batch. If the client saw a deployment running, or ended the thing itself, it need not read further. In `explore`, a client that polls only one thing can say in its result that the thing was not ready. Then it need not read the end.',
  source:
    'Convention of interfaces with polls: a status that never changes again ends the polling. docs/model-reference.md ' +
    'lists these statuses.',
  premise: observation => polledThings(observation).size > 0,
  otherwise: 'it polls no deployment and no batch',
  check(observation) {
    return [...polledThings(observation)].flatMap(([id, kind]) => {
      const status = statusOf(observation, kind, id)
      if (status === undefined || !isTerminalStatus(observation, kind, status)) return []
      const thing = { kind, id, status }
      const endedAt = statusSince(observation, thing)
      const reads = observation.requests.filter(
        request => request.start === lastStartOf(observation) && isAbout(request, id),
      )
      const violation =
        findUnread(observation, thing, endedAt, reads) ?? findIgnored(observation, thing, endedAt, reads)
      return violation === undefined ? [] : [violation]
    })
  },
})

/** The client returned, and never read the end. The rule `noDouble` reports a batch that it created again instead. */
function findUnread(
  observation: Conduct,
  thing: PolledThing,
  endedAt: Micros | undefined,
  reads: readonly ObservedRequest[],
): Violation | undefined {
  const { end, requests, created } = observation
  if (end.kind !== 'returned' || endedAt === undefined || endedAt > observation.endedAt) return undefined
  const hasRead = requests.some(
    request => tellsEnd(observation, request, thing, endedAt) || endsThing(observation, request, thing.id),
  )
  const isAsked = !isOwnKind(observation, thing.kind) || readsEndUsually(observation, thing)
  if (hasRead || !isAsked || hasReadGoal(observation, thing)) return undefined
  const lastPoll = requests.findLast(
    request =>
      (isPoll(observation, request) && reads.includes(request)) ||
      listedStatus(observation, request, thing) !== undefined,
  )
  const last = lastPoll ?? created.find(({ id }) => id === thing.id)?.request
  const repeated = repeatedEffects(observation).flat()
  if (last === undefined || repeated.some(({ id }) => id === thing.id)) return undefined
  // A client with a deadline can say of the one thing that it polls that it was not ready when it last looked.
  const hasLooked = [...reads.filter(read => isPoll(observation, read)), lastPoll].some(one => one && isUsable(one))
  const comparison = hasLooked && observation.base && comparisonOf(observation as Observation)
  const isSaid = comparison && tellsOfLoss(observation as Observation, comparison)
  if (isSaid && polledThings(observation).size === 1) return undefined
  const what = lastPoll ? 'Its last poll was' : 'It never polled it after'
  const words =
    `${nameThing(thing)} ended ${formatSince(observation, endedAt)} after the start, and the client returned ` +
    `without having read this status. ${what} ${nameRequest(last)}, sent ` +
    `${formatSince(observation, last.sentAt)} after the start.`
  return violationAt(last, words, {
    subject: thing.id,
    evidence: [...requestEvidence(last), ...entryEvidence(observation, thing.id)],
  })
}

/** An answer showed the end, and the client polled on. */
function findIgnored(
  observation: Conduct,
  thing: PolledThing,
  endedAt: Micros | undefined,
  reads: readonly ObservedRequest[],
): Violation | undefined {
  // A client that deletes or starts the thing looks what came of it.
  const writes = reads.filter(request => !isRead(request))
  const ends = reads.filter(request => isPoll(observation, request) && showsEnd(observation, request, thing, endedAt))
  const telling = splitAtWrites(ends, writes).find(({ length }) => length > 1 + FURTHER_READS)
  if (telling === undefined) return undefined
  const first = telling[0]!
  const last = telling.at(-1)!
  const shown = statusInAnswer(observation, first.answer, thing) ?? thing.status
  const words =
    `${startSentence(nameRequest(first))} showed ${formatSince(observation, first.sentAt)} after the start that the ${thing.kind} ` +
    `${thing.id} is ${shown}. The client polled on: ${telling.length - 1} further reads showed the same, the ` +
    `last ${formatSince(observation, last.sentAt)} after the start.`
  return violationAt(first, words, {
    subject: thing.id,
    // One loop polls, whatever the end that it does not know, and whatever the client does after the loop.
    rootCause: `${operationOf(first)}/ok`,
    evidence: [...requestEvidence(first, last), ...entryEvidence(observation, thing.id)],
  })
}

/** Returns the ids that the last start of the client polled, with their kinds. In a log, batches that it created too. */
function polledThings(observation: Conduct): ReadonlyMap<string, CreatedKind> {
  const start = lastStartOf(observation)
  const things = new Map<string, CreatedKind>()
  for (const request of observation.requests) {
    const kind = polledKind(observation, request)
    if (kind !== undefined && request.start === start) things.set(idInPath(observation, request), kind)
  }
  // In a run of explore, a batch that was never polled is a case of `noLeak`.
  const batches = observation.isFromLog ? observation.created.filter(({ kind }) => kind === 'batch') : []
  for (const { id } of batches) things.set(id, 'batch')
  return things
}

function isPoll(conduct: Conduct, request: ObservedRequest): boolean {
  return polledKind(conduct, request) !== undefined
}

/** Returns the kind of thing that a request reads, if clients wait for its end. */
function polledKind(conduct: Conduct, request: ObservedRequest): CreatedKind | undefined {
  const kind = kindFor(conduct, request, 'read')
  if (kind === undefined) return undefined
  return kind === 'deployment' || kind === 'batch' || isOwnKind(conduct, kind) ? kind : undefined
}

/** Tells whether the client reads the end of such a record without faults. */
function readsEndUsually(conduct: Conduct, { kind }: PolledThing): boolean {
  return (conduct.base?.requests ?? []).some(request => {
    if (kindFor(conduct, request, 'read') !== kind) return false
    const status = statusInAnswer(conduct, request.answer, { kind, id: idInPath(conduct, request) })
    return status !== undefined && isTerminalStatus(conduct, kind, status)
  })
}

/** Tells whether a read showed that a deployment runs, which is what its client waits for. */
function hasReadGoal(conduct: Conduct, thing: PolledThing): boolean {
  if (thing.kind !== 'deployment') return false
  const start = lastStartOf(conduct)
  const usable = conduct.requests.filter(
    request => request.start === start && request.method === 'GET' && isUsable(request),
  )
  // A request log has no answers: then the journal tells what they showed.
  const history = usable.some(({ answer }) => answer === undefined) ? statusHistory(conduct, thing) : []
  const shownStatus = (request: ObservedRequest) => {
    if (!isAbout(request, thing.id)) return listedStatus(conduct, request, thing)
    if (request.answer !== undefined) return statusInAnswer(conduct, request.answer, thing)
    return history.findLast(({ since }) => since <= request.sentAt)?.status
  }
  return usable.some(request => {
    const status = shownStatus(request)
    return status !== undefined && DEPLOYMENT_LIFECYCLE.has(status) && DEPLOYMENT_LIFECYCLE.phase(status) === 'settled'
  })
}

function statusOf({ sim }: Conduct, kind: CreatedKind, id: string): string | undefined {
  if (kind === 'batch') return sim.world.batches.get(id)?.status
  return (sim.world.deployments.get(id) ?? sim.world.ownRecords.findRow(id, kind))?.status
}
