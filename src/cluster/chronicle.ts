import { type Micros, SECOND } from '../kernel/duration.ts'
import { NumberLog } from '../kernel/number-log.ts'
import type { Tape } from '../kernel/tape.ts'
import { DEPLOYMENT_STATUSES, type DeploymentStatus, type GpuType } from '../store/records.ts'
import type { DeploymentRow, Load } from './deployment-row.ts'
import { gpuIndex } from './gpus.ts'
import { type Life, LOST_TO, type LostTo, lostTo, STAGES, type Stage } from './life.ts'
import type { RentalRow } from './rental-row.ts'
import { NO_REQUESTS, type RequestEnd, type RequestTotals, withRequest } from './request-totals.ts'
import { NOTHING_SERVED, type Served, serve, wholeRequests } from './serving.ts'
import type { World } from './world.ts'

/** Events whose number a report tells. */
export const NOTED = [
  'node.crashed',
  'node.preempted',
  'gpu.failed',
  'zone.down',
  'topup.declined',
  'account.suspended',
] as const
export type Noted = (typeof NOTED)[number]
const NOTED_AT: ReadonlyMap<string, number> = new Map(NOTED.map((kind, i) => [kind, i]))

/** A life as it is told: `end` is Infinity while it lasts. */
export interface ToldLife extends Readonly<Record<Stage, Micros>> {
  readonly end: Micros
  readonly lostTo: LostTo | undefined
}

/** What a deployment has done up to a moment. */
export interface ServingTotals {
  readonly served: Served
  /** Instance-microseconds of ready instances, each counted by its speed. */
  readonly able: number
  /** Those of them that work took. */
  readonly used: number
}

/** How a deployment serves from a moment on. */
export interface ServingChapter extends ServingTotals {
  readonly at: Micros
  /** Ready instances, each counted by its speed. */
  readonly share: number
  /** Whether lines of batches run on it: they take all there is. */
  readonly isBusy: boolean
  readonly load: Load | undefined
}

/** Requests that are over within so long are told as one: what is kept grows with time, not with them. */
const REQUESTS_TOLD_EVERY: Micros = 10 * SECOND

const NOTHING_DONE: ServingTotals = { served: NOTHING_SERVED, able: 0, used: 0 }

/**
 * What reports are made from: the whole life of a world in few numbers, kept whatever the journal drops.
 *
 * A line is written when something ends or turns, and never changed: an instance's life when it is over, a status, how a
 * deployment serves, lines of batches, the GPUs that are up. What lies between follows from closed forms. The digest
 * does not know of it, and nothing in the simulation decides by it.
 */
export class Chronicle {
  readonly #world: World
  /** The line before of the same deployment, at, status. */
  readonly #statuses: NumberLog
  /** The line before, at, share, twice the load's position and one more when busy, served, refused, backlog, able, used. */
  readonly #servings: NumberLog
  /** The line before, each stage, the end, what it was lost to. */
  readonly #lives: NumberLog
  /** The line before of the same deployment, at, and the totals then: arrived, served, refused, failed, left, prompt and answer tokens. */
  readonly #requests: NumberLog
  /** At, lines that were over then, those that failed. */
  readonly #lines: NumberLog
  /** At, which. */
  readonly #noted: NumberLog
  /** At, GPU type, how many of it are up from then on. */
  readonly #capacities: NumberLog
  /** The line before of the same rental, from, to. */
  readonly #rentals: NumberLog

  constructor(world: World, from?: Chronicle) {
    this.#world = world
    this.#statuses = from ? from.#statuses.fork() : new NumberLog(3)
    this.#servings = from ? from.#servings.fork() : new NumberLog(9)
    this.#lives = from ? from.#lives.fork() : new NumberLog(STAGES.length + 3)
    this.#requests = from ? from.#requests.fork() : new NumberLog(9)
    this.#lines = from ? from.#lines.fork() : new NumberLog(3)
    this.#noted = from ? from.#noted.fork() : new NumberLog(2)
    this.#capacities = from ? from.#capacities.fork() : new NumberLog(3)
    this.#rentals = from ? from.#rentals.fork() : new NumberLog(3)
  }

  fork(world: World): Chronicle {
    return new Chronicle(world, this)
  }

  keep(tape: Tape): void {
    this.#statuses.keep(tape)
    this.#servings.keep(tape)
    this.#lives.keep(tape)
    this.#requests.keep(tape)
    this.#lines.keep(tape)
    this.#noted.keep(tape)
    this.#capacities.keep(tape)
    this.#rentals.keep(tape)
  }

