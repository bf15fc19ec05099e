/** Snapshots on disk. A browser build gets `snapshot-files.browser.ts` in its place. */
import { readFileSync } from 'node:fs'
import { removeStaleDrafts, writeFileAtomically } from '../../lib/atomic-write.ts'
import { describeFileError } from '../../lib/file-errors.ts'
import { SnapshotError } from './envelope.ts'

/**
 * The bytes of a snapshot's file. What a killed process left beside it is removed.
 *
 * @throws SnapshotError when it can not be read
 */
export function readSnapshotFile(path: string): Uint8Array {
  try {
    removeStaleDrafts(path)
    return readFileSync(path)
  } catch (error) {
    throw new SnapshotError(
      `Failed to read the snapshot '${path}': ${describeFileError(error)}. Give a file that \`modelhost-sim snapshot\` or \`saveSnapshot\` wrote.`,
    )
  }
}

/** @throws SnapshotError when it can not be written; what was there before is as it was */
export function writeSnapshotFile(path: string, bytes: Uint8Array): void {
  try {
    writeFileAtomically(path, bytes)
  } catch (error) {
    throw new SnapshotError(
      `Failed to write the snapshot '${path}': ${describeFileError(error)}. Give a path where a file may be written.`,
    )
  }
}
