import { DEPLOYMENT_STATUSES, type DeploymentStatus } from '../../data/records/enums.ts'
import { HOUR, type Micros } from '../../kernel/duration.ts'
import type { Deployment } from '../deployments/deployment.ts'
import type { DeploymentRow } from '../deployments/deployment-row.ts'
import { INSTANCE_STATES } from '../deployments/instance-row.ts'
import { type RequestFlow, toWholeRequests } from '../load/request-flow.ts'
import { estimateServing, waitUnderLoad } from '../load/serving.ts'
import { EMPTY_TOTALS } from '../recording/history.ts'
import type { ServingSegment } from '../recording/history-records.ts'
import type { World } from '../world.ts'
import { instanceTimelines } from './instance-timelines.ts'
import { ForwardReader, RentReader } from './rent-reader.ts'

/** How a deployment serves at one moment. Slow instances count by their speed. */
export interface ServingFigures {
  /** Requests in work. */
  readonly concurrency: number
  /** Seconds from a request's arrival then to its first token; null while no instance is ready. */
  readonly time_to_first_token_seconds: number | null
  /** Output tokens/s of all its instances together. */
  readonly tokens_per_second: number
}

/** Without requests. */
export const NO_SERVING: ServingFigures = { concurrency: 0, time_to_first_token_seconds: null, tokens_per_second: 0 }

/** How a deployment serves its load at a moment of that chapter; undefined without a load. */
export function servingFigures(segment: ServingSegment, served: RequestFlow, at: Micros): ServingFigures | undefined {
  const { load, effectiveInstances } = segment
  if (!load) return undefined
  const { mean } = waitUnderLoad(load, effectiveInstances, at)
  const current = estimateServing(load.curve.rateAt(at), load.speed, effectiveInstances, served.backlog, mean)
  return {
    concurrency: current.concurrency,
    time_to_first_token_seconds: Number.isFinite(current.timeToFirstToken) ? current.timeToFirstToken : null,
    tokens_per_second: current.tokensPerSecond,
  }
}

/** A deployment at the end of a step, and what it did in that step. */
export interface ReportStep extends ServingFigures {
  /** The end of the step, ISO 8601. */
  readonly time: string
  readonly deploy_id: string
  readonly deployment: string
  readonly status: DeploymentStatus
  /** Instances that are ready, and that are on their way there. */
  readonly ready: number
  readonly pending: number
  /** Requests/s that are offered. */
  readonly arrival_rate: number
  /** Requests in this step. */
  readonly served: number
  readonly refused: number
  /** Of clients, as a report counts them: cut off, and left before their turn. */
  readonly failed: number
  readonly left: number
  /** Requests that wait. */
  readonly backlog: number
  /** Mean of this step, a share of what the ready instances could do; null while none was ready. */
  readonly utilisation: number | null
  /** Rent of this step. */
  readonly cost_microcents: number
  /** GPU-hours of this step, as in the report of the deployment: what its instances held, and what work took. */
  readonly held_gpu_hours: number
  readonly used_gpu_hours: number
}

/** The columns of a series, in order. */
export const STEP_COLUMNS = [
  'time',
  'deploy_id',
  'deployment',
  'status',
  'ready',
  'pending',
  'arrival_rate',
  'served',
  'refused',
  'failed',
  'left',
  'backlog',
  'utilisation',
  'concurrency',
  'time_to_first_token_seconds',
  'tokens_per_second',
  'cost_microcents',
  'held_gpu_hours',
  'used_gpu_hours',
] as const satisfies readonly (keyof ReportStep)[]

/**
 * A row a step and deployment, by time, then creation. The steps are counted from the start of the window; the last one
 * may be shorter. What was deleted has rows only for steps in which it still costs or holds something. All deployments
 * unless some are given.
 */
export function* reportSeries(
  world: World,
  { from, to, step }: { readonly from: Micros; readonly to: Micros; readonly step: Micros },
  deployments: readonly Deployment[] = world.deployments.list(new Set(DEPLOYMENT_STATUSES)),
): Generator<ReportStep> {
  const cursors = deployments.map(({ ordinal }) => createCursor(world, world.deployments.read(ordinal), from))
  for (let end = from + step, start = from; start < to; start = end, end += step) {
    const at = Math.min(end, to)
    for (const cursor of cursors) {
      const row = cursor(at)
      if (row) yield row
    }
  }
}

