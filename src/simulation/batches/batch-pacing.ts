import type { EntryHandle } from '../../kernel/agenda.ts'
import type { Micros } from '../../kernel/duration.ts'
import { drawBatchWait } from '../account/chaos-draws.ts'
import type { Ledger } from '../account/ledger.ts'
import { tokenCost, tokenWeight } from '../account/money.ts'
import { type TokenPrice, tokenPriceOf } from '../account/request-cost.ts'
import type { SimulationContext } from '../context.ts'
import type { Autoscaler } from '../deployments/autoscaler.ts'
import { type BatchWork, engineOf, speedOfInstance } from '../deployments/instance-speed.ts'
import type { LoraAdapters } from '../deployments/lora-adapters.ts'
import { findModelTarget, type ModelSources, type ModelTarget } from '../deployments/model-lookup.ts'
import { estimateServing, findSpareTime, type LiveLoad } from '../load/serving.ts'
import { Part } from '../part.ts'
import { CONTROLLER, type DeploymentLogs } from '../recording/deployment-logs.ts'
import type { UsageHistory } from '../recording/history.ts'
import { type BatchRow, type BatchTable, doneLinesAt, progressOf } from './batch-row.ts'
import { type BatchEndpoint, taskOf } from './input-lines.ts'
import { LineEngines, type LineEnginesParts } from './line-engines.ts'

type CapacityContext = Pick<SimulationContext, 'clock' | 'profile'>

/** Billions of parameters of the model to which `batch_shared_tokens_per_second` applies. */
const REFERENCE_PARAMETERS_B = 8
/**
 * Billions of parameters that cost as much time as the fixed work for a token. A model of 3 billion is then 20 times as
 * fast as one of 671 billion.
 */
const FIXED_WORK_B = 32
/** The hour of the day, in UTC, in which the capacity is least. */
const BUSIEST_HOUR = 16
const SECONDS_PER_HOUR = 3600

/**
 * Returns the tokens per second that one batch gets from the shared capacity of a model in this hour.
 *
 * @param parametersB billions of parameters of the model
 * @param batches batches of the account that run on the model, this one included
 * @param tokens all tokens of the batch, which do not run faster than in `batch_shared_shortest`
 */
function sharedTokensPerSecond(
  { clock, profile }: CapacityContext,
  parametersB: number,
  batches: number,
  tokens: number,
): number {
  const { batchSharedTokensPerSecond, batchSharedOthers, batchSharedShortest, batchSharedDaySwing } = profile.timings
  const modelFactor = (FIXED_WORK_B + REFERENCE_PARAMETERS_B) / (FIXED_WORK_B + parametersB)
  const share = (1 + batchSharedOthers) / (batches + batchSharedOthers)
  const hours = Math.abs((Math.floor(clock.unix() / SECONDS_PER_HOUR) % 24) - BUSIEST_HOUR)
  const hourFactor = 1 + batchSharedDaySwing * (Math.min(hours, 24 - hours) / 6 - 1)
  const rate = batchSharedTokensPerSecond * modelFactor * share * hourFactor
  return batchSharedShortest > 0 ? Math.min(rate, (tokens * 1e6) / batchSharedShortest) : rate
}

/** Returns the moment at which the next hour begins. */
function nextHour({ clock }: Pick<SimulationContext, 'clock'>): Micros {
  return clock.fromUnix((Math.floor(clock.unix() / SECONDS_PER_HOUR) + 1) * SECONDS_PER_HOUR)
}

/** The lower parts that the pacing of batches uses. */
export interface BatchPacingParts extends LineEnginesParts {
  readonly autoscaler: Autoscaler
  readonly loraAdapters: LoraAdapters
  readonly ledger: Ledger
  readonly history: UsageHistory
  readonly deploymentLogs: DeploymentLogs
}

