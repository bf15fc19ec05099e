import type { Archive } from '../kernel/archive.ts'

/** A part of a world that has state. */
export interface Part {
  /** Writes its state to an archive, or reads it back: the same code does both. */
  archive(archive: Archive): void
}
