/** Recordings as text: one JSON object a line. Each line has a checksum of itself and of all lines before it. */

import { acceptCopies } from '../../lib/errors.ts'
import { tryParseRecord } from '../../lib/json-text.ts'
import { quote } from '../../lib/quote.ts'
import { type Steps, withoutPause } from '../../lib/slices.ts'
import { VERSION } from '../../lib/version.ts'
import type { OwnEndpoints } from '../../service/own-endpoints.ts'
import { createCrc32, formatCrc32 } from './line-writer.ts'
import { findLineProblem, type HeaderLine, type Numbered, RECORDING_VERSION, type StepLines } from './lines.ts'
import { StepReader } from './repetitions.ts'

/** A recording cannot be read or replayed. */
export class RecordingError extends RangeError {
  override readonly name = 'RecordingError'
}
acceptCopies(RecordingError, 'RecordingError')

const SUM = /,"sum":"([0-9a-f]{8})"\}$/

const BYTE_ORDER_MARK = '\ufeff'
const UNCHANGED = 'Give the file as it was recorded.'
const RECORDED = 'Give a file that serve --record or sim.record() wrote.'

/** The content of a recording. */
export interface ParsedRecording {
  readonly header: HeaderLine
  readonly lines: readonly Numbered[]
  /** Why the recording has no end, with the last complete line; undefined if it is complete. */
  readonly cut: string | undefined
}

/** Returns a recording whose world has these endpoints. A recording cannot hold them, because they are code. */
export function withEndpoints(recording: ParsedRecording, endpoints: OwnEndpoints | undefined): ParsedRecording {
  const options = { ...recording.header.options, ...(endpoints && { endpoints }) }
  return { ...recording, header: { ...recording.header, options } }
}

/**
 * Reads a recording.
 *
 * @param what names it in errors, as in `'run.ndjson'`
 * @throws RecordingError for another format or version, and for a line that was changed, moved or removed
 */
export function parseRecording(text: string, what: string): ParsedRecording {
  return withoutPause(parseInSteps(text, what))
}

/** Does the same with a pause after each line. */
export function* parseInSteps(text: string, what: string): Steps<ParsedRecording> {
  const rows = text.split('\n')
  const rest = rows.pop()!
  const fail = (line: number, problem: string, remedy: string) =>
    new RecordingError(`Failed to read the recording ${what}: line ${line}: ${problem}. ${remedy}`)
  if (text === '') throw fail(1, 'the file is empty', RECORDED)
  if (text.startsWith(BYTE_ORDER_MARK)) {
    throw fail(1, 'it begins with a byte order mark, which an editor added', UNCHANGED)
  }
  if (rows.length === 0) {
    if (!text.startsWith('{"recording":')) assertFormat(undefined, fail)
    throw fail(1, 'it has no end', 'The process that wrote it was killed at once. Record again.')
  }
  const crc32 = createCrc32()
  let sum = 0
  const parsed: object[] = []
  for (const [index, row] of rows.entries()) {
    const line = index + 1
    const content = tryParseRecord(row)
    if (index === 0) assertFormat(content, fail)
    const found = SUM.exec(row)
    if (row.endsWith('\r')) {
      throw fail(line, 'it ends with CR LF, where a recording has LF: a tool such as git changed the file', UNCHANGED)
    }
    if (content === undefined || found === null) {
      const problem = content === undefined ? 'it is not a JSON object' : 'its checksum "sum" is missing'
      throw fail(line, problem, `The file was changed by hand. ${UNCHANGED}`)
    }
    sum = crc32(`${row.slice(0, found.index)}}`, sum)
    if (formatCrc32(sum) !== found[1]) {
      const problem =
        'its checksum does not fit: this line was changed, or a line before it was added, removed or moved'
      throw fail(line, problem, UNCHANGED)
    }
    const { sum: _, ...fields } = content as { readonly sum: string }
    const problem = findLineProblem(fields, index === 0)
    if (problem !== undefined)
      throw new RecordingError(`Failed to read the recording ${what}: line ${line}: ${problem}`)
    parsed.push(fields)
    yield
  }
  const [header, ...steps] = parsed as [HeaderLine, ...StepLines[]]
  const reader = new StepReader((line, problem) => fail(line, problem, UNCHANGED))
  const lines = steps.flatMap((step, index) => reader.read({ ...step, line: index + 2 }))
  const last = steps.at(-1)
  const hasEnd = last !== undefined && 'digest' in last
  if (hasEnd && rest === '') return { header, lines, cut: undefined }
  const place = rest === '' ? `after line ${rows.length}` : `in line ${rows.length + 1}`
  return { header, lines, cut: `the recording is cut off ${place}: its line with the digest is missing` }
}

/** Rejects a first line that is not a header, or that another version wrote. */
function assertFormat(
  header: Partial<HeaderLine> | undefined,
  fail: (line: number, problem: string, remedy: string) => Error,
): void {
  if (header?.recording === undefined) throw fail(1, 'it is not a header of a recording', RECORDED)
  if (header.recording !== RECORDING_VERSION) {
    const problem = `it has the format ${quote(header.recording)}, and modelhost-sim ${VERSION} reads the format ${RECORDING_VERSION}`
    throw fail(1, problem, 'Use the version that wrote it, or record again.')
  }
  if (header.version !== VERSION) {
    const problem = `it was recorded with modelhost-sim ${String(header.version)}, and this is ${VERSION}, where the same seed may bring about something else`
    throw fail(1, problem, 'Use that version, or record again.')
  }
}
