import { PRIORITY, type Priority } from '../kernel/agenda.ts'
import type { GpuQuotas } from './account/gpu-quotas.ts'
import type { Ledger } from './account/ledger.ts'
import type { Batches } from './batches/batches.ts'
import type { Files } from './batches/files.ts'
import type { Autoscaler } from './deployments/autoscaler.ts'
import type { Deployments } from './deployments/deployments.ts'
import type { Instances } from './deployments/instances.ts'
import type { LoraAdapters } from './deployments/lora-adapters.ts'
import { EVENT_NAMES, type EventName } from './event-names.ts'
import type { NodeAutoscaler } from './fleet/node-autoscaler.ts'
import type { Placement } from './fleet/placement.ts'
import type { InferenceRequests } from './inference/requests.ts'
import type { Commands } from './operations/commands.ts'
import type { OperationEffects } from './operations/effects.ts'
import type { Weather } from './operations/weather.ts'
import type { Rentals } from './rentals/rentals.ts'

/** The parts that handle events. */
interface EventParts {
  readonly autoscaler: Autoscaler
  readonly batches: Batches
  readonly commands: Commands
  readonly deployments: Deployments
  readonly files: Files
  readonly gpuQuotas: GpuQuotas
  readonly inferenceRequests: InferenceRequests
  readonly instances: Instances
  readonly ledger: Ledger
  readonly loraAdapters: LoraAdapters
  readonly nodeAutoscaler: NodeAutoscaler
  readonly operationEffects: OperationEffects
  readonly placement: Placement
  readonly rentals: Rentals
  readonly weather: Weather
}

interface EventDefinition {
  /** Its order among the events of one instant. */
  readonly priority: Priority
  /**
   * Whether it comes by itself and is no work: deadlines, weather, looks of controllers, money. A clock that jumps to the
   * next piece of work passes such events on its way and never stops at one.
   */
  readonly housekeeping: boolean
  /** Handles it. The agenda keeps `subject` and `arg`; `event-names.ts` tells what they are. */
  fire(parts: EventParts, subject: number, arg: number): void
}

/** One entry for each event: a missing or unknown one does not compile. */
function defineEvents(definitions: Readonly<Record<EventName, EventDefinition>>) {
  return EVENT_NAMES.map(name => ({ name, ...definitions[name] }))
}

