/** Snapshot files. A browser build uses `files.browser.ts` instead. */
import { readFileSync } from 'node:fs'
import { removeStaleDrafts, writeFileAtomically } from '../../lib/atomic-write.ts'
import { describeFileError } from '../../lib/errors.ts'
import { SnapshotError } from './envelope.ts'

/**
 * Returns the bytes of a snapshot file. It removes drafts that a killed process left behind.
 *
 * @throws SnapshotError if the file cannot be read
 */
export function readSnapshotFile(path: string): Uint8Array {
  try {
    removeStaleDrafts(path)
    return readFileSync(path)
  } catch (error) {
    throw new SnapshotError(
      `Failed to read the snapshot '${path}': ${describeFileError(error)}. Give a file that \`modelhost-sim fixture save\` or \`saveSnapshot\` wrote.`,
    )
  }
}

/** @throws SnapshotError if the file cannot be written; an existing file is unchanged then */
export function writeSnapshotFile(path: string, bytes: Uint8Array): void {
  try {
    writeFileAtomically(path, bytes)
  } catch (error) {
    throw new SnapshotError(
      `Failed to write the snapshot '${path}': ${describeFileError(error)}. Give a path where a file may be written.`,
    )
  }
}
