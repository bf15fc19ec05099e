import { PRIORITY, type Priority } from '../kernel/agenda.ts'

interface EventDefinition {
  /** The part of the world that handles it with `onEvent`, by its field of `World`. */
  readonly part: string
  /** Its order among the events of one instant. */
  readonly priority: Priority
  /**
   * Whether it is not work of the simulated service: deadlines, weather, looks of controllers, money. A clock that jumps
   * to the next piece of work passes such events and never stops at one.
   */
  readonly housekeeping: boolean
}

/**
 * The events of the agenda in the order of their numbers. Digests and snapshots hold the numbers, so an event keeps its
 * place, and a new one comes last. The compiler names the part whose `onEvent` has no case for it.
 *
 * The agenda keeps two numbers with an event, and `onEvent` gets them: the subject and the argument.
 */
const DEFINITIONS = {
  // Subject: an instance; arg: how often its slot was used.
  'instance.placementDue': { part: 'instances', priority: PRIORITY.controller, housekeeping: false },
  'instance.containerStarted': { part: 'instances', priority: PRIORITY.completion, housekeeping: false },
  'instance.imagePulled': { part: 'instances', priority: PRIORITY.completion, housekeeping: false },
  'instance.weightsRefused': { part: 'instances', priority: PRIORITY.failure, housekeeping: false },
  'instance.weightsPulled': { part: 'instances', priority: PRIORITY.completion, housekeeping: false },
  'instance.outOfMemory': { part: 'instances', priority: PRIORITY.failure, housekeeping: false },
  'instance.engineExited': { part: 'instances', priority: PRIORITY.failure, housekeeping: false },
  'instance.loaded': { part: 'instances', priority: PRIORITY.completion, housekeeping: false },
  'instance.warmed': { part: 'instances', priority: PRIORITY.completion, housekeeping: false },
  'instance.overdue': { part: 'instances', priority: PRIORITY.failure, housekeeping: true },
  'instance.drained': { part: 'instances', priority: PRIORITY.completion, housekeeping: false },
  'instance.imageTimedOut': { part: 'instances', priority: PRIORITY.failure, housekeeping: false },
  'instance.downloadTimedOut': { part: 'instances', priority: PRIORITY.failure, housekeeping: false },
  // Subject: a node; arg: how often its slot was used.
  'node.provisioned': { part: 'nodeAutoscaler', priority: PRIORITY.completion, housekeeping: false },
  'node.keptEmpty': { part: 'nodeAutoscaler', priority: PRIORITY.controller, housekeeping: true },
  'node.preempted': { part: 'operationEffects', priority: PRIORITY.failure, housekeeping: false },
  'node.drainDeadline': { part: 'operationEffects', priority: PRIORITY.failure, housekeeping: false },
  // Subject: a pool, by the position of its first group.
  'pool.spotReturned': { part: 'nodeAutoscaler', priority: PRIORITY.completion, housekeeping: false },
  // Subject: a scheduled command.
  'command.due': { part: 'commands', priority: PRIORITY.failure, housekeeping: false },
  // Subject: a source of weather.
  'weather.strikes': { part: 'weather', priority: PRIORITY.failure, housekeeping: true },
  'weather.passes': { part: 'weather', priority: PRIORITY.completion, housekeeping: true },
  // No subject: one round at an instant serves all tenants that wait for GPUs.
  'placement.round': { part: 'placement', priority: PRIORITY.observer, housekeeping: false },
  // Subject: a deployment.
  'deployment.idle': { part: 'autoscaler', priority: PRIORITY.controller, housekeeping: true },
  'deployment.scaleDue': { part: 'autoscaler', priority: PRIORITY.controller, housekeeping: true },
  'adapter.downloaded': { part: 'loraAdapters', priority: PRIORITY.completion, housekeeping: false },
  'adapter.loaded': { part: 'loraAdapters', priority: PRIORITY.completion, housekeeping: false },
  'adapter.downloading': { part: 'loraAdapters', priority: PRIORITY.completion, housekeeping: false },
  // Subject: an instance; arg: an adapter.
  'adapter.loadedOnInstance': { part: 'loraAdapters', priority: PRIORITY.completion, housekeeping: false },
  // Subject: a batch.
  'batch.validated': { part: 'batches', priority: PRIORITY.completion, housekeeping: false },
  'batch.resumed': { part: 'batches', priority: PRIORITY.completion, housekeeping: false },
  'batch.capacityCame': { part: 'batches', priority: PRIORITY.completion, housekeeping: false },
  'batch.chunkDone': { part: 'batches', priority: PRIORITY.completion, housekeeping: false },
  'batch.finalized': { part: 'batches', priority: PRIORITY.completion, housekeeping: false },
  'batch.cancelSettled': { part: 'batches', priority: PRIORITY.completion, housekeeping: false },
  'batch.expired': { part: 'batches', priority: PRIORITY.failure, housekeeping: true },
  // Subject: a request in flight; arg: how often its slot was used.
  'inference.ended': { part: 'inferenceRequests', priority: PRIORITY.completion, housekeeping: false },
  // Subject: a file.
  'file.expired': { part: 'files', priority: PRIORITY.failure, housekeeping: true },
  // Subject: a rental.
  'rental.gaveUp': { part: 'rentals', priority: PRIORITY.failure, housekeeping: false },
  'rental.imageRefused': { part: 'rentals', priority: PRIORITY.failure, housekeeping: false },
  'rental.pullTimedOut': { part: 'rentals', priority: PRIORITY.failure, housekeeping: false },
  'rental.imagePulled': { part: 'rentals', priority: PRIORITY.completion, housekeeping: false },
  'rental.booted': { part: 'rentals', priority: PRIORITY.completion, housekeeping: false },
  'rental.shutDown': { part: 'rentals', priority: PRIORITY.completion, housekeeping: false },
  'rental.expanded': { part: 'rentals', priority: PRIORITY.completion, housekeeping: false },
  // Subject: a limit request.
  'limit.decided': { part: 'gpuQuotas', priority: PRIORITY.controller, housekeeping: false },
  // Subject: a GPU type, by its position.
  'limit.freed': { part: 'gpuQuotas', priority: PRIORITY.controller, housekeeping: false },
  // No subject: the account.
  'account.crossing': { part: 'ledger', priority: PRIORITY.controller, housekeeping: true },
  'account.topupDue': { part: 'ledger', priority: PRIORITY.completion, housekeeping: false },
  'account.graceEnded': { part: 'ledger', priority: PRIORITY.controller, housekeeping: true },
  // Subject: a rental.
  'rental.placementDue': { part: 'rentals', priority: PRIORITY.completion, housekeeping: false },
  // Subject: a batch on shared capacity.
  'batch.hourChanged': { part: 'batches', priority: PRIORITY.completion, housekeeping: true },
  // No subject: other customers of the cloud.
  'weather.customersMove': { part: 'weather', priority: PRIORITY.controller, housekeeping: true },
  // Subject: an instance; arg: how often its slot was used.
  'instance.noticeEnded': { part: 'instances', priority: PRIORITY.completion, housekeeping: false },
  // Subject: a request for higher rate limits.
  'limit.rateDecided': { part: 'access', priority: PRIORITY.controller, housekeeping: false },
  // No subject: the billing period of the spending limit.
  'account.periodEnded': { part: 'ledger', priority: PRIORITY.controller, housekeeping: true },
  // Subject: the result of a request for a webhook; arg: how often its slot was used.
  'webhook.due': { part: 'webhooks', priority: PRIORITY.completion, housekeeping: false },
  // Subject: a record of a user's table; arg: how often its slot was used.
  'ownRecord.changeDue': { part: 'ownRecords', priority: PRIORITY.completion, housekeeping: false },
} as const satisfies Readonly<Record<string, EventDefinition>>

