import {
  BATCH_LIFECYCLE,
  CONTAINER_LIFECYCLE,
  DEPLOYMENT_LIFECYCLE,
  HOSTED_LIFECYCLE,
} from '../../data/records/enums.ts'
import { DAY, type Micros } from '../../kernel/duration.ts'
import { EVENTS, type EventTopic, eventTopic } from '../events.ts'
import type { RentalRow } from '../rentals/rental-row.ts'
import type { World } from '../world.ts'

/** What a request asks after: things of a kind, or one of them by its wire id; an adapter by its name. */
export interface PolledResource {
  readonly kind: 'deployments' | 'adapters' | 'batches' | 'hosted' | 'containers' | 'limits' | 'ownRecords'
  readonly id?: string
  /** The kind of own records. Default: each. */
  readonly table?: string | undefined
}

/** How far ahead a change is looked for: a batch ends within a day of its creation, and a stall may come before. */
const HORIZON: Micros = 2 * DAY
/** Events looked at for one change: what needs more is a busy fleet, and a second's work. */
const MAX_FORECAST_EVENTS = 1_000_000

const IN_PROGRESS_STATUSES: ReadonlySet<string> = new Set([
  ...DEPLOYMENT_LIFECYCLE.inProgress,
  ...BATCH_LIFECYCLE.inProgress,
  ...HOSTED_LIFECYCLE.inProgress,
  ...CONTAINER_LIFECYCLE.inProgress,
  // The instances of a running deployment, the storage of a hosted instance, and a request for a quota.
  'scaling',
  'expanding',
  'pending',
])

/** The topics of events that change the service from outside, so that no client polls for their change. */
const EXTERNAL: ReadonlySet<EventTopic> = new Set(['weather', 'account'])

/** The status of each of these things that is on its way, by wire id. */
export function inProgress(world: World, polled: PolledResource): ReadonlyMap<string, string> {
  const statusById = new Map<string, string>()
  for (const [id, status, isMoving = IN_PROGRESS_STATUSES.has(status)] of statuses(world, polled)) {
    if (isMoving) statusById.set(id, status)
  }
  return statusById
}

/**
 * How many events it takes until the first of these things that are on their way has another status, if no client asks for
 * anything until then. 0 when none is on its way, or nothing that is planned will move it; money and weather do not
 * count.
 *
 * It is found by living through the time in a copy of the world, which is exact: what happens follows from what is there.
 * Counted in events, because a status may last no time at all, and is to be seen all the same.
 */
export function eventsToNextChange(world: World, polled: PolledResource): number {
  const pending = inProgress(world, polled)
  if (pending.size === 0) return 0
  const future = world.fork()
  const limit = world.clock.now + HORIZON
  const lastStatuses = new Map(pending)
  let visibleChanges = future.visibleChanges
  for (let events = 1; events <= MAX_FORECAST_EVENTS && future.next(limit); events++) {
    if (future.visibleChanges === visibleChanges) continue
    visibleChanges = future.visibleChanges
    const current = new Map([...statuses(future, polled)].map(([id, status]) => [id, status]))
    let changed = false
    for (const [id, before] of lastStatuses) {
      const after = current.get(id)
      if (after === before) continue
      changed = true
      if (after !== undefined) lastStatuses.set(id, after)
    }
    if (changed && !EXTERNAL.has(eventTopic(EVENTS[future.agenda.kind]!.name))) return events
  }
  return 0
}

/** A state that is on its way tells more than the storage that grows meanwhile, and moves on by itself. */
function rentalStatus({ state, expansionTargetGb }: Readonly<RentalRow>): string {
  return expansionTargetGb > 0 && !IN_PROGRESS_STATUSES.has(state) ? 'expanding' : state
}

function* statuses(
  world: World,
  { kind, id, table }: PolledResource,
): Generator<[id: string, status: string, isMoving?: boolean]> {
  switch (kind) {
    case 'deployments': {
      const one = id === undefined ? undefined : world.deployments.get(id)
      const all = id === undefined ? world.deployments.list() : one === undefined ? [] : [one]
      for (const { row } of all) {
        yield [row.id, row.status === 'running' && row.reportedPending > 0 ? 'scaling' : row.status]
      }
      break
    }
    case 'adapters': {
      const name = id === undefined || id.includes('/') ? id : `${world.store.account.display_name}/${id}`
      for (const { row } of world.deployments.list()) {
        const { type, modelName } = row.plan
        if (type === 'lora' && (name === undefined || modelName === name)) yield [row.id, row.status]
      }
      break
    }
    case 'batches':
      for (const [, row] of world.batches.entries()) if (id === undefined || row.id === id) yield [row.id, row.status]
      break
    case 'hosted':
    case 'containers': {
      const rentalKind = kind === 'hosted' ? 'hosted' : 'container'
      for (const [, row] of world.rentals.entries()) {
        if (row.kind === rentalKind && (id === undefined || row.id === id)) yield [row.id, rentalStatus(row)]
      }
      break
    }
    case 'ownRecords':
      for (const [, { kind: of, id: key, status, later }] of world.ownRecords.entries()) {
        if (of === (table ?? of) && key === (id ?? key)) yield [key, status, later.length > 0]
      }
      break
    case 'limits':
      for (const [, row] of world.gpuQuotas.entries()) yield [row.id, row.decision]
      for (const [, row] of world.access.rateLimits.entries()) yield [row.id, row.decision]
      break
  }
}
