/** The state of the parts of a world as one list of values. */
import { type Archive, ArchiveReader, ArchiveWriter } from '../kernel/archive.ts'
import { EVENT_NAMES } from './events.ts'
import type { Part } from './part.ts'
import type { ArchivedWorld } from './world-options.ts'

/** Returns the state of the parts. It is valid only until one of them changes. */
export function writeParts(parts: readonly Part[]): ArchivedWorld['state'] {
  const archive = new ArchiveWriter()
  archiveParts(parts, archive)
  return archive.values
}

/** Gives the parts their state. Throws Error if it is of another build. */
export function readParts(parts: readonly Part[], state: ArchivedWorld['state']): void {
  const archive = new ArchiveReader(state)
  archiveParts(parts, archive)
  archive.assertEnd()
}

function archiveParts(parts: readonly Part[], archive: Archive): void {
  // The agenda holds numbers of events.
  const eventNames = EVENT_NAMES.join()
  if (archive.value(eventNames) !== eventNames) throw new Error('Failed to read an archive: it knows other events.')
  for (const part of parts) part.archive(archive)
}
