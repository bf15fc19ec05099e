import { PRIORITY, type Priority } from '../kernel/agenda.ts'

/** What can stand on the agenda: `subject` and `arg` of each are said here, order at one instant comes from its priority. */
export const EVENTS = [
  // subject: an instance; arg: how often its slot was used
  { name: 'instance.placementDue', priority: PRIORITY.controller },
  { name: 'instance.containerStarted', priority: PRIORITY.completion },
  { name: 'instance.imagePulled', priority: PRIORITY.completion },
  { name: 'instance.weightsRefused', priority: PRIORITY.failure },
  { name: 'instance.weightsPulled', priority: PRIORITY.completion },
  { name: 'instance.outOfMemory', priority: PRIORITY.failure },
  { name: 'instance.engineExited', priority: PRIORITY.failure },
  { name: 'instance.loaded', priority: PRIORITY.completion },
  { name: 'instance.warmed', priority: PRIORITY.completion },
  { name: 'instance.overdue', priority: PRIORITY.failure },
  { name: 'instance.drained', priority: PRIORITY.completion },
  { name: 'instance.imageTimedOut', priority: PRIORITY.failure },
  { name: 'instance.downloadTimedOut', priority: PRIORITY.failure },
  // subject: a node; arg: how often its slot was used
  { name: 'node.provisioned', priority: PRIORITY.completion },
  { name: 'node.keptEmpty', priority: PRIORITY.controller },
  { name: 'node.preempted', priority: PRIORITY.failure },
  { name: 'node.drainDeadline', priority: PRIORITY.failure },
  // subject: a pool, by the position of its first group
  { name: 'pool.spotReturned', priority: PRIORITY.completion },
  // subject: a command that waits for its moment
  { name: 'command.due', priority: PRIORITY.failure },
  // subject: a source of weather
  { name: 'weather.strikes', priority: PRIORITY.failure },
  { name: 'weather.passes', priority: PRIORITY.completion },
  // no subject: whoever waits for GPUs is served in one round an instant
  { name: 'placement.round', priority: PRIORITY.observer },
  // subject: a deployment
  { name: 'deployment.idle', priority: PRIORITY.controller },
  { name: 'deployment.scaleDue', priority: PRIORITY.controller },
  { name: 'adapter.downloaded', priority: PRIORITY.completion },
  { name: 'adapter.loaded', priority: PRIORITY.completion },
  { name: 'adapter.downloading', priority: PRIORITY.completion },
  // subject: an instance; arg: an adapter
  { name: 'adapter.loadedOnInstance', priority: PRIORITY.completion },
  // subject: a batch
  { name: 'batch.validated', priority: PRIORITY.completion },
  { name: 'batch.resumed', priority: PRIORITY.completion },
  { name: 'batch.capacityCame', priority: PRIORITY.completion },
  { name: 'batch.chunkDone', priority: PRIORITY.completion },
  { name: 'batch.finalized', priority: PRIORITY.completion },
  { name: 'batch.cancelSettled', priority: PRIORITY.completion },
  { name: 'batch.expired', priority: PRIORITY.failure },
  // subject: a request in flight; arg: how often its slot was used
  { name: 'inference.ended', priority: PRIORITY.completion },
  // subject: a file
  { name: 'file.expired', priority: PRIORITY.failure },
  // subject: a rental
  { name: 'rental.gaveUp', priority: PRIORITY.failure },
  { name: 'rental.imageRefused', priority: PRIORITY.failure },
  { name: 'rental.pullTimedOut', priority: PRIORITY.failure },
  { name: 'rental.imagePulled', priority: PRIORITY.completion },
  { name: 'rental.booted', priority: PRIORITY.completion },
  { name: 'rental.shutDown', priority: PRIORITY.completion },
  { name: 'rental.expanded', priority: PRIORITY.completion },
  // subject: a limit request
  { name: 'limit.decided', priority: PRIORITY.controller },
  // subject: a GPU type, by its position
  { name: 'limit.freed', priority: PRIORITY.controller },
  // no subject: the account
  { name: 'account.crossing', priority: PRIORITY.controller },
  { name: 'account.topupDue', priority: PRIORITY.completion },
  { name: 'account.graceEnded', priority: PRIORITY.controller },
] as const satisfies readonly { name: string; priority: Priority }[]

export type EventName = (typeof EVENTS)[number]['name']

/** Position of each event in `EVENTS`: the number that the agenda keeps. */
export const EVENT_KIND = Object.fromEntries(EVENTS.map(({ name }, kind) => [name, kind])) as Readonly<
  Record<EventName, number>
>

/**
 * What comes by itself and is nobody's work: deadlines, weather, the looks of controllers, money. A clock that jumps to
 * the next piece of work passes them by on its way and never goes to one for its own sake.
 */
export const HOUSEKEEPING_EVENTS: ReadonlySet<EventName> = new Set<EventName>([
  'instance.overdue',
  'node.keptEmpty',
  'weather.strikes',
  'weather.passes',
  'deployment.idle',
  'deployment.scaleDue',
  'batch.expired',
  'file.expired',
  'account.crossing',
  'account.graceEnded',
])
