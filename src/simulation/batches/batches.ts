import { draw } from '../../data/profiles/distribution.ts'
import { BATCH_LIFECYCLE, type BatchStatus } from '../../data/records/enums.ts'
import type { Micros } from '../../kernel/duration.ts'
import { purpose } from '../../kernel/random.ts'
import { type Steps, withoutPause } from '../../lib/slices.ts'
import type { SimulationContext } from '../context.ts'
import { assertHandled, type EventOf } from '../events.ts'
import { CONTROLLER } from '../recording/deployment-logs.ts'
import { type Batch, createBatchHandle } from './batch-handle.ts'
import { type AnsweredLines, answerLines, type FindTarget, readFixtureLines } from './batch-input.ts'
import {
  type ComposedFiles,
  composeOutput,
  countLines,
  type ProgressedBatch,
  toFileIds,
  toUnfinishedError,
  writeFiles,
} from './batch-output.ts'
import { BatchPacing, type BatchPacingParts } from './batch-pacing.ts'
import { BatchRow, type BatchSpec, BatchTable, doneLinesAt, type FixtureBatch, progressOf } from './batch-row.ts'
import type { Files } from './files.ts'
import type { BatchError } from './input-lines.ts'
import type { LineAnswerer, LineWorld } from './line-answering.ts'

const VALIDATION = purpose('batch.validation')
const FINALIZING = purpose('batch.finalizing')
const CANCELLING = purpose('batch.cancelling')

/** Returns the duration of the validation: a drawn part, and a constant part for each line. */
function validationTime({ profile, chance }: SimulationContext, row: Readonly<BatchRow>): Micros {
  const { batchValidation, batchValidationPerLine } = profile.timings
  return draw(batchValidation, chance, row.key, VALIDATION) + countLines(row.inputChunks) * batchValidationPerLine
}

/** Returns the duration of finalizing: a drawn part, and the time to write `bytes` of output. */
function finalizingTime({ profile, chance }: SimulationContext, row: Readonly<BatchRow>, bytes: number): Micros {
  const { batchFinalizing, batchFinalizingRate } = profile.timings
  return draw(batchFinalizing, chance, row.key, FINALIZING) + (bytes / batchFinalizingRate) * 1e6
}

const ID = purpose('batch.id')
/** Lines whose answers take longer than a slice. */
const LONG_LINES = 500
/** A batch reports its progress in steps of one percent of its lines. */
const PROGRESS_STEPS = 100

type LaterStatus = Exclude<BatchStatus, 'validating'>

/** Long work of an event. It changes nothing in the world. */
interface LongWork<Result> {
  /** What the result depends on. */
  readonly of: string
  readonly steps: Steps<Result>
}

/** The lower parts that batches use. */
export interface BatchesParts extends BatchPacingParts {
  readonly files: Files
}

/** The higher parts that batches call. */
export interface BatchesPorts {
  readonly world: LineWorld
}

/** The batches. Each line is validated, runs on the available tokens per second, and is written to an output file. */
export class Batches extends BatchTable<BatchesParts, BatchesPorts> {
  readonly pacing = new BatchPacing(this.context, this.parts, this)
  readonly #findTarget: FindTarget = (model, endpoint) => this.pacing.findCurrentTarget(model, endpoint)
  /** The long work that was done before its event fires, and the last journal entry before it. */
  #doneWork: { readonly of: string; readonly result: unknown; readonly seq: number } | undefined
  /** Answers the lines. It must be ready before the first event of a batch. */
  lineAnswerer: LineAnswerer | undefined

  get(id: string): Batch | undefined {
    const ordinal = this.ordinalOf(id)
    return ordinal === undefined ? undefined : this.#handle(ordinal)
  }

  /** Returns the model of the lines of a batch; undefined for an unknown id. */
  modelOf(id: string): string | undefined {
    const row = this.findById(id)
    return row && (row.work?.model ?? '')
  }

