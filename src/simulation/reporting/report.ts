import { DEPLOYMENT_STATUSES, type DeploymentStatus, type DeploymentType } from '../../data/records/enums.ts'
import { GPU_TYPES, type GpuType } from '../../data/records/gpu-config.ts'
import { HOUR, type Micros, SECOND } from '../../kernel/duration.ts'
import type { MeteredUsage } from '../account/ledger.ts'
import type { DeploymentRow } from '../deployments/deployment-row.ts'
import { INSTANCE_STATES, type InstanceState } from '../deployments/instances.ts'
import { requestsInProgress } from '../load/request-totals.ts'
import { type RequestFlow, toWholeRequests } from '../load/throughput.ts'
import { INSTANCE_STAGES, LOSS_CAUSES, type LossCause } from '../recording/instance-timeline.ts'
import type { RentalKind } from '../rentals/rental-row.ts'
import type { World } from '../world.ts'
import { instanceTimelines } from './instance-timelines.ts'
import { type ReportStep, reportSeries, type ServingFigures, servingFigures } from './time-series.ts'

/** GPU-hours of instances. */
export interface GpuHours {
  /** From placed to gone. */
  readonly held_gpu_hours: number
  /** What was metered: from ready to gone, or from placed where the provider bills so. */
  readonly billed_gpu_hours: number
  /** What work took: the offered load's requests, or all there was while lines of a batch ran. */
  readonly used_gpu_hours: number
  /** Held less used. */
  readonly wasted_gpu_hours: number
}

/** Whole requests: waiting_before + arrived = served + refused + failed + left + waiting. One that a client made waits until it is over. */
export interface RequestCounts {
  readonly waiting_before: number
  readonly arrived: number
  readonly served: number
  readonly refused: number
  /** Cut off because the instance was lost, or the account had to stop. */
  readonly failed: number
  /** Whose client left before an instance took them on. */
  readonly left: number
  /** Waiting at the end of the window. */
  readonly waiting: number
}

/**
 * Tokens of prompts that instances took on, and of what they answered, that of answers which broke off included; of the
 * load by its mean lengths, whole, so that adjoining windows add up.
 */
export interface TokenCounts {
  readonly input: number
  readonly output: number
}

/** Durations by nearest rank. */
export interface Durations {
  readonly min_seconds: number
  readonly median_seconds: number
  readonly p95_seconds: number
  readonly max_seconds: number
}

export const COLD_START_PHASES = ['waiting_for_placement', 'image', 'weights', 'load', 'warm_up', 'total'] as const
export type ColdStartPhase = (typeof COLD_START_PHASES)[number]

/** Instances that became ready in the window, all the way from asked for; the phases are null when there was none. */
export interface ColdStarts {
  readonly count: number
  readonly phases: Readonly<Record<ColdStartPhase, Durations>> | null
}

export interface DeploymentReport extends GpuHours {
  readonly deploy_id: string
  readonly model_name: string
  readonly type: DeploymentType
  /** Null for what has no instances of its own. */
  readonly gpu: GpuType | null
  readonly num_gpus: number
  /** At the end of the window. */
  readonly status: DeploymentStatus
  readonly rent_microcents: number
  readonly seconds_in_status: Readonly<Record<Exclude<DeploymentStatus, 'deleted'>, number>>
  /** Summed over its instances. */
  readonly instance_seconds_in_state: Readonly<Record<InstanceState, number>>
  readonly requests: RequestCounts
  readonly tokens: TokenCounts
  /** Share of what its ready instances could do; null while none was ready. */
  readonly mean_utilisation: number | null
  /** At the end of the window; null for what has no load. */
  readonly serving: ServingFigures | null
  readonly cold_starts: number
  readonly median_cold_start_seconds: number | null
  readonly instances_lost: number
}

export interface GpuReport extends GpuHours {
  readonly gpu: GpuType
  /** GPUs that were up and not another customer's. */
  readonly capacity_gpu_hours: number
  /** GPUs that hosted instances held, and that containers held. */
  readonly hosted_gpu_hours: number
  readonly container_gpu_hours: number
  /** Held, by deployments, hosted instances and containers, of the capacity; null when there was none. */
  readonly utilisation: number | null
  /** Of deployments, hosted instances and containers. */
  readonly rent_microcents: number
}

