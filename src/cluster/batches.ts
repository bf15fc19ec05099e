import type { EntryHandle } from '../kernel/agenda.ts'
import type { Micros } from '../kernel/duration.ts'
import { Layers } from '../kernel/layers.ts'
import { purpose } from '../kernel/random.ts'
import { type Generation, Table } from '../kernel/table.ts'
import type { Tape } from '../kernel/tape.ts'
import type { BatchStatus } from '../store/records.ts'
import type { BatchError, LineRequest, LineTaker } from './batch-lines.ts'
import { type BatchRecord, BatchRow, type BatchSpec, linesOver, type Moment, reached } from './batch-row.ts'
import { UNANSWERED, WorkList } from './batch-work.ts'
import type { EventName } from './events.ts'
import { readInput } from './given-files.ts'
import type { LineAnswer, LineAnswers, LineError } from './line-answers.ts'
import { countLines, LineWriter } from './line-writer.ts'
import { CONTROLLER } from './logs.ts'
import { tokenCost, tokenWeight } from './money.ts'
import { batchTokensPerSecond, type LiveLoad, snapshot, whenSpared } from './serving.ts'
import { type Target, targetOf } from './targets.ts'
import type { World } from './world.ts'

const ID = purpose('batch.id')
const REQUEST_ID = purpose('batch.requestId')
/** Progress is told in steps of a hundredth of the lines. */
const STEPS = 100
const OVER: ReadonlySet<BatchStatus> = new Set(['failed', 'completed', 'expired', 'cancelled'])

/** A batch to read and to cancel. */
export interface Batch {
  readonly id: string
  readonly status: BatchStatus
  record(): BatchRecord
  text(): string
  /** Asks it to end early; false when it is over already. */
  cancel(): boolean
}

/** Batches: validated line by line, run on the tokens per second there are, written to real files. */
export class Batches {
  readonly #world: World
  readonly #table: Table<BatchRow>
  readonly #byId: Layers<number>
  readonly #texts: (string | undefined)[]
  /** Batches that are not over. */
  #active: readonly number[]

  constructor(world: World, from?: { table: Table<BatchRow>; batches: Batches }) {
    this.#world = world
    this.#table = from?.table ?? new Table(world.generation)
    this.#byId = from ? from.batches.#byId.fork() : new Layers()
    this.#texts = from ? from.batches.#texts.slice() : []
    this.#active = from ? from.batches.#active : []
  }

