import { DEPLOYMENT_STATUSES, type DeploymentStatus } from '../../data/records/enums.ts'
import { GPU_TYPES, type GpuType, gpuIndex } from '../../data/records/gpu-config.ts'
import type { Archive } from '../../kernel/archive.ts'
import type { Micros } from '../../kernel/duration.ts'
import { NumberLog } from '../../kernel/number-log.ts'
import { EMPTY_FLOW, FlowState, type RequestFlow, toWholeRequests } from '../load/request-flow.ts'
import type { DeploymentLoad } from '../load/serving.ts'
import { Part } from '../part.ts'
import {
  CAPACITY,
  COUNTED_EVENT_INDEX,
  COUNTED_EVENTS,
  type CountedEvent,
  EVENT,
  LINES,
  PERIOD,
  type RecordedDeployment,
  type RecordedRental,
  type RecordedTimeline,
  SEGMENT,
  type ServingSegment,
  type ServingTotals,
  STATUS,
  TIMELINE,
} from './history-records.ts'
import { type InstanceTimeline, LOSS_CAUSES, type LossCause } from './instance-timeline.ts'
import { RequestLog } from './request-log.ts'

/** Returns the time of an instance that requests of a load take, in microseconds (Little's law). */
function timeOfRequests(requests: number, load: DeploymentLoad): Micros {
  return (requests / load.speed.requestsPerSecond) * 1e6
}

export const EMPTY_TOTALS: ServingTotals = { served: EMPTY_FLOW, capacityTime: 0, usedTime: 0 }

/**
 * The usage history: the source of all reports. It stays complete when the journal drops entries.
 *
 * A log line is appended when something ends or changes, and is never modified. Examples: the timeline of an ended
 * instance, a status, a serving segment, done lines of batches, the number of available GPUs. Values between two lines
 * follow from closed forms. The history is not part of the digest, and the simulation never reads it for a decision.
 */
export class UsageHistory extends Part {
  readonly #statuses = new NumberLog(STATUS.width)
  readonly #servingSegments = new NumberLog(SEGMENT.width)
  readonly #instanceTimelines = new NumberLog(TIMELINE.width)
  /** The single requests. */
  readonly requests = new RequestLog()
  /** Done lines of batches. */
  readonly #batchLines = new NumberLog(LINES.width)
  readonly #countedEvents = new NumberLog(EVENT.width)
  /** The number of available GPUs of a type from a time on. */
  readonly #capacities = new NumberLog(CAPACITY.width)
  readonly #rentalPeriods = new NumberLog(PERIOD.width)
  /** Used again for each new segment. */

  archive(archive: Archive): void {
    this.#statuses.archive(archive)
    this.#servingSegments.archive(archive)
    this.#instanceTimelines.archive(archive)
    this.requests.archive(archive)
    this.#batchLines.archive(archive)
    this.#countedEvents.archive(archive)
    this.#capacities.archive(archive)
    this.#rentalPeriods.archive(archive)
  }

  /** Records that a deployment was created or changed its status. */
  onStatusChanged(row: RecordedDeployment): void {
    const status = DEPLOYMENT_STATUSES.indexOf(row.status)
    row.lastStatusLine = this.#statuses.push([row.lastStatusLine, this.context.clock.now, status])
    if (row.status === 'deleted' && row.recordedLoads.length > 0) this.writeSegment(row, false)
  }

  /** Records that a deployment has a new offered load. */
  onLoadChanged(row: RecordedDeployment, load: DeploymentLoad): void {
    row.recordedLoads = [...row.recordedLoads, load]
    this.writeSegment(row, false)
  }

  /** Tells whether a deployment serves differently from its last segment. If so, write a new segment. */
  isServingChanged(row: Readonly<RecordedDeployment>, isBusy: boolean): boolean {
    const line = row.lastServingLine
    if (line < 0) return row.effectiveInstances !== 0 || isBusy
    const log = this.#servingSegments
    return (
      log.at(line, SEGMENT.effectiveInstances) !== row.effectiveInstances ||
      isOdd(log.at(line, SEGMENT.encodedLoad)) !== isBusy
    )
  }

