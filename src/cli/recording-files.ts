/** What commands about recordings write. */
import { writeFileSync } from 'node:fs'
import { describeFileError } from '../lib/file-errors.ts'
import { UsageError } from './command.ts'

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
