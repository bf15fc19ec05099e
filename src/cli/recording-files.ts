/** Files of commands about recordings. */
import { readFileSync, writeFileSync } from 'node:fs'
import { type ParsedRecording, parseRecording, RecordingError } from '../evidence/recording/file.ts'
import { describeFileError } from '../lib/file-errors.ts'
import { shellQuote } from '../lib/quote.ts'
import { UsageError } from './command.ts'

/** Reads a recording. Throws RecordingError for a file that cannot be read, or was changed. */
export function readRecording(file: string): ParsedRecording {
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (error) {
    throw new RecordingError(
      `Failed to read the recording ${shellQuote(file)}: ${describeFileError(error)}. Give a file of serve --record.`,
    )
  }
  return parseRecording(text, shellQuote(file))
}

/** Writes text to a file or to stdout. */
export function writeOutput(out: string | undefined, text: string): void {
  if (out === undefined) {
    process.stdout.write(`${text}\n`)
    return
  }
  try {
    // What is made of a recording contains prompts, as the recording does.
    writeFileSync(out, `${text}\n`, { mode: 0o600 })
  } catch (error) {
    throw new UsageError(`Failed to write --out '${out}': ${describeFileError(error)}. Give another path.`)
  }
}