  /** A deployment is there, or has another status. */
  statusChanged(row: DeploymentRow): void {
    const status = DEPLOYMENT_STATUSES.indexOf(row.status)
    row.toldStatus = this.#statuses.push([row.toldStatus, this.#world.clock.now, status])
    if (row.status === 'deleted' && row.loads.length > 0) this.#tellServing(row, false)
  }

  /** A deployment is given a load. */
  loadChanged(row: DeploymentRow, load: Load): void {
    row.loads = [...row.loads, load]
    this.#tellServing(row, false)
  }

  /** What a deployment can serve may have changed, or whether batches run on it. */
  servingChanged(deployment: number): void {
    const { batches, deployments } = this.#world
    const seen = deployments.read(deployment)
    const last = seen.toldServing
    const isBusy = batches.isRunningOn(deployment)
    if (last < 0 && seen.servingShare === 0 && !isBusy) return
    const wasBusy = last >= 0 && isOdd(this.#servings.at(last, 3))
    if (last >= 0 && this.#servings.at(last, 2) === seen.servingShare && wasBusy === isBusy) return
    this.#tellServing(deployments.own(deployment), isBusy)
  }

  /** An instance has left; with a reason when it was lost. */
  lifeEnded(row: DeploymentRow, life: Readonly<Life>, reason: string | undefined): void {
    const what = reason === undefined ? -1 : LOST_TO.indexOf(lostTo(reason))
    const { pending, placed, pulling, pulled, loading, warming, ready, draining } = life
    const { now } = this.#world.clock
    const line = [row.toldLife, pending, placed, pulling, pulled, loading, warming, ready, draining, now, what]
    row.toldLife = this.#lives.push(line)
  }

  /** A request that was made by itself has come. */
  requestCame(row: DeploymentRow): void {
    this.#keepRequests(row)
    row.requests = { ...row.requests, at: this.#world.clock.now, arrived: row.requests.arrived + 1 }
  }

  /** A request that was made by itself is over. */
  requestOver(row: DeploymentRow, end: RequestEnd, tokens: { readonly prompt: number; readonly answer: number }): void {
    this.#keepRequests(row)
    row.requests = withRequest(row.requests, this.#world.clock.now, end, tokens)
  }

  #keepRequests(row: DeploymentRow): void {
    const { now } = this.#world.clock
    const { at, arrived, served, refused, failed, left, promptTokens, answerTokens } = row.requests
    if (at < 0 || Math.floor(at / REQUESTS_TOLD_EVERY) === Math.floor(now / REQUESTS_TOLD_EVERY)) return
    const line = [row.toldRequests, at, arrived, served, refused, failed, left, promptTokens, answerTokens]
    row.toldRequests = this.#requests.push(line)
  }

  /** What became of the requests of a deployment up to a moment, to ten seconds. */
  requestsBy(row: Readonly<DeploymentRow>, at: Micros): RequestTotals {
    if (row.requests.at <= at) return row.requests
    const log = this.#requests
    for (let line = row.toldRequests; line >= 0; line = log.at(line, 0)) {
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
  linesDone(count: number, failed: number): void {
    this.#lines.push([this.#world.clock.now, count, failed])
  }

  /** Something happened; counted when a report tells its number. */
  happened(kind: string): void {
    const which = NOTED_AT.get(kind)
    if (which !== undefined) this.#noted.push([this.#world.clock.now, which])
  }

  /** So many GPUs of a type are up from now on. */
  capacityChanged(type: number, gpus: number): void {
    this.#capacities.push([this.#world.clock.now, type, gpus])
  }

  /** A rental gives its GPUs back. */
  rentalHeld(row: RentalRow): void {
    row.toldHeld = this.#rentals.push([row.toldHeld, row.heldSince, this.#world.clock.now])
  }

  /** How long a rental held its GPUs between two moments that are not to come. */
  heldBetween(row: Readonly<RentalRow>, from: Micros, to: Micros): Micros {
    const within = (start: Micros, end: Micros) => Math.max(0, Math.min(end, to) - Math.max(start, from))
    let sum = row.heldSince < 0 ? 0 : within(row.heldSince, this.#world.clock.now)
    for (let line = row.toldHeld; line >= 0; line = this.#rentals.at(line, 0)) {
      sum += within(this.#rentals.at(line, 1), this.#rentals.at(line, 2))
    }
    return sum
  }

  /** The statuses of a deployment and since when it had each, newest first. */
  *statuses(row: Readonly<DeploymentRow>): Generator<{ readonly at: Micros; readonly status: DeploymentStatus }> {
    for (let line = row.toldStatus; line >= 0; line = this.#statuses.at(line, 0)) {
      yield { at: this.#statuses.at(line, 1), status: DEPLOYMENT_STATUSES[this.#statuses.at(line, 2)]! }
    }
  }

  /** What a deployment has done up to a moment that is not to come. */
  totalsAt(row: Readonly<DeploymentRow>, at: Micros): ServingTotals {
    for (const chapter of this.servings(row)) if (chapter.at <= at) return this.totalsIn(chapter, at)
    return NOTHING_DONE
  }

  /** How a deployment served, newest first. */
  *servings(row: Readonly<DeploymentRow>): Generator<ServingChapter> {
    for (let line = row.toldServing; line >= 0; line = this.#servings.at(line, 0)) yield this.#chapter(row, line)
  }

  #chapter(row: Readonly<DeploymentRow>, line: number): ServingChapter {
    const log = this.#servings
    const served = log.at(line, 4)
    const refused = log.at(line, 5)
    const backlog = log.at(line, 6)
    const how = log.at(line, 3)
    return {
      at: log.at(line, 1),
      share: log.at(line, 2),
      isBusy: isOdd(how),
      load: row.loads[Math.floor(how / 2)],
      served: { arrived: served + refused + backlog, served, refused, backlog },
      able: log.at(line, 7),
      used: log.at(line, 8),
    }
  }

  /** The same within a chapter, which must still hold then; `known` is what was served up to then, where that is known. */
  totalsIn(chapter: ServingChapter, at: Micros, known?: Served): ServingTotals {
    const { share, isBusy, load } = chapter
    const able = share * (at - chapter.at)
    const limit = this.#world.profile.limits.queuePerDeployment
    const served =
      known ?? (load ? serve(chapter.served, load.curve, load.speed, share, limit, chapter.at, at) : chapter.served)
    // Little's law by another name: a request takes 1 / rate of an instance's time.
    const byLoad = load ? ((served.served - chapter.served.served) / load.speed.requestsPerSecond) * 1e6 : 0
    return { served, able: chapter.able + able, used: chapter.used + (isBusy ? able : Math.min(able, byLoad)) }
  }

  /** The lives of a deployment's instances: those that last, then those that are over, the last to end first. */
  *lives(row: Readonly<DeploymentRow>): Generator<ToldLife> {
    for (const instance of row.instances) {
      yield { ...this.#world.instances.read(instance).life, end: Number.POSITIVE_INFINITY, lostTo: undefined }
    }
    const log = this.#lives
    for (let line = row.toldLife; line >= 0; line = log.at(line, 0)) {
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
        lostTo: LOST_TO[log.at(line, 10)],
      }
    }
  }

  /** Lines of batches that were over by a moment, and those of them that failed. */
  linesBy(at: Micros): { readonly done: number; readonly failed: number } {
    let done = 0
    let failed = 0
    for (let line = 0; line < this.#lines.length && this.#lines.at(line, 0) <= at; line++) {
      done += this.#lines.at(line, 1)
      failed += this.#lines.at(line, 2)
    }
    return { done, failed }
  }

  /** How often each of these had happened by a moment. */
  notedBy(at: Micros): Record<Noted, number> {
    const counts = Object.fromEntries(NOTED.map(kind => [kind, 0])) as Record<Noted, number>
    for (let line = 0; line < this.#noted.length && this.#noted.at(line, 0) <= at; line++) {
      counts[NOTED[this.#noted.at(line, 1)]!]++
    }
    return counts
  }

  /** GPU-microseconds of a type that were up by a moment. */
  capacityBy(gpu: GpuType, at: Micros): number {
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

  #tellServing(row: DeploymentRow, isBusy: boolean): void {
    const { now } = this.#world.clock
    const last = row.toldServing < 0 ? undefined : this.#chapter(row, row.toldServing)
    // Nobody asks what was deleted, and whoever waited for it is turned away.
    const isDeleted = row.status === 'deleted'
    const isSettled = row.servedAt === now && !isDeleted
    // What has flowed up to now under this load need not flow again.
    const known = isSettled && row.load === last?.load ? row.served : undefined
    const { served: counted, able, used } = last ? this.totalsIn(last, now, known) : NOTHING_DONE
    const was = isSettled ? row.served : counted
    const { served } = was
    // In whole requests, which a report has told: none of them may be forgotten.
    const whole = isDeleted ? wholeRequests(was) : undefined
    const refused = whole ? whole.refused + whole.backlog : was.refused
    const backlog = isDeleted ? 0 : was.backlog
    const load = isDeleted ? -1 : row.loads.length - 1
    const how = load * 2 + Number(isBusy)
    const line = [row.toldServing, now, row.servingShare, how, served, refused, backlog, able, used]
    row.toldServing = this.#servings.push(line)
  }
}

function isOdd(value: number): boolean {
  return value % 2 !== 0
}
