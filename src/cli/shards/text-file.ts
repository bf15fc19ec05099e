import { renameSync, rmSync, writeFileSync } from 'node:fs'
import { describeFileError } from '../../lib/file-errors.ts'
import { UsageError } from '../command.ts'

/**
 * Writes a text to a draft beside the file, then renames it.
 *
 * @param flag the flag that names the file, for errors
 * @throws UsageError when the disk is full or read-only
 */
export function writeTextFile(path: string, text: string, flag: string): void {
  const draft = `${path}.${process.pid}.tmp`
  try {
    writeFileSync(draft, text)
    renameSync(draft, path)
  } catch (error) {
    rmSync(draft, { force: true })
    throw new UsageError(
      `Failed to write --${flag} '${path}': ${describeFileError(error)}. Free some space, or give a file elsewhere.`,
    )
  }
}