  /** Records that an instance ended, with a cause if it was lost. */
  onInstanceEnded(row: RecordedDeployment, timeline: Readonly<InstanceTimeline>, cause: LossCause | undefined): void {
    const causeIndex = cause === undefined ? -1 : LOSS_CAUSES.indexOf(cause)
    const log = this.#instanceTimelines
    const position = log.add()
    log.set(TIMELINE.previous, row.lastTimelineLine)
    log.set(TIMELINE.pending, timeline.pending)
    log.set(TIMELINE.placed, timeline.placed)
    log.set(TIMELINE.pulling, timeline.pulling)
    log.set(TIMELINE.pulled, timeline.pulled)
    log.set(TIMELINE.loading, timeline.loading)
    log.set(TIMELINE.warming, timeline.warming)
    log.set(TIMELINE.ready, timeline.ready)
    log.set(TIMELINE.draining, timeline.draining)
    log.set(TIMELINE.end, this.context.clock.now)
    log.set(TIMELINE.cause, causeIndex)
    row.lastTimelineLine = position
  }

  /** Records done lines of a batch. */
  onLinesDone(count: number, failed: number): void {
    this.#batchLines.push([this.context.clock.now, count, failed])
  }

  /** Counts a journal entry of a kind that reports count. `gpu` may be a GPU type. */
  onCountedEvent(kind: string, gpu: unknown): void {
    const type = GPU_TYPES.indexOf(gpu as GpuType)
    this.#countedEvents.push([this.context.clock.now, COUNTED_EVENT_INDEX.get(kind)!, type])
  }

  /** Records the available GPUs of a type from now on, how many are on spot nodes, and those of other customers. */
  onCapacityChanged(type: number, gpus: number, spotGpus: number, othersGpus: number): void {
    this.#capacities.push([this.context.clock.now, type, gpus, spotGpus, othersGpus])
  }

  /** Records that a rental released its GPUs. */
  onRentalReleased(row: RecordedRental): void {
    row.lastHeldLine = this.#rentalPeriods.push([row.lastHeldLine, row.heldSince, this.context.clock.now])
  }

  /** Returns how long a rental held its GPUs between two times, in microseconds. Neither time is in the future. */
  rentalTimeBetween(row: Readonly<RecordedRental>, from: Micros, to: Micros): Micros {
    const within = (start: Micros, end: Micros) => Math.max(0, Math.min(end, to) - Math.max(start, from))
    let sum = row.heldSince < 0 ? 0 : within(row.heldSince, this.context.clock.now)
    for (let line = row.lastHeldLine; line >= 0; line = this.#rentalPeriods.at(line, PERIOD.previous)) {
      sum += within(this.#rentalPeriods.at(line, PERIOD.from), this.#rentalPeriods.at(line, PERIOD.to))
    }
    return sum
  }

  /** Yields the statuses of a deployment with their start times, newest first. */
  *statuses(row: Readonly<RecordedDeployment>): Generator<{ readonly at: Micros; readonly status: DeploymentStatus }> {
    for (let line = row.lastStatusLine; line >= 0; line = this.#statuses.at(line, STATUS.previous)) {
      yield {
        at: this.#statuses.at(line, STATUS.at),
        status: DEPLOYMENT_STATUSES[this.#statuses.at(line, STATUS.status)]!,
      }
    }
  }

  /** Returns the totals of a deployment at a time that is not in the future. */
  totalsAt(row: Readonly<RecordedDeployment>, at: Micros): ServingTotals {
    for (const segment of this.servingSegments(row)) if (segment.at <= at) return this.totalsWithin(segment, at)
    return EMPTY_TOTALS
  }

  /** Yields the serving segments of a deployment, newest first. */
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
      line,
      at: log.at(line, SEGMENT.at),
      effectiveInstances: log.at(line, SEGMENT.effectiveInstances),
      isBusy: isOdd(encodedLoad),
      load: row.recordedLoads[Math.floor(encodedLoad / 2)],
      served: { arrived: served + refused + backlog, served, refused, backlog },
      capacityTime: log.at(line, SEGMENT.capacityTime),
      usedTime: log.at(line, SEGMENT.usedTime),
    }
  }

  /** Returns the totals at a time within a segment, which must still be current at that time. */
  totalsWithin(segment: ServingSegment, at: Micros, served = this.#servedWithin(segment, at)): ServingTotals {
    const { effectiveInstances, isBusy, load } = segment
    const capacityTime = effectiveInstances * (at - segment.at)
    const loadTime = load ? timeOfRequests(served.served - segment.served.served, load) : 0
    return {
      served,
      capacityTime: segment.capacityTime + capacityTime,
      usedTime: segment.usedTime + (isBusy ? capacityTime : Math.min(capacityTime, loadTime)),
    }
  }

