import type { BatchStatus } from '../../data/records/enums.ts'
import type { EntryHandle } from '../../kernel/agenda.ts'
import type { Archive } from '../../kernel/archive.ts'
import type { Micros } from '../../kernel/duration.ts'
import { LayeredMap } from '../../kernel/layered-map.ts'
import { purpose } from '../../kernel/random.ts'
import { Table } from '../../kernel/table.ts'
import { drawBatchWait } from '../account/chaos-draws.ts'
import type { Ledger } from '../account/ledger.ts'
import { tokenCost, tokenWeight } from '../account/money.ts'
import type { SimulationContext } from '../context.ts'
import type { Autoscaler } from '../deployments/autoscaler.ts'
import type { Deployments } from '../deployments/deployments.ts'
import type { LoraAdapters } from '../deployments/lora-adapters.ts'
import { findModelTarget, type ModelSources, type ModelTarget } from '../deployments/model-lookup.ts'
import type { BatchWork } from '../deployments/work.ts'
import type { EventName } from '../event-names.ts'
import { batchTokensPerSecond, estimateServing, findSpareTime, type LiveLoad } from '../load/throughput.ts'
import type { DeploymentLogs } from '../recording/deployment-logs.ts'
import { CONTROLLER } from '../recording/deployment-logs.ts'
import type { UsageHistory } from '../recording/history.ts'
import { BATCH_LIFECYCLE } from './batch-lifecycle.ts'
import {
  type BatchRecord,
  BatchRow,
  type BatchSpec,
  doneLinesAt,
  progressOf,
  type TimestampedStatus,
} from './batch-row.ts'
import type { Files } from './files.ts'
import { readInput } from './fixture-content.ts'
import type { BatchError, LineRequest, OnLine } from './input-lines.ts'
import { countLines, JsonlWriter } from './jsonl-writer.ts'
import type { LineAnswer, LineAnswerer, LineError, LineWorld } from './line-answering.ts'
import { PENDING_ANSWER, WorkListBuilder } from './work-list.ts'

const ID = purpose('batch.id')
const REQUEST_ID = purpose('batch.requestId')
/** Progress is told in steps of a hundredth of the lines. */
const PROGRESS_STEPS = 100

/** A batch to read and to cancel. */
export interface Batch {
  readonly id: string
  readonly status: BatchStatus
  toRecord(): BatchRecord
  toJson(): string
  /** Asks it to end early; false when it is over already. */
  cancel(): boolean
}

/** The parts below that it uses. */
export interface BatchesParts {
  readonly files: Files
  readonly deployments: Deployments
  readonly autoscaler: Autoscaler
  readonly loraAdapters: LoraAdapters
  readonly ledger: Ledger
  readonly history: UsageHistory
  readonly deploymentLogs: DeploymentLogs
}

/** What batches call above them. */
export interface BatchesPorts {
  readonly world: LineWorld
}

/** Batches: validated line by line, run on the tokens per second there are, written to real files. */
export class Batches implements BatchWork {
  readonly #context: SimulationContext
  readonly #parts: BatchesParts
  readonly #models: ModelSources
  #ports!: BatchesPorts
  /** What lines are answered with: ready before the first event of a batch. */
  lineAnswerer: LineAnswerer | undefined
  readonly #table: Table<BatchRow>
  readonly #byId: LayeredMap<number>
  readonly #jsonTexts: (string | undefined)[]
  /** Batches that are not over. */
  #active: readonly number[]

  constructor(context: SimulationContext, parts: BatchesParts, origin?: Batches) {
    this.#context = context
    this.#parts = parts
    this.#models = { deployments: parts.deployments, store: context.store, profile: context.profile }
    this.#table = origin
      ? origin.#table.fork(origin.#context.generation, context.generation)
      : new Table(context.generation)
    this.#byId = origin ? origin.#byId.fork() : new LayeredMap()
    this.#jsonTexts = origin ? origin.#jsonTexts.slice() : []
    this.#active = origin ? origin.#active : []
  }

  /** Binds what lies above: the world does it once. */
  connect(ports: BatchesPorts): void {
    this.#ports = ports
  }

  archive(archive: Archive): void {
    this.#table.archive(archive)
    this.#byId.archive(archive)
    this.#active = archive.value(this.#active)
  }

  /** Batches that are not over. */
  get activeCount(): number {
    return this.#active.length
  }

