import type { DeploymentStatus } from '../../data/records/enums.ts'
import type { Micros } from '../../kernel/duration.ts'
import type { RequestFlow } from '../load/request-flow.ts'
import type { RequestTotals } from '../load/request-totals.ts'
import type { DeploymentLoad } from '../load/serving.ts'
import { INSTANCE_STAGES, type InstanceStage, type LossCause } from './instance-timeline.ts'

/** Kinds of journal entries that a report counts. */
export const COUNTED_EVENTS = [
  'node.crashed',
  'node.preempted',
  'gpu.failed',
  'zone.down',
  'topup.declined',
  'account.suspended',
  'deployment.limited',
] as const
export type CountedEvent = (typeof COUNTED_EVENTS)[number]
export const COUNTED_EVENT_INDEX: ReadonlyMap<string, number> = new Map(COUNTED_EVENTS.map((kind, i) => [kind, i]))

/** The fields of a deployment that the history reads, and the newest line of each log for it. -1: no line yet. */
export interface RecordedDeployment {
  readonly status: DeploymentStatus
  readonly load: DeploymentLoad | undefined
  readonly effectiveInstances: number
  readonly flow: RequestFlow
  readonly flowAt: Micros
  requests: RequestTotals
  lastStatusLine: number
  lastServingLine: number
  lastTimelineLine: number
  lastRequestsLine: number
  /** The loads that the lines of its segments refer to. */
  recordedLoads: readonly DeploymentLoad[]
}

/** The fields of a rental that the history reads, and the newest line of its log. */
export interface RecordedRental {
  readonly heldSince: Micros
  lastHeldLine: number
}

/** The timeline of an instance for reports. `end` is Infinity while the instance exists. */
export interface RecordedTimeline extends Readonly<Record<InstanceStage, Micros>> {
  readonly end: Micros
  readonly lossCause: LossCause | undefined
}

/** The totals of a deployment since the start of the world. */
export interface ServingTotals {
  readonly served: RequestFlow
  /** Instance-microseconds of ready instances, each weighted by its speed. */
  readonly capacityTime: number
  /** Instance-microseconds that were spent on work. */
  readonly usedTime: number
}

/** How a deployment serves from time `at` until its next segment. */
export interface ServingSegment extends ServingTotals {
  /** Its line in the log. A later segment has a higher one. */
  readonly line: number
  readonly at: Micros
  /** Ready instances, each weighted by its speed. */
  readonly effectiveInstances: number
  /** Whether lines of batches run on it. They use all remaining capacity. */
  readonly isBusy: boolean
  readonly load: DeploymentLoad | undefined
}

/** Returns the index of each column of a log by name. `previous` is the previous line of the same subject. -1: none. */
function columns<Name extends string>(...names: Name[]): Readonly<Record<Name | 'width', number>> {
  return { ...Object.fromEntries(names.map((name, i) => [name, i])), width: names.length } as Record<
    Name | 'width',
    number
  >
}

export const STATUS = columns('previous', 'at', 'status')
/** `encodedLoad` is twice the position of the load, plus 1 while batches run. */
export const SEGMENT = columns(
  'previous',
  'at',
  'effectiveInstances',
  'encodedLoad',
  'served',
  'refused',
  'backlog',
  'capacityTime',
  'usedTime',
)
export const TIMELINE = columns('previous', ...INSTANCE_STAGES, 'end', 'cause')
export const TOTALS = columns(
  'previous',
  'at',
  'arrived',
  'served',
  'refused',
  'failed',
  'left',
  'promptTokens',
  'answerTokens',
  'workTime',
  'timesLine',
)
/** Requests of an interval for which a phase took about equally long. */
export const TIMES = columns('previous', 'key', 'count')
export const LINES = columns('at', 'done', 'failed')
/** `gpuType` is -1 if the event is not about a type. */
export const EVENT = columns('at', 'event', 'gpuType')
export const CAPACITY = columns('at', 'gpuType', 'gpus', 'spotGpus', 'othersGpus')
export const PERIOD = columns('previous', 'from', 'to')
