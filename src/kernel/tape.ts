/**
 * One pass over the state of something, the same for writing it down and for putting it back.
 *
 * Whoever has state says once what it is: `this.#funds = tape.value(this.#funds)`. A tape that records hands back what
 * it was given; one that plays hands out, in the same order, what was recorded. So the two directions can not differ.
 */
export interface Tape {
  value<T>(present: T): T
}

/** Writes down. What it holds afterwards is the state itself, not a copy of it. */
export class Recorder implements Tape {
  readonly values: unknown[] = []

  value<T>(present: T): T {
    this.values.push(present)
    return present
  }
}

/** Puts back. */
export class Player implements Tape {
  readonly #values: readonly unknown[]
  #at = 0

  constructor(values: readonly unknown[]) {
    this.#values = values
  }

  value<T>(_present: T): T {
    if (this.#at === this.#values.length) throw new Error('Failed to play a tape: it is shorter than what it is for.')
    return this.#values[this.#at++] as T
  }

  /** Throws when something is left on it: then it was recorded from something else. */
  end(): void {
    if (this.#at === this.#values.length) return
    throw new Error(`Failed to play a tape: ${this.#values.length - this.#at} values are left over.`)
  }
}