/** What a world did and cost between two moments. Micro-cents are integers: 1 cent is 1,000,000 of them. */
export interface Report {
  /** The window, ISO 8601: what happened after `from`, up to and including `to`. */
  readonly from: string
  readonly to: string
  readonly seconds: number
  readonly seed: string
  readonly profile: string
  readonly money: {
    /** opening_balance + funds + topups − rent − tokens = closing_balance. */
    readonly opening_balance_microcents: number
    readonly funds_microcents: number
    readonly topups_microcents: number
    readonly rent_microcents: number
    readonly tokens_microcents: number
    readonly closing_balance_microcents: number
    readonly topups: number
    readonly topups_declined: number
    readonly suspensions: number
    readonly hosted: readonly {
      readonly instance_id: string
      readonly name: string
      readonly gpu: GpuType
      readonly rent_microcents: number
      readonly billed_gpu_hours: number
    }[]
    readonly containers: readonly {
      readonly container_id: string
      readonly name: string
      readonly gpu: GpuType
      readonly rent_microcents: number
      readonly billed_gpu_hours: number
    }[]
    readonly tokens: readonly {
      /** Null for all that was asked of a model by itself, without a batch. */
      readonly batch_id: string | null
      readonly model: string
      readonly tokens_microcents: number
    }[]
    readonly tokens_by_model: readonly { readonly model: string; readonly tokens_microcents: number }[]
  }
  readonly gpus: readonly GpuReport[]
  readonly deployments: readonly DeploymentReport[]
  /** All deployments together. */
  readonly totals: GpuHours & {
    readonly deployments: number
    readonly capacity_gpu_hours: number
    readonly hosted_gpu_hours: number
    readonly container_gpu_hours: number
    readonly requests: RequestCounts
    readonly tokens: TokenCounts
    readonly mean_utilisation: number | null
  }
  readonly cold_starts: ColdStarts
  readonly failures: {
    readonly instances_lost: number
    readonly instances_lost_to: Readonly<Record<LossCause, number>>
    readonly deployments_failed: number
    readonly node_crashes: number
    readonly node_preemptions: number
    readonly gpu_failures: number
    readonly zone_outages: number
  }
  readonly batches: {
    readonly created: number
    readonly completed: number
    readonly failed: number
    readonly expired: number
    readonly cancelled: number
    /** Lines that were over, the failed ones among them. */
    readonly lines_done: number
    readonly lines_failed: number
  }
  /** A row a step and deployment, when a step was asked for. */
  readonly series?: readonly ReportStep[]
}

/** A window in microseconds since the epoch of the world, neither end of it to come. */
export interface ReportWindow {
  readonly from: Micros
  readonly to: Micros
  /** A row a deployment so often. */
  readonly step?: Micros | undefined
}

/**
 * Tells what a world did in a window. Everything is a difference of two running totals, integers all of them (micro-cents,
 * GPU-microseconds, whole requests), so adjoining windows add up to the window that spans them. Reading changes nothing.
 */
