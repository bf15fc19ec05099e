import type { Micros } from '../../kernel/duration.ts'
import { type Chance, type EntityKey, purpose } from '../../kernel/random.ts'
import type { Steps } from '../../lib/slices.ts'
import type { TokenPrice } from '../account/request-cost.ts'
import type { SimulationContext } from '../context.ts'
import type { BatchRow, FixtureBatch } from './batch-row.ts'
import type { Files } from './files.ts'
import { JsonlWriter } from './jsonl-writer.ts'
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
  const lineTimes = new LineTimes(row)
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
      created: clock.unix(lineTimes.timeOf(i)),
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

/** The moments at which the lines of a batch began, between the moments at which its progress was counted. */
class LineTimes {
  readonly #row: Readonly<ProgressedBatch>
  #next = 0

  constructor(row: Readonly<ProgressedBatch>) {
    this.#row = row
  }

  /** Returns the moment of a done line. Lines must be read in order. */
  timeOf(line: number): Micros {
    const { progressMarks: marks, createdAt, statusTimes, work } = this.#row
    while (this.#next < marks.length && marks[this.#next]!.lines <= line) this.#next++
    const from = marks[this.#next - 1] ?? { lines: 0, at: statusTimes.in_progress ?? createdAt }
    const to = marks[this.#next] ?? from
    if (to.lines === from.lines) return from.at
    const { tokensBefore } = work!
    const start = tokensBefore[from.lines]!
    const share = (tokensBefore[line]! - start) / (tokensBefore[to.lines]! - start)
    return Math.floor(from.at + share * (to.at - from.at))
  }
}
