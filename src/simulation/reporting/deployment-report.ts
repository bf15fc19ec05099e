import { DEPLOYMENT_STATUSES } from '../../data/records/enums.ts'
import type { Micros } from '../../kernel/duration.ts'
import type { MeteredUsage } from '../account/ledger-types.ts'
import type { DeploymentRow } from '../deployments/deployment-row.ts'
import { engineView } from '../deployments/instance-speed.ts'
import { waitQuantile } from '../load/prompt-wait.ts'
import { waitUnderLoad } from '../load/serving.ts'
import type { LossCause } from '../recording/instance-timeline.ts'
import type { World } from '../world.ts'
import { type ColdStart, instanceTimes, statusTimes } from './deployment-times.ts'
import { gpuHours, ratio, summarizeDurations } from './figures.ts'
import type { DeploymentReport, ReportWindow } from './report-types.ts'
import { type CountedWindow, exclusiveStart } from './report-window.ts'
import { clientRequestsBetween, loadRequestsBetween, sumRequests, tokensBetween } from './request-counts.ts'
import { servingFigures } from './time-series.ts'

/** The report of a deployment, and the integers from which it is computed. */
export interface DeploymentFigures {
  readonly report: DeploymentReport
  /** GPU-microseconds. */
  readonly heldTime: number
  readonly billedTime: number
  readonly usedTime: number
  readonly capacityTime: number
  readonly coldStarts: readonly ColdStart[]
  readonly losses: readonly LossCause[]
  readonly failures: number
  /** Whether its requests are counted for its base, too: it is an adapter on a deployment of the account. */
  readonly isCountedForBase: boolean
}

/** Returns the figures of every deployment that existed in the window. */
export function allDeploymentFigures(
  world: World,
  window: CountedWindow,
  metered: readonly MeteredUsage[],
): readonly DeploymentFigures[] {
  const all = world.deployments.list(new Set(DEPLOYMENT_STATUSES))
  return all.flatMap(({ ordinal }) => {
    const row = world.deployments.read(ordinal)
    const figures = deploymentFigures(world, window, row, metered[row.meter])
    return figures ? [figures] : []
  })
}

/** Returns the report of one deployment; undefined if it did not exist in the window. */
export function deploymentReport(
  world: World,
  deployment: number,
  { from, to }: Pick<ReportWindow, 'from' | 'to'>,
): DeploymentReport | undefined {
  const row = world.deployments.read(deployment)
  const meter = world.ledger.meters.meteredUsage(from, to)[row.meter]
  return deploymentFigures(world, { from, to, after: exclusiveStart(from) }, row, meter)?.report
}

/** Returns undefined if the deployment did not exist in the window. */
function deploymentFigures(
  world: World,
  window: CountedWindow,
  row: Readonly<DeploymentRow>,
  meter: MeteredUsage | undefined,
): DeploymentFigures | undefined {
  const { from, to } = window
  const statuses = statusTimes(world, window, row)
  const instances = instanceTimes(world, window, row)
  const rent = meter?.microcents ?? 0
  const { status } = statuses
  if (status === undefined) return undefined
  if (status === 'deleted' && statuses.present === 0 && instances.heldMicros === 0 && rent === 0) return undefined
  const [before, after] = [world.history.totalsAt(row, from), world.history.totalsAt(row, to)]
  const heldTime = instances.heldMicros * row.numGpus
  const billedTime = meter?.gpuMicros ?? 0
  const usedTime = Math.floor(after.usedTime * row.numGpus) - Math.floor(before.usedTime * row.numGpus)
  const capacityTime = Math.floor(after.capacityTime * row.numGpus) - Math.floor(before.capacityTime * row.numGpus)
  const startTimes = instances.coldStarts.map(start => start.total)
  const report: DeploymentReport = {
    deploy_id: row.id,
    model_name: row.plan.modelName,
    type: row.plan.type,
    gpu: row.plan.hasInstances ? row.gpu : null,
    num_gpus: row.plan.hasInstances ? row.numGpus : 0,
    status,
    rent_microcents: rent,
    ...gpuHours(heldTime, billedTime, usedTime),
    seconds_in_status: statuses.seconds,
    instance_seconds_in_state: instances.seconds,
    requests: sumRequests([
      loadRequestsBetween(before.served, after.served),
      clientRequestsBetween(world, row, from, to),
    ]),
    tokens: tokensBetween(world, row, from, to),
    mean_utilisation: ratio(usedTime, capacityTime),
    serving: servingAt(world, row, to),
    engine: engineView(row),
    cold_starts: startTimes.length,
    median_cold_start_seconds: startTimes.length === 0 ? null : summarizeDurations(startTimes).median_seconds,
    instances_lost: instances.losses.length,
  }
  const { coldStarts, losses } = instances
  const { failures } = statuses
  const isCountedForBase = row.plan.base >= 0
  return { report, heldTime, billedTime, usedTime, capacityTime, coldStarts, losses, failures, isCountedForBase }
}

function servingAt({ history }: World, row: Readonly<DeploymentRow>, at: Micros): DeploymentReport['serving'] {
  for (const segment of history.servingSegments(row)) {
    if (segment.at > at) continue
    const { load, effectiveInstances } = segment
    const { served } = history.totalsWithin(segment, at)
    const figures = servingFigures(segment, served, at)
    if (load === undefined || figures === undefined) return null
    if (effectiveInstances === 0) return { ...figures, wait_seconds: null }
    const wait = waitUnderLoad(load, effectiveInstances, at)
    const queue = served.backlog / (effectiveInstances * load.speed.requestsPerSecond)
    const [p50, p90, p99] = [0.5, 0.9, 0.99].map(share => Math.max(queue, waitQuantile(wait, share)))
    return { ...figures, wait_seconds: { p50: p50!, p90: p90!, p99: p99! } }
  }
  return null
}