/** The events by their numbers. */
export const EVENTS: readonly (EventDefinition & { readonly name: EventName })[] = defineEvents({
  'instance.placementDue': {
    priority: PRIORITY.controller,
    housekeeping: false,
    fire: ({ instances }, instance, use) => instances.onEvent('instance.placementDue', instance, use),
  },
  'instance.containerStarted': {
    priority: PRIORITY.completion,
    housekeeping: false,
    fire: ({ instances }, instance, use) => instances.onEvent('instance.containerStarted', instance, use),
  },
  'instance.imagePulled': {
    priority: PRIORITY.completion,
    housekeeping: false,
    fire: ({ instances }, instance, use) => instances.onEvent('instance.imagePulled', instance, use),
  },
  'instance.weightsRefused': {
    priority: PRIORITY.failure,
    housekeeping: false,
    fire: ({ instances }, instance, use) => instances.onEvent('instance.weightsRefused', instance, use),
  },
  'instance.weightsPulled': {
    priority: PRIORITY.completion,
    housekeeping: false,
    fire: ({ instances }, instance, use) => instances.onEvent('instance.weightsPulled', instance, use),
  },
  'instance.outOfMemory': {
    priority: PRIORITY.failure,
    housekeeping: false,
    fire: ({ instances }, instance, use) => instances.onEvent('instance.outOfMemory', instance, use),
  },
  'instance.engineExited': {
    priority: PRIORITY.failure,
    housekeeping: false,
    fire: ({ instances }, instance, use) => instances.onEvent('instance.engineExited', instance, use),
  },
  'instance.loaded': {
    priority: PRIORITY.completion,
    housekeeping: false,
    fire: ({ instances }, instance, use) => instances.onEvent('instance.loaded', instance, use),
  },
  'instance.warmed': {
    priority: PRIORITY.completion,
    housekeeping: false,
    fire: ({ instances }, instance, use) => instances.onEvent('instance.warmed', instance, use),
  },
  'instance.overdue': {
    priority: PRIORITY.failure,
    housekeeping: true,
    fire: ({ instances }, instance, use) => instances.onEvent('instance.overdue', instance, use),
  },
  'instance.drained': {
    priority: PRIORITY.completion,
    housekeeping: false,
    fire: ({ instances }, instance, use) => instances.onEvent('instance.drained', instance, use),
  },
  'instance.imageTimedOut': {
    priority: PRIORITY.failure,
    housekeeping: false,
    fire: ({ instances }, instance, use) => instances.onEvent('instance.imageTimedOut', instance, use),
  },
  'instance.downloadTimedOut': {
    priority: PRIORITY.failure,
    housekeeping: false,
    fire: ({ instances }, instance, use) => instances.onEvent('instance.downloadTimedOut', instance, use),
  },
  'node.provisioned': {
    priority: PRIORITY.completion,
    housekeeping: false,
    fire: ({ nodeAutoscaler }, node) => nodeAutoscaler.onProvisioned(node),
  },
  'node.keptEmpty': {
    priority: PRIORITY.controller,
    housekeeping: true,
    fire: ({ nodeAutoscaler }, node) => nodeAutoscaler.onKeptEmpty(node),
  },
  'node.preempted': {
    priority: PRIORITY.failure,
    housekeeping: false,
    fire: ({ operationEffects }, node) => operationEffects.onPreempted(node),
  },
  'node.drainDeadline': {
    priority: PRIORITY.failure,
    housekeeping: false,
    fire: ({ operationEffects }, node) => operationEffects.onDrainDeadline(node),
  },
  'pool.spotReturned': {
    priority: PRIORITY.completion,
    housekeeping: false,
    fire: ({ nodeAutoscaler }, group) => nodeAutoscaler.onSpotReturned(group),
  },
  'command.due': {
    priority: PRIORITY.failure,
    housekeeping: false,
    fire: ({ commands }, command) => commands.fire(command),
  },
  'weather.strikes': {
    priority: PRIORITY.failure,
    housekeeping: true,
    fire: ({ weather }, source) => weather.onStrike(source),
  },
  'weather.passes': {
    priority: PRIORITY.completion,
    housekeeping: true,
    fire: ({ weather }, source) => weather.onPass(source),
  },
  'placement.round': {
    priority: PRIORITY.observer,
    housekeeping: false,
    fire: ({ placement }) => placement.runRound(),
  },
  'deployment.idle': {
    priority: PRIORITY.controller,
    housekeeping: true,
    fire: ({ deployments }, deployment) => deployments.scaling.onIdle(deployment),
  },
  'deployment.scaleDue': {
    priority: PRIORITY.controller,
    housekeeping: true,
    fire: ({ autoscaler }, deployment) => autoscaler.onScaleDue(deployment),
  },
  'adapter.downloaded': {
    priority: PRIORITY.completion,
    housekeeping: false,
    fire: ({ loraAdapters }, adapter) => loraAdapters.onDownloaded(adapter),
  },
  'adapter.loaded': {
    priority: PRIORITY.completion,
    housekeeping: false,
    fire: ({ loraAdapters }, adapter) => loraAdapters.onLoaded(adapter),
  },
  'adapter.downloading': {
    priority: PRIORITY.completion,
    housekeeping: false,
    fire: ({ loraAdapters }, adapter) => loraAdapters.onDownloadDue(adapter),
  },
  'adapter.loadedOnInstance': {
    priority: PRIORITY.completion,
    housekeeping: false,
    fire: ({ loraAdapters }, instance, adapter) => loraAdapters.slots.onLoaded(instance, adapter),
  },
  'batch.validated': {
    priority: PRIORITY.completion,
    housekeeping: false,
    fire: ({ batches }, batch) => batches.onEvent('batch.validated', batch),
  },
  'batch.resumed': {
    priority: PRIORITY.completion,
    housekeeping: false,
    fire: ({ batches }, batch) => batches.onEvent('batch.resumed', batch),
  },
  'batch.capacityCame': {
    priority: PRIORITY.completion,
    housekeeping: false,
    fire: ({ batches }, batch) => batches.onEvent('batch.capacityCame', batch),
  },
  'batch.chunkDone': {
    priority: PRIORITY.completion,
    housekeeping: false,
    fire: ({ batches }, batch) => batches.onEvent('batch.chunkDone', batch),
  },
  'batch.finalized': {
    priority: PRIORITY.completion,
    housekeeping: false,
    fire: ({ batches }, batch) => batches.onEvent('batch.finalized', batch),
  },
  'batch.cancelSettled': {
    priority: PRIORITY.completion,
    housekeeping: false,
    fire: ({ batches }, batch) => batches.onEvent('batch.cancelSettled', batch),
  },
  'batch.expired': {
    priority: PRIORITY.failure,
    housekeeping: true,
    fire: ({ batches }, batch) => batches.onEvent('batch.expired', batch),
  },
  'inference.ended': {
    priority: PRIORITY.completion,
    housekeeping: false,
    fire: ({ inferenceRequests }, request, use) => inferenceRequests.onAnswerEnded(request, use),
  },
  'file.expired': {
    priority: PRIORITY.failure,
    housekeeping: true,
    fire: ({ files }, file) => files.expire(file),
  },
  'rental.gaveUp': {
    priority: PRIORITY.failure,
    housekeeping: false,
    fire: ({ rentals }, rental) => rentals.onEvent('rental.gaveUp', rental),
  },
  'rental.imageRefused': {
    priority: PRIORITY.failure,
    housekeeping: false,
    fire: ({ rentals }, rental) => rentals.onEvent('rental.imageRefused', rental),
  },
  'rental.pullTimedOut': {
    priority: PRIORITY.failure,
    housekeeping: false,
    fire: ({ rentals }, rental) => rentals.onEvent('rental.pullTimedOut', rental),
  },
  'rental.imagePulled': {
    priority: PRIORITY.completion,
    housekeeping: false,
    fire: ({ rentals }, rental) => rentals.onEvent('rental.imagePulled', rental),
  },
  'rental.booted': {
    priority: PRIORITY.completion,
    housekeeping: false,
    fire: ({ rentals }, rental) => rentals.onEvent('rental.booted', rental),
  },
  'rental.shutDown': {
    priority: PRIORITY.completion,
    housekeeping: false,
    fire: ({ rentals }, rental) => rentals.onEvent('rental.shutDown', rental),
  },
  'rental.expanded': {
    priority: PRIORITY.completion,
    housekeeping: false,
    fire: ({ rentals }, rental) => rentals.onEvent('rental.expanded', rental),
  },
  'limit.decided': {
    priority: PRIORITY.controller,
    housekeeping: false,
    fire: ({ gpuQuotas }, request) => gpuQuotas.decideByPolicy(request),
  },
  'limit.freed': {
    priority: PRIORITY.controller,
    housekeeping: false,
    fire: ({ gpuQuotas }, gpuType) => gpuQuotas.onFreed(gpuType),
  },
  'account.crossing': {
    priority: PRIORITY.controller,
    housekeeping: true,
    fire: ({ ledger }) => ledger.onCrossing(),
  },
  'account.topupDue': {
    priority: PRIORITY.completion,
    housekeeping: false,
    fire: ({ ledger }) => ledger.chargeCard(),
  },
  'account.graceEnded': {
    priority: PRIORITY.controller,
    housekeeping: true,
    fire: ({ ledger }) => ledger.onGraceEnded(),
  },
})

export const EVENT_PRIORITIES: readonly Priority[] = EVENTS.map(({ priority }) => priority)

/** The events that a clock passes on its way to the next piece of work. */
export const HOUSEKEEPING_EVENTS: ReadonlySet<EventName> = new Set(
  EVENTS.filter(({ housekeeping }) => housekeeping).map(({ name }) => name),
)
