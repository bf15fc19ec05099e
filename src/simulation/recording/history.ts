import { DEPLOYMENT_STATUSES, type DeploymentStatus } from '../../data/records/enums.ts'
import type { GpuType } from '../../data/records/gpu-config.ts'
import type { Archive } from '../../kernel/archive.ts'
import { type Micros, SECOND } from '../../kernel/duration.ts'
import { NumberLog } from '../../kernel/number-log.ts'
import type { SimulationContext } from '../context.ts'
import { gpuIndex } from '../load/gpu-throughput.ts'
import { addRequest, NO_REQUESTS, type RequestOutcome, type RequestTotals } from '../load/request-totals.ts'
import type { DeploymentLoad } from '../load/throughput.ts'
import { advanceFlow, EMPTY_FLOW, type RequestFlow, toWholeRequests } from '../load/throughput.ts'
import { type InstanceStage, type InstanceTimeline, LOSS_CAUSES, type LossCause } from './instance-timeline.ts'

/** Events whose number a report tells. */
export const COUNTED_EVENTS = [
  'node.crashed',
  'node.preempted',
  'gpu.failed',
  'zone.down',
  'topup.declined',
  'account.suspended',
] as const
export type CountedEvent = (typeof COUNTED_EVENTS)[number]
const COUNTED_EVENT_INDEX: ReadonlyMap<string, number> = new Map(COUNTED_EVENTS.map((kind, i) => [kind, i]))

/** What the history reads of a deployment, and the newest lines that it keeps there; -1 for none. */
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

/** What the history reads of a rental, and its newest line there. */
export interface RecordedRental {
  readonly heldSince: Micros
  lastHeldLine: number
}

/** A life as it is told: `end` is Infinity while it lasts. */
export interface RecordedTimeline extends Readonly<Record<InstanceStage, Micros>> {
  readonly end: Micros
  readonly lossCause: LossCause | undefined
}

/** What a deployment has done up to a moment. */
export interface ServingTotals {
  readonly served: RequestFlow
  /** Instance-microseconds of ready instances, each counted by its speed. */
  readonly capacityTime: number
  /** Those of them that work took. */
  readonly usedTime: number
}

/** How a deployment serves from a moment on. */
export interface ServingSegment extends ServingTotals {
  readonly at: Micros
  /** Ready instances, each counted by its speed. */
  readonly effectiveInstances: number
  /** Whether lines of batches run on it: they take all there is. */
  readonly isBusy: boolean
  readonly load: DeploymentLoad | undefined
}

/** Requests that are over within so long are told as one: what is kept grows with time, not with them. */
const REQUEST_TOTALS_INTERVAL: Micros = 10 * SECOND

/** Numbers the columns of a log by their names. `previous` is the line before of the same thing; -1 for none. */
function columns<Name extends string>(...names: Name[]): Readonly<Record<Name | 'width', number>> {
  return { ...Object.fromEntries(names.map((name, i) => [name, i])), width: names.length } as Record<
    Name | 'width',
    number
  >
}

