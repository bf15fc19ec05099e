import { HOUR, type Micros, SECOND } from '../kernel/duration.ts'
import {
  DEPLOYMENT_STATUSES,
  type DeploymentStatus,
  type DeploymentType,
  GPU_TYPES,
  type GpuType,
} from '../store/records.ts'
import type { DeploymentRow } from './deployment-row.ts'
import { INSTANCE_STATES, type InstanceState } from './instances.ts'
import type { Metered } from './ledger.ts'
import { LOST_TO, type LostTo, STAGES } from './life.ts'
import type { RentalKind } from './rental-row.ts'
import { waitingOf } from './request-totals.ts'
import { type ReportStep, type ServingFigures, seriesOf, servingFigures } from './series.ts'
import { type Served, wholeRequests } from './serving.ts'
import type { World } from './world.ts'

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
    readonly instances_lost_to: Readonly<Record<LostTo, number>>
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
export function reportOf(world: World, { from, to, step }: ReportWindow): Report {
  const { clock } = world
  const window = { from, to, after: afterOf(from) }
  const metered = new Map(world.ledger.metered(from, to).map(one => [one.id, one]))
  const told = deploymentsTold(world, window, metered)
  const starts = told.flatMap(({ coldStarts }) => coldStarts)
  const lost = told.flatMap(({ losses }) => losses)
  const counts = notedBetween(world, window)
  const gpus = gpusTold(world, window, told, metered)
  return {
    from: clock.iso(from),
    to: clock.iso(to),
    seconds: (to - from) / SECOND,
    seed: world.seed,
    profile: world.profile.name,
    money: moneyTold(world, window, metered, counts),
    gpus: gpus.map(({ told: one }) => one),
    deployments: told.map(one => one.told),
    totals: {
      deployments: told.length,
      capacity_gpu_hours: sumOf(gpus, one => one.capacity) / HOUR,
      ...gpuHours(
        sumOf(told, one => one.held),
        sumOf(told, one => one.billed),
        sumOf(told, one => one.used),
      ),
      hosted_gpu_hours: sumOf(gpus, one => one.hosted) / HOUR,
      container_gpu_hours: sumOf(gpus, one => one.containers) / HOUR,
      requests: requestsTold(told.map(one => one.told.requests)),
      tokens: {
        input: sumOf(told, one => one.told.tokens.input),
        output: sumOf(told, one => one.told.tokens.output),
      },
      mean_utilisation: shareOf(
        sumOf(told, one => one.used),
        sumOf(told, one => one.able),
      ),
    },
    cold_starts: { count: starts.length, phases: phasesOf(starts) },
    failures: {
      instances_lost: lost.length,
      instances_lost_to: countsOf(LOST_TO, lost),
      deployments_failed: sumOf(told, one => one.failures),
      node_crashes: counts['node.crashed'],
      node_preemptions: counts['node.preempted'],
      gpu_failures: counts['gpu.failed'],
      zone_outages: counts['zone.down'],
    },
    batches: batchesTold(world, window),
    ...(step !== undefined && { series: [...seriesOf(world, { from, to, step })] }),
  }
}

/** A moment is counted after the window's start; the first window of a life holds its first moment, too. */
interface Window {
  readonly from: Micros
  readonly to: Micros
  readonly after: Micros
}

function afterOf(from: Micros): Micros {
  return from === 0 ? -1 : from
}

function isIn({ after, to }: Window, at: Micros): boolean {
  return at > after && at <= to
}

/** A deployment's figures as integers beside what is shown of them. */
interface DeploymentTold {
  readonly told: DeploymentReport
  /** GPU-microseconds. */
  readonly held: number
  readonly billed: number
  readonly used: number
  readonly able: number
  readonly coldStarts: readonly ColdStart[]
  readonly losses: readonly LostTo[]
  readonly failures: number
}

type ColdStart = Readonly<Record<ColdStartPhase, Micros>>

function deploymentsTold(
  world: World,
  window: Window,
  metered: ReadonlyMap<string, Metered>,
): readonly DeploymentTold[] {
  const all = world.deployments.list(new Set(DEPLOYMENT_STATUSES))
  return all.flatMap(({ ordinal }) => {
    const row = world.deployments.read(ordinal)
    const one = deploymentTold(world, window, row, metered.get(row.id))
    return one ? [one] : []
  })
}

/** The same of one deployment; undefined when it was not there in the window. */
export function deploymentReport(
  world: World,
  deployment: number,
  { from, to }: Pick<ReportWindow, 'from' | 'to'>,
): DeploymentReport | undefined {
  const row = world.deployments.read(deployment)
  const meter = world.ledger.metered(from, to).find(({ id }) => id === row.id)
  return deploymentTold(world, { from, to, after: afterOf(from) }, row, meter)?.told
}

