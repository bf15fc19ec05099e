import { type Micros, SECOND } from '../../kernel/duration.ts'
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

/** The same figures as a report's, of one deployment; reading changes nothing. */
export function deploymentStats(
  world: World,
  deployment: number,
  window: { from: Micros; to: Micros },
): DeploymentStats {
  const { from, to } = window
  const report = deploymentReport(world, deployment, window)
  const step = seriesStep(to - from)
  const series = reportSeries(world, { from, to, step }, [world.deployments.handle(deployment)])
  return {
    requests: report?.requests ?? NO_REQUESTS,
    tokens: report?.tokens ?? NO_TOKENS,
    instance_seconds: report?.instance_seconds_in_state.ready ?? 0,
    utilisation: report?.mean_utilisation ?? null,
    serving: report?.serving ?? null,
    cost_microcents: report?.rent_microcents ?? 0,
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