export function createReport(world: World, { from, to, step }: ReportWindow): Report {
  const { clock } = world
  const window = { from, to, after: exclusiveStart(from) }
  const metered = new Map(world.ledger.meteredUsage(from, to).map(one => [one.id, one]))
  const deployments = allDeploymentFigures(world, window, metered)
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
    money: moneyReport(world, window, metered, eventCounts),
    gpus: gpus.map(({ report: one }) => one),
    deployments: deployments.map(one => one.report),
    totals: {
      deployments: deployments.length,
      capacity_gpu_hours: sumBy(gpus, one => one.capacity) / HOUR,
      ...gpuHours(
        sumBy(deployments, one => one.heldTime),
        sumBy(deployments, one => one.billedTime),
        sumBy(deployments, one => one.usedTime),
      ),
      hosted_gpu_hours: sumBy(gpus, one => one.hosted) / HOUR,
      container_gpu_hours: sumBy(gpus, one => one.containers) / HOUR,
      requests: sumRequests(deployments.map(one => one.report.requests)),
      tokens: {
        input: sumBy(deployments, one => one.report.tokens.input),
        output: sumBy(deployments, one => one.report.tokens.output),
      },
      mean_utilisation: ratio(
        sumBy(deployments, one => one.usedTime),
        sumBy(deployments, one => one.capacityTime),
      ),
    },
    cold_starts: { count: coldStarts.length, phases: coldStartPhases(coldStarts) },
    failures: {
      instances_lost: losses.length,
      instances_lost_to: countByName(LOSS_CAUSES, losses),
      deployments_failed: sumBy(deployments, one => one.failures),
      node_crashes: eventCounts['node.crashed'],
      node_preemptions: eventCounts['node.preempted'],
      gpu_failures: eventCounts['gpu.failed'],
      zone_outages: eventCounts['zone.down'],
    },
    batches: batchCounts(world, window),
    ...(step !== undefined && { series: [...reportSeries(world, { from, to, step })] }),
  }
}

/** A moment is counted after the window's start; the first window of a life holds its first moment, too. */
interface CountedWindow {
  readonly from: Micros
  readonly to: Micros
  readonly after: Micros
}

function exclusiveStart(from: Micros): Micros {
  return from === 0 ? -1 : from
}

function isWithin({ after, to }: CountedWindow, at: Micros): boolean {
  return at > after && at <= to
}

/** A deployment's figures as integers beside what is shown of them. */
interface DeploymentFigures {
  readonly report: DeploymentReport
  /** GPU-microseconds. */
  readonly heldTime: number
  readonly billedTime: number
  readonly usedTime: number
  readonly capacityTime: number
  readonly coldStarts: readonly ColdStart[]
  readonly losses: readonly LossCause[]
  readonly failures: number
}

type ColdStart = Readonly<Record<ColdStartPhase, Micros>>

function allDeploymentFigures(
  world: World,
  window: CountedWindow,
  metered: ReadonlyMap<string, MeteredUsage>,
): readonly DeploymentFigures[] {
  const all = world.deployments.list(new Set(DEPLOYMENT_STATUSES))
  return all.flatMap(({ ordinal }) => {
    const row = world.deployments.read(ordinal)
    const figures = deploymentFigures(world, window, row, metered.get(row.id))
    return figures ? [figures] : []
  })
}

/** The same of one deployment; undefined when it was not there in the window. */
export function deploymentReport(
  world: World,
  deployment: number,
  { from, to }: Pick<ReportWindow, 'from' | 'to'>,
): DeploymentReport | undefined {
  const row = world.deployments.read(deployment)
  const meter = world.ledger.meteredUsage(from, to).find(({ id }) => id === row.id)
  return deploymentFigures(world, { from, to, after: exclusiveStart(from) }, row, meter)?.report
}

/** Undefined for what was not there in the window. */
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
    gpu: row.plan.type === 'llm' ? row.gpu : null,
    num_gpus: row.plan.type === 'llm' ? row.numGpus : 0,
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
    cold_starts: startTimes.length,
    median_cold_start_seconds: startTimes.length === 0 ? null : summarizeDurations(startTimes).median_seconds,
    instances_lost: instances.losses.length,
  }
  const { coldStarts, losses } = instances
  return { report, heldTime, billedTime, usedTime, capacityTime, coldStarts, losses, failures: statuses.failures }
}

function tokensBetween(world: World, row: Readonly<DeploymentRow>, from: Micros, to: Micros): TokenCounts {
  const [before, after] = [tokensAt(world, row, from), tokensAt(world, row, to)]
  return { input: after.input - before.input, output: after.output - before.output }
}