/** Undefined for what was not there in the window. */
function deploymentTold(
  world: World,
  window: Window,
  row: Readonly<DeploymentRow>,
  meter: Metered | undefined,
): DeploymentTold | undefined {
  const { from, to } = window
  const statuses = statusesTold(world, window, row)
  const lives = livesTold(world, window, row)
  const rent = meter?.microcents ?? 0
  const { status } = statuses
  if (status === undefined) return undefined
  if (status === 'deleted' && statuses.present === 0 && lives.heldMicros === 0 && rent === 0) return undefined
  const [before, after] = [world.chronicle.totalsAt(row, from), world.chronicle.totalsAt(row, to)]
  const held = lives.heldMicros * row.numGpus
  const billed = meter?.gpuMicros ?? 0
  const used = Math.floor(after.used * row.numGpus) - Math.floor(before.used * row.numGpus)
  const able = Math.floor(after.able * row.numGpus) - Math.floor(before.able * row.numGpus)
  const totals = lives.coldStarts.map(start => start.total)
  const told: DeploymentReport = {
    deploy_id: row.id,
    model_name: row.plan.modelName,
    type: row.plan.type,
    gpu: row.plan.type === 'llm' ? row.gpu : null,
    num_gpus: row.plan.type === 'llm' ? row.numGpus : 0,
    status,
    rent_microcents: rent,
    ...gpuHours(held, billed, used),
    seconds_in_status: statuses.seconds,
    instance_seconds_in_state: lives.seconds,
    requests: requestsTold([requestsBetween(before.served, after.served), clientsBetween(world, row, from, to)]),
    tokens: tokensTold(world, row, from, to),
    mean_utilisation: shareOf(used, able),
    serving: servingTold(world, row, to),
    cold_starts: totals.length,
    median_cold_start_seconds: totals.length === 0 ? null : durationsOf(totals).median_seconds,
    instances_lost: lives.losses.length,
  }
  const { coldStarts, losses } = lives
  return { told, held, billed, used, able, coldStarts, losses, failures: statuses.failures }
}

function tokensTold(world: World, row: Readonly<DeploymentRow>, from: Micros, to: Micros): TokenCounts {
  const [before, after] = [tokensBy(world, row, from), tokensBy(world, row, to)]
  return { input: after.input - before.input, output: after.output - before.output }
}

/** Tokens of what a deployment had served by a moment. */
function tokensBy({ chronicle }: World, row: Readonly<DeploymentRow>, at: Micros): TokenCounts {
  const live = chronicle.requestsBy(row, afterOf(at))
  let input = 0
  let output = 0
  let end = at
  for (const chapter of chronicle.servings(row)) {
    if (chapter.at > at) continue
    const { load, served } = chapter
    if (load) {
      const requests = chronicle.totalsIn(chapter, end).served.served - served.served
      input += requests * load.speed.promptTokens
      output += requests * load.speed.outputTokens
    }
    end = chapter.at
  }
  return { input: Math.floor(input) + live.promptTokens, output: Math.floor(output) + live.answerTokens }
}

function servingTold({ chronicle }: World, row: Readonly<DeploymentRow>, at: Micros): ServingFigures | null {
  for (const chapter of chronicle.servings(row)) {
    if (chapter.at <= at) return servingFigures(chapter, chronicle.totalsIn(chapter, at).served, at) ?? null
  }
  return null
}

function statusesTold(world: World, window: Window, row: Readonly<DeploymentRow>) {
  const { from, to } = window
  const micros = Object.fromEntries(DEPLOYMENT_STATUSES.map(status => [status, 0])) as Record<DeploymentStatus, Micros>
  let status: DeploymentStatus | undefined
  let failures = 0
  let until = to
  for (const one of world.chronicle.statuses(row)) {
    if (one.at > to) continue
    status ??= one.status
    micros[one.status] += Math.max(0, until - Math.max(one.at, from))
    until = Math.min(until, one.at)
    // What has failed at the world's first moment had failed before.
    if (one.status === 'failed' && one.at > 0 && isIn(window, one.at)) failures++
    if (one.at < from) break
  }
  const { deleted: _, ...present } = micros
  const sum = Object.values(present).reduce((all, one) => all + one, 0)
  return { status, failures, present: sum, seconds: inSeconds(present) }
}

