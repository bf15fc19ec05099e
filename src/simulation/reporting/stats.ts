import { MINUTE, type Micros, SECOND } from '../../kernel/duration.ts'
import { gpuTimeCost, gpuTimeWeight, type Microcents } from '../account/money.ts'
import type { DeploymentRow } from '../deployments/deployment-row.ts'
import { engineOf } from '../deployments/instance-speed.ts'
import type { EnginePoint } from '../load/engine.ts'
import { type TimedPhase, timeOfKey } from '../load/request-totals.ts'
import type { World } from '../world.ts'
import { deploymentReport } from './deployment-report.ts'
import { sumBy } from './figures.ts'
import { exclusiveStart } from './report-window.ts'
import { clientRequestsBetween, loadRequestsBetween } from './request-counts.ts'

/** What a deployment did between two moments. */
export interface DeploymentStats {
  /** Requests that ended: served, refused or failed. */
  readonly requests: number
  /** Of these, the refused and the failed ones. */
  readonly errors: number
  readonly inputTokens: number
  readonly outputTokens: number
  readonly microcents: Microcents
  /** Microseconds from the start of a request on an instance to its end: sum, mean and 95th percentile. */
  readonly workTime: Micros
  readonly meanTime: Micros
  readonly p95Time: Micros
  /** Microseconds from the start of a request on an instance to its first token, and those between two tokens. */
  readonly firstTokenTime: TimeFigures
  readonly tokenTime: TimeFigures
}

/** Microseconds. 0 without requests. */
export interface TimeFigures {
  readonly mean: Micros
  readonly p95: Micros
}

/** Requests for which a phase took about equally long. A count of the load need not be an integer. */
interface TimedRequests {
  readonly phase: TimedPhase
  readonly time: Micros
  readonly count: number
}

/** What a deployment served, and what it cost, between two times. */
export interface DeploymentUsage {
  /** Served requests. */
  readonly requests: number
  readonly inputTokens: number
  readonly outputTokens: number
  /** Microseconds of its billed instances, summed. */
  readonly instanceMicros: Micros
  readonly microcents: Microcents
}

/**
 * Returns the use of a deployment before the epoch, as far as the window lies there. The history of the fixture states it.
 *
 * @param deploy_id wire id of the deployment
 */
export function pastDeploymentUsage(
  world: World,
  deploy_id: string,
  { from, to }: { readonly from: Micros; readonly to: Micros },
): DeploymentUsage {
  const past = world.ledger.past.rentUsage(from, Math.min(to, 0)).find(({ id }) => id === deploy_id)
  return {
    requests: past?.requests ?? 0,
    inputTokens: past?.inputTokens ?? 0,
    outputTokens: past?.outputTokens ?? 0,
    instanceMicros: past?.instanceMicros ?? 0,
    microcents: past?.microcents ?? 0,
  }
}

/**
 * Returns the figures of one deployment as a report has them, and those of its past: a window can begin before the epoch.
 * Reading changes nothing.
 */
export function deploymentStats(
  world: World,
  deployment: number,
  window: { from: Micros; to: Micros },
): DeploymentStats {
  const row = world.deployments.read(deployment)
  const past = pastDeploymentUsage(world, row.id, window)
  const [from, to] = [Math.max(0, window.from), Math.max(0, window.to)]
  const isBeforeEpoch = window.from < 0 && window.to <= 0
  const report = isBeforeEpoch ? undefined : deploymentReport(world, deployment, { from, to })
  const { served = 0, refused = 0, failed = 0 } = report?.requests ?? {}
  const pastTimes = pastRequestTimes(world, row, past)
  const loadTimes = isBeforeEpoch ? [] : loadRequestTimes(world, row, from, to)
  const clients = isBeforeEpoch ? NO_CLIENT_TIMES : clientRequestTimes(world, row, from, to)
  const times = [...pastTimes, ...loadTimes, ...clients.times]
  const requestTimes = times.filter(({ phase }) => phase === 'request')
  const estimated = [...pastTimes, ...loadTimes].filter(({ phase }) => phase === 'request')
  const workTime = clients.workTime + sumBy(estimated, ({ time, count }) => time * count)
  const count = sumBy(requestTimes, timed => timed.count)
  return {
    requests: served + refused + failed + past.requests,
    errors: refused + failed,
    inputTokens: (report?.tokens.input ?? 0) + past.inputTokens,
    outputTokens: (report?.tokens.output ?? 0) + past.outputTokens,
    microcents: rentCost(world, row, window) ?? (report?.rent_microcents ?? 0) + past.microcents,
    workTime,
    meanTime: count > 0 ? workTime / count : 0,
    p95Time: percentile95(requestTimes, count),
    firstTokenTime: toFigures(times, 'firstToken'),
    tokenTime: toFigures(times, 'token'),
  }
}