  /** Returns all batches, oldest first. */
  list(): Batch[] {
    return [...this.table.entries()]
      .sort(([, a], [, b]) => a.createdAt - b.createdAt)
      .map(([ordinal]) => this.#handle(ordinal))
  }

  create(spec: BatchSpec): Batch {
    const ordinal = this.add(spec)
    this.startValidation(ordinal)
    return this.#handle(ordinal)
  }

  /** Adds a batch without starting its validation. */
  add(spec: BatchSpec, fixture: FixtureBatch = {}): number {
    const key = this.context.newKey('batch', spec.input_file_id)
    const id = fixture.id ?? `batch_${this.context.chance.letters(24, key, ID)}`
    const createdAt = fixture.created_at ?? this.context.clock.now
    const files = toFileIds(this.context.chance, key, fixture)
    const row = new BatchRow(this.table.generation, id, { spec, key, createdAt, ...files })
    row.inputChunks = this.parts.files.get(spec.input_file_id)?.chunks() ?? []
    const ordinal = this.addRow(row)
    this.context.record(row, 'batch.created', { input_file_id: spec.input_file_id, endpoint: spec.endpoint })
    row.expiryEvent = this.context.scheduleAt(
      Math.max(this.context.clock.now, row.createdAt + this.context.profile.timings.batchWindow),
      'batch.expired',
      ordinal,
    )
    this.context.markVisibleChange()
    return ordinal
  }

  startValidation(ordinal: number): void {
    const row = this.table.writable(ordinal)
    row.next = this.context.schedule(validationTime(this.context, row), 'batch.validated', ordinal)
  }

  /**
   * Restores a batch of a fixture after its validation. Returns the errors of its input.
   *
   * @param isChecked whether its lines are valid by the rules of most worlds
   */
  restoreFromFixture(
    ordinal: number,
    status: 'in_progress' | 'completed',
    statusTimes: BatchRow['statusTimes'],
    isChecked: boolean,
  ): readonly BatchError[] {
    const row = this.table.writable(ordinal)
    const { policies } = this.context.profile
    const isValid = isChecked && policies.validation === 'lax' && !this.lineAnswerer?.isStrict
    const validator = status === 'completed' && !isValid ? this.lineAnswerer : undefined
    const { errors, work } = readFixtureLines(row, this.#findTarget, this.context, validator)
    if (errors.length > 0) return errors
    row.work = work
    row.statusTimes = statusTimes
    row.status = status
    if (status === 'in_progress') {
      row.next = this.context.schedule(0, 'batch.resumed', ordinal)
      return []
    }
    row.doneLines = row.work?.lines.length ?? 0
    row.filesWritten = true
    this.#finish(ordinal, row)
    return []
  }

  /** Returns whether an event has work that is too long for a slice. */
  isLong(event: EventOf<'batches'>, ordinal: number): boolean {
    const { work, status, stepEnd, inputChunks } = this.table.read(ordinal)
    if (event === 'batch.validated' || event === 'batch.resumed') return countLines(inputChunks) >= LONG_LINES
    const isLastStep = event === 'batch.chunkDone' && stepEnd === work?.lines.length
    const isCutOff = event === 'batch.expired' && status === 'in_progress'
    return (isLastStep || isCutOff || event === 'batch.cancelSettled') && (work?.lines.length ?? 0) >= LONG_LINES
  }

  /**
   * Does the long work of the next event before it fires. It can pause after each line.
   *
   * @param ahead the batches of a copy of the world, at the time of the event
   */
  *prepare(ahead: Batches, event: EventOf<'batches'>, ordinal: number): Steps<void> {
    const seq = this.context.journal.last
    try {
      const { of, steps } = ahead.#longWork(event, ahead.table.read(ordinal))
      this.#doneWork = { of, result: yield* steps, seq }
    } catch {
      // The event throws it again, and its batch fails.
    }
  }

  #longWork(event: EventOf<'batches'>, row: Readonly<BatchRow>): LongWork<unknown> {
    if (event === 'batch.validated' || event === 'batch.resumed') return this.#answerLines(row)
    const { now } = this.context.clock
    const work = row.work!
    const tokens = Math.max(
      progressOf(row, now).doneTokens,
      event === 'batch.chunkDone' ? work.tokensBefore[row.stepEnd]! : 0,
    )
    const lines = doneLinesAt(work, tokens)
    const marks = [...row.progressMarks, ...(lines > row.doneLines ? [{ lines, at: now }] : [])]
    const progress = { doneLines: Math.max(lines, row.doneLines), progressMarks: marks }
    return this.#composeFiles(row, progress, event === 'batch.cancelSettled' ? 'cancelled' : 'expired')
  }

  /** Returns the result of long work, which may be done already. */
  #resultOf<Result>({ of, steps }: LongWork<Result>): Result {
    const done = this.#doneWork
    this.#doneWork = undefined
    return done?.of === of ? (done.result as Result) : withoutPause(steps)
  }