/** Returns what reads the past of one deployment forwards: the row of the step that ends at a time, if it has one. */
function createCursor(world: World, row: Readonly<DeploymentRow>, from: Micros) {
  const { clock, history } = world
  const { id, numGpus, plan } = row
  const statuses = new ForwardReader([...history.statuses(row)].reverse())
  const counts = new ForwardReader(instanceCounts(world, row))
  const segments = new ForwardReader([...history.servingSegments(row)].reverse())
  const rents = new RentReader(world, row.meter)
  const holds = new ForwardReader(heldInstances(world, row))
  const totalsAt = (at: Micros) => {
    const segment = segments.readAt(at)
    const cost = rents.totalAt(at)
    const hold = holds.readAt(at)
    const held = hold === undefined ? 0 : hold.before + hold.instances * (at - hold.at)
    const clientTotals = history.requests.totalsAt(row, at === 0 ? -1 : at)
    const { failed, left } = clientTotals
    const { served, capacityTime: able, usedTime: used } = segment ? history.totalsWithin(segment, at) : EMPTY_TOTALS
    const { served: done, refused, backlog } = toWholeRequests(served)
    const figures = (segment && servingFigures(segment, served, at)) ?? NO_SERVING
    return {
      served: done + clientTotals.served,
      refused: refused + clientTotals.refused,
      ...{ failed, left },
      ...{ backlog, able, used, cost, held, figures },
    }
  }
  let previous = totalsAt(from)
  return (at: Micros): ReportStep | undefined => {
    const status = statuses.readAt(at)?.status
    const [before, totals] = [previous, totalsAt(at)]
    const { ready = 0, pending = 0 } = counts.readAt(at) ?? {}
    previous = totals
    const cost = totals.cost - before.cost
    const held = totals.held - before.held
    // A deleted deployment has no row in a step in which it cost nothing.
    if (status === undefined || (status === 'deleted' && cost === 0 && held === 0)) return undefined
    const used = Math.floor(totals.used * numGpus) - Math.floor(before.used * numGpus)
    const able = totals.able - before.able
    return {
      ...{ time: clock.iso(at), deploy_id: id, deployment: plan.modelName, status, ready, pending },
      arrival_rate: segments.readAt(at)?.load?.curve.rateAt(at) ?? 0,
      served: totals.served - before.served,
      refused: totals.refused - before.refused,
      failed: totals.failed - before.failed,
      left: totals.left - before.left,
      backlog: totals.backlog,
      utilisation: able > 0 ? (totals.used - before.used) / able : null,
      ...totals.figures,
      cost_microcents: cost,
      held_gpu_hours: (held * numGpus) / HOUR,
      used_gpu_hours: used / HOUR,
    }
  }
}

/** Returns how many instances were ready and on their way, from each moment on at which that changed. */
export function instanceCounts(world: World, row: Readonly<DeploymentRow>) {
  const changes: { at: Micros; ready: number; pending: number }[] = []
  for (const timeline of instanceTimelines(world, row)) {
    const pendingEnd = timeline.ready >= 0 ? timeline.ready : timeline.end
    changes.push({ at: timeline.pending, ready: 0, pending: 1 }, { at: pendingEnd, ready: 0, pending: -1 })
    if (timeline.ready < 0) continue
    changes.push({ at: timeline.ready, ready: 1, pending: 0 })
    changes.push({ at: timeline.draining >= 0 ? timeline.draining : timeline.end, ready: -1, pending: 0 })
  }
  changes.sort((a, b) => a.at - b.at)
  let [ready, pending] = [0, 0]
  return changes.map(change => {
    ready += change.ready
    pending += change.pending
    return { at: change.at, ready, pending }
  })
}

/** How many instances held GPUs, from each change of that on, and what they held before: microseconds of instances. */
function heldInstances(world: World, row: Readonly<DeploymentRow>) {
  const changes: { at: Micros; change: number }[] = []
  for (const timeline of instanceTimelines(world, row)) {
    const times = INSTANCE_STATES.filter(state => state !== 'pending').map(state => timeline[state])
    const placed = Math.min(...times.filter(time => time >= 0))
    // An instance that was never placed has no such time, and one that lasts has no end.
    if (placed < timeline.end) changes.push({ at: placed, change: 1 }, { at: timeline.end, change: -1 })
  }
  changes.sort((a, b) => a.at - b.at)
  let [instances, before, since] = [0, 0, 0]
  return changes.flatMap(({ at, change }) => {
    if (at === Number.POSITIVE_INFINITY) return []
    before += instances * (at - since)
    since = at
    instances += change
    return [{ at, instances, before }]
  })
}