  fork(world: World, theirs: Generation): Batches {
    return new Batches(world, { table: this.#table.fork(theirs, world.generation), batches: this })
  }

  keep(tape: Tape): void {
    this.#table.keep(tape)
    this.#byId.keep(tape)
    this.#active = tape.value(this.#active)
  }

  /** Batches that are not over. */
  get underWay(): number {
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
    this.begin(ordinal)
    return this.#handle(ordinal)
  }

  /** Puts a batch in without setting anything in motion. */
  add(spec: BatchSpec, given: { id?: string; created_at?: Micros } = {}): number {
    const world = this.#world
    const key = world.newKey('batch', spec.input_file_id)
    const id = given.id ?? `batch_${world.chance.letters(24, key, ID)}`
    const row = new BatchRow(this.#table.generation, id, spec, key, given.created_at ?? world.clock.now)
    row.input = world.files.get(spec.input_file_id)?.chunks() ?? []
    const ordinal = this.#table.add(row)
    this.#byId.set(id, ordinal)
    this.#active = [...this.#active, ordinal]
    world.happened(row, 'batch.created', { input_file_id: spec.input_file_id, endpoint: spec.endpoint })
    row.expiry = world.planAt(
      Math.max(world.clock.now, row.createdAt + world.profile.timings.batchWindow),
      'batch.expired',
      ordinal,
    )
    world.seen()
    return ordinal
  }

  begin(ordinal: number): void {
    const world = this.#world
    const row = this.#table.own(ordinal)
    const { batchValidation, batchValidationPerLine } = world.profile.timings
    row.next = world.plan(batchValidation + countLines(row.input) * batchValidationPerLine, 'batch.validated', ordinal)
  }

  /** Builds a batch of a fixture that is past its validation; what is wrong with its input, if anything. */
  settle(ordinal: number, status: 'in_progress' | 'completed', at: BatchRow['at']): readonly BatchError[] {
    const row = this.#table.own(ordinal)
    const { lineAnswers } = this.#world
    // A world is made without waiting, so its lines are answered only when it first moves.
    const errors = this.#read(row, ({ body }) =>
      status === 'completed' ? (lineAnswers?.refusal(row.spec.endpoint, body) ?? UNANSWERED) : UNANSWERED,
    )
    if (errors.length > 0) return errors
    row.at = at
    row.status = status
    if (status === 'in_progress') {
      row.next = this.#world.plan(0, 'batch.resumed', ordinal)
      return []
    }
    row.done = row.work?.lines.length ?? 0
    row.filesWritten = true
    this.#over(ordinal, row)
    return []
  }

  on(event: EventName, ordinal: number): void {
    const row = this.#table.own(ordinal)
    switch (event) {
      case 'batch.validated':
        row.next = 0
        this.#validated(ordinal, row)
        break
      case 'batch.resumed':
        row.next = 0
        this.#answer(row)
        this.#nextStep(ordinal, row)
        break
      case 'batch.capacityCame':
        row.next = 0
        this.#world.happened(row, 'batch.capacityCame')
        this.#pace(ordinal, row)
        break
      case 'batch.chunkDone':
        row.next = 0
        this.#stepDone(ordinal, row)
        break
      case 'batch.finalized':
        row.next = 0
        this.#writeFiles(row)
        this.#enter(row, 'completed')
        this.#over(ordinal, row)
        break
      case 'batch.cancelSettled':
        row.next = 0
        if (row.work) {
          this.#compose(row, 'batch_cancelled', 'the batch was cancelled before this request ran')
          this.#writeFiles(row)
        }
        this.#enter(row, 'cancelled')
        this.#over(ordinal, row)
        break
      case 'batch.expired':
        row.expiry = 0
        this.#expire(ordinal, row)
        break
    }
    this.#changed(ordinal)
  }

  /** The capacity of a deployment has changed: what runs on it goes on at another rate. */
  capacityChanged(deployment: number): void {
    for (const ordinal of this.#active) {
      const seen = this.#table.read(ordinal)
      if (seen.status !== 'in_progress' || !seen.work) continue
      const target = this.#targetOf(seen.work.model)
      const mine = target?.row === deployment || (target?.kind === 'own' && target.deployment === deployment)
      // A deployment that was deleted is no target any more, yet the batch must stop running on it.
      if (mine || (seen.pace.rate > 0 && target === undefined)) this.#pace(ordinal, this.#table.own(ordinal))
    }
  }

  /**
   * An instance that served is lost: the lines in flight on it are run again. What had been done on them, half of their
   * tokens in the mean, comes on top of what there is to do; lines that are over stay over and are charged once.
   */
  instanceLost(deployment: number): void {
    for (const ordinal of this.#runningOn(deployment)) {
      const row = this.#table.own(ordinal)
      if (row.pace.rate === 0) continue
      this.#count(row)
      const { lines, before } = row.work!
      const last = Math.min(lines.length, row.done + this.#linesInFlight(deployment, row))
      if (last === row.done) continue
      row.again += Math.min((before[last]! - before[row.done]!) / 2, row.position)
      const again = { lines: last - row.done }
      this.#world.happened(row, 'batch.linesRetried', again)
      this.#world.logs.tell(deployment, CONTROLLER, 'batch.linesRetried', { ...again, batch: row.id })
    }
  }

  /** Lines of a batch that an instance has in work: its places, less those of live load, shared by the batches. */
  #linesInFlight(deployment: number, { pace: { live } }: Readonly<BatchRow>): number {
    const { deployments, autoscaler, clock } = this.#world
    const { maxBatchSize, load, servingShare } = deployments.read(deployment)
    const places = maxBatchSize / this.#runningOn(deployment).length
    if (!live || !load) return Math.floor(places)
    autoscaler.settle(deployment)
    const { backlog } = deployments.read(deployment).served
    return Math.floor(
      places * (1 - snapshot(load.curve.rateAt(clock.now), load.speed, servingShare, backlog).utilisation),
    )
  }

  record(ordinal: number): BatchRecord {
    const { clock } = this.#world
    const row = this.#table.read(ordinal)
    const { work } = row
    const done = work && row.status === 'in_progress' ? linesOver(work, reached(row, clock.now).position) : row.done
    const unix = (moment: Moment) => (row.at[moment] === undefined ? null : clock.unix(row.at[moment]))
    return {
      id: row.id,
      object: 'batch',
      endpoint: row.spec.endpoint,
      input_file_id: row.spec.input_file_id,
      completion_window: row.spec.completion_window,
      status: row.status,
      created_at: clock.unix(row.createdAt),
      expires_at: clock.unix(row.createdAt + this.#world.profile.timings.batchWindow),
      errors: row.errors ? { object: 'list', data: [...row.errors] } : null,
      output_file_id: row.filesWritten ? `${row.id}_output` : null,
      error_file_id: row.filesWritten ? `${row.id}_error` : null,
      in_progress_at: unix('in_progress'),
      completed_at: unix('completed'),
      failed_at: unix('failed'),
      finalizing_at: unix('finalizing'),
      expired_at: unix('expired'),
      cancelled_at: unix('cancelled'),
      cancelling_at: unix('cancelling'),
      request_counts: work
        ? { total: work.lines.length, completed: done - work.failedBefore[done]!, failed: work.failedBefore[done]! }
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
      record: () => this.record(ordinal),
      text: () => {
        // While its lines run, its counts move between events.
        if (this.#table.read(ordinal).pace.rate > 0) return JSON.stringify(this.record(ordinal))
        this.#texts[ordinal] ??= JSON.stringify(this.record(ordinal))
        return this.#texts[ordinal]!
      },
      cancel: () => this.#cancel(ordinal),
    }
  }

  #cancel(ordinal: number): boolean {
    const world = this.#world
    const row = this.#table.own(ordinal)
    if (OVER.has(row.status)) return false
    // Too late: it is being written already and ends completed.
    if (row.status === 'finalizing' || row.status === 'cancelling') return true
    this.#halt(row)
    this.#enter(row, 'cancelling')
    row.next = world.plan(world.profile.timings.batchFinalizing, 'batch.cancelSettled', ordinal)
    this.#shareAnew(row)
    this.#changed(ordinal)
    return true
  }

  #validated(ordinal: number, row: BatchRow): void {
    const errors = this.#answer(row)
    if (errors.length > 0) {
      row.errors = errors
      this.#enter(row, 'failed', { errors: errors.length, first: errors[0]!.code })
      this.#over(ordinal, row)
      return
    }
    this.#enter(row, 'in_progress', { lines: row.work!.lines.length })
    this.#awaitCapacity(row)
    this.#nextStep(ordinal, row)
    this.#shareAnew(row)
  }

  /** Shared capacity may be short: then its lines wait before the first of them runs. */
  #awaitCapacity(row: BatchRow): void {
    const world = this.#world
    if (this.#targetOf(row.work!.model)?.kind !== 'catalog') return
    const { wait, lasts } = world.weather.batchWait(row.key)
    if (lasts === 0) return
    row.waitsUntil = world.clock.now + lasts
    world.happened(row, 'batch.waiting', { wait })
  }

  #answers(): LineAnswers {
    const { lineAnswers } = this.#world
    if (!lineAnswers?.isReady) throw new Error('Failed to answer the lines of a batch: the tokenizer is not loaded.')
    return lineAnswers
  }

  /** Answers every line of the input file, one after the other; the errors it has. */
  #answer(row: BatchRow): readonly BatchError[] {
    const world = this.#world
    const answers = this.#answers()
    // A file that fails its validation has asked for nothing.
    const trial = answers.fork()
    const { endpoint } = row.spec
    const errors = this.#read(
      row,
      ({ body, read }, model, target) => trial.answer(world, { endpoint, model, target, body, read }),
      body => trial.read(endpoint, body),
    )
    if (errors.length === 0) answers.takeOver(trial)
    return errors
  }

  /** Reads the input file into work; the errors it has. */
  #read(
    row: BatchRow,
    answer: (request: LineRequest, model: string, target: Target) => LineAnswer | LineError,
    read?: (body: LineRequest['body']) => unknown,
  ): readonly BatchError[] {
    const work = new WorkList(countLines(row.input))
    let target: Target | undefined
    const take: LineTaker = (request, named) => {
      if (work.isEmpty) target = this.#targetOf(named)
      work.add(request.customId, target === undefined ? UNANSWERED : answer(request, named, target))
    }
    const { errors, model } = readInput(row.input, row.spec.endpoint, take, read)
    if (errors.length > 0) return errors
    if (target === undefined) {
      const message = `no model ${JSON.stringify(model)} that can be called`
      return [{ code: 'unknown_model', line: 0, message, param: 'body.model' }]
    }
    row.work = work.end(model)
    return []
  }

  #nextStep(ordinal: number, row: BatchRow): void {
    const { lines } = row.work!
    if (row.done === lines.length) {
      this.#halt(row)
      this.#compose(row, 'batch_expired', '')
      this.#enter(row, 'finalizing')
      this.#shareAnew(row)
      const { batchFinalizing, batchFinalizingRate } = this.#world.profile.timings
      const bytes = row.output!.output.bytes + row.output!.error.bytes
      row.next = this.#world.plan(batchFinalizing + (bytes / batchFinalizingRate) * 1e6, 'batch.finalized', ordinal)
      return
    }
    row.stepEnd = Math.min(lines.length, row.done + Math.ceil(lines.length / STEPS))
    this.#pace(ordinal, row)
  }

  /** Counts what was done at the pace so far and plans the end of the step at the present one. */
  #pace(ordinal: number, row: BatchRow): void {
    const world = this.#world
    // A batch of a fixture has no step before the world first moves.
    if (row.status !== 'in_progress' || row.stepEnd === 0) return
    this.#count(row)
    const target = this.#targetOf(row.work!.model)
    this.#holdAdapter(row, target?.kind === 'own' ? (target.adapter ?? -1) : -1)
    const rate = this.#capacity(row)
    row.pace = { rate, live: rate > 0 && target?.kind === 'own' ? this.#liveLoad(target.deployment) : undefined }
    if (rate === 0 && target?.kind === 'own' && !world.ledger.cutOff) world.deployments.wake(target.deployment)
    world.cancel(row.next)
    row.next = this.#planStep(ordinal, row)
    if (target?.kind === 'own') world.chronicle.servingChanged(target.deployment)
    this.#texts[ordinal] = undefined
  }

  #planStep(ordinal: number, row: Readonly<BatchRow>): EntryHandle {
    const world = this.#world
    const { now } = world.clock
    const { rate, live } = row.pace
    if (rate === 0) {
      const waits = row.waitsUntil > now && row.waitsUntil < Number.POSITIVE_INFINITY
      return waits ? world.planAt(row.waitsUntil, 'batch.capacityCame', ordinal) : 0
    }
    const seconds = Math.max(0, row.again + row.work!.before[row.stepEnd]! - row.position) / rate
    const window = row.createdAt + world.profile.timings.batchWindow
    const at = live ? whenSpared(live, seconds, now, window) : now + Math.ceil(seconds * 1e6)
    return at < Number.POSITIVE_INFINITY ? world.planAt(at, 'batch.chunkDone', ordinal) : 0
  }

  /** The live load of a deployment from now on, which has its instances before any batch. */
  #liveLoad(deployment: number): LiveLoad | undefined {
    const { autoscaler, deployments, profile } = this.#world
    autoscaler.settle(deployment)
    const { load, served, servingShare } = deployments.read(deployment)
    if (!load) return undefined
    const capacity = servingShare * load.speed.requestsPerSecond
    return { curve: load.curve, capacity, backlog: served.backlog, queueLimit: profile.limits.queuePerDeployment }
  }

  /** Counts the lines that are over by now, at least `least`, and charges those that were not counted before. */
  #count(row: BatchRow, least = 0): void {
    if (!row.work) return
    const { now } = this.#world.clock
    const { position, again } = reached(row, now)
    // The end of a step is planned by the same figures and may differ in their last digit.
    row.position = Math.max(position, row.work.before[least]!)
    row.again = again
    row.since = now
    const over = linesOver(row.work, row.position)
    if (over <= row.done) return
    const { failedBefore } = row.work
    this.#charge(row, row.done, over)
    this.#world.chronicle.linesDone(over - row.done, failedBefore[over]! - failedBefore[row.done]!)
    row.done = over
  }

  /** Its lines run no more. */
  #halt(row: BatchRow): void {
    this.#count(row)
    this.#world.cancel(row.next)
    row.next = 0
    row.halt()
  }

  #stepDone(ordinal: number, row: BatchRow): void {
    const { lines, failedBefore } = row.work!
    this.#count(row, row.stepEnd)
    const failed = failedBefore[row.done]!
    this.#world.happened(row, 'batch.progressed', { done: row.done, failed, total: lines.length })
    this.#nextStep(ordinal, row)
  }

  /** Charges the tokens of the lines that are over, by one floor for the whole batch. */
  #charge(row: BatchRow, from: number, to: number): void {
    const { store, ledger } = this.#world
    const { model, promptBefore, answerBefore } = row.work!
    const target = this.#targetOf(model)
    if (target?.kind !== 'catalog') return
    const serverless = store.hardware.get(target.model)?.hardware.find(one => one.type === 'serverless')
    if (serverless?.type !== 'serverless') return
    const prompt = promptBefore[to]! - promptBefore[from]!
    const answer = answerBefore[to]! - answerBefore[from]!
    const { cents_per_million_input_tokens: input, cents_per_million_output_tokens: output } = serverless.pricing
    const share = this.#world.profile.prices.batchShare * target.priceShare
    row.weighted += tokenWeight(prompt, input * share) + tokenWeight(answer, output * share)
    const total = tokenCost(row.weighted)
    ledger.chargeTokens(row.id, total - row.charged)
    row.charged = total
  }

  #expire(ordinal: number, row: BatchRow): void {
    // What is being written is in time; it was done before the window closed.
    if (row.status === 'finalizing' || row.status === 'cancelling') return
    this.#halt(row)
    if (row.status === 'in_progress') {
      this.#compose(row, 'batch_expired', 'the batch expired before this request ran')
      this.#writeFiles(row)
    }
    this.#enter(row, 'expired')
    this.#over(ordinal, row)
  }

  /** Writes the output of the lines that are over, and an error line for each of the others. */
  #compose(row: BatchRow, code: string, message: string): void {
    const world = this.#world
    const { chance, clock } = world
    const { model, lines, promptBefore, answers, cut } = row.work!
    const { endpoint } = row.spec
    const said = this.#answers()
    const output = new LineWriter()
    const error = new LineWriter()
    const created = clock.unix()
    for (const [i, line] of lines.entries()) {
      const suffix = chance.letters(16, row.key, REQUEST_ID + i)
      const id = `batch_req_${suffix}`
      if (i >= row.done || line.error) {
        const because = i >= row.done ? { code, message } : line.error!
        error.push(JSON.stringify({ id, custom_id: line.customId, response: null, error: because }))
        continue
      }
      const body = said.body(chance, {
        endpoint,
        model,
        suffix,
        created,
        promptTokens: promptBefore[i + 1]! - promptBefore[i]!,
        answerTokens: answers[i]!,
        key: line.key,
        isCut: cut[i] === 1,
        choices: line.choices,
      })
      const response = { status_code: 200, request_id: `req_${suffix}`, body }
      output.push(JSON.stringify({ id, custom_id: line.customId, response, error: null }))
    }
    row.output = { output: output.end(), error: error.end() }
  }

  #writeFiles(row: BatchRow): void {
    const { files } = this.#world
    if (!row.output) throw new Error(`Failed to write the files of ${row.id}: nothing was composed.`)
    const file = { purpose: 'batch_output' }
    files.create({ ...file, ...row.output.output, id: `${row.id}_output`, filename: `${row.id}_output.jsonl` })
    files.create({ ...file, ...row.output.error, id: `${row.id}_error`, filename: `${row.id}_error.jsonl` })
    row.output = undefined
    row.filesWritten = true
  }

  #enter(row: BatchRow, status: Exclude<BatchStatus, 'validating'>, fields?: Record<string, string | number>): void {
    row.status = status
    if (status !== 'in_progress') this.#holdAdapter(row, -1)
    row.at = { ...row.at, [status]: this.#world.clock.now }
    this.#world.happened(row, `batch.${status}`, fields)
    const target = row.work && this.#targetOf(row.work.model)
    if (target?.kind === 'own') {
      this.#world.chronicle.servingChanged(target.deployment)
      this.#world.logs.tell(target.deployment, CONTROLLER, `batch.${status}`, { batch: row.id })
    }
    this.#world.seen()
  }

  /** Lines that run keep their adapter in the slots of instances. */
  #holdAdapter(row: BatchRow, adapter: number): void {
    const before = row.holds
    if (before === adapter) return
    const { slots } = this.#world.adapters
    row.holds = adapter
    if (before >= 0) slots.drop(before)
    if (adapter >= 0) slots.hold(adapter)
  }

  #over(ordinal: number, row: BatchRow): void {
    this.#world.cancel(row.expiry)
    row.expiry = 0
    this.#active = this.#active.filter(other => other !== ordinal)
    this.#shareAnew(row)
    const target = row.work && this.#targetOf(row.work.model)
    if (target?.kind === 'own') this.#world.deployments.workEnded(target.deployment)
    this.#changed(ordinal)
  }

  #changed(ordinal: number): void {
    this.#texts[ordinal] = undefined
    this.#world.seen()
  }

  #targetOf(model: string): Target | undefined {
    const target = targetOf(this.#world, model)
    return target?.task === 'text-generation' ? target : undefined
  }

  /** Something that every batch depends on has changed. */
  paceAll(): void {
    for (const ordinal of this.#active) {
      if (this.#table.read(ordinal).status === 'in_progress') this.#pace(ordinal, this.#table.own(ordinal))
    }
  }

  /** Whether lines of a batch run, or wait to run, on a deployment. */
  workFor(deployment: number): boolean {
    return this.#active.length > 0 && this.#runningOn(deployment).length > 0
  }

  /** Whether lines of a batch run on a deployment now. */
  isRunningOn(deployment: number): boolean {
    return (
      this.workFor(deployment) && this.#runningOn(deployment).some(ordinal => this.#table.read(ordinal).pace.rate > 0)
    )
  }

  /** The batches whose lines run, or wait to run, on a deployment. */
  #runningOn(deployment: number): number[] {
    return this.#active.filter(ordinal => {
      const { status, work } = this.#table.read(ordinal)
      if (status !== 'in_progress' || !work) return false
      const target = this.#targetOf(work.model)
      return target?.kind === 'own' && target.deployment === deployment
    })
  }

  /** A batch came to share a deployment, or left it: the others on it go on at another rate. */
  #shareAnew(row: Readonly<BatchRow>): void {
    const target = row.work && this.#targetOf(row.work.model)
    if (target?.kind === 'own')
      for (const other of this.#runningOn(target.deployment)) this.#pace(other, this.#table.own(other))
  }

  /** Tokens per second that a batch has now, while no live load goes before it. */
  #capacity(row: Readonly<BatchRow>): number {
    const world = this.#world
    const { model, lines, promptBefore, answerBefore, failedBefore } = row.work!
    const target = this.#targetOf(model)
    if (target === undefined || world.ledger.cutOff) return 0
    // What is named answers only while it runs; an adapter only where it is loaded.
    if (target.row !== undefined && world.deployments.read(target.row).status !== 'running') return 0
    if (target.kind === 'catalog') {
      return world.clock.now < row.waitsUntil ? 0 : world.profile.timings.batchSharedTokensPerSecond
    }
    const base = world.deployments.read(target.deployment)
    const { gpu, numGpus: gpus, maxBatchSize, weights } = base
    const share = target.adapter === undefined ? base.servingShare : world.adapters.slots.servingShare(target.adapter)
    // Batches on one deployment share it evenly.
    const sharers = this.#runningOn(target.deployment).length || 1
    const good = Math.max(1, lines.length - failedBefore[lines.length]!)
    const speed = batchTokensPerSecond({
      gpu,
      gpus,
      parametersB: weights.parametersB,
      maxBatchSize,
      promptTokens: promptBefore[lines.length]! / good,
      outputTokens: Math.max(1, answerBefore[lines.length]! / good),
    })
    return (share * speed) / sharers
  }
}
