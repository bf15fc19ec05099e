import type { Archive } from './archive.ts'

/** Rows in a block: what a fork copies at most of each log, and what a log lets go of at once. */
const BLOCK = 256

/**
 * Rows of numbers that only grow: 8 bytes a number, and forks share whole blocks.
 *
 * For what has to be remembered of a long life. An object of ten numbers costs some 200 bytes, a row of it 80.
 */
export class NumberLog {
  readonly #width: number
  readonly #limit: number
  #fullBlocks: readonly Float64Array[] = []
  #lastBlock = new Float64Array(0)
  /** Rows of the last block that are written. */
  #usedRows = 0
  /** Rows that were let go of. */
  #droppedRows = 0

  /**
   * @param width numbers in a row
   * @param limit how many of the newest rows are kept, and at most a block more: a multiple of 256
   */
  constructor(width: number, limit = Number.POSITIVE_INFINITY) {
    this.#width = width
    this.#limit = limit
  }

  /** How many there have been. */
  get length(): number {
    return this.#droppedRows + this.#fullBlocks.length * BLOCK + this.#usedRows
  }

  /** The oldest row that is kept. */
  get oldest(): number {
    return this.#droppedRows
  }

  /** Adds a row; its position. */
  push(row: readonly number[]): number {
    if (this.#usedRows === BLOCK) {
      this.#fullBlocks = [...this.#fullBlocks, this.#lastBlock]
      if (this.#fullBlocks.length * BLOCK > this.#limit) {
        this.#fullBlocks = this.#fullBlocks.slice(1)
        this.#droppedRows += BLOCK
      }
      this.#lastBlock = new Float64Array(BLOCK * this.#width)
      this.#usedRows = 0
    } else if (this.#usedRows * this.#width === this.#lastBlock.length) {
      const grown = new Float64Array(Math.min(BLOCK, Math.max(4, this.#usedRows * 2)) * this.#width)
      grown.set(this.#lastBlock)
      this.#lastBlock = grown
    }
    const start = this.#usedRows * this.#width
    // A loop, because `set` takes longer for a plain array than all the rest.
    for (let i = 0; i < row.length; i++) this.#lastBlock[start + i] = row[i]!
    this.#usedRows++
    return this.length - 1
  }

  /** A number of a row that is kept. */
  at(row: number, column: number): number {
    const inBlock = row % BLOCK
    const block = this.#fullBlocks[(row - inBlock - this.#droppedRows) / BLOCK] ?? this.#lastBlock
    return block[inBlock * this.#width + column]!
  }

  archive(archive: Archive): void {
    this.#droppedRows = archive.value(this.#droppedRows)
    this.#usedRows = archive.value(this.#usedRows)
    this.#fullBlocks = archive.value(this.#fullBlocks)
    this.#lastBlock = archive.value(this.#lastBlock.subarray(0, this.#usedRows * this.#width))
  }

  fork(): NumberLog {
    const copy = new NumberLog(this.#width, this.#limit)
    copy.#fullBlocks = this.#fullBlocks
    copy.#lastBlock = this.#lastBlock.slice(0, this.#usedRows * this.#width)
    copy.#usedRows = this.#usedRows
    copy.#droppedRows = this.#droppedRows
    return copy
  }
}
