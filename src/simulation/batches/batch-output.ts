import { purpose } from '../../kernel/random.ts'
import type { SimulationContext } from '../context.ts'
import type { BatchRow } from './batch-row.ts'
import type { Files } from './files.ts'
import { JsonlWriter } from './jsonl-writer.ts'
import type { LineAnswerer, LineError } from './line-answering.ts'

const REQUEST_ID = purpose('batch.requestId')

/**
 * Composes the output and error files of a batch. Each done line gets its answer or error.
 *
 * @param unfinishedError the error of each other line
 */
export function composeOutput(
  { chance, clock }: SimulationContext,
  answerer: LineAnswerer,
  row: BatchRow,
  unfinishedError: LineError,
): void {
  const { model, lines, promptBefore, answerTokens, isCut } = row.work!
  const { endpoint } = row.spec
  const output = new JsonlWriter()
  const error = new JsonlWriter()
  const created = clock.unix()
  for (const [i, line] of lines.entries()) {
    const suffix = chance.letters(16, row.key, REQUEST_ID + i)
    const id = `batch_req_${suffix}`
    if (i >= row.doneLines || line.error) {
      const lineError = i >= row.doneLines ? unfinishedError : line.error!
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

/** Creates the composed output and error files of a batch. */
export function writeFiles(files: Files, row: BatchRow): void {
  if (!row.pendingOutput) throw new Error(`Failed to write the files of ${row.id}: nothing was composed.`)
  const file = { purpose: 'batch_output' }
  files.create({ ...file, ...row.pendingOutput.output, id: `${row.id}_output`, filename: `${row.id}_output.jsonl` })
  files.create({ ...file, ...row.pendingOutput.error, id: `${row.id}_error`, filename: `${row.id}_error.jsonl` })
  row.pendingOutput = undefined
  row.filesWritten = true
}
