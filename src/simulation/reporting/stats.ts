import { type Micros, SECOND } from '../../kernel/duration.ts'
import type { Microcents } from '../account/money.ts'
import type { World } from '../world.ts'
import { deploymentReport } from './deployment-report.ts'
import type { RequestCounts, TokenCounts } from './report-types.ts'
import { type ReportStep, reportSeries, type ServingFigures } from './time-series.ts'

/** Points of a series at most: it shows a course, and shorter windows have the detail. */
const MAX_POINTS = 60

/** A point of a deployment's course. */
export type StatsPoint = Pick<
  ReportStep,
  | 'time'
  | 'ready'
  | 'pending'
  | 'arrival_rate'
  | 'served'
  | 'refused'
  | 'failed'
  | 'left'
  | 'backlog'
  | 'utilisation'
  | keyof ServingFigures
>

/** What a deployment did between two moments. */
export interface DeploymentStats {
  readonly requests: RequestCounts
  readonly tokens: TokenCounts
  /** Seconds of its ready instances, summed. */
  readonly instance_seconds: number
  /** Share of what they could do; null while none was ready. */
  readonly utilisation: number | null
  /** At the end of the window; null for what has no load. */
  readonly serving: ServingFigures | null
  readonly cost_microcents: number
  readonly series: readonly StatsPoint[]
}

const NO_REQUESTS: RequestCounts = {
  waiting_before: 0,
  arrived: 0,
  served: 0,
  refused: 0,
  failed: 0,
  left: 0,
  waiting: 0,
}

const NO_TOKENS: TokenCounts = { input: 0, output: 0 }

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
 * The series begins at the epoch. Reading changes nothing.
 */
export function deploymentStats(
  world: World,
  deployment: number,
  window: { from: Micros; to: Micros },
): DeploymentStats {
  const past = pastDeploymentUsage(world, world.deployments.read(deployment).id, window)
  const [from, to] = [Math.max(0, window.from), Math.max(0, window.to)]
  const isBeforeEpoch = window.from < 0 && window.to <= 0
  const report = isBeforeEpoch ? undefined : deploymentReport(world, deployment, { from, to })
  const step = seriesStep(to - from)
  const series = isBeforeEpoch ? [] : reportSeries(world, { from, to, step }, [world.deployments.handle(deployment)])
  const requests = report?.requests ?? NO_REQUESTS
  const tokens = report?.tokens ?? NO_TOKENS
  return {
    requests: { ...requests, arrived: requests.arrived + past.requests, served: requests.served + past.requests },
    tokens: { input: tokens.input + past.inputTokens, output: tokens.output + past.outputTokens },
    instance_seconds: (report?.instance_seconds_in_state.ready ?? 0) + past.instanceMicros / SECOND,
    utilisation: report?.mean_utilisation ?? null,
    serving: report?.serving ?? null,
    cost_microcents: (report?.rent_microcents ?? 0) + past.microcents,
    series: Array.from(
      series,
      ({ deploy_id: _, deployment: __, status: ___, cost_microcents: ____, ...point }) => point,
    ),
  }
}

/** Whole seconds, and at least one. */
function seriesStep(length: Micros): Micros {
  return Math.max(1, Math.ceil(length / SECOND / MAX_POINTS)) * SECOND
}
