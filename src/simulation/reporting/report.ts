import { GPU_TYPES, type GpuType } from '../../data/records/gpu-config.ts'
import { HOUR, SECOND } from '../../kernel/duration.ts'
import { groupBy } from '../../lib/lists.ts'
import type { MeteredUsage } from '../account/ledger-types.ts'
import { gpuTimeCost, MICROCENTS_PER_CENT } from '../account/money.ts'
import { COUNTED_EVENTS, type CountedEvent } from '../recording/history-records.ts'
import { LOSS_CAUSES } from '../recording/instance-timeline.ts'
import type { World } from '../world.ts'
import { allDeploymentFigures, type DeploymentFigures } from './deployment-report.ts'
import type { ColdStart } from './deployment-times.ts'
import { compareTexts, countByName, gpuHours, ratio, sumBy, summarizeDurations } from './figures.ts'
import {
  COLD_START_PHASES,
  type ColdStartPhase,
  type ColdStarts,
  type Durations,
  type GpuReport,
  type Report,
  type ReportWindow,
} from './report-types.ts'
import { type CountedWindow, exclusiveStart, isWithin } from './report-window.ts'
import { sumRequests } from './request-counts.ts'
import { reportSeries } from './time-series.ts'

/**
 * Returns the report of a window. Every figure is a difference of two running totals. All totals are integers: micro-cents,
 * GPU-microseconds, whole requests. So adjoining windows add up to the window that spans them. The world is unchanged.
 */
export function createReport(world: World, { from, to, step }: ReportWindow, fixture: string): Report {
  const { clock } = world
  const window = { from, to, after: exclusiveStart(from) }
  const metered = world.ledger.meters.meteredUsage(from, to)
  const deployments = allDeploymentFigures(world, window, metered)
  // Each request counts once, although it is in the figures of its adapter and in those of the base.
  const total = (name: 'heldTime' | 'billedTime' | 'usedTime' | 'capacityTime' | 'failures') =>
    sumBy(deployments, figures => figures[name])
  const counted = deployments.filter(({ isCountedForBase }) => !isCountedForBase)
  const coldStarts = deployments.flatMap(({ coldStarts }) => coldStarts)
  const losses = deployments.flatMap(({ losses }) => losses)
  const events = [...world.history.eventsUntil(to)].filter(({ at }) => isWithin(window, at))
  const kinds = events.map(({ kind }) => kind)
  const eventCounts = countByName(COUNTED_EVENTS, kinds)
  // A zone or a spot pool takes many nodes at one instant.
  const incidents = groupBy(
    events.filter(({ kind }) => kind !== 'deployment.limited'),
    ({ at, kind }) => `${at} ${kind}`,
  )
  const refusals = events.flatMap(({ kind, gpu }) => (kind === 'deployment.limited' ? [gpu] : []))
  const gpus = allGpuFigures(world, window, deployments, metered, refusals)
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
      ...gpuHours(total('heldTime'), total('billedTime'), total('usedTime')),
      container_gpu_hours: sumBy(gpus, figures => figures.containers) / HOUR,
      requests: sumRequests(counted.map(({ report }) => report.requests)),
      tokens: {
        input: sumBy(counted, figures => figures.report.tokens.input),
        output: sumBy(counted, figures => figures.report.tokens.output),
      },
      mean_utilisation: ratio(total('usedTime'), total('capacityTime')),
    },
    cold_starts: { count: coldStarts.length, phases: coldStartPhases(coldStarts) },
    failures: {
      instances_lost: losses.length,
      instances_lost_to: countByName(LOSS_CAUSES, losses),
      deployments_failed: total('failures'),
      node_crashes: eventCounts['node.crashed'],
      node_preemptions: eventCounts['node.preempted'],
      gpu_failures: eventCounts['gpu.failed'],
      zone_outages: eventCounts['zone.down'],
    },
    incidents: {
      count: incidents.size,
      first: [...incidents.values()]
        .slice(0, MAX_LISTED_INCIDENTS)
        .map(same => ({ at: clock.iso(same[0]!.at), kind: same[0]!.kind, times: same.length })),
    },
    batches: batchCounts(world, window),
    ...(step !== undefined && { series: [...reportSeries(world, { from, to, step })] }),
  }
}

/** Maximum number of commands and of incidents that a report lists. */
const MAX_LISTED_COMMANDS = 100
const MAX_LISTED_INCIDENTS = 10

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

/** The report of a GPU type, and the integers from which it is computed, in GPU-microseconds. */
interface GpuFigures {
  readonly report: GpuReport
  readonly capacity: number
  readonly containers: number
}

