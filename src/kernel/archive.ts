/**
 * One pass over the state of a part. The same pass writes the state, restores it and forks it.
 *
 * A part lists its state once: `this.#funds = archive.value(this.#funds)`. A writer returns its argument. A reader
 * returns the recorded values in the same order. So the two directions cannot differ.
 */
export interface Archive {
  /** Whether the pass gives the part its state. */
  readonly isReading: boolean
  /** Keeps a value that is replaced and never changed. A fork shares it. */
  value<T>(current: T): T
  /** Keeps a value that changes in place. A fork gets a copy of it. */
  own<T extends InPlace>(current: T): T
  /** Gives a fork a copy of a cache, or of what only this process can have. Other archives do not keep it. */
  cache<T extends InPlace>(current: T): T
}

/** A value that changes in place, with a way to copy it. */
export type InPlace = { slice(): unknown } | { copy(): unknown } | ReadonlyMap<unknown, unknown>

/** What has state that archives keep. */
export interface Archived {
  /** Writes its state to an archive, or reads it back: the same code does both. */
  archive(archive: Archive): void
}

/** Makes `to`, which is new, a fork of `from`. */
export function forkState(from: readonly Archived[], to: readonly Archived[]): void {
  const writer = new ForkWriter()
  for (const part of from) part.archive(writer)
  const reader = new ForkReader(writer.values)
  for (const part of to) part.archive(reader)
}

/** Records values. They are the state itself and not a copy of it. */
export class ArchiveWriter implements Archive {
  readonly isReading: boolean = false
  readonly values: unknown[] = []

  value<T>(current: T): T {
    this.values.push(current)
    return current
  }

  own<T extends InPlace>(current: T): T {
    return this.value(current)
  }

  cache<T extends InPlace>(current: T): T {
    return current
  }
}

/** Records values, and copies of those that change in place. */
class ForkWriter extends ArchiveWriter {
  override own<T extends InPlace>(current: T): T {
    this.values.push(copyOf(current))
    return current
  }

  override cache<T extends InPlace>(current: T): T {
    return this.own(current)
  }
}

/** Returns recorded values. */
export class ArchiveReader implements Archive {
  readonly isReading: boolean = true
  readonly #values: readonly unknown[]
  #position = 0

  constructor(values: readonly unknown[]) {
    this.#values = values
  }

  value<T>(_current: T): T {
    if (this.#position === this.#values.length) throw new Error('Failed to read an archive: it has too few values.')
    return this.#values[this.#position++] as T
  }

  own<T extends InPlace>(current: T): T {
    return this.value(current)
  }

  cache<T extends InPlace>(current: T): T {
    return current
  }

  /** Throws if values are left over, because then another kind of part was recorded. */
  assertEnd(): void {
    if (this.#position === this.#values.length) return
    throw new Error(`Failed to read an archive: ${this.#values.length - this.#position} values are left over.`)
  }
}

class ForkReader extends ArchiveReader {
  override cache<T extends InPlace>(current: T): T {
    return this.value(current)
  }
}

function copyOf(value: InPlace): unknown {
  if ('slice' in value) return value.slice()
  return 'copy' in value ? value.copy() : new Map(value)
}
