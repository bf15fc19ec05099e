import { DEPLOYMENT_STATUSES, type DeploymentStatus, type GpuType } from '../../data/records/records.ts'
import type { Archive } from '../../kernel/archive.ts'
import { type Micros, SECOND } from '../../kernel/duration.ts'
import { NumberLog } from '../../kernel/number-log.ts'
import type { DeploymentLoad, DeploymentRow } from '../deployments/deployment-row.ts'
import { gpuIndex } from '../load/gpu-throughput.ts'
import { addRequest, NO_REQUESTS, type RequestOutcome, type RequestTotals } from '../load/request-totals.ts'
import { advanceFlow, EMPTY_FLOW, type RequestFlow, toWholeRequests } from '../load/throughput.ts'
import type { RentalRow } from '../rentals/rental-row.ts'
import type { World } from '../world.ts'
import {
  INSTANCE_STAGES,
  type InstanceStage,
  type InstanceTimeline,
  LOSS_CAUSES,
  type LossCause,
  lossCause,
} from './instance-timeline.ts'

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

const EMPTY_TOTALS: ServingTotals = { served: EMPTY_FLOW, capacityTime: 0, usedTime: 0 }

/**
 * What reports are made from: the whole life of a world in few numbers, kept whatever the journal drops.
 *
 * A line is written when something ends or turns, and never changed: an instance's life when it is over, a status, how a
 * deployment serves, lines of batches, the GPUs that are up. What lies between follows from closed forms. The digest
 * does not know of it, and nothing in the simulation decides by it.
 */
export class UsageHistory {
  readonly #world: World
  /** The line before of the same deployment, at, status. */
  readonly #statuses: NumberLog
  /** The line before, at, share, twice the load's position and one more when busy, served, refused, backlog, able, used. */
  readonly #servingSegments: NumberLog
  /** The line before, each stage, the end, what it was lost to. */
  readonly #instanceTimelines: NumberLog
  /** The line before of the same deployment, at, and the totals then: arrived, served, refused, failed, left, prompt and answer tokens. */
  readonly #requestTotals: NumberLog
  /** At, lines that were over then, those that failed. */
  readonly #batchLines: NumberLog
  /** At, which. */
  readonly #countedEvents: NumberLog
  /** At, GPU type, how many of it are up from then on. */
  readonly #capacities: NumberLog
  /** The line before of the same rental, from, to. */
  readonly #rentalPeriods: NumberLog

  constructor(world: World, from?: UsageHistory) {
    this.#world = world
    this.#statuses = from ? from.#statuses.fork() : new NumberLog(3)
    this.#servingSegments = from ? from.#servingSegments.fork() : new NumberLog(9)
    this.#instanceTimelines = from ? from.#instanceTimelines.fork() : new NumberLog(INSTANCE_STAGES.length + 3)
    this.#requestTotals = from ? from.#requestTotals.fork() : new NumberLog(9)
    this.#batchLines = from ? from.#batchLines.fork() : new NumberLog(3)
    this.#countedEvents = from ? from.#countedEvents.fork() : new NumberLog(2)
    this.#capacities = from ? from.#capacities.fork() : new NumberLog(3)
    this.#rentalPeriods = from ? from.#rentalPeriods.fork() : new NumberLog(3)
  }

