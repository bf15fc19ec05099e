/**
 * One pass over the state of a part. The same pass writes the state and restores it.
 *
 * A part lists its state once: `this.#funds = archive.value(this.#funds)`. A writer returns its argument. A reader
 * returns the recorded values in the same order. So the two directions cannot differ.
 */
export interface Archive {
  value<T>(current: T): T
}

/** What has state that archives keep. */
export interface Archived {
  /** Writes its state to an archive, or reads it back: the same code does both. */
  archive(archive: Archive): void
}

/** Gives `to` the state of `from`. Both share each value, so none may change in place. */
export function copyState(from: Archived, to: Archived): void {
  const writer = new ArchiveWriter()
  from.archive(writer)
  to.archive(new ArchiveReader(writer.values))
}

/** Records values. They are the state itself and not a copy of it. */
export class ArchiveWriter implements Archive {
  readonly values: unknown[] = []

  value<T>(current: T): T {
    this.values.push(current)
    return current
  }
}

/** Returns recorded values. */
export class ArchiveReader implements Archive {
  readonly #values: readonly unknown[]
  #position = 0

  constructor(values: readonly unknown[]) {
    this.#values = values
  }

  value<T>(_current: T): T {
    if (this.#position === this.#values.length) throw new Error('Failed to read an archive: it has too few values.')
    return this.#values[this.#position++] as T
  }

  /** Throws if values are left over, because then another kind of part was recorded. */
  assertEnd(): void {
    if (this.#position === this.#values.length) return
    throw new Error(`Failed to read an archive: ${this.#values.length - this.#position} values are left over.`)
  }
}
