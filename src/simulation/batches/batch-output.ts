import type { Micros } from '../../kernel/duration.ts'
import { ByteHash, type Chance, type EntityKey, purpose } from '../../kernel/random.ts'
import type { Steps } from '../../lib/slices.ts'
import type { TokenPrice } from '../account/request-cost.ts'
import type { SimulationContext } from '../context.ts'
import type { BatchRow, FixtureBatch } from './batch-row.ts'
import type { FileContent, Files } from './files.ts'
import type { LineAnswerer, LineError } from './line-answering.ts'

const REQUEST_ID = purpose('batch.requestId')
const ANSWER_ID = purpose('batch.answerId')
const OUTPUT_FILE_ID = purpose('batch.outputFileId')
const ERROR_FILE_ID = purpose('batch.errorFileId')

/** A batch with its progress. */
export type ProgressedBatch = Pick<
  BatchRow,
  'id' | 'key' | 'spec' | 'createdAt' | 'statusTimes' | 'work' | 'doneLines' | 'progressMarks'
>

/** The content of the output file and of the error file of a batch. */
export type ComposedFiles = NonNullable<BatchRow['pendingOutput']>

/**
 * Composes the output and error files of a batch. Each done line gets its answer or error. The rows have the order in
 * which the lines ran. It can pause before each line.
 *
 * @param price the price of the tokens, for the estimated cost of a chat
 * @param unfinishedError the error of each other line
 */
export function* composeOutput(
  { chance, clock }: SimulationContext,
  answerer: LineAnswerer,
  row: Readonly<ProgressedBatch>,
  price: TokenPrice,
  unfinishedError: LineError,
): Steps<ComposedFiles> {
  const { model, lines, promptBefore, answerTokens, isCut } = row.work!
  const { endpoint } = row.spec
  const output = new JsonlWriter(row.doneLines)
  const error = new JsonlWriter()
  // Without its last quote, because each line adds its number.
  const rowIdPrefix = JSON.stringify(`batch_req_${row.id.replace(/^batch_/, '')}_`).slice(0, -1)
  const timeOf = lineTimes(row)
  for (let i = 0; i < lines.length; i++) {
    yield
    const line = lines.at(i)
    const id = `${rowIdPrefix}${String(line.inputIndex).padStart(6, '0')}"`
    const customId = JSON.stringify(line.customId)
    if (i >= row.doneLines || line.error) {
      const lineError = JSON.stringify(i >= row.doneLines ? unfinishedError : line.error)
      error.push(`{"id":${id},"custom_id":${customId},"response":null,"error":${lineError}}`)
      continue
    }
    const promptTokens = promptBefore[i + 1]! - promptBefore[i]!
    const body = answerer.body(chance, {
      endpoint,
      model,
      suffix: chance.letters(24, row.key, ANSWER_ID + line.inputIndex),
      created: clock.unix(timeOf(i)),
      promptTokens,
      answerTokens: answerTokens[i]!,
      key: line.key,
      isCut: isCut[i] === 1,
      choices: line.choices,
      serviceTier: line.serviceTier,
      estimatedCost: toUsd(promptTokens * price.input + answerTokens[i]! * price.output),
    })
    const requestId = `req_${chance.letters(24, row.key, REQUEST_ID + line.inputIndex)}`
    const response = `{"status_code":200,"request_id":"${requestId}","endpoint":"${endpoint}","body":${JSON.stringify(body)}}`
    output.push(`{"id":${id},"custom_id":${customId},"response":${response},"error":null}`)
  }
  return { output: output.finish(), error: error.finish() }
}

/** Returns millionths of cents in USD, with ten decimals. */
function toUsd(millionths: number): number {
  return Math.round(millionths * 100) / 1e10
}

/** Returns the error of a line that did not run before its batch ended. */
export function toUnfinishedError(status: 'cancelled' | 'expired'): LineError {
  const verb = status === 'cancelled' ? 'was cancelled' : 'expired'
  return { code: `batch_${status}`, message: `the batch ${verb} before this request ran`, param: null, type: null }
}

/** Returns the ids of the output and error files of a batch: those of the fixture, or drawn ones. */
export function toFileIds(
  chance: Chance,
  key: EntityKey,
  { output_file_id, error_file_id }: FixtureBatch,
): Pick<BatchRow, 'outputFileId' | 'errorFileId'> {
  return {
    outputFileId: output_file_id ?? `file_${chance.letters(24, key, OUTPUT_FILE_ID)}`,
    errorFileId: error_file_id ?? `file_${chance.letters(24, key, ERROR_FILE_ID)}`,
  }
}