  onEvent(event: EventOf<'batches'>, ordinal: number): void {
    const row = this.table.writable(ordinal)
    if (this.#doneWork?.seq !== this.context.journal.last) this.#doneWork = undefined
    if (event === 'batch.expired') row.expiryEvent = 0
    else row.next = 0
    switch (event) {
      case 'batch.validated':
        this.#onValidated(ordinal, row)
        break
      case 'batch.resumed':
        if (this.#hasValidLines(ordinal, row)) this.#startNextStep(ordinal, row)
        break
      case 'batch.capacityCame':
        this.context.record(row, 'batch.capacityCame')
        this.pacing.updateRate(ordinal, row)
        this.pacing.rebalance(row)
        break
      case 'batch.hourChanged':
        this.pacing.updateRate(ordinal, row)
        break
      case 'batch.chunkDone':
        this.#onStepDone(ordinal, row)
        break
      case 'batch.finalized':
        writeFiles(this.parts.files, row)
        this.#setStatus(row, 'completed')
        this.#finish(ordinal, row)
        break
      case 'batch.cancelSettled':
        if (row.work) {
          this.#composeOutput(row, 'cancelled')
          writeFiles(this.parts.files, row)
        }
        this.#setStatus(row, 'cancelled')
        this.#finish(ordinal, row)
        break
      case 'batch.expired':
        this.expire(ordinal)
        break
      default:
        assertHandled(event)
    }
    this.context.markVisibleChange()
  }

  #handle(ordinal: number): Batch {
    return createBatchHandle(this.context, this, ordinal)
  }

  /** Requests an early end of a batch. Returns false if its status is terminal. */
  cancel(ordinal: number): boolean {
    const { profile, chance } = this.context
    const row = this.table.writable(ordinal)
    if (BATCH_LIFECYCLE.terminal.has(row.status)) return false
    if (row.status === 'cancelling') return true
    const settlingTime = draw(profile.timings.batchFinalizing, chance, row.key, CANCELLING)
    if (row.status === 'in_progress' && this.pacing.finishLinesWithin(row, settlingTime))
      this.#startNextStep(ordinal, row)
    // Too late for a batch whose files are being written: it still completes.
    const isTooLate = row.status === 'finalizing'
    if (!isTooLate) {
      this.pacing.stopLines(row)
      row.next = this.context.schedule(settlingTime, 'batch.cancelSettled', ordinal)
    }
    this.#setStatus(row, 'cancelling')
    this.pacing.rebalance(row)
    this.context.markVisibleChange()
    return true
  }

  #onValidated(ordinal: number, row: BatchRow): void {
    if (!this.#hasValidLines(ordinal, row)) return
    this.#setStatus(row, 'in_progress', { lines: row.work!.lines.length })
    this.pacing.delayForCapacity(row)
    this.#startNextStep(ordinal, row)
    this.pacing.rebalance(row)
  }

  /** Answers the lines of a batch. If one of them is invalid, the batch fails. */
  #hasValidLines(ordinal: number, row: BatchRow): boolean {
    const { errors, work, answerer } = this.#resultOf(this.#answerLines(row))
    if (errors.length === 0) {
      if (row.status === 'validating') this.#requireLineAnswerer().adopt(answerer, row.id)
      row.work = work
      return true
    }
    row.errors = errors
    row.work = undefined
    this.#setStatus(row, 'failed', { errors: errors.length, first: errors[0]!.code })
    this.#finish(ordinal, row)
    return false
  }

  #answerLines(row: Readonly<BatchRow>): LongWork<AnsweredLines> {
    const answerer = this.#requireLineAnswerer()
    // A batch of a fixture was validated before the world began, so no script and no rule is for its lines.
    const own = row.status === 'validating' ? answerer : answerer.unscripted()
    const steps = answerLines(row, this.#findTarget, own, this.ports.world)
    return { of: `${row.id} ${this.context.clock.now}`, steps }
  }

