import { renameSync, rmSync, writeFileSync } from 'node:fs'
import { describeFileError } from '../../lib/file-errors.ts'
import { UsageError } from '../command.ts'

/**
 * Writes a text to a draft beside the file, then renames it.
 *
 * @param flag the flag that names the file, for errors
 * @param mode who can read it, as in 0o600. Default: as the system decides
 * @throws UsageError when the disk is full or read-only
 */
export function writeTextFile(path: string, text: string, flag: string, mode?: number): void {
  const draft = `${path}.${process.pid}.tmp`
  try {
    writeFileSync(draft, text, { mode })
    renameSync(draft, path)
  } catch (error) {
    rmSync(draft, { force: true })
    throw new UsageError(
      `Failed to write --${flag} '${path}': ${describeFileError(error)}. Free some space, or give a file elsewhere.`,
    )
  }
}
