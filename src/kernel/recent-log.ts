import type { Tape } from './tape.ts'

/** Items in a block: what a fork copies at most, and what is let go of at once. */
const BLOCK = 1024

/** A list that grows at one end and is let go of at the other, a block at a time; forks share whole blocks. */
export class RecentLog<T> {
  /** The newest items that are kept, and at most a block more. */
  readonly most: number
  #full: readonly (readonly T[])[] = []
  #last: T[] = []

  /** @param most how many of the newest items are kept: a multiple of 1,024 */
  constructor(most: number) {
    this.most = most
  }

  push(item: T): void {
    if (this.#last.length === BLOCK) {
      this.#full = [...this.#full, this.#last].slice(-this.most / BLOCK)
      this.#last = []
    }
    this.#last.push(item)
  }

  /** The kept items, oldest first. */
  *[Symbol.iterator](): Generator<T> {
    for (const block of this.#full) yield* block
    yield* this.#last
  }

  keep(tape: Tape): void {
    this.#full = tape.value(this.#full)
    this.#last = tape.value(this.#last)
  }

  fork(): RecentLog<T> {
    const copy = new RecentLog<T>(this.most)
    copy.#full = this.#full
    copy.#last = this.#last.slice()
    return copy
  }
}