  #requireLineAnswerer(): LineAnswerer {
    const { lineAnswerer } = this
    if (!lineAnswerer?.isReady) throw new Error('Failed to answer the lines of a batch: the tokenizer is not loaded.')
    return lineAnswerer
  }

  /** Fails a batch that has not ended, for a reason of the provider. It has no output. */
  fail(ordinal: number, message = 'the batch could not be processed'): boolean {
    const row = this.table.writable(ordinal)
    if (BATCH_LIFECYCLE.terminal.has(row.status)) return false
    this.pacing.stopLines(row)
    row.errors = [{ code: 'internal_error', message, param: null, line: null }]
    this.#setStatus(row, 'failed', { errors: 1, first: 'internal_error' })
    this.#finish(ordinal, row)
    return true
  }

  /** Keeps a batch from progress: as if it waited for capacity that never comes. */
  stall(ordinal: number): boolean {
    const row = this.table.writable(ordinal)
    if (row.status !== 'validating' && row.status !== 'in_progress') return false
    row.waitsUntil = Number.POSITIVE_INFINITY
    this.pacing.updateRate(ordinal, row)
    this.pacing.rebalance(row)
    return true
  }

  #composeOutput(row: BatchRow, status: 'cancelled' | 'expired'): void {
    row.pendingOutput = this.#resultOf(this.#composeFiles(row, row, status))
  }

  /** Composes the files of a batch that has come so far. `status` is the reason why each other line did not run. */
  #composeFiles(
    { id, key, spec, createdAt, statusTimes, work }: Readonly<BatchRow>,
    { doneLines, progressMarks }: Pick<ProgressedBatch, 'doneLines' | 'progressMarks'>,
    status: 'cancelled' | 'expired',
  ): LongWork<ComposedFiles> {
    const batch = { id, key, spec, createdAt, statusTimes, work, doneLines, progressMarks }
    const price = this.pacing.tokenPrice(batch) ?? { input: 0, output: 0 }
    const of = [id, this.context.clock.now, doneLines, progressMarks.length, status, price.input, price.output].join()
    const unfinishedError = toUnfinishedError(status)
    return { of, steps: composeOutput(this.context, this.#requireLineAnswerer(), batch, price, unfinishedError) }
  }

  #startNextStep(ordinal: number, row: BatchRow): void {
    const { lines } = row.work!
    if (row.doneLines === lines.length) {
      this.pacing.stopLines(row)
      this.#composeOutput(row, 'expired')
      this.#setStatus(row, 'finalizing')
      this.pacing.rebalance(row)
      const bytes = row.pendingOutput!.output.bytes + row.pendingOutput!.error.bytes
      row.next = this.context.schedule(finalizingTime(this.context, row, bytes), 'batch.finalized', ordinal)
      return
    }
    row.stepEnd = Math.min(lines.length, row.doneLines + Math.ceil(lines.length / PROGRESS_STEPS))
    this.pacing.updateRate(ordinal, row)
  }

  #onStepDone(ordinal: number, row: BatchRow): void {
    const { lines, failedBefore } = row.work!
    this.pacing.updateProgress(row, row.stepEnd)
    const failed = failedBefore[row.doneLines]!
    this.context.record(row, 'batch.progressed', { done: row.doneLines, failed, total: lines.length })
    this.#startNextStep(ordinal, row)
  }

  /** Ends the completion window of a batch. Returns false if its lines are done, or were stopped. */
  expire(ordinal: number): boolean {
    const row = this.table.writable(ordinal)
    // A batch that is being written is in time: its lines were done before the window closed.
    if (row.status !== 'validating' && row.status !== 'in_progress') return false
    this.pacing.stopLines(row)
    if (row.status === 'in_progress') {
      this.#composeOutput(row, 'expired')
      writeFiles(this.parts.files, row)
    }
    this.#setStatus(row, 'expired')
    this.#finish(ordinal, row)
    return true
  }

  #setStatus(row: BatchRow, status: LaterStatus, fields?: Record<string, string | number>): void {
    row.status = status
    if (status !== 'in_progress') this.pacing.holdAdapter(row, -1)
    row.statusTimes = { ...row.statusTimes, [status]: this.context.clock.now }
    this.context.record(row, `batch.${status}`, fields)
    const target = this.pacing.findTarget(row)
    if (target?.kind === 'own') {
      this.parts.deployments.scaling.recordServing(target.deployment)
      this.parts.deploymentLogs.append(target.deployment, CONTROLLER, `batch.${status}`, { batch: row.id })
    }
    this.context.markVisibleChange()
  }

  #finish(ordinal: number, row: BatchRow): void {
    this.context.cancel(row.expiryEvent)
    row.expiryEvent = 0
    this.deactivate(ordinal)
    this.pacing.rebalance(row)
    const target = this.pacing.findTarget(row)
    if (target?.kind === 'own') this.parts.deployments.scaling.onWorkEnded(target.deployment)
    this.context.markVisibleChange()
  }
}