type Definitions = typeof DEFINITIONS

export type EventName = keyof Definitions

type FirstWord<Name> = Name extends `${infer Word}.${string}` ? Word : never

/** The first word of an event: the kind of its subject. */
export type EventTopic = FirstWord<EventName>

type EventPart = Definitions[EventName]['part']

/** The names of the events that a part handles. */
export type EventOf<Part extends EventPart> = {
  [Name in EventName]: Definitions[Name]['part'] extends Part ? Name : never
}[EventName]

/** The parts that handle events. `World` has each of them. */
export type EventParts = {
  readonly [Part in EventPart]: {
    /** Handles an event of this part that is due now. A property, so that a part that lacks one of them does not compile. */
    readonly onEvent: (event: EventOf<Part>, subject: number, arg: number) => void
  }
}

export const EVENT_NAMES = Object.keys(DEFINITIONS) as readonly EventName[]

/** The events by their numbers, which the agenda keeps. */
export const EVENTS = EVENT_NAMES.map((name, kind) => ({ kind, name, ...DEFINITIONS[name] }))

/** The events by their names. */
export const EVENT_BY_NAME: ReadonlyMap<string, (typeof EVENTS)[number]> = new Map(
  EVENTS.map(event => [event.name, event]),
)

/** The events that a clock passes on its way to the next piece of work. */
export const HOUSEKEEPING_EVENTS: ReadonlySet<EventName> = new Set(
  EVENTS.filter(({ housekeeping }) => housekeeping).map(({ name }) => name),
)

/** Returns the first word of an event. */
export function eventTopic(name: EventName): EventTopic {
  return name.slice(0, name.indexOf('.')) as EventTopic
}

/** Throws. It ends each `onEvent` of several events, where the compiler rejects it while an event of the part has no case. */
export function assertHandled(event: never): never {
  throw new Error(`Failed to handle the event ${event}: its part has no case for it.`)
}