/** Tokens of what a deployment had served by a moment. */
function tokensAt({ history }: World, row: Readonly<DeploymentRow>, at: Micros): TokenCounts {
  const clientTotals = history.requestTotalsAt(row, exclusiveStart(at))
  let input = 0
  let output = 0
  let end = at
  for (const segment of history.servingSegments(row)) {
    if (segment.at > at) continue
    const { load, served } = segment
    if (load) {
      const requests = history.totalsWithin(segment, end).served.served - served.served
      input += requests * load.speed.promptTokens
      output += requests * load.speed.outputTokens
    }
    end = segment.at
  }
  return {
    input: Math.floor(input) + clientTotals.promptTokens,
    output: Math.floor(output) + clientTotals.answerTokens,
  }
}

function servingAt({ history }: World, row: Readonly<DeploymentRow>, at: Micros): ServingFigures | null {
  for (const segment of history.servingSegments(row)) {
    if (segment.at <= at) return servingFigures(segment, history.totalsWithin(segment, at).served, at) ?? null
  }
  return null
}

function statusTimes(world: World, window: CountedWindow, row: Readonly<DeploymentRow>) {
  const { from, to } = window
  const micros = Object.fromEntries(DEPLOYMENT_STATUSES.map(status => [status, 0])) as Record<DeploymentStatus, Micros>
  let status: DeploymentStatus | undefined
  let failures = 0
  let until = to
  for (const change of world.history.statuses(row)) {
    if (change.at > to) continue
    status ??= change.status
    micros[change.status] += Math.max(0, until - Math.max(change.at, from))
    until = Math.min(until, change.at)
    // What has failed at the world's first moment had failed before.
    if (change.status === 'failed' && change.at > 0 && isWithin(window, change.at)) failures++
    if (change.at < from) break
  }
  const { deleted: _, ...present } = micros
  const sum = Object.values(present).reduce((all, one) => all + one, 0)
  return { status, failures, present: sum, seconds: toSeconds(present) }
}

function instanceTimes(world: World, window: CountedWindow, row: Readonly<DeploymentRow>) {
  const { from, to } = window
  const micros = Object.fromEntries(INSTANCE_STATES.map(state => [state, 0])) as Record<InstanceState, Micros>
  const coldStarts: ColdStart[] = []
  const losses: LossCause[] = []
  let heldMicros = 0
  for (const timeline of instanceTimelines(world, row)) {
    if (timeline.end < from) break
    if (timeline.lossCause !== undefined && isWithin(window, timeline.end)) losses.push(timeline.lossCause)
    let end = timeline.end
    for (let i = INSTANCE_STATES.length - 1; i >= 0; i--) {
      const state = INSTANCE_STATES[i]!
      if (timeline[state] < 0) continue
      const inState = Math.max(0, Math.min(end, to) - Math.max(timeline[state], from))
      micros[state] += inState
      if (state !== 'pending') heldMicros += inState
      end = timeline[state]
    }
    // A fixture's instance that stood in the middle of its start has no whole one to tell of.
    if (
      timeline.ready < 0 ||
      !isWithin(window, timeline.ready) ||
      INSTANCE_STAGES.slice(0, 7).some(stage => timeline[stage] < 0)
    )
      continue
    coldStarts.push({
      waiting_for_placement: timeline.placed - timeline.pending,
      image: timeline.pulled - timeline.placed,
      weights: timeline.loading - timeline.pulled,
      load: timeline.warming - timeline.loading,
      warm_up: timeline.ready - timeline.warming,
      total: timeline.ready - timeline.pending,
    })
  }
  return { heldMicros, coldStarts, losses, seconds: toSeconds(micros) }
}

/** A type's figures as integers, in GPU-microseconds, beside what is shown of them. */
interface GpuFigures {
  readonly report: GpuReport
  readonly capacity: number
  readonly hosted: number
  readonly containers: number
}