const STATUS = columns('previous', 'at', 'status')
/** `encodedLoad` is twice the position of the load, plus 1 while batches run. */
const SEGMENT = columns(
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
const TIMELINE = columns(
  'previous',
  'pending',
  'placed',
  'pulling',
  'pulled',
  'loading',
  'warming',
  'ready',
  'draining',
  'end',
  'cause',
)
const TOTALS = columns(
  'previous',
  'at',
  'arrived',
  'served',
  'refused',
  'failed',
  'left',
  'promptTokens',
  'answerTokens',
)
const LINES = columns('at', 'done', 'failed')
const EVENT = columns('at', 'event')
const CAPACITY = columns('at', 'gpuType', 'gpus')
const PERIOD = columns('previous', 'from', 'to')

const EMPTY_TOTALS: ServingTotals = { served: EMPTY_FLOW, capacityTime: 0, usedTime: 0 }

/**
 * What reports are made from: the whole life of a world in few numbers, kept whatever the journal drops.
 *
 * A line is written when something ends or turns, and never changed: an instance's life when it is over, a status, how a
 * deployment serves, lines of batches, the GPUs that are up. What lies between follows from closed forms. The digest
 * does not know of it, and nothing in the simulation decides by it.
 */
export class UsageHistory {
  readonly #context: SimulationContext
  readonly #statuses: NumberLog
  readonly #servingSegments: NumberLog
  readonly #instanceTimelines: NumberLog
  readonly #requestTotals: NumberLog
  /** Lines of batches that were over. */
  readonly #batchLines: NumberLog
  readonly #countedEvents: NumberLog
  /** How many GPUs of a type are up from then on. */
  readonly #capacities: NumberLog
  readonly #rentalPeriods: NumberLog

  constructor(context: SimulationContext, origin?: UsageHistory) {
    this.#context = context
    this.#statuses = origin ? origin.#statuses.fork() : new NumberLog(STATUS.width)
    this.#servingSegments = origin ? origin.#servingSegments.fork() : new NumberLog(SEGMENT.width)
    this.#instanceTimelines = origin ? origin.#instanceTimelines.fork() : new NumberLog(TIMELINE.width)
    this.#requestTotals = origin ? origin.#requestTotals.fork() : new NumberLog(TOTALS.width)
    this.#batchLines = origin ? origin.#batchLines.fork() : new NumberLog(LINES.width)
    this.#countedEvents = origin ? origin.#countedEvents.fork() : new NumberLog(EVENT.width)
    this.#capacities = origin ? origin.#capacities.fork() : new NumberLog(CAPACITY.width)
    this.#rentalPeriods = origin ? origin.#rentalPeriods.fork() : new NumberLog(PERIOD.width)
  }

  archive(archive: Archive): void {
    this.#statuses.archive(archive)
    this.#servingSegments.archive(archive)
    this.#instanceTimelines.archive(archive)
    this.#requestTotals.archive(archive)
    this.#batchLines.archive(archive)
    this.#countedEvents.archive(archive)
    this.#capacities.archive(archive)
    this.#rentalPeriods.archive(archive)
  }

  /** A deployment is there, or has another status. */
  onStatusChanged(row: RecordedDeployment): void {
    const status = DEPLOYMENT_STATUSES.indexOf(row.status)
    row.lastStatusLine = this.#statuses.push([row.lastStatusLine, this.#context.clock.now, status])
    if (row.status === 'deleted' && row.recordedLoads.length > 0) this.writeSegment(row, false)
  }

  /** A deployment is given a load. */
  onLoadChanged(row: RecordedDeployment, load: DeploymentLoad): void {
    row.recordedLoads = [...row.recordedLoads, load]
    this.writeSegment(row, false)
  }

  /** Tells whether a deployment serves otherwise than its last line tells: then a segment is to be written. */
  isServingChanged(row: Readonly<RecordedDeployment>, isBusy: boolean): boolean {
    const line = row.lastServingLine
    if (line < 0) return row.effectiveInstances !== 0 || isBusy
    const log = this.#servingSegments
    return (
      log.at(line, SEGMENT.effectiveInstances) !== row.effectiveInstances ||
      isOdd(log.at(line, SEGMENT.encodedLoad)) !== isBusy
    )
  }

  /** An instance has left; with a cause if it was lost. */
  onInstanceEnded(row: RecordedDeployment, timeline: Readonly<InstanceTimeline>, cause: LossCause | undefined): void {
    const causeIndex = cause === undefined ? -1 : LOSS_CAUSES.indexOf(cause)
    const { pending, placed, pulling, pulled, loading, warming, ready, draining } = timeline
    const { now } = this.#context.clock
    const line = [
      row.lastTimelineLine,
      pending,
      placed,
      pulling,
      pulled,
      loading,
      warming,
      ready,
      draining,
      now,
      causeIndex,
    ]
    row.lastTimelineLine = this.#instanceTimelines.push(line)
  }

  /** A request that was made by itself has come. */
  onRequestArrived(row: RecordedDeployment): void {
    this.#saveRequestTotals(row)
    row.requests = { ...row.requests, at: this.#context.clock.now, arrived: row.requests.arrived + 1 }
  }

  /** A request that was made by itself is over. */
  onRequestEnded(
    row: RecordedDeployment,
    end: RequestOutcome,
    tokens: { readonly prompt: number; readonly answer: number },
  ): void {
    this.#saveRequestTotals(row)
    row.requests = addRequest(row.requests, this.#context.clock.now, end, tokens)
  }

  #saveRequestTotals(row: RecordedDeployment): void {
    const { now } = this.#context.clock
    const { at, arrived, served, refused, failed, left, promptTokens, answerTokens } = row.requests
    if (at < 0 || Math.floor(at / REQUEST_TOTALS_INTERVAL) === Math.floor(now / REQUEST_TOTALS_INTERVAL)) return
    const line = [row.lastRequestsLine, at, arrived, served, refused, failed, left, promptTokens, answerTokens]
    row.lastRequestsLine = this.#requestTotals.push(line)
  }

  /** What became of the requests of a deployment up to a moment, to ten seconds. */
  requestTotalsAt(row: Readonly<RecordedDeployment>, at: Micros): RequestTotals {
    if (row.requests.at <= at) return row.requests
    const log = this.#requestTotals
    for (let line = row.lastRequestsLine; line >= 0; line = log.at(line, TOTALS.previous)) {
      if (log.at(line, TOTALS.at) > at) continue
      return {
        at: log.at(line, TOTALS.at),
        arrived: log.at(line, TOTALS.arrived),
        served: log.at(line, TOTALS.served),
        refused: log.at(line, TOTALS.refused),
        failed: log.at(line, TOTALS.failed),
        left: log.at(line, TOTALS.left),
        promptTokens: log.at(line, TOTALS.promptTokens),
        answerTokens: log.at(line, TOTALS.answerTokens),
      }
    }
    return NO_REQUESTS
  }

  /** Lines of a batch are over. */
  onLinesDone(count: number, failed: number): void {
    this.#batchLines.push([this.#context.clock.now, count, failed])
  }

  /** Something happened; counted when a report tells its number. */
  onJournalEntry(kind: string): void {
    const eventIndex = COUNTED_EVENT_INDEX.get(kind)
    if (eventIndex !== undefined) this.#countedEvents.push([this.#context.clock.now, eventIndex])
  }

  /** So many GPUs of a type are up from now on. */
  onCapacityChanged(type: number, gpus: number): void {
    this.#capacities.push([this.#context.clock.now, type, gpus])
  }

  /** A rental gives its GPUs back. */
  onRentalReleased(row: RecordedRental): void {
    row.lastHeldLine = this.#rentalPeriods.push([row.lastHeldLine, row.heldSince, this.#context.clock.now])
  }

  /** How long a rental held its GPUs between two moments that are not to come. */
  rentalTimeBetween(row: Readonly<RecordedRental>, from: Micros, to: Micros): Micros {
    const within = (start: Micros, end: Micros) => Math.max(0, Math.min(end, to) - Math.max(start, from))
    let sum = row.heldSince < 0 ? 0 : within(row.heldSince, this.#context.clock.now)
    for (let line = row.lastHeldLine; line >= 0; line = this.#rentalPeriods.at(line, PERIOD.previous)) {
      sum += within(this.#rentalPeriods.at(line, PERIOD.from), this.#rentalPeriods.at(line, PERIOD.to))
    }
    return sum
  }

  /** The statuses of a deployment and since when it had each, newest first. */
  *statuses(row: Readonly<RecordedDeployment>): Generator<{ readonly at: Micros; readonly status: DeploymentStatus }> {
    for (let line = row.lastStatusLine; line >= 0; line = this.#statuses.at(line, STATUS.previous)) {
      yield {
        at: this.#statuses.at(line, STATUS.at),
        status: DEPLOYMENT_STATUSES[this.#statuses.at(line, STATUS.status)]!,
      }
    }
  }

  /** What a deployment has done up to a moment that is not to come. */
  totalsAt(row: Readonly<RecordedDeployment>, at: Micros): ServingTotals {
    for (const segment of this.servingSegments(row)) if (segment.at <= at) return this.totalsWithin(segment, at)
    return EMPTY_TOTALS
  }

  /** How a deployment served, newest first. */
  *servingSegments(row: Readonly<RecordedDeployment>): Generator<ServingSegment> {
    for (let line = row.lastServingLine; line >= 0; line = this.#servingSegments.at(line, SEGMENT.previous))
      yield this.#readSegment(row, line)
  }

  #readSegment(row: Readonly<RecordedDeployment>, line: number): ServingSegment {
    const log = this.#servingSegments
    const served = log.at(line, SEGMENT.served)
    const refused = log.at(line, SEGMENT.refused)
    const backlog = log.at(line, SEGMENT.backlog)
    const encodedLoad = log.at(line, SEGMENT.encodedLoad)
    return {
      at: log.at(line, SEGMENT.at),
      effectiveInstances: log.at(line, SEGMENT.effectiveInstances),
      isBusy: isOdd(encodedLoad),
      load: row.recordedLoads[Math.floor(encodedLoad / 2)],
      served: { arrived: served + refused + backlog, served, refused, backlog },
      capacityTime: log.at(line, SEGMENT.capacityTime),
      usedTime: log.at(line, SEGMENT.usedTime),
    }
  }

  /** The same within a chapter, which must still hold then; `known` is what was served up to then, where that is known. */
  totalsWithin(segment: ServingSegment, at: Micros, known?: RequestFlow): ServingTotals {
    const { effectiveInstances, isBusy, load } = segment
    const capacityTime = effectiveInstances * (at - segment.at)
    const limit = this.#context.profile.limits.queuePerDeployment
    const served =
      known ??
      (load
        ? advanceFlow(segment.served, load.curve, load.speed, effectiveInstances, limit, segment.at, at)
        : segment.served)
    // Little's law by another name: a request takes 1 / rate of an instance's time.
    const loadTime = load ? ((served.served - segment.served.served) / load.speed.requestsPerSecond) * 1e6 : 0
    return {
      served,
      capacityTime: segment.capacityTime + capacityTime,
      usedTime: segment.usedTime + (isBusy ? capacityTime : Math.min(capacityTime, loadTime)),
    }
  }

  /** The timelines of a deployment's instances that are gone, the last to end first. */
  *endedTimelines(row: Readonly<RecordedDeployment>): Generator<RecordedTimeline> {
    const log = this.#instanceTimelines
    for (let line = row.lastTimelineLine; line >= 0; line = log.at(line, TIMELINE.previous)) {
      yield {
        pending: log.at(line, TIMELINE.pending),
        placed: log.at(line, TIMELINE.placed),
        pulling: log.at(line, TIMELINE.pulling),
        pulled: log.at(line, TIMELINE.pulled),
        loading: log.at(line, TIMELINE.loading),
        warming: log.at(line, TIMELINE.warming),
        ready: log.at(line, TIMELINE.ready),
        draining: log.at(line, TIMELINE.draining),
        end: log.at(line, TIMELINE.end),
        lossCause: LOSS_CAUSES[log.at(line, TIMELINE.cause)],
      }
    }
  }

  /** Lines of batches that were over by a moment, and those of them that failed. */
  batchLinesAt(at: Micros): { readonly done: number; readonly failed: number } {
    let done = 0
    let failed = 0
    for (let line = 0; line < this.#batchLines.length && this.#batchLines.at(line, LINES.at) <= at; line++) {
      done += this.#batchLines.at(line, LINES.done)
      failed += this.#batchLines.at(line, LINES.failed)
    }
    return { done, failed }
  }

  /** How often each of these had happened by a moment. */
  eventCountsAt(at: Micros): Record<CountedEvent, number> {
    const counts = Object.fromEntries(COUNTED_EVENTS.map(kind => [kind, 0])) as Record<CountedEvent, number>
    for (let line = 0; line < this.#countedEvents.length && this.#countedEvents.at(line, EVENT.at) <= at; line++) {
      counts[COUNTED_EVENTS[this.#countedEvents.at(line, EVENT.event)]!]++
    }
    return counts
  }

  /** GPU-microseconds of a type that were up by a moment. */
  capacityAt(gpu: GpuType, at: Micros): number {
    const type = gpuIndex(gpu)
    let sum = 0
    let since = 0
    let gpus = 0
    for (let line = 0; line < this.#capacities.length; line++) {
      const time = this.#capacities.at(line, CAPACITY.at)
      if (time > at) break
      if (this.#capacities.at(line, CAPACITY.gpuType) !== type) continue
      sum += gpus * (time - since)
      since = time
      gpus = this.#capacities.at(line, CAPACITY.gpus)
    }
    return sum + gpus * (at - since)
  }

  /** Writes how a deployment serves from now on. */
  writeSegment(row: RecordedDeployment, isBusy: boolean): void {
    const { now } = this.#context.clock
    const last = row.lastServingLine < 0 ? undefined : this.#readSegment(row, row.lastServingLine)
    // Nobody asks what was deleted, and whoever waited for it is turned away.
    const isDeleted = row.status === 'deleted'
    const isCurrent = row.flowAt === now && !isDeleted
    // What has flowed up to now under this load need not flow again.
    const known = isCurrent && row.load === last?.load ? row.flow : undefined
    const { served: computedServed, capacityTime, usedTime } = last ? this.totalsWithin(last, now, known) : EMPTY_TOTALS
    const totals = isCurrent ? row.flow : computedServed
    const { served } = totals
    // In whole requests, which a report has told: none of them may be forgotten.
    const wholeTotals = isDeleted ? toWholeRequests(totals) : undefined
    const refused = wholeTotals ? wholeTotals.refused + wholeTotals.backlog : totals.refused
    const backlog = isDeleted ? 0 : totals.backlog
    const load = isDeleted ? -1 : row.recordedLoads.length - 1
    const encodedLoad = load * 2 + Number(isBusy)
    const line = [
      row.lastServingLine,
      now,
      row.effectiveInstances,
      encodedLoad,
      served,
      refused,
      backlog,
      capacityTime,
      usedTime,
    ]
    row.lastServingLine = this.#servingSegments.push(line)
  }
}

function isOdd(value: number): boolean {
  return value % 2 !== 0
}