/** Returns the figures of every GPU type that had capacity or was held in the window. */
function allGpuFigures(
  world: World,
  { from, to }: CountedWindow,
  deployments: readonly DeploymentFigures[],
  metered: readonly MeteredUsage[],
  refusals: readonly (GpuType | undefined)[],
): readonly GpuFigures[] {
  const rentals = [...world.rentals.entries()].map(([, row]) => {
    const held = world.history.rentalTimeBetween(row, from, to) * row.numGpus
    return { gpu: row.gpu, held }
  })
  return GPU_TYPES.filter(gpu => gpu !== 'other').flatMap(gpu => {
    const ofType = deployments.filter(({ report }) => report.gpu === gpu)
    const meters = metered.filter(meter => meter.gpu === gpu)
    const [before, after] = [world.history.capacityAt(gpu, from), world.history.capacityAt(gpu, to)]
    const capacity = after.all - before.all
    const { centsPerHour, spotShare } = world.profile.prices
    const price = Math.round(centsPerHour[gpu] * MICROCENTS_PER_CENT)
    const spotPrice = Math.round(price * spotShare)
    // A floored total since the epoch. The cost of a window is a difference of two, so adjoining windows add up.
    const costOf = ({ all, spot }: typeof after) =>
      gpuTimeCost(BigInt(all - spot) * BigInt(price) + BigInt(spot) * BigInt(spotPrice))
    const rentalsOfType = rentals.filter(rental => rental.gpu === gpu)
    const containers = sumBy(rentalsOfType, rental => rental.held)
    const held = sumBy(ofType, figures => figures.heldTime)
    if (capacity === 0 && held === 0 && containers === 0) return []
    const billed = sumBy(ofType, figures => figures.billedTime)
    const used = sumBy(ofType, figures => figures.usedTime)
    const report: GpuReport = {
      gpu,
      capacity_gpu_hours: capacity / HOUR,
      spot_gpu_hours: (after.spot - before.spot) / HOUR,
      others_gpu_hours: (after.others - before.others) / HOUR,
      capacity_cost_microcents: costOf(after) - costOf(before),
      ...gpuHours(held, billed, used),
      container_gpu_hours: containers / HOUR,
      utilisation: ratio(held + containers, capacity),
      rent_microcents: sumBy(meters, meter => meter.microcents),
      quota: world.gpuQuotas.get(gpu),
      quota_refusals: refusals.filter(type => type === gpu).length,
    }
    return [{ report, capacity, containers }]
  })
}

/** Returns the money of the account in a window: balances, postings and rent. */
function moneyReport(
  world: World,
  window: CountedWindow,
  metered: readonly MeteredUsage[],
  counts: Readonly<Record<CountedEvent, number>>,
): Report['money'] {
  const { ledger } = world
  let opening = ledger.openingFunds - sumBy(ledger.meters.meteredUsage(0, window.from), usage => usage.microcents)
  const sums = { funds: 0, topup: 0, tokens: 0, units: 0, adjustment: 0 }
  let topups = 0
  const bySubject = new Map<string, number>()
  const unitsByModel = new Map<string, number>()
  for (const { kind, time, subject, microcents } of ledger.entries()) {
    if (kind === 'rent' || time > window.to) continue
    if (!isWithin(window, time)) {
      opening += microcents
      continue
    }
    sums[kind] += microcents
    if (kind === 'topup') topups++
    if (kind === 'units') unitsByModel.set(subject, (unitsByModel.get(subject) ?? 0) - microcents)
    if (kind === 'tokens') bySubject.set(subject, (bySubject.get(subject) ?? 0) - microcents)
  }
  const rent = sumBy(metered, usage => usage.microcents)
  const tokens = [...bySubject]
    .map(([subject, tokens_microcents]) => {
      const batched = world.batches.modelOf(subject)
      // A subject is a batch, or the model of requests outside batches.
      return { subject, batch_id: batched === undefined ? null : subject, model: batched ?? subject, tokens_microcents }
    })
    .sort((a, b) => b.tokens_microcents - a.tokens_microcents || compareTexts(a.subject, b.subject))
    .map(({ subject: _, ...charge }) => charge)
  const byModel = new Map<string, number>()
  for (const { model, tokens_microcents } of tokens) byModel.set(model, (byModel.get(model) ?? 0) + tokens_microcents)
  const rentals = [...world.rentals.entries()].flatMap(([, row]) => {
    const meter = metered[row.meter]
    return !meter || meter.gpuMicros === 0 ? [] : [{ row, cost: meter.microcents, hours: meter.gpuMicros / HOUR }]
  })
  rentals.sort((a, b) => compareTexts(a.row.id, b.row.id))
  return {
    opening_balance_microcents: opening,
    funds_microcents: sums.funds,
    topups_microcents: sums.topup,
    adjustments_microcents: sums.adjustment,
    rent_microcents: rent,
    tokens_microcents: -sums.tokens || 0,
    units_microcents: -sums.units || 0,
    closing_balance_microcents: opening + sums.funds + sums.topup + sums.adjustment + sums.tokens + sums.units - rent,
    topups,
    topups_declined: counts['topup.declined'],
    suspensions: counts['account.suspended'],
    hosted: rentals.flatMap(({ row: { id, name, plan }, cost, hours }) =>
      plan.machine === undefined
        ? []
        : [{ instance_id: id, name, plan_id: plan.machine.planId, rent_microcents: cost, billed_hours: hours }],
    ),
    containers: rentals.flatMap(({ row: { id, kind, name, gpu }, cost, hours }) =>
      kind === 'container' ? [{ container_id: id, name, gpu, rent_microcents: cost, billed_gpu_hours: hours }] : [],
    ),
    tokens,
    tokens_by_model: [...byModel]
      .map(([model, tokens_microcents]) => ({ model, tokens_microcents }))
      .sort((a, b) => b.tokens_microcents - a.tokens_microcents || compareTexts(a.model, b.model)),
    units_by_model: [...unitsByModel]
      .map(([model, units_microcents]) => ({ model, units_microcents }))
      .sort((a, b) => b.units_microcents - a.units_microcents || compareTexts(a.model, b.model)),
  }
}