/** Creates the composed output and error files of a batch. */
export function writeFiles(files: Files, row: BatchRow): void {
  if (!row.pendingOutput) throw new Error(`Failed to write the files of ${row.id}: nothing was composed.`)
  const file = { purpose: 'batch_output', lifeSeconds: row.spec.output_life_seconds }
  files.create({ ...file, ...row.pendingOutput.output, id: row.outputFileId, filename: `${row.id}_output.jsonl` })
  files.create({ ...file, ...row.pendingOutput.error, id: row.errorFileId, filename: `${row.id}_errors.jsonl` })
  row.pendingOutput = undefined
  row.filesWritten = true
}

/**
 * Returns the moments at which the done lines of a batch began, between the moments at which its progress was counted.
 * Lines must be read in order.
 */
function lineTimes({ progressMarks: marks, createdAt, statusTimes, work }: Readonly<ProgressedBatch>) {
  const { tokensBefore } = work!
  let next = 0
  return (line: number): Micros => {
    while (next < marks.length && marks[next]!.lines <= line) next++
    const from = marks[next - 1] ?? { lines: 0, at: statusTimes.in_progress ?? createdAt }
    const to = marks[next] ?? from
    if (to.lines === from.lines) return from.at
    const start = tokensBefore[from.lines]!
    const share = (tokensBefore[line]! - start) / (tokensBefore[to.lines]! - start)
    return Math.floor(from.at + share * (to.at - from.at))
  }
}

export function countLines(chunks: readonly Uint8Array[]): number {
  let lines = 0
  let lastByte = 10
  for (const chunk of chunks) {
    for (let index = chunk.indexOf(10); index >= 0; index = chunk.indexOf(10, index + 1)) lines++
    lastByte = chunk.at(-1) ?? lastByte
  }
  // The last line counts even without a line feed.
  return lastByte === 10 ? lines : lines + 1
}

const FLUSHED_CHARACTERS = 65_536
/** Spare room for lines that are longer than the first ones. Memory that nothing writes to is not resident. */
const SPARE_ROOM = 1.05

/** Collects lines into chunks of bytes and updates their hash. */
export class JsonlWriter {
  readonly #encoder = new TextEncoder()
  readonly #hash = new ByteHash()
  readonly #chunks: Uint8Array[] = []
  readonly #expectedLines: number
  #lineCount = 0
  #text = ''
  #bytes = 0
  #block = new Uint8Array(0)
  #used = 0

  /** @param expectedLines about how many lines will come, so that they are one chunk. Default: 0, many chunks */
  constructor(expectedLines = 0) {
    this.#expectedLines = expectedLines
  }

  push(line: string): void {
    this.#lineCount++
    this.#text += `${line}\n`
    if (this.#text.length > FLUSHED_CHARACTERS) this.#flush()
  }

  finish(): FileContent {
    this.#flush()
    this.#closeBlock()
    return { chunks: this.#chunks, bytes: this.#bytes, hash: this.#hash.digest() }
  }

  #flush(): void {
    let text = this.#text
    this.#text = ''
    while (text !== '') {
      const { read, written } = this.#encoder.encodeInto(text, this.#block.subarray(this.#used))
      this.#hash.update(this.#block.subarray(this.#used, this.#used + written))
      this.#used += written
      this.#bytes += written
      text = text.slice(read)
      if (text !== '') this.#openBlock(text.length)
    }
  }

  /** Begins a block for the lines to come, as long as those so far on average. A character has up to three bytes. */
  #openBlock(characters: number): void {
    this.#closeBlock()
    const lines = Math.max(0, this.#expectedLines - this.#lineCount)
    const perLine = (this.#bytes + characters) / this.#lineCount
    this.#block = new Uint8Array(Math.max(3 * characters, Math.ceil((characters + lines * perLine) * SPARE_ROOM)))
  }

  #closeBlock(): void {
    const [block, used] = [this.#block, this.#used]
    if (used > 0) this.#chunks.push(2 * used < block.length ? block.slice(0, used) : block.subarray(0, used))
    this.#used = 0
  }
}
