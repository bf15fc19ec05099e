/** What a move of time brought about, as it is told. */

import { BATCH_STATUSES, CONTAINER_STATES, DEPLOYMENT_STATUSES, HOSTED_STATES } from '../data/records/records.ts'
import type { Clock } from '../kernel/clock.ts'
import type { Entry } from '../kernel/journal.ts'
import type { World } from '../simulation/world.ts'

/** What an advance did. */
export interface MoveResult {
  /** Time before and after, ISO 8601. */
  readonly from: string
  readonly to: string
  /** Events that happened. */
  readonly events: number
  /** The same by kind, as in `{ 'instance.ready': 1 }`. */
  readonly counts: Readonly<Record<string, number>>
  /** The changes of status that a client could see, in order, as far back as the journal goes. */
  readonly transitions: readonly Transition[]
}

/** What came of a move that may not get where it was meant to. */
export interface BoundedMoveResult {
  /** Whether what it was to reach came in time. */
  readonly reached: boolean
  readonly result: MoveResult
}

/** A thing has another status now. */
export interface Transition {
  /** When, ISO 8601. */
  readonly at: string
  /** Wire id of the thing. */
  readonly subject: string
  /** What it is and the status it has: `deployment.running`, `batch.completed`. */
  readonly became: string
}

/** The events by which a thing has another status on the wire. */
const STATUS_KINDS: ReadonlySet<string> = new Set([
  ...DEPLOYMENT_STATUSES.map(status => `deployment.${status}`),
  ...BATCH_STATUSES.map(status => `batch.${status}`),
  ...HOSTED_STATES.map(state => `hosted.${state}`),
  ...CONTAINER_STATES.map(state => `container.${state}`),
  'limit.approved',
  'limit.denied',
])

/** The change of status that an entry of the journal tells; undefined for any other entry. */
export function toTransition({ kind, subject, time }: Entry, clock: Clock): Transition | undefined {
  return STATUS_KINDS.has(kind) ? { at: clock.iso(time), subject, became: kind } : undefined
}

/** Where a move of time began. */
export interface MoveStart {
  readonly world: World
  readonly from: string
  readonly counts: ReadonlyMap<string, number>
  /** The newest entry of the journal. */
  readonly last: number
}

/** A move of time begins. */
export function startMove(world: World): MoveStart {
  const { clock, journal } = world
  return { world, from: clock.iso(), counts: new Map(journal.counts), last: journal.last }
}

/** What has happened since a move of time began. */
export function moveResultSince({ world, from, counts: countsBefore, last }: MoveStart): MoveResult {
  const { clock, journal } = world
  const counts: Record<string, number> = {}
  let events = 0
  for (const [kind, count] of journal.counts) {
    const added = count - (countsBefore.get(kind) ?? 0)
    if (added === 0) continue
    counts[kind] = added
    events += added
  }
  const transitions = events === 0 ? [] : world.journalEntries(last).flatMap(entry => toTransition(entry, clock) ?? [])
  return { from, to: clock.iso(), events, counts, transitions }
}
