/** The statuses of things: which are terminal, since when a thing has one, and which one an answer shows. */

import { BATCH_LIFECYCLE, DEPLOYMENT_LIFECYCLE } from '../../data/records/enums.ts'
import type { Micros } from '../../kernel/duration.ts'
import { RENTAL_LIFECYCLES } from '../../simulation/rentals/rental-row.ts'
import { isAbout, isUsable } from './facts.ts'
import type { Conduct, CreatedKind, CreatedThing, ObservedRequest } from './observation.ts'

type InWorld = Pick<Conduct, 'sim'>

interface Lifecycle {
  readonly statuses: readonly string[]
  readonly terminal: ReadonlySet<string>
}

/** Those of the provider's things. */
const LIFECYCLES: { readonly [Kind in CreatedKind]?: Lifecycle } = {
  deployment: DEPLOYMENT_LIFECYCLE,
  adapter: DEPLOYMENT_LIFECYCLE,
  hosted: RENTAL_LIFECYCLES.hosted,
  container: RENTAL_LIFECYCLES.container,
  batch: BATCH_LIFECYCLE,
}

/** The fields that have the status of a thing of the provider. */
const STATUS_FIELDS = ['status', 'state']

/** Returns the statuses of things that ended badly, and those of records that ended. */
export function badEndsIn({ sim }: InWorld): ReadonlySet<string> {
  const ends = Object.values(LIFECYCLES).flatMap(one => [...(one?.terminal ?? [])].filter(end => end !== 'completed'))
  return new Set([...ends, ...[...sim.world.ownRecords.declared.values()].flatMap(({ ended }) => ended)])
}

/** Tells whether a kind is that of a user's record table. */
export function isOwnKind({ sim }: InWorld, kind: CreatedKind): boolean {
  return sim.world.ownRecords.declared.has(kind)
}

/** Tells whether a status of a kind of thing is terminal. */
export function isTerminalStatus({ sim }: InWorld, kind: CreatedKind, status: string): boolean {
  const table = sim.world.ownRecords.declared.get(kind)
  return table === undefined ? LIFECYCLES[kind]?.terminal.has(status) === true : table.ended.includes(status)
}

/** Tells whether a thing has ended, and nothing is planned that begins it again. */
export function isOver({ sim }: InWorld, kind: CreatedKind, id: string, status: string): boolean {
  const { change = 0 } = sim.world.ownRecords.findRow(id, kind) ?? {}
  return isTerminalStatus({ sim }, kind, status) && change === 0
}

/** Tells whether a kind of thing can have a status. Records can have any. */
export function isKnownStatus(conduct: InWorld, kind: CreatedKind, status: string): boolean {
  return LIFECYCLES[kind]?.statuses.includes(status) === true || isOwnKind(conduct, kind)
}

/** Returns the status with which things of a kind begin. */
export function firstStatusOf(kind: CreatedKind): string | undefined {
  return LIFECYCLES[kind]?.statuses[0]
}

/** Returns the first word of the journal kinds of things of a kind. */
function topicOf(conduct: InWorld, kind: CreatedKind): string {
  if (isOwnKind(conduct, kind)) return 'ownRecord'
  return kind === 'adapter' ? 'deployment' : kind
}

/** Returns the statuses that a thing had, each with the time since which it had it, as far as the journal tells. */
export function statusHistory(
  { sim }: InWorld,
  { kind, id }: Pick<CreatedThing, 'kind' | 'id'>,
): readonly { readonly status: string; readonly since: Micros }[] {
  const isOwn = isOwnKind({ sim }, kind)
  const word = `${topicOf({ sim }, kind)}.`
  return sim.journal.entries().flatMap(({ kind: entryKind, subject, time, fields }) => {
    if (subject !== id || !entryKind.startsWith(word)) return []
    const status = isOwn ? String(fields?.status ?? 'deleted') : entryKind.slice(word.length)
    const isStatus = isOwn ? fields?.kind === kind : isKnownStatus({ sim }, kind, status)
    return isStatus ? [{ status, since: time }] : []
  })
}

/** Returns when a thing entered its present status, if the journal tells. */
export function statusSince(
  conduct: InWorld,
  { kind, id, status }: Pick<CreatedThing, 'kind' | 'id' | 'status'>,
): Micros | undefined {
  if (!isOwnKind(conduct, kind)) {
    const word = `${topicOf(conduct, kind)}.${status}`
    return conduct.sim.journal.entries().findLast(entry => entry.subject === id && entry.kind === word)?.time
  }
  // A record can change and keep its status.
  const history = statusHistory(conduct, { kind, id })
  return history[history.findLastIndex(one => one.status !== status) + 1]?.since
}

/** Returns the fields of answers that have the status of a thing. */
export function statusFieldsOf({ sim }: InWorld): ReadonlySet<string> {
  return new Set([...STATUS_FIELDS, ...Array.from(sim.world.ownRecords.declared.values(), ({ status }) => status)])
}

/** Returns the status of a thing in an answer, as the answer of one thing or as an entry of a list; undefined if it has none. */
export function statusInAnswer(
  { sim }: InWorld,
  answer: unknown,
  { kind, id }: Pick<CreatedThing, 'kind' | 'id'>,
): string | undefined {
  const table = sim.world.ownRecords.declared.get(kind)
  return findStatus(answer, id, table === undefined ? STATUS_FIELDS : [table.status])
}

function findStatus(answer: unknown, id: string, fields: readonly string[], depth = 0): string | undefined {
  if (typeof answer !== 'object' || answer === null || depth > 3) return undefined
  const values = Object.values(answer)
  if (!Array.isArray(answer) && values.includes(id)) {
    const found = fields.map(field => (answer as Readonly<Record<string, unknown>>)[field])
    const status = found.find(value => typeof value === 'string')
    if (status !== undefined) return status as string
  }
  for (const value of values) {
    const status = findStatus(value, id, fields, depth + 1)
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
  conduct: InWorld,
  request: ObservedRequest,
  { kind, id }: Pick<CreatedThing, 'kind' | 'id'>,
  endedAt: Micros | undefined,
): boolean {
  if (request.method !== 'GET' || !isUsable(request)) return false
  const status = statusInAnswer(conduct, request.answer, { kind, id })
  if (status !== undefined && isKnownStatus(conduct, kind, status)) return isTerminalStatus(conduct, kind, status)
  if (request.fault?.kind === 'stale' || !isAbout(request, id)) return false
  return endedAt !== undefined && request.sentAt >= endedAt
}