  #servedWithin({ load, served, effectiveInstances, at: from }: ServingSegment, to: Micros): RequestFlow {
    if (!load) return served
    const limit = this.context.profile.limits.queuePerDeployment
    return new FlowState(served).advance(load.curve, load.speed, effectiveInstances, limit, from, to)
  }

  /** Yields the timelines of a deployment's ended instances, the last to end first. */
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

  /** Returns the number of lines of batches that were done at a time, and how many of them failed. */
  batchLinesAt(at: Micros): { readonly done: number; readonly failed: number } {
    let done = 0
    let failed = 0
    for (let line = 0; line < this.#batchLines.length && this.#batchLines.at(line, LINES.at) <= at; line++) {
      done += this.#batchLines.at(line, LINES.done)
      failed += this.#batchLines.at(line, LINES.failed)
    }
    return { done, failed }
  }

  /** Yields the counted events up to a time, oldest first. */
  *eventsUntil(to: Micros): Generator<{ at: Micros; kind: CountedEvent; gpu: GpuType | undefined }> {
    const log = this.#countedEvents
    for (let line = 0; line < log.length && log.at(line, EVENT.at) <= to; line++) {
      const kind = COUNTED_EVENTS[log.at(line, EVENT.event)]!
      yield { at: log.at(line, EVENT.at), kind, gpu: GPU_TYPES[log.at(line, EVENT.gpuType)] }
    }
  }

  /** Returns the GPU-microseconds of a type up to a time: available ones, those on spot nodes, those of other customers. */
  capacityAt(gpu: GpuType, at: Micros): { readonly all: number; readonly spot: number; readonly others: number } {
    const log = this.#capacities
    const type = gpuIndex(gpu)
    let sums = [0, 0, 0]
    let counts = sums
    let since = 0
    const addUntil = (time: Micros) => {
      sums = sums.map((sum, i) => sum + counts[i]! * (time - since))
      since = time
    }
    for (let line = 0; line < log.length && log.at(line, CAPACITY.at) <= at; line++) {
      if (log.at(line, CAPACITY.gpuType) !== type) continue
      addUntil(log.at(line, CAPACITY.at))
      counts = [CAPACITY.gpus, CAPACITY.spotGpus, CAPACITY.othersGpus].map(column => log.at(line, column))
    }
    addUntil(at)
    const [all, spot, others] = sums as [number, number, number]
    return { all, spot, others }
  }

  /** Appends a serving segment of a deployment that begins now. */
  writeSegment(row: RecordedDeployment, isBusy: boolean): void {
    const { now } = this.context.clock
    // A deleted deployment gets no more requests, and its waiting requests are refused.
    const isDeleted = row.status === 'deleted'
    const load = isDeleted ? -1 : row.recordedLoads.length - 1
    const isFlowCurrent = row.flowAt === now && !isDeleted
    const { served: before, capacityTime, usedTime } = this.#totalsBeforeSegment(row, now, isFlowCurrent)
    const { served, refused, backlog } = isFlowCurrent ? row.flow : before
    // Reports count whole requests. The sum must not lose one.
    const wholeFlow = isDeleted ? toWholeRequests(before) : undefined
    const log = this.#servingSegments
    const position = log.add()
    log.set(SEGMENT.previous, row.lastServingLine)
    log.set(SEGMENT.at, now)
    log.set(SEGMENT.effectiveInstances, row.effectiveInstances)
    log.set(SEGMENT.encodedLoad, load * 2 + Number(isBusy))
    log.set(SEGMENT.served, served)
    log.set(SEGMENT.refused, wholeFlow ? wholeFlow.refused + wholeFlow.backlog : refused)
    log.set(SEGMENT.backlog, wholeFlow ? 0 : backlog)
    log.set(SEGMENT.capacityTime, capacityTime)
    log.set(SEGMENT.usedTime, usedTime)
    row.lastServingLine = position
  }

  /** Returns the totals of a deployment up to a segment that begins now. */
  #totalsBeforeSegment(row: RecordedDeployment, now: Micros, isFlowCurrent: boolean): ServingTotals {
    if (row.lastServingLine < 0) return EMPTY_TOTALS
    const last = this.#readSegment(row, row.lastServingLine)
    // The flow up to now under this load is already computed.
    const isKnown = isFlowCurrent && last.load !== undefined && row.load === last.load
    return this.totalsWithin(last, now, isKnown ? row.flow : undefined)
  }
}

function isOdd(value: number): boolean {
  return value % 2 !== 0
}
