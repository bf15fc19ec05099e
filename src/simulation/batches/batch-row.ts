import type { BatchStatus } from '../../data/records/enums.ts'
import type { Archive } from '../../kernel/archive.ts'
import { type Micros, SECOND } from '../../kernel/duration.ts'
import type { EntityKey } from '../../kernel/random.ts'
import { type Generation, Row } from '../../kernel/row.ts'
import { type LiveLoad, spareSeconds } from '../load/serving.ts'
import { IndexedPart } from '../part.ts'
import type { BatchLines } from './batch-lines.ts'
import type { FileContent } from './files.ts'
import type { BatchEndpoint, BatchError } from './input-lines.ts'

/** A batch as the API asks for it, checked. */
export interface BatchSpec {
  readonly input_file_id: string
  readonly endpoint: BatchEndpoint
  readonly completion_window: '24h'
  readonly metadata: Readonly<Record<string, string>> | null
  /** The API token that created it. */
  readonly token_id?: string | undefined
  /** Seconds from the creation of its output and error files to their expiry. Default: as for an upload. */
  readonly output_life_seconds?: number | undefined
}

/** What a fixture states of a batch beside its spec. */
export interface FixtureBatch {
  readonly id?: string
  readonly created_at?: Micros
  readonly output_file_id?: string | undefined
  readonly error_file_id?: string | undefined
}

export type TimestampedStatus = Exclude<BatchStatus, 'validating'>

/** What there is to run: made once, by validation, and never changed, so forks share it. */
export interface BatchWork {
  readonly model: string
  readonly lines: BatchLines
  /** Tokens of all lines before each, and of all of them: what capacity is spent on. A line that fails takes one. */
  readonly tokensBefore: Float64Array
  /** Prompt tokens and answer tokens before each, which are charged, and lines that fail. */
  readonly promptBefore: Float64Array
  readonly answerBefore: Float64Array
  readonly failedBefore: Int32Array
  readonly answerTokens: Int32Array
  readonly isCut: Uint8Array
}

/** How fast the lines of a batch run from a moment on. */
export interface BatchRate {
  /** Tokens/s without live load. 0: stopped. */
  readonly tokensPerSecond: number
  /** The live load of its deployment, which does. */
  readonly liveLoad: LiveLoad | undefined
  /** The engines that work on its lines; none on shared capacity. */
  readonly engines: readonly LineEngine[]
}

/** An engine that works on lines, and its part of them: from `begin` to `end`, within 0 to 1. */
export interface LineEngine {
  readonly instance: number
  /** The id of the instance, because another one can get its ordinal. */
  readonly id: string
  readonly slowdown: number
  readonly begin: number
  readonly end: number
}

const STOPPED: BatchRate = { tokensPerSecond: 0, liveLoad: undefined, engines: [] }

export class BatchRow extends Row {
  declare readonly spec: BatchSpec
  declare readonly key: EntityKey
  declare readonly createdAt: Micros
  /** The ids of its output file and its error file, from its creation on. */
  declare readonly outputFileId: string
  declare readonly errorFileId: string
  status = this.reference<BatchStatus>('validating')
  statusTimes = this.reference<Readonly<Partial<Record<TimestampedStatus, Micros>>>>({})
  errors = this.reference<readonly BatchError[] | undefined>(undefined)
  work = this.reference<BatchWork | undefined>(undefined)
  /** Lines that were over when they were counted last: at a step's end, a change of pace, an end. */
  doneLines = this.int32(0)
  /** Up to which line the step under way goes; 0 before the first. */
  stepEnd = this.int32(0)
  /** Tokens done at `since`, those to be run again before it goes on, and the pace from then on. */
  doneTokens = this.number(0)
  retryTokens = this.number(0)
  progressAt: Micros = this.number(0)
  /** How many lines were over at which moment, for the moments at which lines began to run or were counted. */
  progressMarks = this.reference<readonly { readonly lines: number; readonly at: Micros }[]>([])
  rate = this.reference<BatchRate>(STOPPED)
  /** Until when it waits for shared capacity. */
  waitsUntil: Micros = this.number(0)
  /** The adapter that its lines keep in the slots of instances; -1 for none. */
  heldAdapter = this.int32(-1)
  next = this.number(0)
  expiryEvent = this.number(0)
  /** Σ tokens × price in force when they were charged, in millionths of a micro-cent; and what of it is posted. */
  unroundedCharge = this.reference(0n)
  chargedMicrocents = this.number(0)
  /** What it was created for: the file may expire before it is read. */
  inputChunks = this.reference<readonly Uint8Array[]>([])
  filesWritten = this.boolean(false)
  pendingOutput = this.reference<{ readonly output: FileContent; readonly error: FileContent } | undefined>(undefined)

  constructor(
    generation: Generation,
    id: string,
    initial: Pick<BatchRow, 'spec' | 'key' | 'createdAt' | 'outputFileId' | 'errorFileId'>,
  ) {
    super(generation, id)
    this.spec = this.reference(initial.spec)
    this.key = this.reference(initial.key)
    this.createdAt = this.number(initial.createdAt)
    this.outputFileId = this.reference(initial.outputFileId)
    this.errorFileId = this.reference(initial.errorFileId)
  }

  /** Keeps how many lines are over at a moment. */
  markProgress(at: Micros): void {
    this.progressMarks = [...this.progressMarks, { lines: this.doneLines, at }]
  }

  /** Stops the lines of the batch from now on. */
  stop(): void {
    this.rate = STOPPED
  }
}

/** How far a batch has come at a moment, and what of it is to be run again; reading changes nothing. */
export function progressOf(
  row: Readonly<BatchRow>,
  now: Micros,
): { readonly doneTokens: number; readonly retryTokens: number } {
  const { tokensPerSecond, liveLoad } = row.rate
  if (tokensPerSecond === 0 || now === row.progressAt) return row
  const seconds = liveLoad ? spareSeconds(liveLoad, row.progressAt, now) : (now - row.progressAt) / SECOND
  const tokens = tokensPerSecond * seconds
  const again = Math.max(0, row.retryTokens - tokens)
  return { doneTokens: row.doneTokens + tokens - (row.retryTokens - again), retryTokens: again }
}

/** Lines whose tokens are all done at a position. */
export function doneLinesAt({ tokensBefore, lines }: BatchWork, position: number): number {
  let low = 0
  let high = lines.length
  while (low < high) {
    const middle = (low + high + 1) >> 1
    if (tokensBefore[middle]! <= position) low = middle
    else high = middle - 1
  }
  return low
}

/** The rows of all batches, with an index by id and the list of active batches. */
export class BatchTable<Parts = unknown, Ports = unknown> extends IndexedPart<BatchRow, Parts, Ports> {
  protected readonly table = this.tableOf(BatchRow)
  /** Ordinals of the batches whose status is not terminal. */
  #active: readonly number[] = []

  override archive(archive: Archive): void {
    super.archive(archive)
    this.#active = archive.value(this.#active)
  }

  /** Ordinals of the batches whose status is not terminal. */
  get active(): readonly number[] {
    return this.#active
  }

  override addRow(row: BatchRow): number {
    const ordinal = super.addRow(row)
    this.#active = [...this.#active, ordinal]
    return ordinal
  }

  /** Removes a batch from the active batches. */
  deactivate(ordinal: number): void {
    this.#active = this.#active.filter(other => other !== ordinal)
  }
}
