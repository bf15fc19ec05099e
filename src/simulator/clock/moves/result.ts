/** The result of a move of time. */

import { BATCH_STATUSES, CONTAINER_STATES, DEPLOYMENT_STATUSES, HOSTED_STATES } from '../../../data/records/enums.ts'
import type { Clock } from '../../../kernel/clock.ts'
import type { Entry } from '../../../kernel/journal.ts'
import type { World } from '../../../simulation/world.ts'

/** The events and changes of status during a move of time. */
export interface MoveResult {
  /** Time before and after, ISO 8601. */
  readonly from: string
  readonly to: string
  /** Number of events. */
  readonly events: number
  /** Number of events by kind, as in `{ 'instance.ready': 1 }`. */
  readonly counts: Readonly<Record<string, number>>
  /** The changes of status that a client can see, in order. Entries that the journal has dropped are missing. */
  readonly transitions: readonly Transition[]
  /** The events that threw an error, which is a bug of the simulator. Missing: none did. */
  readonly failedEvents?: readonly FailedEvent[]
}

/** An event that threw an error. */
export interface FailedEvent {
  /** Time of the event, ISO 8601. */
  readonly at: string
  /** Wire id of what failed with the event, or of the account. */
  readonly subject: string
  /** Name of the event, as in `batch.finalized`. */
  readonly event: string
  readonly error: string
}

/** The result of a move that may not reach its end. */
export interface BoundedMoveResult {
  /** Whether the event or condition came in time. */
  readonly reached: boolean
  readonly result: MoveResult
}

/** A change of status. */
export interface Transition {
  /** Time of the change, ISO 8601. */
  readonly at: string
  /** Wire id of the subject. */
  readonly subject: string
  /** Kind of the subject and its new status: `deployment.running`, `batch.completed`; `pod.RUNNING` of an own record. */
  readonly became: string
}

/** The journal kinds that change a status on the wire. */
const STATUS_KINDS: ReadonlySet<string> = new Set([
  ...DEPLOYMENT_STATUSES.map(status => `deployment.${status}`),
  ...BATCH_STATUSES.map(status => `batch.${status}`),
  ...HOSTED_STATES.map(state => `hosted.${state}`),
  ...CONTAINER_STATES.map(state => `container.${state}`),
  'limit.approved',
  'limit.denied',
])

/** The journal kind of an event that threw. */
const FAILED_EVENT_KIND = 'event.failed'

/** Returns the change of status that a journal entry records; undefined for any other entry. */
export function toTransition({ kind, subject, time }: Entry, clock: Clock): Transition | undefined {
  return STATUS_KINDS.has(kind) ? { at: clock.iso(time), subject, became: kind } : undefined
}

/**
 * Returns the change of status of a record of an own endpoint. An entry of a record can be about its other fields alone.
 *
 * @param statuses those of the records so far, by kind and key. It changes
 */
function toOwnTransition({ kind, subject, time, fields = {} }: Entry, clock: Clock, statuses: Map<string, unknown>) {
  if (!kind.startsWith('ownRecord.')) return undefined
  const { kind: noun, status = 'deleted' } = fields
  if (statuses.get(`${noun} ${subject}`) === status) return undefined
  statuses.set(`${noun} ${subject}`, status)
  return { at: clock.iso(time), subject, became: `${noun}.${status}` }
}

/** Returns the failed event that a journal entry records; undefined for any other entry. */
export function toFailedEvent({ kind, subject, time, fields = {} }: Entry, clock: Clock): FailedEvent | undefined {
  if (kind !== FAILED_EVENT_KIND) return undefined
  return { at: clock.iso(time), subject, event: String(fields.event), error: String(fields.error) }
}

/** The state of a world at the start of a move. */
export interface MoveStart {
  readonly world: World
  readonly from: string
  readonly counts: ReadonlyMap<string, number>
  /** Number of the newest journal entry. */
  readonly last: number
  /** Those of the records of own endpoints, by kind and key. The result of the move changes them. */
  readonly statuses: Map<string, unknown>
}

/** Returns the present state of a world, for `moveResultSince`. */
export function startMove(world: World): MoveStart {
  const { clock, journal, ownRecords } = world
  const statuses = new Map([...ownRecords.entries()].map(([, row]) => [`${row.kind} ${row.id}`, row.status]))
  return { world, from: clock.iso(), counts: new Map(journal.counts), last: journal.last, statuses }
}

/** Returns the result of a move from its start, which is used once, to the present time. */
export function moveResultSince({ world, from, last, statuses, ...before }: MoveStart): MoveResult {
  const { clock, journal } = world
  const counts: Record<string, number> = {}
  let events = 0
  for (const [kind, count] of journal.counts) {
    const added = count - (before.counts.get(kind) ?? 0)
    if (added === 0) continue
    counts[kind] = added
    events += added
  }
  const entries = events === 0 ? [] : world.journal.entries(last)
  const transitions = entries.flatMap(one => toTransition(one, clock) ?? toOwnTransition(one, clock, statuses) ?? [])
  const result = { from, to: clock.iso(), events, counts, transitions }
  if (counts[FAILED_EVENT_KIND] === undefined) return result
  return { ...result, failedEvents: entries.flatMap(entry => toFailedEvent(entry, clock) ?? []) }
}