/** Returns the number of requests of each deployment in a window, by ordinal: those of `deploymentStats`. */
export function requestsByDeployment(
  world: World,
  window: { readonly from: Micros; readonly to: Micros },
): ReadonlyMap<number, number> {
  const past = new Map(
    world.ledger.past.rentUsage(window.from, Math.min(window.to, 0)).map(({ id, requests }) => [id, requests]),
  )
  const [from, to] = [Math.max(0, window.from), Math.max(0, window.to)]
  const isBeforeEpoch = window.from < 0 && window.to <= 0
  const counts = new Map<number, number>()
  for (const [ordinal, row] of world.deployments.entries()) {
    const [before, after] = [world.history.totalsAt(row, from), world.history.totalsAt(row, to)]
    const all = isBeforeEpoch
      ? []
      : [loadRequestsBetween(before.served, after.served), clientRequestsBetween(world, row, from, to)]
    const ended = sumBy(all, ({ served, refused, failed }) => served + refused + failed)
    counts.set(ordinal, ended + (past.get(row.id) ?? 0))
  }
  return counts
}

/**
 * Returns the exact cost of a window across the epoch, rounded down once; undefined for any other window. The costs of
 * its two parts are rounded down each, so their sum can be a micro-cent less.
 */
function rentCost(
  { ledger }: World,
  row: Readonly<DeploymentRow>,
  { from, to }: { readonly from: Micros; readonly to: Micros },
): Microcents | undefined {
  if (from >= 0 || to <= 0) return undefined
  let weight = ledger.past.rentWeight(row.id, from, 0)
  if (row.meter >= 0) {
    for (const interval of ledger.meters.intervalsOf(row.meter)) weight += gpuTimeWeight(interval, 0, to)
  }
  return gpuTimeCost(weight)
}

function toFigures(times: readonly TimedRequests[], phase: TimedPhase): TimeFigures {
  const phaseTimes = times.filter(timed => timed.phase === phase)
  const count = sumBy(phaseTimes, timed => timed.count)
  if (count === 0) return { mean: 0, p95: 0 }
  return { mean: sumBy(phaseTimes, timed => timed.time * timed.count) / count, p95: percentile95(phaseTimes, count) }
}

const NO_CLIENT_TIMES = { workTime: 0, times: [] as readonly TimedRequests[] }

/** Returns the time that requests of the history took by their mean lengths. */
function pastRequestTimes(
  { profile }: World,
  row: Readonly<DeploymentRow>,
  { requests, inputTokens, outputTokens }: DeploymentUsage,
): TimedRequests[] {
  if (requests === 0 || !row.plan.hasInstances) return []
  const [promptTokens, answerTokens] = [inputTokens / requests, Math.max(1, outputTokens / requests)].map(Math.round)
  const engine = engineOf(row, promptTokens!, answerTokens!, profile.timings.prefixCacheShare)
  return timesAt(engine.at(1), requests)
}

/** Span over which the rate of a load is taken as even. */
const RATE_SPAN = 10 * MINUTE

function loadRequestTimes(
  { history, clock }: World,
  row: Readonly<DeploymentRow>,
  from: Micros,
  to: Micros,
): TimedRequests[] {
  const times: TimedRequests[] = []
  let end = to
  let segmentEnd = Number.POSITIVE_INFINITY
  for (const segment of history.servingSegments(row)) {
    if (segment.at >= end) {
      segmentEnd = segment.at
      continue
    }
    const { load, effectiveInstances } = segment
    const servedAt = (at: Micros) => history.totalsWithin(segment, at).served.served
    // Rates are means of fixed spans, so that adjoining windows add up.
    for (let at = end; load && at > Math.max(from, segment.at); ) {
      const begin = Math.max(segment.at, Math.ceil(at / RATE_SPAN - 1) * RATE_SPAN)
      const until = Math.min(segmentEnd, clock.now, begin + RATE_SPAN - (begin % RATE_SPAN))
      const rate = ((servedAt(until) - servedAt(begin)) * SECOND) / (until - begin)
      const start = Math.max(from, begin)
      const count = servedAt(at) - servedAt(start)
      if (count > 0) times.push(...timesAt(load.speed.atRate(rate / effectiveInstances), count))
      at = start
    }
    segmentEnd = segment.at
    end = segment.at
    if (end <= from) break
  }
  return times
}

function timesAt({ requestTime, firstTokenTime, tokenTime }: EnginePoint, count: number): TimedRequests[] {
  return [
    { phase: 'request', time: requestTime * 1e6, count },
    { phase: 'firstToken', time: firstTokenTime * 1e6, count },
    { phase: 'token', time: tokenTime * 1e6, count },
  ]
}

function clientRequestTimes({ history }: World, row: Readonly<DeploymentRow>, from: Micros, to: Micros) {
  const [before, after] = [history.requests.totalsAt(row, exclusiveStart(from)), history.requests.totalsAt(row, to)]
  const pairs = [...history.requests.timesBetween(before, after)]
  const times = pairs.map(([key, count]): TimedRequests => ({ ...timeOfKey(key), count }))
  return { workTime: after.workTime - before.workTime, times }
}

/** Returns the time within which 95 % of the requests ended; 0 without requests. */
function percentile95(times: readonly TimedRequests[], count: number): Micros {
  let remaining = count * 0.95
  for (const timed of [...times].sort((a, b) => a.time - b.time)) {
    remaining -= timed.count
    if (remaining <= 0) return timed.time
  }
  return times.length > 0 ? Math.max(...times.map(({ time }) => time)) : 0
}
