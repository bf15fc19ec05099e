import type { Tape } from './tape.ts'

/** Rows in a block: what a fork copies at most of each log, and what a log lets go of at once. */
const BLOCK = 256

/**
 * Rows of numbers that only grow: 8 bytes a number, and forks share whole blocks.
 *
 * For what has to be remembered of a long life. An object of ten numbers costs some 200 bytes, a row of it 80.
 */
export class NumberLog {
  readonly #width: number
  readonly #most: number
  #full: readonly Float64Array[] = []
  #last = new Float64Array(0)
  /** Rows of the last block that are written. */
  #used = 0
  /** Rows that were let go of. */
  #gone = 0

  /**
   * @param width numbers in a row
   * @param most how many of the newest rows are kept, and at most a block more: a multiple of 256
   */
  constructor(width: number, most = Number.POSITIVE_INFINITY) {
    this.#width = width
    this.#most = most
  }

  /** How many there have been. */
  get length(): number {
    return this.#gone + this.#full.length * BLOCK + this.#used
  }

  /** The oldest row that is kept. */
  get oldest(): number {
    return this.#gone
  }

  /** Adds a row; its position. */
  push(row: readonly number[]): number {
    if (this.#used === BLOCK) {
      this.#full = [...this.#full, this.#last]
      if (this.#full.length * BLOCK > this.#most) {
        this.#full = this.#full.slice(1)
        this.#gone += BLOCK
      }
      this.#last = new Float64Array(BLOCK * this.#width)
      this.#used = 0
    } else if (this.#used * this.#width === this.#last.length) {
      const wider = new Float64Array(Math.min(BLOCK, Math.max(4, this.#used * 2)) * this.#width)
      wider.set(this.#last)
      this.#last = wider
    }
    const to = this.#used * this.#width
    // A loop, because `set` takes longer for a plain array than all the rest.
    for (let i = 0; i < row.length; i++) this.#last[to + i] = row[i]!
    this.#used++
    return this.length - 1
  }

  /** A number of a row that is kept. */
  at(row: number, column: number): number {
    const inBlock = row % BLOCK
    const block = this.#full[(row - inBlock - this.#gone) / BLOCK] ?? this.#last
    return block[inBlock * this.#width + column]!
  }

  keep(tape: Tape): void {
    this.#gone = tape.value(this.#gone)
    this.#used = tape.value(this.#used)
    this.#full = tape.value(this.#full)
    this.#last = tape.value(this.#last.subarray(0, this.#used * this.#width))
  }

  fork(): NumberLog {
    const copy = new NumberLog(this.#width, this.#most)
    copy.#full = this.#full
    copy.#last = this.#last.slice(0, this.#used * this.#width)
    copy.#used = this.#used
    copy.#gone = this.#gone
    return copy
  }
}
