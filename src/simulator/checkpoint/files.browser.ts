import { SnapshotError } from './envelope.ts'
import type { readSnapshotFile as readOnDisk, writeSnapshotFile as writeOnDisk } from './files.ts'

/** A browser has no files: there a snapshot is kept as its bytes. */
export const readSnapshotFile: typeof readOnDisk = path => {
  throw new SnapshotError(`Failed to read the snapshot '${path}': files need Node. Give Snapshot.from(bytes).`)
}

export const writeSnapshotFile: typeof writeOnDisk = path => {
  throw new SnapshotError(`Failed to write the snapshot '${path}': files need Node. Keep what toBytes() returns.`)
}