function allGpuFigures(
  world: World,
  { from, to }: CountedWindow,
  deployments: readonly DeploymentFigures[],
  metered: ReadonlyMap<string, MeteredUsage>,
): readonly GpuFigures[] {
  const rentals = [...world.rentals.entries()].map(([, row]) => {
    const held = world.history.rentalTimeBetween(row, from, to) * row.numGpus
    return { kind: row.kind, gpu: row.gpu, held }
  })
  return GPU_TYPES.filter(gpu => gpu !== 'other').flatMap(gpu => {
    const ofType = deployments.filter(report => report.report.gpu === gpu)
    const meters = [...metered.values()].filter(one => one.gpu === gpu)
    const capacity = world.history.capacityAt(gpu, to) - world.history.capacityAt(gpu, from)
    const heldAs = (kind: RentalKind) =>
      sumBy(
        rentals.filter(one => one.kind === kind && one.gpu === gpu),
        one => one.held,
      )
    const [hosted, containers] = [heldAs('hosted'), heldAs('container')]
    const held = sumBy(ofType, one => one.heldTime)
    if (capacity === 0 && held === 0 && hosted === 0 && containers === 0) return []
    const billed = sumBy(ofType, one => one.billedTime)
    const used = sumBy(ofType, one => one.usedTime)
    const one: GpuReport = {
      gpu,
      capacity_gpu_hours: capacity / HOUR,
      ...gpuHours(held, billed, used),
      hosted_gpu_hours: hosted / HOUR,
      container_gpu_hours: containers / HOUR,
      utilisation: ratio(held + hosted + containers, capacity),
      rent_microcents: sumBy(meters, meter => meter.microcents),
    }
    return [{ report: one, capacity, hosted, containers }]
  })
}

