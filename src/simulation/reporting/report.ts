import { HOUR, SECOND } from '../../kernel/duration.ts'
import { LOSS_CAUSES } from '../recording/instance-timeline.ts'
import type { World } from '../world.ts'
import { type CountedWindow, exclusiveStart, isWithin } from './counted-window.ts'
import { allDeploymentFigures } from './deployment-report.ts'
import type { ColdStart } from './deployment-times.ts'
import { eventCountsBetween } from './event-counts.ts'
import { countByName, gpuHours, ratio, sumBy, summarizeDurations } from './figures.ts'
import { allGpuFigures } from './gpu-report.ts'
import { moneyReport } from './money-report.ts'
import {
  COLD_START_PHASES,
  type ColdStartPhase,
  type ColdStarts,
  type Durations,
  type Report,
  type ReportWindow,
} from './report-types.ts'
import { sumRequests } from './request-counts.ts'
import { reportSeries } from './time-series.ts'

/**
 * Returns the report of a window. Every figure is a difference of two running totals. All totals are integers: micro-cents,
 * GPU-microseconds, whole requests. So adjoining windows add up to the window that spans them. The world is unchanged.
 */
export function createReport(world: World, { from, to, step }: ReportWindow, fixture: string): Report {
  const { clock } = world
  const window = { from, to, after: exclusiveStart(from) }
  const metered = new Map(world.ledger.meters.meteredUsage(from, to).map(usage => [usage.id, usage]))
  const deployments = allDeploymentFigures(world, window, metered)
  // Each request counts once, although it is in the figures of its adapter and in those of the base.
  const counted = deployments.filter(({ isCountedForBase }) => !isCountedForBase)
  const coldStarts = deployments.flatMap(({ coldStarts }) => coldStarts)
  const losses = deployments.flatMap(({ losses }) => losses)
  const eventCounts = eventCountsBetween(world, window)
  const gpus = allGpuFigures(world, window, deployments, metered)
  return {
    from: clock.iso(from),
    to: clock.iso(to),
    seconds: (to - from) / SECOND,
    seed: world.seed,
    profile: world.profile.name,
    weather: world.profile.weather.pack,
    fixture,
    commands: executedCommands(world, window),
    money: moneyReport(world, window, metered, eventCounts),
    gpus: gpus.map(({ report }) => report),
    deployments: deployments.map(({ report }) => report),
    totals: {
      deployments: deployments.length,
      capacity_gpu_hours: sumBy(gpus, figures => figures.capacity) / HOUR,
      ...gpuHours(
        sumBy(deployments, figures => figures.heldTime),
        sumBy(deployments, figures => figures.billedTime),
        sumBy(deployments, figures => figures.usedTime),
      ),
      container_gpu_hours: sumBy(gpus, figures => figures.containers) / HOUR,
      requests: sumRequests(counted.map(({ report }) => report.requests)),
      tokens: {
        input: sumBy(counted, figures => figures.report.tokens.input),
        output: sumBy(counted, figures => figures.report.tokens.output),
      },
      mean_utilisation: ratio(
        sumBy(deployments, figures => figures.usedTime),
        sumBy(deployments, figures => figures.capacityTime),
      ),
    },
    cold_starts: { count: coldStarts.length, phases: coldStartPhases(coldStarts) },
    failures: {
      instances_lost: losses.length,
      instances_lost_to: countByName(LOSS_CAUSES, losses),
      deployments_failed: sumBy(deployments, figures => figures.failures),
      node_crashes: eventCounts['node.crashed'],
      node_preemptions: eventCounts['node.preempted'],
      gpu_failures: eventCounts['gpu.failed'],
      zone_outages: eventCounts['zone.down'],
    },
    batches: batchCounts(world, window),
    ...(step !== undefined && { series: [...reportSeries(world, { from, to, step })] }),
  }
}

/** Maximum number of commands that a report lists. */
const MAX_LISTED_COMMANDS = 100

function executedCommands(world: World, { after, to }: CountedWindow): Report['commands'] {
  const { count, newest } = world.commands.log.between(after, to, MAX_LISTED_COMMANDS)
  return { count, newest: newest.map(({ at, verb, target }) => ({ at: world.clock.iso(at), verb, target })) }
}

const OUTCOMES = ['completed', 'failed', 'expired', 'cancelled'] as const

function batchCounts(world: World, window: CountedWindow): Report['batches'] {
  let created = 0
  const outcomes = { completed: 0, failed: 0, expired: 0, cancelled: 0 }
  for (const [, row] of world.batches.entries()) {
    if (isWithin(window, row.createdAt)) created++
    for (const outcome of OUTCOMES) {
      const at = row.statusTimes[outcome]
      if (row.status === outcome && at !== undefined && isWithin(window, at)) outcomes[outcome]++
    }
  }
  const [before, after] = [world.history.batchLinesAt(window.after), world.history.batchLinesAt(window.to)]
  return { created, ...outcomes, lines_done: after.done - before.done, lines_failed: after.failed - before.failed }
}

function coldStartPhases(coldStarts: readonly ColdStart[]): ColdStarts['phases'] {
  if (coldStarts.length === 0) return null
  return Object.fromEntries(
    COLD_START_PHASES.map(phase => [phase, summarizeDurations(coldStarts.map(start => start[phase]))]),
  ) as Record<ColdStartPhase, Durations>
}