  entries(): Generator<[number, Readonly<BatchRow>]> {
    return this.#table.entries()
  }

  get(id: string): Batch | undefined {
    const ordinal = this.#byId.get(id)
    return ordinal === undefined ? undefined : this.#handle(ordinal)
  }

  /** The model of a batch's lines, by its id; undefined for what is no batch. */
  modelOf(id: string): string | undefined {
    const ordinal = this.#byId.get(id)
    return ordinal === undefined ? undefined : (this.#table.read(ordinal).work?.model ?? '')
  }

  /** Every batch, the oldest first. */
  list(): Batch[] {
    return [...this.#table.entries()]
      .sort(([, a], [, b]) => a.createdAt - b.createdAt || (a.id < b.id ? -1 : 1))
      .map(([ordinal]) => this.#handle(ordinal))
  }

  create(spec: BatchSpec): Batch {
    const ordinal = this.add(spec)
    this.startValidation(ordinal)
    return this.#handle(ordinal)
  }

  /** Puts a batch in without setting anything in motion. */
  add(spec: BatchSpec, fixture: { id?: string; created_at?: Micros } = {}): number {
    const key = this.#context.newKey('batch', spec.input_file_id)
    const id = fixture.id ?? `batch_${this.#context.chance.letters(24, key, ID)}`
    const row = new BatchRow(this.#table.generation, id, spec, key, fixture.created_at ?? this.#context.clock.now)
    row.inputChunks = this.#parts.files.get(spec.input_file_id)?.chunks() ?? []
    const ordinal = this.#table.add(row)
    this.#byId.set(id, ordinal)
    this.#active = [...this.#active, ordinal]
    this.#context.record(row, 'batch.created', { input_file_id: spec.input_file_id, endpoint: spec.endpoint })
    row.expiryEvent = this.#context.scheduleAt(
      Math.max(this.#context.clock.now, row.createdAt + this.#context.profile.timings.batchWindow),
      'batch.expired',
      ordinal,
    )
    this.#context.markVisibleChange()
    return ordinal
  }

  startValidation(ordinal: number): void {
    const row = this.#table.writable(ordinal)
    const { batchValidation, batchValidationPerLine } = this.#context.profile.timings
    row.next = this.#context.schedule(
      batchValidation + countLines(row.inputChunks) * batchValidationPerLine,
      'batch.validated',
      ordinal,
    )
  }

  /** Builds a batch of a fixture that is past its validation; what is wrong with its input, if anything. */
  restoreFromFixture(
    ordinal: number,
    status: 'in_progress' | 'completed',
    statusTimes: BatchRow['statusTimes'],
  ): readonly BatchError[] {
    const row = this.#table.writable(ordinal)
    const { lineAnswerer } = this
    // A world is made without waiting, so its lines are answered only when it first moves.
    const errors = this.#readLines(row, ({ body }) =>
      status === 'completed' ? (lineAnswerer?.validate(row.spec.endpoint, body) ?? PENDING_ANSWER) : PENDING_ANSWER,
    )
    if (errors.length > 0) return errors
    row.statusTimes = statusTimes
    row.status = status
    if (status === 'in_progress') {
      row.next = this.#context.schedule(0, 'batch.resumed', ordinal)
      return []
    }
    row.doneLines = row.work?.lines.length ?? 0
    row.filesWritten = true
    this.#finish(ordinal, row)
    return []
  }

  onEvent(event: EventName, ordinal: number): void {
    const row = this.#table.writable(ordinal)
    switch (event) {
      case 'batch.validated':
        row.next = 0
        this.#onValidated(ordinal, row)
        break
      case 'batch.resumed':
        row.next = 0
        this.#answerLines(row)
        this.#startNextStep(ordinal, row)
        break
      case 'batch.capacityCame':
        row.next = 0
        this.#context.record(row, 'batch.capacityCame')
        this.#updateRate(ordinal, row)
        break
      case 'batch.chunkDone':
        row.next = 0
        this.#onStepDone(ordinal, row)
        break
      case 'batch.finalized':
        row.next = 0
        this.#writeFiles(row)
        this.#setStatus(row, 'completed')
        this.#finish(ordinal, row)
        break
      case 'batch.cancelSettled':
        row.next = 0
        if (row.work) {
          this.#composeOutput(row, 'batch_cancelled', 'the batch was cancelled before this request ran')
          this.#writeFiles(row)
        }
        this.#setStatus(row, 'cancelled')
        this.#finish(ordinal, row)
        break
      case 'batch.expired':
        row.expiryEvent = 0
        this.#expire(ordinal, row)
        break
    }
    this.#invalidateJson(ordinal)
  }

  /** The capacity of a deployment has changed: what runs on it goes on at another rate. */
  onCapacityChanged(deployment: number): void {
    for (const ordinal of this.#active) {
      const row = this.#table.read(ordinal)
      if (row.status !== 'in_progress' || !row.work) continue
      const target = this.#findTarget(row.work.model)
      const runsOnDeployment =
        target?.row === deployment || (target?.kind === 'own' && target.deployment === deployment)
      // A deployment that was deleted is no target any more, yet the batch must stop running on it.
      if (runsOnDeployment || (row.rate.tokensPerSecond > 0 && target === undefined))
        this.#updateRate(ordinal, this.#table.writable(ordinal))
    }
  }

  /**
   * An instance that served is lost: the lines in flight on it are run again. What had been done on them, half of their
   * tokens in the mean, comes on top of what there is to do; lines that are over stay over and are charged once.
   */
  onInstanceLost(deployment: number): void {
    for (const ordinal of this.#batchesOn(deployment)) {
      const row = this.#table.writable(ordinal)
      if (row.rate.tokensPerSecond === 0) continue
      this.#updateProgress(row)
      const { lines, tokensBefore } = row.work!
      const last = Math.min(lines.length, row.doneLines + this.#linesInFlight(deployment, row))
      if (last === row.doneLines) continue
      row.retryTokens += Math.min((tokensBefore[last]! - tokensBefore[row.doneLines]!) / 2, row.doneTokens)
      const retried = { lines: last - row.doneLines }
      this.#context.record(row, 'batch.linesRetried', retried)
      this.#parts.deploymentLogs.append(deployment, CONTROLLER, 'batch.linesRetried', { ...retried, batch: row.id })
    }
  }

  /** Lines of a batch that an instance has in work: its places, less those of live load, shared by the batches. */
  #linesInFlight(deployment: number, { rate: { liveLoad } }: Readonly<BatchRow>): number {
    const { deployments, autoscaler } = this.#parts
    const { clock } = this.#context
    const { maxBatchSize, load, effectiveInstances: servingShare } = deployments.read(deployment)
    const slots = maxBatchSize / this.#batchesOn(deployment).length
    if (!liveLoad || !load) return Math.floor(slots)
    autoscaler.updateFlow(deployment)
    const { backlog } = deployments.read(deployment).flow
    return Math.floor(
      slots * (1 - estimateServing(load.curve.rateAt(clock.now), load.speed, servingShare, backlog).utilisation),
    )
  }

  toRecord(ordinal: number): BatchRecord {
    const { clock } = this.#context
    const row = this.#table.read(ordinal)
    const { work } = row
    const doneLines =
      work && row.status === 'in_progress' ? doneLinesAt(work, progressOf(row, clock.now).doneTokens) : row.doneLines
    const unixTimeOf = (status: TimestampedStatus) =>
      row.statusTimes[status] === undefined ? null : clock.unix(row.statusTimes[status])
    return {
      id: row.id,
      object: 'batch',
      endpoint: row.spec.endpoint,
      input_file_id: row.spec.input_file_id,
      completion_window: row.spec.completion_window,
      status: row.status,
      created_at: clock.unix(row.createdAt),
      expires_at: clock.unix(row.createdAt + this.#context.profile.timings.batchWindow),
      errors: row.errors ? { object: 'list', data: [...row.errors] } : null,
      output_file_id: row.filesWritten ? `${row.id}_output` : null,
      error_file_id: row.filesWritten ? `${row.id}_error` : null,
      in_progress_at: unixTimeOf('in_progress'),
      completed_at: unixTimeOf('completed'),
      failed_at: unixTimeOf('failed'),
      finalizing_at: unixTimeOf('finalizing'),
      expired_at: unixTimeOf('expired'),
      cancelled_at: unixTimeOf('cancelled'),
      cancelling_at: unixTimeOf('cancelling'),
      request_counts: work
        ? {
            total: work.lines.length,
            completed: doneLines - work.failedBefore[doneLines]!,
            failed: work.failedBefore[doneLines]!,
          }
        : null,
      metadata: row.spec.metadata,
    }
  }

  #handle(ordinal: number): Batch {
    const batches = this
    return {
      get id() {
        return batches.#table.read(ordinal).id
      },
      get status() {
        return batches.#table.read(ordinal).status
      },
      toRecord: () => this.toRecord(ordinal),
      toJson: () => {
        // While its lines run, its counts move between events.
        if (this.#table.read(ordinal).rate.tokensPerSecond > 0) return JSON.stringify(this.toRecord(ordinal))
        this.#jsonTexts[ordinal] ??= JSON.stringify(this.toRecord(ordinal))
        return this.#jsonTexts[ordinal]!
      },
      cancel: () => this.#cancel(ordinal),
    }
  }

  #cancel(ordinal: number): boolean {
    const row = this.#table.writable(ordinal)
    if (BATCH_LIFECYCLE.terminal.has(row.status)) return false
    // Too late: it is being written already and ends completed.
    if (row.status === 'finalizing' || row.status === 'cancelling') return true
    this.#stopLines(row)
    this.#setStatus(row, 'cancelling')
    row.next = this.#context.schedule(this.#context.profile.timings.batchFinalizing, 'batch.cancelSettled', ordinal)
    this.#rebalance(row)
    this.#invalidateJson(ordinal)
    return true
  }

  #onValidated(ordinal: number, row: BatchRow): void {
    const errors = this.#answerLines(row)
    if (errors.length > 0) {
      row.errors = errors
      this.#setStatus(row, 'failed', { errors: errors.length, first: errors[0]!.code })
      this.#finish(ordinal, row)
      return
    }
    this.#setStatus(row, 'in_progress', { lines: row.work!.lines.length })
    this.#delayForCapacity(row)
    this.#startNextStep(ordinal, row)
    this.#rebalance(row)
  }

  /** Shared capacity may be short: then its lines wait before the first of them runs. */
  #delayForCapacity(row: BatchRow): void {
    if (this.#findTarget(row.work!.model)?.kind !== 'catalog') return
    const { wait, duration } = drawBatchWait(this.#context, row.key)
    if (duration === 0) return
    row.waitsUntil = this.#context.clock.now + duration
    this.#context.record(row, 'batch.waiting', { wait })
  }

  #requireLineAnswerer(): LineAnswerer {
    const { lineAnswerer } = this
    if (!lineAnswerer?.isReady) throw new Error('Failed to answer the lines of a batch: the tokenizer is not loaded.')
    return lineAnswerer
  }

  /** Answers every line of the input file, one after the other; the errors it has. */
  #answerLines(row: BatchRow): readonly BatchError[] {
    const answerer = this.#requireLineAnswerer()
    // A file that fails its validation has asked for nothing.
    const trial = answerer.fork()
    const { endpoint } = row.spec
    const errors = this.#readLines(
      row,
      ({ body, parsed }, model, target) => trial.answer(this.#ports.world, { endpoint, model, target, body, parsed }),
      body => trial.parse(endpoint, body),
    )
    if (errors.length === 0) answerer.adopt(trial)
    return errors
  }

