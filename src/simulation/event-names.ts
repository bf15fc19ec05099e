/**
 * The events of the agenda in the order of their numbers. Digests and snapshots hold the numbers, so an event keeps its
 * place, and a new one comes last.
 */
export const EVENT_NAMES = [
  // subject: an instance; arg: how often its slot was used
  'instance.placementDue',
  'instance.containerStarted',
  'instance.imagePulled',
  'instance.weightsRefused',
  'instance.weightsPulled',
  'instance.outOfMemory',
  'instance.engineExited',
  'instance.loaded',
  'instance.warmed',
  'instance.overdue',
  'instance.drained',
  'instance.imageTimedOut',
  'instance.downloadTimedOut',
  // subject: a node; arg: how often its slot was used
  'node.provisioned',
  'node.keptEmpty',
  'node.preempted',
  'node.drainDeadline',
  // subject: a pool, by the position of its first group
  'pool.spotReturned',
  // subject: a command that waits for its moment
  'command.due',
  // subject: a source of weather
  'weather.strikes',
  'weather.passes',
  // no subject: one round at an instant serves all tenants that wait for GPUs
  'placement.round',
  // subject: a deployment
  'deployment.idle',
  'deployment.scaleDue',
  'adapter.downloaded',
  'adapter.loaded',
  'adapter.downloading',
  // subject: an instance; arg: an adapter
  'adapter.loadedOnInstance',
  // subject: a batch
  'batch.validated',
  'batch.resumed',
  'batch.capacityCame',
  'batch.chunkDone',
  'batch.finalized',
  'batch.cancelSettled',
  'batch.expired',
  // subject: a request in flight; arg: how often its slot was used
  'inference.ended',
  // subject: a file
  'file.expired',
  // subject: a rental
  'rental.gaveUp',
  'rental.imageRefused',
  'rental.pullTimedOut',
  'rental.imagePulled',
  'rental.booted',
  'rental.shutDown',
  'rental.expanded',
  // subject: a limit request
  'limit.decided',
  // subject: a GPU type, by its position
  'limit.freed',
  // no subject: the account
  'account.crossing',
  'account.topupDue',
  'account.graceEnded',
] as const

export type EventName = (typeof EVENT_NAMES)[number]

/** The number of each event, which the agenda keeps. */
export const EVENT_KIND = Object.fromEntries(EVENT_NAMES.map((name, kind) => [name, kind])) as Readonly<
  Record<EventName, number>
>