function livesTold(world: World, window: Window, row: Readonly<DeploymentRow>) {
  const { from, to } = window
  const micros = Object.fromEntries(INSTANCE_STATES.map(state => [state, 0])) as Record<InstanceState, Micros>
  const coldStarts: ColdStart[] = []
  const losses: LostTo[] = []
  let heldMicros = 0
  for (const life of world.chronicle.lives(row)) {
    if (life.end < from) break
    if (life.lostTo !== undefined && isIn(window, life.end)) losses.push(life.lostTo)
    let end = life.end
    for (let i = INSTANCE_STATES.length - 1; i >= 0; i--) {
      const state = INSTANCE_STATES[i]!
      if (life[state] < 0) continue
      const inState = Math.max(0, Math.min(end, to) - Math.max(life[state], from))
      micros[state] += inState
      if (state !== 'pending') heldMicros += inState
      end = life[state]
    }
    // A fixture's instance that stood in the middle of its start has no whole one to tell of.
    if (life.ready < 0 || !isIn(window, life.ready) || STAGES.slice(0, 7).some(stage => life[stage] < 0)) continue
    coldStarts.push({
      waiting_for_placement: life.placed - life.pending,
      image: life.pulled - life.placed,
      weights: life.loading - life.pulled,
      load: life.warming - life.loading,
      warm_up: life.ready - life.warming,
      total: life.ready - life.pending,
    })
  }
  return { heldMicros, coldStarts, losses, seconds: inSeconds(micros) }
}

/** A type's figures as integers, in GPU-microseconds, beside what is shown of them. */
interface GpusTold {
  readonly told: GpuReport
  readonly capacity: number
  readonly hosted: number
  readonly containers: number
}

function gpusTold(
  world: World,
  { from, to }: Window,
  told: readonly DeploymentTold[],
  metered: ReadonlyMap<string, Metered>,
): readonly GpusTold[] {
  const rented = [...world.rentals.entries()].map(([, row]) => {
    const held = world.chronicle.heldBetween(row, from, to) * row.numGpus
    return { kind: row.kind, gpu: row.gpu, held }
  })
  return GPU_TYPES.filter(gpu => gpu !== 'other').flatMap(gpu => {
    const mine = told.filter(one => one.told.gpu === gpu)
    const meters = [...metered.values()].filter(one => one.gpu === gpu)
    const capacity = world.chronicle.capacityBy(gpu, to) - world.chronicle.capacityBy(gpu, from)
    const heldAs = (kind: RentalKind) =>
      sumOf(
        rented.filter(one => one.kind === kind && one.gpu === gpu),
        one => one.held,
      )
    const [hosted, containers] = [heldAs('hosted'), heldAs('container')]
    const held = sumOf(mine, one => one.held)
    if (capacity === 0 && held === 0 && hosted === 0 && containers === 0) return []
    const billed = sumOf(mine, one => one.billed)
    const used = sumOf(mine, one => one.used)
    const one: GpuReport = {
      gpu,
      capacity_gpu_hours: capacity / HOUR,
      ...gpuHours(held, billed, used),
      hosted_gpu_hours: hosted / HOUR,
      container_gpu_hours: containers / HOUR,
      utilisation: shareOf(held + hosted + containers, capacity),
      rent_microcents: sumOf(meters, meter => meter.microcents),
    }
    return [{ told: one, capacity, hosted, containers }]
  })
}

function moneyTold(
  world: World,
  window: Window,
  metered: ReadonlyMap<string, Metered>,
  counts: ReturnType<typeof notedBetween>,
): Report['money'] {
  const { ledger } = world
  let opening = ledger.opening - sumOf(ledger.metered(0, window.from), one => one.microcents)
  const sums = { funds: 0, topup: 0, tokens: 0 }
  let topups = 0
  const bySubject = new Map<string, number>()
  for (const { kind, time, subject, microcents } of ledger.entries()) {
    if (kind === 'rent' || time > window.to) continue
    if (!isIn(window, time)) {
      opening += microcents
      continue
    }
    sums[kind] += microcents
    if (kind === 'topup') topups++
    if (kind === 'tokens') bySubject.set(subject, (bySubject.get(subject) ?? 0) - microcents)
  }
  const rent = sumOf([...metered.values()], one => one.microcents)
  const tokens = [...bySubject]
    .map(([subject, tokens_microcents]) => {
      const batched = world.batches.modelOf(subject)
      // What no batch is charged for, a model is.
      return { subject, batch_id: batched === undefined ? null : subject, model: batched ?? subject, tokens_microcents }
    })
    .sort((a, b) => b.tokens_microcents - a.tokens_microcents || order(a.subject, b.subject))
    .map(({ subject: _, ...told }) => told)
  const byModel = new Map<string, number>()
  for (const { model, tokens_microcents } of tokens) byModel.set(model, (byModel.get(model) ?? 0) + tokens_microcents)
  const rented = [...world.rentals.entries()].flatMap(([, { id, kind, name, gpu }]) => {
    const meter = metered.get(id)
    if (!meter || meter.gpuMicros === 0) return []
    const told = { name, gpu, rent_microcents: meter.microcents, billed_gpu_hours: meter.gpuMicros / HOUR }
    return [{ id, kind, told }]
  })
  rented.sort((a, b) => order(a.id, b.id))
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
    hosted: rented.flatMap(({ id, kind, told }) => (kind === 'hosted' ? [{ instance_id: id, ...told }] : [])),
    containers: rented.flatMap(({ id, kind, told }) => (kind === 'container' ? [{ container_id: id, ...told }] : [])),
    tokens,
    tokens_by_model: [...byModel]
      .map(([model, tokens_microcents]) => ({ model, tokens_microcents }))
      .sort((a, b) => b.tokens_microcents - a.tokens_microcents || order(a.model, b.model)),
  }
}

