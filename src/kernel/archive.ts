/**
 * One pass over the state of something, the same for writing it down and for putting it back.
 *
 * A part with state lists it once: `this.#funds = archive.value(this.#funds)`. A tape that records hands back what
 * it was given; one that plays hands out, in the same order, what was recorded. So the two directions can not differ.
 */
export interface Archive {
  value<T>(current: T): T
}

/** Writes down. What it holds afterwards is the state itself, not a copy of it. */
export class ArchiveWriter implements Archive {
  readonly values: unknown[] = []

  value<T>(current: T): T {
    this.values.push(current)
    return current
  }
}

/** Puts back. */
export class ArchiveReader implements Archive {
  readonly #values: readonly unknown[]
  #position = 0

  constructor(values: readonly unknown[]) {
    this.#values = values
  }

  value<T>(_current: T): T {
    if (this.#position === this.#values.length)
      throw new Error('Failed to play a tape: it is shorter than what it is for.')
    return this.#values[this.#position++] as T
  }

  /** Throws when something is left on it: then it was recorded from something else. */
  assertEnd(): void {
    if (this.#position === this.#values.length) return
    throw new Error(`Failed to play a tape: ${this.#values.length - this.#position} values are left over.`)
  }
}