function moneyReport(
  world: World,
  window: CountedWindow,
  metered: ReadonlyMap<string, MeteredUsage>,
  counts: ReturnType<typeof eventCountsBetween>,
): Report['money'] {
  const { ledger } = world
  let opening = ledger.openingFunds - sumBy(ledger.meteredUsage(0, window.from), one => one.microcents)
  const sums = { funds: 0, topup: 0, tokens: 0 }
  let topups = 0
  const bySubject = new Map<string, number>()
  for (const { kind, time, subject, microcents } of ledger.entries()) {
    if (kind === 'rent' || time > window.to) continue
    if (!isWithin(window, time)) {
      opening += microcents
      continue
    }
    sums[kind] += microcents
    if (kind === 'topup') topups++
    if (kind === 'tokens') bySubject.set(subject, (bySubject.get(subject) ?? 0) - microcents)
  }
  const rent = sumBy([...metered.values()], one => one.microcents)
  const tokens = [...bySubject]
    .map(([subject, tokens_microcents]) => {
      const batched = world.batches.modelOf(subject)
      // What no batch is charged for, a model is.
      return { subject, batch_id: batched === undefined ? null : subject, model: batched ?? subject, tokens_microcents }
    })
    .sort((a, b) => b.tokens_microcents - a.tokens_microcents || compareTexts(a.subject, b.subject))
    .map(({ subject: _, ...told }) => told)
  const byModel = new Map<string, number>()
  for (const { model, tokens_microcents } of tokens) byModel.set(model, (byModel.get(model) ?? 0) + tokens_microcents)
  const rentals = [...world.rentals.entries()].flatMap(([, { id, kind, name, gpu }]) => {
    const meter = metered.get(id)
    if (!meter || meter.gpuMicros === 0) return []
    const told = { name, gpu, rent_microcents: meter.microcents, billed_gpu_hours: meter.gpuMicros / HOUR }
    return [{ id, kind, told }]
  })
  rentals.sort((a, b) => compareTexts(a.id, b.id))
  return {
    opening_balance_microcents: opening,
    funds_microcents: sums.funds,
    topups_microcents: sums.topup,
    rent_microcents: rent,
    tokens_microcents: -sums.tokens || 0,
    closing_balance_microcents: opening + sums.funds + sums.topup + sums.tokens - rent,
    topups,
    topups_declined: counts['topup.declined'],
    suspensions: counts['account.suspended'],
    hosted: rentals.flatMap(({ id, kind, told }) => (kind === 'hosted' ? [{ instance_id: id, ...told }] : [])),
    containers: rentals.flatMap(({ id, kind, told }) => (kind === 'container' ? [{ container_id: id, ...told }] : [])),
    tokens,
    tokens_by_model: [...byModel]
      .map(([model, tokens_microcents]) => ({ model, tokens_microcents }))
      .sort((a, b) => b.tokens_microcents - a.tokens_microcents || compareTexts(a.model, b.model)),
  }
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

function eventCountsBetween({ history }: World, { after, to }: CountedWindow) {
  const [before, counts] = [history.eventCountsAt(after), history.eventCountsAt(to)]
  for (const kind of Object.keys(counts) as (keyof typeof counts)[]) counts[kind] -= before[kind]
  return counts
}

function loadRequestsBetween(from: RequestFlow, to: RequestFlow): RequestCounts {
  const [before, after] = [toWholeRequests(from), toWholeRequests(to)]
  return {
    waiting_before: before.backlog,
    arrived: after.arrived - before.arrived,
    served: after.served - before.served,
    refused: after.refused - before.refused,
    failed: 0,
    left: 0,
    waiting: after.backlog,
  }
}

/** What became of requests that clients made, after a moment and up to another. */
function clientRequestsBetween(
  { history }: World,
  row: Readonly<DeploymentRow>,
  from: Micros,
  to: Micros,
): RequestCounts {
  const [before, after] = [history.requestTotalsAt(row, from === 0 ? -1 : from), history.requestTotalsAt(row, to)]
  return {
    waiting_before: requestsInProgress(before),
    arrived: after.arrived - before.arrived,
    served: after.served - before.served,
    refused: after.refused - before.refused,
    failed: after.failed - before.failed,
    left: after.left - before.left,
    waiting: requestsInProgress(after),
  }
}

function sumRequests(all: readonly RequestCounts[]): RequestCounts {
  return {
    waiting_before: sumBy(all, one => one.waiting_before),
    arrived: sumBy(all, one => one.arrived),
    served: sumBy(all, one => one.served),
    refused: sumBy(all, one => one.refused),
    failed: sumBy(all, one => one.failed),
    left: sumBy(all, one => one.left),
    waiting: sumBy(all, one => one.waiting),
  }
}

function coldStartPhases(coldStarts: readonly ColdStart[]): ColdStarts['phases'] {
  if (coldStarts.length === 0) return null
  return Object.fromEntries(
    COLD_START_PHASES.map(phase => [phase, summarizeDurations(coldStarts.map(start => start[phase]))]),
  ) as Record<ColdStartPhase, Durations>
}

/** Of at least one duration. By nearest rank, so that each is one that was measured. */
function summarizeDurations(all: readonly Micros[]): Durations {
  const sorted = Float64Array.from(all).sort()
  const rank = (percent: number) => sorted[Math.ceil((sorted.length * percent) / 100) - 1]! / SECOND
  return {
    min_seconds: sorted[0]! / SECOND,
    median_seconds: rank(50),
    p95_seconds: rank(95),
    max_seconds: sorted.at(-1)! / SECOND,
  }
}

function gpuHours(held: number, billed: number, used: number): GpuHours {
  return {
    held_gpu_hours: held / HOUR,
    billed_gpu_hours: billed / HOUR,
    used_gpu_hours: used / HOUR,
    wasted_gpu_hours: (held - used) / HOUR,
  }
}

function toSeconds<Name extends string>(micros: Readonly<Record<Name, Micros>>): Record<Name, number> {
  const seconds = Object.entries<Micros>(micros).map(([name, time]) => [name, time / SECOND])
  return Object.fromEntries(seconds) as Record<Name, number>
}

function countByName<Name extends string>(names: readonly Name[], occurrences: readonly Name[]): Record<Name, number> {
  const counts = Object.fromEntries(names.map(name => [name, 0])) as Record<Name, number>
  for (const name of occurrences) counts[name]++
  return counts
}

function ratio(part: number, whole: number): number | null {
  return whole > 0 ? part / whole : null
}

function sumBy<One>(all: readonly One[], amountOf: (one: One) => number): number {
  return all.reduce((sum, one) => sum + amountOf(one), 0)
}

function compareTexts(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