const OUTCOMES = ['completed', 'failed', 'expired', 'cancelled'] as const

function batchesTold(world: World, window: Window): Report['batches'] {
  let created = 0
  const outcomes = { completed: 0, failed: 0, expired: 0, cancelled: 0 }
  for (const [, row] of world.batches.entries()) {
    if (isIn(window, row.createdAt)) created++
    for (const outcome of OUTCOMES) {
      const at = row.at[outcome]
      if (row.status === outcome && at !== undefined && isIn(window, at)) outcomes[outcome]++
    }
  }
  const [before, after] = [world.chronicle.linesBy(window.after), world.chronicle.linesBy(window.to)]
  return { created, ...outcomes, lines_done: after.done - before.done, lines_failed: after.failed - before.failed }
}

function notedBetween({ chronicle }: World, { after, to }: Window) {
  const [before, counts] = [chronicle.notedBy(after), chronicle.notedBy(to)]
  for (const kind of Object.keys(counts) as (keyof typeof counts)[]) counts[kind] -= before[kind]
  return counts
}

function requestsBetween(from: Served, to: Served): RequestCounts {
  const [before, after] = [wholeRequests(from), wholeRequests(to)]
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
function clientsBetween({ chronicle }: World, row: Readonly<DeploymentRow>, from: Micros, to: Micros): RequestCounts {
  const [before, after] = [chronicle.requestsBy(row, from === 0 ? -1 : from), chronicle.requestsBy(row, to)]
  return {
    waiting_before: waitingOf(before),
    arrived: after.arrived - before.arrived,
    served: after.served - before.served,
    refused: after.refused - before.refused,
    failed: after.failed - before.failed,
    left: after.left - before.left,
    waiting: waitingOf(after),
  }
}

function requestsTold(all: readonly RequestCounts[]): RequestCounts {
  return {
    waiting_before: sumOf(all, one => one.waiting_before),
    arrived: sumOf(all, one => one.arrived),
    served: sumOf(all, one => one.served),
    refused: sumOf(all, one => one.refused),
    failed: sumOf(all, one => one.failed),
    left: sumOf(all, one => one.left),
    waiting: sumOf(all, one => one.waiting),
  }
}

function phasesOf(starts: readonly ColdStart[]): ColdStarts['phases'] {
  if (starts.length === 0) return null
  return Object.fromEntries(
    COLD_START_PHASES.map(phase => [phase, durationsOf(starts.map(start => start[phase]))]),
  ) as Record<ColdStartPhase, Durations>
}

/** Of at least one duration. By nearest rank, so that each is one that was measured. */
function durationsOf(all: readonly Micros[]): Durations {
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

function inSeconds<Name extends string>(micros: Readonly<Record<Name, Micros>>): Record<Name, number> {
  const seconds = Object.entries<Micros>(micros).map(([name, time]) => [name, time / SECOND])
  return Object.fromEntries(seconds) as Record<Name, number>
}

function countsOf<Name extends string>(names: readonly Name[], found: readonly Name[]): Record<Name, number> {
  const counts = Object.fromEntries(names.map(name => [name, 0])) as Record<Name, number>
  for (const name of found) counts[name]++
  return counts
}

function shareOf(part: number, whole: number): number | null {
  return whole > 0 ? part / whole : null
}

function sumOf<One>(all: readonly One[], of: (one: One) => number): number {
  return all.reduce((sum, one) => sum + of(one), 0)
}

function order(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