/** The progress of batches: how fast their lines run, which lines are done, and their charges. */
export class BatchPacing extends Part<BatchPacingParts, unknown, BatchTable> implements BatchWork {
  readonly engines = new LineEngines(this.parts)
  readonly #models: ModelSources = {
    ...{ store: this.context.store, profile: this.context.profile, clock: this.context.clock },
    deployments: this.parts.deployments,
  }

  /** Counts the progress at the previous rate and schedules the end of the step at the current rate. */
  updateRate(ordinal: number, row: BatchRow): void {
    // A batch of a fixture has no step before the first move of the clock.
    if (row.status !== 'in_progress' || row.stepEnd === 0) return
    this.updateProgress(row)
    const target = this.findTarget(row)
    this.holdAdapter(row, target?.kind === 'own' ? (target.adapter ?? -1) : -1)
    const rate = this.#tokensPerSecond(row)
    if (rate > 0 && row.rate.tokensPerSecond === 0) row.markProgress(this.context.clock.now)
    row.rate = {
      tokensPerSecond: rate,
      liveLoad: rate > 0 && target?.kind === 'own' ? this.#liveLoad(target.deployment) : undefined,
      engines: rate > 0 && target ? this.engines.list(target) : [],
    }
    if (rate === 0 && target?.kind === 'own' && !this.parts.ledger.suspension.isCutOff)
      this.parts.deployments.scaling.wake(target.deployment)
    this.context.cancel(row.next)
    row.next = this.#scheduleStepEnd(ordinal, row)
    if (target?.kind === 'own') this.parts.deployments.scaling.recordServing(target.deployment)
  }

  #scheduleStepEnd(ordinal: number, row: Readonly<BatchRow>): EntryHandle {
    const { now } = this.context.clock
    const { tokensPerSecond, liveLoad } = row.rate
    if (tokensPerSecond === 0) {
      const isWaiting = row.waitsUntil > now && row.waitsUntil < Number.POSITIVE_INFINITY
      return isWaiting ? this.context.scheduleAt(row.waitsUntil, 'batch.capacityCame', ordinal) : 0
    }
    const seconds =
      Math.max(0, row.retryTokens + row.work!.tokensBefore[row.stepEnd]! - row.doneTokens) / tokensPerSecond
    const window = row.createdAt + this.context.profile.timings.batchWindow
    const stepEndTime = liveLoad ? findSpareTime(liveLoad, seconds, now, window) : now + Math.ceil(seconds * 1e6)
    if (!liveLoad && this.findTarget(row)?.kind === 'catalog') {
      const hourEnd = nextHour(this.context)
      if (hourEnd < stepEndTime) return this.context.scheduleAt(hourEnd, 'batch.hourChanged', ordinal)
    }
    return stepEndTime < Number.POSITIVE_INFINITY ? this.context.scheduleAt(stepEndTime, 'batch.chunkDone', ordinal) : 0
  }

  /** Returns the live load of a deployment from now on. Live load has priority over batches. */
  #liveLoad(deployment: number): LiveLoad | undefined {
    const { autoscaler, deployments } = this.parts
    const { profile } = this.context
    autoscaler.updateFlow(deployment)
    const { load, flow: served, effectiveInstances: servingShare } = deployments.read(deployment)
    if (!load) return undefined
    const capacity = servingShare * load.speed.requestsPerSecond
    return { curve: load.curve, capacity, backlog: served.backlog, queueLimit: profile.limits.queuePerDeployment }
  }

  /** Counts the lines that are done now, at least `minLines`, and charges the newly counted lines. */
  updateProgress(row: BatchRow, minLines = 0): void {
    if (!row.work) return
    const { now } = this.context.clock
    const { doneTokens, retryTokens } = progressOf(row, now)
    // The end of a step follows from the same values, but rounding may differ in the last digit.
    row.doneTokens = Math.max(doneTokens, row.work.tokensBefore[minLines]!)
    row.retryTokens = retryTokens
    row.progressAt = now
    const doneLines = doneLinesAt(row.work, row.doneTokens)
    if (doneLines <= row.doneLines) return
    const { failedBefore } = row.work
    this.#charge(row, row.doneLines, doneLines)
    this.engines.count(row, row.doneLines, doneLines)
    this.parts.history.onLinesDone(doneLines - row.doneLines, failedBefore[doneLines]! - failedBefore[row.doneLines]!)
    row.doneLines = doneLines
    row.markProgress(now)
  }

  /**
   * Counts all lines as done if at most a tenth of the work is left, and it would be done within a duration. Returns
   * whether they are done.
   */
  finishLinesWithin(row: BatchRow, duration: Micros): boolean {
    this.updateProgress(row)
    const { tokensPerSecond, liveLoad } = row.rate
    const { lines, tokensBefore } = row.work!
    const allTokens = tokensBefore[lines.length]!
    const tokens = row.retryTokens + allTokens - row.doneTokens
    if (tokensPerSecond === 0 || liveLoad !== undefined || tokens > allTokens / 10) return false
    if ((tokens / tokensPerSecond) * 1e6 > duration) return false
    this.updateProgress(row, lines.length)
    this.context.cancel(row.next)
    row.next = 0
    return true
  }

  /** Stops the lines of a batch. */
  stopLines(row: BatchRow): void {
    this.updateProgress(row)
    this.context.cancel(row.next)
    row.next = 0
    row.stop()
  }

  /** Charges the tokens of newly done lines. The sum of the whole batch is rounded down once. */
  #charge(row: BatchRow, from: number, to: number): void {
    const { ledger } = this.parts
    const { promptBefore, answerBefore } = row.work!
    const price = this.tokenPrice(row)
    if (price === undefined) return
    const prompt = promptBefore[to]! - promptBefore[from]!
    const answer = answerBefore[to]! - answerBefore[from]!
    row.unroundedCharge += tokenWeight(prompt, price.input) + tokenWeight(answer, price.output)
    const total = tokenCost(row.unroundedCharge)
    const charged = { tokens: prompt + answer, token_id: row.spec.token_id ?? '' }
    ledger.chargeTokens(row.id, total - row.chargedMicrocents, charged)
    row.chargedMicrocents = total
  }

  /** Returns the price in force of the tokens of a batch; undefined if its lines run on a deployment of the account. */
  tokenPrice(row: Pick<BatchRow, 'spec' | 'work'>): TokenPrice | undefined {
    const target = this.findTarget(row)
    if (target?.kind !== 'catalog') return undefined
    const { store, profile } = this.context
    return tokenPriceOf(store, target.model, profile.prices.batchShare * target.priceShare)
  }

  /** Keeps the adapter of running lines in the slots of instances. -1: no adapter. */
  holdAdapter(row: BatchRow, adapter: number): void {
    const previous = row.heldAdapter
    if (previous === adapter) return
    const { slots } = this.parts.loraAdapters
    row.heldAdapter = adapter
    if (previous >= 0) slots.release(previous)
    if (adapter >= 0) slots.acquire(adapter)
  }

  /** Updates the rate of the batches on a deployment whose capacity has changed. */
  onCapacityChanged(deployment: number): void {
    for (const ordinal of this.owner.active) {
      const row = this.owner.read(ordinal)
      if (row.status !== 'in_progress' || !row.work) continue
      const target = this.findTarget(row)
      const runsOnDeployment =
        target?.row === deployment || (target?.kind === 'own' && target.deployment === deployment)
      // A deleted deployment is no longer a target, but the batch must stop running on it.
      if (runsOnDeployment || (row.rate.tokensPerSecond > 0 && target === undefined))
        this.updateRate(ordinal, this.owner.writable(ordinal))
    }
  }

  /**
   * Retries the lines in flight on a lost instance. Their progress, on average half of their tokens, is added to the
   * remaining work. Done lines stay done and are charged once.
   */
  onInstanceLost(deployment: number): void {
    for (const ordinal of this.#batchesOn(deployment)) {
      const row = this.owner.writable(ordinal)
      if (row.rate.tokensPerSecond === 0) continue
      this.updateProgress(row)
      const { lines, tokensBefore } = row.work!
      const last = Math.min(lines.length, row.doneLines + this.#linesInFlight(deployment, row))
      if (last === row.doneLines) continue
      row.retryTokens += Math.min((tokensBefore[last]! - tokensBefore[row.doneLines]!) / 2, row.doneTokens)
      const retried = { lines: last - row.doneLines }
      this.context.record(row, 'batch.linesRetried', retried)
      this.parts.deploymentLogs.append(deployment, CONTROLLER, 'batch.linesRetried', { ...retried, batch: row.id })
    }
  }

  /** Returns the lines of a batch in flight on one instance: its slots without live load, shared by the batches. */
  #linesInFlight(deployment: number, { rate: { liveLoad } }: Readonly<BatchRow>): number {
    const { deployments, autoscaler } = this.parts
    const { clock } = this.context
    const row = deployments.read(deployment)
    const { load, effectiveInstances: servingShare } = row
    const slots = speedOfInstance(row).places / this.#batchesOn(deployment).length
    if (!liveLoad || !load) return Math.floor(slots)
    autoscaler.updateFlow(deployment)
    const { backlog } = deployments.read(deployment).flow
    return Math.floor(
      slots * (1 - estimateServing(load.curve.rateAt(clock.now), load.speed, servingShare, backlog).utilisation),
    )
  }

  /** Returns the target of new lines: a model with the task of the endpoint that is not deprecated. */
  findCurrentTarget(model: string, endpoint: BatchEndpoint): ModelTarget | undefined {
    const target = findModelTarget(this.#models, model)
    return target?.task === taskOf(endpoint) ? target : undefined
  }

  /** Returns the target of the lines of a batch. A model that is deprecated while the batch runs still serves it. */
  findTarget({ spec, work }: Pick<BatchRow, 'spec' | 'work'>): ModelTarget | undefined {
    const target = work && findModelTarget(this.#models, work.model, true)
    return target?.task === taskOf(spec.endpoint) ? target : undefined
  }

  /** Updates the rate of every batch after a change that affects all batches. */
  rescheduleAll(): void {
    for (const ordinal of this.owner.active) {
      if (this.owner.read(ordinal).status === 'in_progress') this.updateRate(ordinal, this.owner.writable(ordinal))
    }
  }

  /** Tells whether lines of a batch run on a deployment or wait for it. */
  hasWorkFor(deployment: number): boolean {
    return this.owner.active.length > 0 && this.#batchesOn(deployment).length > 0
  }

  /** Tells whether lines of a batch run on a deployment now. */
  isRunningOn(deployment: number): boolean {
    return (
      this.hasWorkFor(deployment) &&
      this.#batchesOn(deployment).some(ordinal => this.owner.read(ordinal).rate.tokensPerSecond > 0)
    )
  }

  /** Returns the batches whose lines run on a deployment or wait for it. */
  #batchesOn(deployment: number): number[] {
    return this.owner.active.filter(ordinal => {
      const row = this.owner.read(ordinal)
      if (row.status !== 'in_progress') return false
      const target = this.findTarget(row)
      return target?.kind === 'own' && target.deployment === deployment
    })
  }

  /** Updates the rate of all batches on the deployment or catalog model of a batch that joined or left it. */
  rebalance(row: Readonly<BatchRow>): void {
    const target = this.findTarget(row)
    if (target === undefined) return
    const others = target.kind === 'own' ? this.#batchesOn(target.deployment) : this.#batchesOnModel(target.model)
    for (const other of others) this.updateRate(other, this.owner.writable(other))
  }

  /** Returns the batches whose lines run on the shared capacity of a model. */
  #batchesOnModel(catalogModel: string): number[] {
    const { now } = this.context.clock
    return this.owner.active.filter(ordinal => {
      const row = this.owner.read(ordinal)
      if (row.status !== 'in_progress' || now < row.waitsUntil) return false
      const target = this.findTarget(row)
      return target?.kind === 'catalog' && target.model === catalogModel
    })
  }

  /** Returns the tokens per second of a batch without live load. */
  #tokensPerSecond(row: Readonly<BatchRow>): number {
    const { lines, promptBefore, answerBefore, failedBefore, tokensBefore } = row.work!
    const target = this.findTarget(row)
    if (target === undefined || this.parts.ledger.suspension.isCutOff) return 0
    // A deployment serves only while it runs, an adapter only on instances that have loaded it.
    if (target.row !== undefined && this.parts.deployments.read(target.row).status !== 'running') return 0
    if (this.context.clock.now < row.waitsUntil) return 0
    if (target.kind === 'catalog') {
      const parametersB = this.context.store.models.get(target.model)?.parameters_b ?? 8
      const batchCount = this.#batchesOnModel(target.model).length || 1
      return sharedTokensPerSecond(this.context, parametersB, batchCount, tokensBefore[lines.length]!)
    }
    const base = this.parts.deployments.read(target.deployment)
    const share =
      target.adapter === undefined
        ? base.effectiveInstances
        : this.parts.loraAdapters.slots.effectiveInstances(target.adapter)
    // Batches on one deployment share it evenly.
    const batchCount = this.#batchesOn(target.deployment).length || 1
    const validLines = Math.max(1, lines.length - failedBefore[lines.length]!)
    const promptTokens = promptBefore[lines.length]! / validLines
    const outputTokens = Math.max(1, answerBefore[lines.length]! / validLines)
    const speed = engineOf(base, promptTokens, outputTokens).requestsPerSecond * (promptTokens + outputTokens)
    return (share * speed) / batchCount
  }

  /** Delays the first line of a batch if shared capacity is short. */
  delayForCapacity(row: BatchRow): void {
    if (this.findTarget(row)?.kind !== 'catalog') return
    const { wait, duration } = drawBatchWait(this.context, row.key)
    if (duration === 0) return
    row.waitsUntil = Math.max(row.waitsUntil, this.context.clock.now + duration)
    this.context.record(row, 'batch.waiting', { wait })
  }
}