  fork(world: World): UsageHistory {
    return new UsageHistory(world, this)
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
  onStatusChanged(row: DeploymentRow): void {
    const status = DEPLOYMENT_STATUSES.indexOf(row.status)
    row.lastStatusLine = this.#statuses.push([row.lastStatusLine, this.#world.clock.now, status])
    if (row.status === 'deleted' && row.recordedLoads.length > 0) this.#writeSegment(row, false)
  }

  /** A deployment is given a load. */
  onLoadChanged(row: DeploymentRow, load: DeploymentLoad): void {
    row.recordedLoads = [...row.recordedLoads, load]
    this.#writeSegment(row, false)
  }

  /** What a deployment can serve may have changed, or whether batches run on it. */
  onServingChanged(deployment: number): void {
    const { batches, deployments } = this.#world
    const current = deployments.read(deployment)
    const lastLine = current.lastServingLine
    const isBusy = batches.isRunningOn(deployment)
    if (lastLine < 0 && current.effectiveInstances === 0 && !isBusy) return
    const wasBusy = lastLine >= 0 && isOdd(this.#servingSegments.at(lastLine, 3))
    if (lastLine >= 0 && this.#servingSegments.at(lastLine, 2) === current.effectiveInstances && wasBusy === isBusy)
      return
    this.#writeSegment(deployments.writable(deployment), isBusy)
  }

  /** An instance has left; with a reason when it was lost. */
  onInstanceEnded(row: DeploymentRow, timeline: Readonly<InstanceTimeline>, reason: string | undefined): void {
    const causeIndex = reason === undefined ? -1 : LOSS_CAUSES.indexOf(lossCause(reason))
    const { pending, placed, pulling, pulled, loading, warming, ready, draining } = timeline
    const { now } = this.#world.clock
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
  onRequestArrived(row: DeploymentRow): void {
    this.#saveRequestTotals(row)
    row.requests = { ...row.requests, at: this.#world.clock.now, arrived: row.requests.arrived + 1 }
  }

  /** A request that was made by itself is over. */
  onRequestEnded(
    row: DeploymentRow,
    end: RequestOutcome,
    tokens: { readonly prompt: number; readonly answer: number },
  ): void {
    this.#saveRequestTotals(row)
    row.requests = addRequest(row.requests, this.#world.clock.now, end, tokens)
  }

  #saveRequestTotals(row: DeploymentRow): void {
    const { now } = this.#world.clock
    const { at, arrived, served, refused, failed, left, promptTokens, answerTokens } = row.requests
    if (at < 0 || Math.floor(at / REQUEST_TOTALS_INTERVAL) === Math.floor(now / REQUEST_TOTALS_INTERVAL)) return
    const line = [row.lastRequestsLine, at, arrived, served, refused, failed, left, promptTokens, answerTokens]
    row.lastRequestsLine = this.#requestTotals.push(line)
  }

  /** What became of the requests of a deployment up to a moment, to ten seconds. */
  requestTotalsAt(row: Readonly<DeploymentRow>, at: Micros): RequestTotals {
    if (row.requests.at <= at) return row.requests
    const log = this.#requestTotals
    for (let line = row.lastRequestsLine; line >= 0; line = log.at(line, 0)) {
      if (log.at(line, 1) > at) continue
      return {
        at: log.at(line, 1),
        arrived: log.at(line, 2),
        served: log.at(line, 3),
        refused: log.at(line, 4),
        failed: log.at(line, 5),
        left: log.at(line, 6),
        promptTokens: log.at(line, 7),
        answerTokens: log.at(line, 8),
      }
    }
    return NO_REQUESTS
  }

  /** Lines of a batch are over. */
  onLinesDone(count: number, failed: number): void {
    this.#batchLines.push([this.#world.clock.now, count, failed])
  }

  /** Something happened; counted when a report tells its number. */
  onJournalEntry(kind: string): void {
    const eventIndex = COUNTED_EVENT_INDEX.get(kind)
    if (eventIndex !== undefined) this.#countedEvents.push([this.#world.clock.now, eventIndex])
  }

  /** So many GPUs of a type are up from now on. */
  onCapacityChanged(type: number, gpus: number): void {
    this.#capacities.push([this.#world.clock.now, type, gpus])
  }

  /** A rental gives its GPUs back. */
  onRentalReleased(row: RentalRow): void {
    row.lastHeldLine = this.#rentalPeriods.push([row.lastHeldLine, row.heldSince, this.#world.clock.now])
  }

  /** How long a rental held its GPUs between two moments that are not to come. */
  rentalTimeBetween(row: Readonly<RentalRow>, from: Micros, to: Micros): Micros {
    const within = (start: Micros, end: Micros) => Math.max(0, Math.min(end, to) - Math.max(start, from))
    let sum = row.heldSince < 0 ? 0 : within(row.heldSince, this.#world.clock.now)
    for (let line = row.lastHeldLine; line >= 0; line = this.#rentalPeriods.at(line, 0)) {
      sum += within(this.#rentalPeriods.at(line, 1), this.#rentalPeriods.at(line, 2))
    }
    return sum
  }

  /** The statuses of a deployment and since when it had each, newest first. */
  *statuses(row: Readonly<DeploymentRow>): Generator<{ readonly at: Micros; readonly status: DeploymentStatus }> {
    for (let line = row.lastStatusLine; line >= 0; line = this.#statuses.at(line, 0)) {
      yield { at: this.#statuses.at(line, 1), status: DEPLOYMENT_STATUSES[this.#statuses.at(line, 2)]! }
    }
  }

  /** What a deployment has done up to a moment that is not to come. */
  totalsAt(row: Readonly<DeploymentRow>, at: Micros): ServingTotals {
    for (const segment of this.servingSegments(row)) if (segment.at <= at) return this.totalsWithin(segment, at)
    return EMPTY_TOTALS
  }

  /** How a deployment served, newest first. */
  *servingSegments(row: Readonly<DeploymentRow>): Generator<ServingSegment> {
    for (let line = row.lastServingLine; line >= 0; line = this.#servingSegments.at(line, 0))
      yield this.#readSegment(row, line)
  }

  #readSegment(row: Readonly<DeploymentRow>, line: number): ServingSegment {
    const log = this.#servingSegments
    const served = log.at(line, 4)
    const refused = log.at(line, 5)
    const backlog = log.at(line, 6)
    const encodedLoad = log.at(line, 3)
    return {
      at: log.at(line, 1),
      effectiveInstances: log.at(line, 2),
      isBusy: isOdd(encodedLoad),
      load: row.recordedLoads[Math.floor(encodedLoad / 2)],
      served: { arrived: served + refused + backlog, served, refused, backlog },
      capacityTime: log.at(line, 7),
      usedTime: log.at(line, 8),
    }
  }

  /** The same within a chapter, which must still hold then; `known` is what was served up to then, where that is known. */
  totalsWithin(segment: ServingSegment, at: Micros, known?: RequestFlow): ServingTotals {
    const { effectiveInstances, isBusy, load } = segment
    const capacityTime = effectiveInstances * (at - segment.at)
    const limit = this.#world.profile.limits.queuePerDeployment
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

  /** The lives of a deployment's instances: those that last, then those that are over, the last to end first. */
  *instanceTimelines(row: Readonly<DeploymentRow>): Generator<RecordedTimeline> {
    for (const instance of row.instances) {
      yield { ...this.#world.instances.read(instance).timeline, end: Number.POSITIVE_INFINITY, lossCause: undefined }
    }
    const log = this.#instanceTimelines
    for (let line = row.lastTimelineLine; line >= 0; line = log.at(line, 0)) {
      yield {
        pending: log.at(line, 1),
        placed: log.at(line, 2),
        pulling: log.at(line, 3),
        pulled: log.at(line, 4),
        loading: log.at(line, 5),
        warming: log.at(line, 6),
        ready: log.at(line, 7),
        draining: log.at(line, 8),
        end: log.at(line, 9),
        lossCause: LOSS_CAUSES[log.at(line, 10)],
      }
    }
  }

  /** Lines of batches that were over by a moment, and those of them that failed. */
  batchLinesAt(at: Micros): { readonly done: number; readonly failed: number } {
    let done = 0
    let failed = 0
    for (let line = 0; line < this.#batchLines.length && this.#batchLines.at(line, 0) <= at; line++) {
      done += this.#batchLines.at(line, 1)
      failed += this.#batchLines.at(line, 2)
    }
    return { done, failed }
  }

  /** How often each of these had happened by a moment. */
  eventCountsAt(at: Micros): Record<CountedEvent, number> {
    const counts = Object.fromEntries(COUNTED_EVENTS.map(kind => [kind, 0])) as Record<CountedEvent, number>
    for (let line = 0; line < this.#countedEvents.length && this.#countedEvents.at(line, 0) <= at; line++) {
      counts[COUNTED_EVENTS[this.#countedEvents.at(line, 1)]!]++
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
      const time = this.#capacities.at(line, 0)
      if (time > at) break
      if (this.#capacities.at(line, 1) !== type) continue
      sum += gpus * (time - since)
      since = time
      gpus = this.#capacities.at(line, 2)
    }
    return sum + gpus * (at - since)
  }

  #writeSegment(row: DeploymentRow, isBusy: boolean): void {
    const { now } = this.#world.clock
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