  /** Reads the input file into work; the errors it has. */
  #readLines(
    row: BatchRow,
    answer: (request: LineRequest, model: string, target: ModelTarget) => LineAnswer | LineError,
    read?: (body: LineRequest['body']) => unknown,
  ): readonly BatchError[] {
    const work = new WorkListBuilder(countLines(row.inputChunks))
    let target: ModelTarget | undefined
    const onLine: OnLine = (request, modelName) => {
      if (work.isEmpty) target = this.#findTarget(modelName)
      work.add(request.customId, target === undefined ? PENDING_ANSWER : answer(request, modelName, target))
    }
    const { errors, model } = readInput(row.inputChunks, row.spec.endpoint, onLine, read)
    if (errors.length > 0) return errors
    if (target === undefined) {
      const message = `no model ${JSON.stringify(model)} that can be called`
      return [{ code: 'unknown_model', line: 0, message, param: 'body.model' }]
    }
    row.work = work.build(model)
    return []
  }

  #startNextStep(ordinal: number, row: BatchRow): void {
    const { lines } = row.work!
    if (row.doneLines === lines.length) {
      this.#stopLines(row)
      this.#composeOutput(row, 'batch_expired', '')
      this.#setStatus(row, 'finalizing')
      this.#rebalance(row)
      const { batchFinalizing, batchFinalizingRate } = this.#context.profile.timings
      const bytes = row.pendingOutput!.output.bytes + row.pendingOutput!.error.bytes
      row.next = this.#context.schedule(
        batchFinalizing + (bytes / batchFinalizingRate) * 1e6,
        'batch.finalized',
        ordinal,
      )
      return
    }
    row.stepEnd = Math.min(lines.length, row.doneLines + Math.ceil(lines.length / PROGRESS_STEPS))
    this.#updateRate(ordinal, row)
  }

  /** Counts what was done at the pace so far and plans the end of the step at the present one. */
  #updateRate(ordinal: number, row: BatchRow): void {
    // A batch of a fixture has no step before the world first moves.
    if (row.status !== 'in_progress' || row.stepEnd === 0) return
    this.#updateProgress(row)
    const target = this.#findTarget(row.work!.model)
    this.#holdAdapter(row, target?.kind === 'own' ? (target.adapter ?? -1) : -1)
    const rate = this.#tokensPerSecond(row)
    row.rate = {
      tokensPerSecond: rate,
      liveLoad: rate > 0 && target?.kind === 'own' ? this.#liveLoad(target.deployment) : undefined,
    }
    if (rate === 0 && target?.kind === 'own' && !this.#parts.ledger.isCutOff)
      this.#parts.deployments.wake(target.deployment)
    this.#context.cancel(row.next)
    row.next = this.#scheduleStepEnd(ordinal, row)
    if (target?.kind === 'own') this.#parts.deployments.recordServing(target.deployment)
    this.#jsonTexts[ordinal] = undefined
  }

  #scheduleStepEnd(ordinal: number, row: Readonly<BatchRow>): EntryHandle {
    const { now } = this.#context.clock
    const { tokensPerSecond, liveLoad } = row.rate
    if (tokensPerSecond === 0) {
      const isWaiting = row.waitsUntil > now && row.waitsUntil < Number.POSITIVE_INFINITY
      return isWaiting ? this.#context.scheduleAt(row.waitsUntil, 'batch.capacityCame', ordinal) : 0
    }
    const seconds =
      Math.max(0, row.retryTokens + row.work!.tokensBefore[row.stepEnd]! - row.doneTokens) / tokensPerSecond
    const window = row.createdAt + this.#context.profile.timings.batchWindow
    const stepEndTime = liveLoad ? findSpareTime(liveLoad, seconds, now, window) : now + Math.ceil(seconds * 1e6)
    return stepEndTime < Number.POSITIVE_INFINITY
      ? this.#context.scheduleAt(stepEndTime, 'batch.chunkDone', ordinal)
      : 0
  }

  /** The live load of a deployment from now on, which has its instances before any batch. */
  #liveLoad(deployment: number): LiveLoad | undefined {
    const { autoscaler, deployments } = this.#parts
    const { profile } = this.#context
    autoscaler.updateFlow(deployment)
    const { load, flow: served, effectiveInstances: servingShare } = deployments.read(deployment)
    if (!load) return undefined
    const capacity = servingShare * load.speed.requestsPerSecond
    return { curve: load.curve, capacity, backlog: served.backlog, queueLimit: profile.limits.queuePerDeployment }
  }

  /** Counts the lines that are over by now, at least `least`, and charges those that were not counted before. */
  #updateProgress(row: BatchRow, minLines = 0): void {
    if (!row.work) return
    const { now } = this.#context.clock
    const { doneTokens, retryTokens } = progressOf(row, now)
    // The end of a step is planned by the same figures and may differ in their last digit.
    row.doneTokens = Math.max(doneTokens, row.work.tokensBefore[minLines]!)
    row.retryTokens = retryTokens
    row.progressAt = now
    const doneLines = doneLinesAt(row.work, row.doneTokens)
    if (doneLines <= row.doneLines) return
    const { failedBefore } = row.work
    this.#charge(row, row.doneLines, doneLines)
    this.#parts.history.onLinesDone(doneLines - row.doneLines, failedBefore[doneLines]! - failedBefore[row.doneLines]!)
    row.doneLines = doneLines
  }

  /** Its lines run no more. */
  #stopLines(row: BatchRow): void {
    this.#updateProgress(row)
    this.#context.cancel(row.next)
    row.next = 0
    row.stop()
  }

  #onStepDone(ordinal: number, row: BatchRow): void {
    const { lines, failedBefore } = row.work!
    this.#updateProgress(row, row.stepEnd)
    const failed = failedBefore[row.doneLines]!
    this.#context.record(row, 'batch.progressed', { done: row.doneLines, failed, total: lines.length })
    this.#startNextStep(ordinal, row)
  }

  /** Charges the tokens of the lines that are over, by one floor for the whole batch. */
  #charge(row: BatchRow, from: number, to: number): void {
    const { store } = this.#context
    const { ledger } = this.#parts
    const { model, promptBefore, answerBefore } = row.work!
    const target = this.#findTarget(model)
    if (target?.kind !== 'catalog') return
    const serverless = store.hardware.get(target.model)?.hardware.find(one => one.type === 'serverless')
    if (serverless?.type !== 'serverless') return
    const prompt = promptBefore[to]! - promptBefore[from]!
    const answer = answerBefore[to]! - answerBefore[from]!
    const { cents_per_million_input_tokens: input, cents_per_million_output_tokens: output } = serverless.pricing
    const share = this.#context.profile.prices.batchShare * target.priceShare
    row.unroundedCharge += tokenWeight(prompt, input * share) + tokenWeight(answer, output * share)
    const total = tokenCost(row.unroundedCharge)
    ledger.chargeTokens(row.id, total - row.chargedMicrocents)
    row.chargedMicrocents = total
  }

  #expire(ordinal: number, row: BatchRow): void {
    // What is being written is in time; it was done before the window closed.
    if (row.status === 'finalizing' || row.status === 'cancelling') return
    this.#stopLines(row)
    if (row.status === 'in_progress') {
      this.#composeOutput(row, 'batch_expired', 'the batch expired before this request ran')
      this.#writeFiles(row)
    }
    this.#setStatus(row, 'expired')
    this.#finish(ordinal, row)
  }

  /** Writes the output of the lines that are over, and an error line for each of the others. */
  #composeOutput(row: BatchRow, code: string, message: string): void {
    const { chance, clock } = this.#context
    const { model, lines, promptBefore, answerTokens, isCut } = row.work!
    const { endpoint } = row.spec
    const answerer = this.#requireLineAnswerer()
    const output = new JsonlWriter()
    const error = new JsonlWriter()
    const created = clock.unix()
    for (const [i, line] of lines.entries()) {
      const suffix = chance.letters(16, row.key, REQUEST_ID + i)
      const id = `batch_req_${suffix}`
      if (i >= row.doneLines || line.error) {
        const lineError = i >= row.doneLines ? { code, message } : line.error!
        error.push(JSON.stringify({ id, custom_id: line.customId, response: null, error: lineError }))
        continue
      }
      const body = answerer.body(chance, {
        endpoint,
        model,
        suffix,
        created,
        promptTokens: promptBefore[i + 1]! - promptBefore[i]!,
        answerTokens: answerTokens[i]!,
        key: line.key,
        isCut: isCut[i] === 1,
        choices: line.choices,
      })
      const response = { status_code: 200, request_id: `req_${suffix}`, body }
      output.push(JSON.stringify({ id, custom_id: line.customId, response, error: null }))
    }
    row.pendingOutput = { output: output.finish(), error: error.finish() }
  }

  #writeFiles(row: BatchRow): void {
    const { files } = this.#parts
    if (!row.pendingOutput) throw new Error(`Failed to write the files of ${row.id}: nothing was composed.`)
    const file = { purpose: 'batch_output' }
    files.create({ ...file, ...row.pendingOutput.output, id: `${row.id}_output`, filename: `${row.id}_output.jsonl` })
    files.create({ ...file, ...row.pendingOutput.error, id: `${row.id}_error`, filename: `${row.id}_error.jsonl` })
    row.pendingOutput = undefined
    row.filesWritten = true
  }

  #setStatus(
    row: BatchRow,
    status: Exclude<BatchStatus, 'validating'>,
    fields?: Record<string, string | number>,
  ): void {
    row.status = status
    if (status !== 'in_progress') this.#holdAdapter(row, -1)
    row.statusTimes = { ...row.statusTimes, [status]: this.#context.clock.now }
    this.#context.record(row, `batch.${status}`, fields)
    const target = row.work && this.#findTarget(row.work.model)
    if (target?.kind === 'own') {
      this.#parts.deployments.recordServing(target.deployment)
      this.#parts.deploymentLogs.append(target.deployment, CONTROLLER, `batch.${status}`, { batch: row.id })
    }
    this.#context.markVisibleChange()
  }

  /** Lines that run keep their adapter in the slots of instances. */
  #holdAdapter(row: BatchRow, adapter: number): void {
    const previous = row.heldAdapter
    if (previous === adapter) return
    const { slots } = this.#parts.loraAdapters
    row.heldAdapter = adapter
    if (previous >= 0) slots.release(previous)
    if (adapter >= 0) slots.acquire(adapter)
  }

  #finish(ordinal: number, row: BatchRow): void {
    this.#context.cancel(row.expiryEvent)
    row.expiryEvent = 0
    this.#active = this.#active.filter(other => other !== ordinal)
    this.#rebalance(row)
    const target = row.work && this.#findTarget(row.work.model)
    if (target?.kind === 'own') this.#parts.deployments.onWorkEnded(target.deployment)
    this.#invalidateJson(ordinal)
  }

  #invalidateJson(ordinal: number): void {
    this.#jsonTexts[ordinal] = undefined
    this.#context.markVisibleChange()
  }

  #findTarget(model: string): ModelTarget | undefined {
    const target = findModelTarget(this.#models, model)
    return target?.task === 'text-generation' ? target : undefined
  }

  /** Something that every batch depends on has changed. */
  rescheduleAll(): void {
    for (const ordinal of this.#active) {
      if (this.#table.read(ordinal).status === 'in_progress') this.#updateRate(ordinal, this.#table.writable(ordinal))
    }
  }

  /** Whether lines of a batch run, or wait to run, on a deployment. */
  hasWorkFor(deployment: number): boolean {
    return this.#active.length > 0 && this.#batchesOn(deployment).length > 0
  }

  /** Whether lines of a batch run on a deployment now. */
  isRunningOn(deployment: number): boolean {
    return (
      this.hasWorkFor(deployment) &&
      this.#batchesOn(deployment).some(ordinal => this.#table.read(ordinal).rate.tokensPerSecond > 0)
    )
  }

  /** The batches whose lines run, or wait to run, on a deployment. */
  #batchesOn(deployment: number): number[] {
    return this.#active.filter(ordinal => {
      const { status, work } = this.#table.read(ordinal)
      if (status !== 'in_progress' || !work) return false
      const target = this.#findTarget(work.model)
      return target?.kind === 'own' && target.deployment === deployment
    })
  }

  /** A batch came to share a deployment, or left it: the others on it go on at another rate. */
  #rebalance(row: Readonly<BatchRow>): void {
    const target = row.work && this.#findTarget(row.work.model)
    if (target?.kind === 'own')
      for (const other of this.#batchesOn(target.deployment)) this.#updateRate(other, this.#table.writable(other))
  }

  /** Tokens per second that a batch has now, while no live load goes before it. */
  #tokensPerSecond(row: Readonly<BatchRow>): number {
    const { model, lines, promptBefore, answerBefore, failedBefore } = row.work!
    const target = this.#findTarget(model)
    if (target === undefined || this.#parts.ledger.isCutOff) return 0
    // What is named answers only while it runs; an adapter only where it is loaded.
    if (target.row !== undefined && this.#parts.deployments.read(target.row).status !== 'running') return 0
    if (target.kind === 'catalog') {
      return this.#context.clock.now < row.waitsUntil ? 0 : this.#context.profile.timings.batchSharedTokensPerSecond
    }
    const base = this.#parts.deployments.read(target.deployment)
    const { gpu, numGpus: gpus, maxBatchSize, weights } = base
    const share =
      target.adapter === undefined
        ? base.effectiveInstances
        : this.#parts.loraAdapters.slots.effectiveInstances(target.adapter)
    // Batches on one deployment share it evenly.
    const batchCount = this.#batchesOn(target.deployment).length || 1
    const validLines = Math.max(1, lines.length - failedBefore[lines.length]!)
    const speed = batchTokensPerSecond({
      gpu,
      gpus,
      parametersB: weights.parametersB,
      maxBatchSize,
      promptTokens: promptBefore[lines.length]! / validLines,
      outputTokens: Math.max(1, answerBefore[lines.length]! / validLines),
    })
    return (share * speed) / batchCount
  }
}
