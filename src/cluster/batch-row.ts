import { type Micros, SECOND } from '../kernel/duration.ts'
import type { Key } from '../kernel/random.ts'
import { type Generation, Row } from '../kernel/table.ts'
import type { BatchStatus } from '../store/records.ts'
import type { BatchEndpoint, BatchError } from './batch-lines.ts'
import type { Content } from './files.ts'
import type { LineError } from './line-answers.ts'
import { type LiveLoad, spareSeconds } from './serving.ts'

/** A batch as the API asks for it, checked. */
export interface BatchSpec {
  readonly input_file_id: string
  readonly endpoint: BatchEndpoint
  readonly completion_window: '24h'
  readonly metadata: Readonly<Record<string, string>> | null
}

/** The batch record of the interface document (2.2). */
export interface BatchRecord {
  id: string
  object: 'batch'
  endpoint: BatchEndpoint
  input_file_id: string
  completion_window: string
  status: BatchStatus
  created_at: number
  expires_at: number
  errors: { object: 'list'; data: BatchError[] } | null
  output_file_id: string | null
  error_file_id: string | null
  in_progress_at: number | null
  completed_at: number | null
  failed_at: number | null
  finalizing_at: number | null
  expired_at: number | null
  cancelled_at: number | null
  cancelling_at: number | null
  request_counts: { total: number; completed: number; failed: number } | null
  metadata: Readonly<Record<string, string>> | null
}

export type Moment = 'in_progress' | 'completed' | 'failed' | 'finalizing' | 'expired' | 'cancelled' | 'cancelling'

/** A line as it is kept until it is written. */
export interface BatchLine {
  readonly customId: string
  /** What its words are drawn from; undefined where `choices` has them, or nothing is said. */
  readonly key: Key | undefined
  readonly choices: string | undefined
  readonly error: LineError | undefined
}

/** What there is to run: made once, by validation, and never changed, so forks share it. */
export interface Work {
  readonly model: string
  readonly lines: readonly BatchLine[]
  /** Tokens of all lines before each, and of all of them: what capacity is spent on. A line that fails takes one. */
  readonly before: Float64Array
  /** Prompt tokens and answer tokens before each, which are charged, and lines that fail. */
  readonly promptBefore: Float64Array
  readonly answerBefore: Float64Array
  readonly failedBefore: Int32Array
  readonly answers: Int32Array
  readonly cut: Uint8Array
}

/** How fast the lines of a batch run from a moment on. */
export interface Pace {
  /** Tokens/s while nobody goes before it; 0 while it stands still. */
  readonly rate: number
  /** The live load of its deployment, which does. */
  readonly live: LiveLoad | undefined
}

const STILL: Pace = { rate: 0, live: undefined }

export class BatchRow extends Row {
  readonly spec: BatchSpec
  readonly key: Key
  readonly createdAt: Micros
  status: BatchStatus = 'validating'
  at: Readonly<Partial<Record<Moment, Micros>>> = {}
  errors: readonly BatchError[] | undefined
  work: Work | undefined
  /** Lines that were over when they were counted last: at a step's end, a change of pace, an end. */
  done = 0
  /** Up to which line the step under way goes; 0 before the first. */
  stepEnd = 0
  /** Tokens done at `since`, those to be run again before it goes on, and the pace from then on. */
  position = 0
  again = 0
  since: Micros = 0
  pace: Pace = STILL
  /** Until when it waits for shared capacity. */
  waitsUntil: Micros = 0
  /** The adapter that its lines keep in the slots of instances; -1 for none. */
  holds = -1
  next = 0
  expiry = 0
  /** Σ tokens × price in force when they were charged, in millionths of a micro-cent; and what of it is posted. */
  weighted = 0n
  charged = 0
  /** What it was created for: the file may expire before it is read. */
  input: readonly Uint8Array[] = []
  filesWritten = false
  output: { readonly output: Content; readonly error: Content } | undefined

  constructor(generation: Generation, id: string, spec: BatchSpec, key: Key, createdAt: Micros) {
    super(generation, id)
    this.spec = spec
    this.key = key
    this.createdAt = createdAt
  }

  copy(generation: Generation): BatchRow {
    const copy = new BatchRow(generation, this.id, this.spec, this.key, this.createdAt)
    copy.status = this.status
    copy.at = this.at
    copy.errors = this.errors
    copy.work = this.work
    copy.done = this.done
    copy.stepEnd = this.stepEnd
    copy.position = this.position
    copy.again = this.again
    copy.since = this.since
    copy.pace = this.pace
    copy.waitsUntil = this.waitsUntil
    copy.holds = this.holds
    copy.next = this.next
    copy.expiry = this.expiry
    copy.weighted = this.weighted
    copy.charged = this.charged
    copy.input = this.input
    copy.filesWritten = this.filesWritten
    copy.output = this.output
    return copy.takeHash(this)
  }

  /** The batch stands still from now on. */
  halt(): void {
    this.pace = STILL
  }
}

/** How far a batch has come at a moment, and what of it is to be run again; reading changes nothing. */
export function reached(row: Readonly<BatchRow>, now: Micros): { readonly position: number; readonly again: number } {
  const { rate, live } = row.pace
  if (rate === 0 || now === row.since) return row
  const seconds = live ? spareSeconds(live, row.since, now) : (now - row.since) / SECOND
  const tokens = rate * seconds
  const again = Math.max(0, row.again - tokens)
  return { position: row.position + tokens - (row.again - again), again }
}

/** Lines whose tokens are all done at a position. */
export function linesOver({ before, lines }: Work, position: number): number {
  let low = 0
  let high = lines.length
  while (low < high) {
    const middle = (low + high + 1) >> 1
    if (before[middle]! <= position) low = middle
    else high = middle - 1
  }
  return low
}
