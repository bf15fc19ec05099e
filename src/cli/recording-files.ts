/** What commands about recordings write. */
import { writeFileSync } from 'node:fs'
import type { ParsedRecording } from '../evidence/recording/file.ts'
import { readRecording } from '../evidence/recording/read-recording.ts'
import { describeFileError } from '../lib/file-errors.ts'
import { UsageError } from './command.ts'

/** Reads a recording for a command that needs no end of it. If it was cut off, stderr says so. */
export function readPartialRecording(file: string): ParsedRecording {
  const recording = readRecording(file)
  if (recording.cut !== undefined) process.stderr.write(`${file}: ${recording.cut}. The lines before are used.\n`)
  return recording
}

/**
 * Writes text to a file or to stdout.
 *
 * @param name what names the file in errors. Default: `--out`
 */
export function writeOutput(out: string | undefined, text: string, name = '--out '): void {
  if (out === undefined) {
    process.stdout.write(`${text}\n`)
    return
  }
  try {
    // What is made of a recording contains prompts, as the recording does.
    writeFileSync(out, `${text}\n`, { mode: 0o600 })
  } catch (error) {
    throw new UsageError(`Failed to write ${name}'${out}': ${describeFileError(error)}. Give another path.`)
  }
}
