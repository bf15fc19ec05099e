/** Fires events. An event that throws, which is a bug of the simulator, fails its own subject and nothing else. */

import type { Row } from '../kernel/row.ts'
import type { SimulationContext } from './context.ts'
import { EVENTS, type EventName, type EventTopic, eventTopic } from './events.ts'
import { toRentalOrdinal } from './fleet/tenants.ts'
import { countsAgainstQuota } from './rentals/rental-row.ts'
import type { WorldParts } from './world-parts.ts'

/** Called with what an event threw, and the name of the event. */
export type OnEventError = (error: unknown, event: EventName) => void

/** A world whose events fire. */
interface EventWorld extends WorldParts {
  readonly onEventError: OnEventError | undefined
}

/** Why a subject failed, as clients read it. The journal has the error. */
const REASON = 'internal error'
/** The maximum length of an error in the journal. */
const ERROR_MAX_LENGTH = 200

/**
 * Returns a function that fires the event that the agenda has just handed out. It throws an InvariantError if the world is
 * checked and the event violates an invariant. If the world has no `onEventError`, it throws the error of the event.
 */
export function createEventFiring(world: EventWorld, context: SimulationContext): () => void {
  // By the numbers of the events: the look-up of a part by its name would cost more than most of what an event does first.
  const parts = EVENTS.map(({ part }) => world[part])
  return () => {
    const { kind, subject, arg } = context.agenda
    const { name } = EVENTS[kind]!
    context.beginEvent()
    try {
      // The table binds each name to its part. The compiler cannot follow that through the number of an event.
      parts[kind]!.onEvent(name as never, subject, arg)
    } catch (error) {
      if (world.onEventError === undefined) throw error
      failEvent(world, context, error)
    }
    context.endEvent(name, subject)
  }
}

/** Records the error, then fails the subject. What the event changed before it threw stays. */
function failEvent(world: EventWorld, context: SimulationContext, error: unknown): void {
  const { kind, subject, arg } = context.agenda
  const { name } = EVENTS[kind]!
  world.onEventError!(error, name)
  try {
    const { row, fail } = FIND_SUBJECT[eventTopic(name)](world, subject, arg, name)
    const message = String(error).slice(0, ERROR_MAX_LENGTH)
    context.record(row ?? world.ledger.account, 'event.failed', { event: name, error: message })
    context.markVisibleChange()
    fail?.()
  } catch (error) {
    // The event left its subject in a state from which it cannot even fail.
    world.onEventError!(error, name)
  }
}

interface Subject {
  /** The row of the journal entry. Default: the account. */
  readonly row?: Row | undefined
  /** Fails the subject. Missing: only the event is lost. */
  readonly fail?: () => void
}

type FindSubject = (world: EventWorld, subject: number, arg: number, name: EventName) => Subject

/** No row fails. Only the event is lost. */
const noSubject: FindSubject = () => ({})

/** How the subject of an event is found, by the first word of its name. A subject that has gone is empty. */
const FIND_SUBJECT: Readonly<Record<EventTopic, FindSubject>> = {
  instance: instanceSubject,
  deployment: deploymentSubject,
  adapter: (world, subject, arg, name) => deploymentSubject(world, name === 'adapter.loadedOnInstance' ? arg : subject),
  batch: ({ batches }, subject) => ({ row: batches.writable(subject), fail: () => batches.fail(subject, REASON) }),
  inference: ({ inferenceRequests }, subject) => {
    const row = inferenceRequests.findWritable(subject)
    return row === undefined ? {} : { row, fail: () => inferenceRequests.fail(subject, REASON) }
  },
  rental: rentalSubject,
  placement: placementSubject,
  node: noSubject,
  pool: noSubject,
  command: noSubject,
  weather: noSubject,
  file: noSubject,
  limit: noSubject,
  account: noSubject,
  webhook: noSubject,
  ownRecord: noSubject,
}

function deploymentSubject({ deployments }: EventWorld, ordinal: number): Subject {
  return { row: deployments.writable(ordinal), fail: () => deployments.fail(ordinal, REASON) }
}

/** The entry is that of the deployment, which gets another instance as after a crash. */
function instanceSubject({ instances, deployments }: EventWorld, ordinal: number): Subject {
  const row = instances.find(ordinal)
  if (row === undefined) return {}
  return {
    row: deployments.writable(row.deployment),
    fail: () => instances.crash(ordinal, { cause: 'engine_exit', reason: REASON }),
  }
}

/** A rental fails as if its node was lost. */
function rentalSubject({ rentals }: EventWorld, ordinal: number): Subject {
  const row = rentals.writable(ordinal)
  return {
    row,
    fail: () => {
      if (countsAgainstQuota(row.state)) rentals.lose([ordinal], { cause: 'other', reason: REASON })
    },
  }
}

/** Only the tenant that could not be placed fails. The other tenants get another round. */
function placementSubject(world: EventWorld): Subject {
  const tenant = world.placement.takeFailedTenant()
  const { row, fail } =
    tenant === undefined
      ? {}
      : tenant >= 0
        ? instanceSubject(world, tenant)
        : rentalSubject(world, toRentalOrdinal(tenant))
  return {
    row,
    fail: () => {
      world.placement.scheduleRound()
      fail?.()
    },
  }
}
