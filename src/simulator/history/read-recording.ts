/** Reads files of recordings. */

import { describeFileError } from '../../lib/errors.ts'
import { shellQuote } from '../../lib/quote.ts'
import { type ParsedRecording, parseRecording, RecordingError } from './file.ts'

/** @throws RecordingError for a file that cannot be read, was changed, or is of another version */
export function readRecording(file: string): ParsedRecording {
  const what = shellQuote(file)
  const fail = (problem: string, remedy: string) =>
    new RecordingError(`Failed to read the recording ${what}: ${problem}. ${remedy}`)
  const fs = globalThis.process?.getBuiltinModule?.('node:fs')
  if (fs === undefined) throw fail('files need Node', 'Give an object with the text of the recording.')
  let text: string
  try {
    text = fs.readFileSync(file, 'utf8')
  } catch (error) {
    throw fail(describeFileError(error), 'Give a file that serve --record or sim.record() wrote.')
  }
  return parseRecording(text, what)
}
