import { widened } from '../lib/lists.ts'
import type { Archive } from './archive.ts'

/** Rows in a block. A fork copies at most one block of each log, and a log drops one block at once. */
const BLOCK = 256

/**
 * A list of rows of numbers that only grows, with 8 bytes a number. Forks share whole blocks.
 *
 * For long histories: an object of ten numbers takes about 200 bytes, and a row of them 80.
 */
export class NumberLog {
  readonly #width: number
  readonly #limit: number
  #fullBlocks: readonly Float64Array[] = []
  #lastBlock = new Float64Array(0)
  /** Number of written rows in the last block. */
  #usedRows = 0
  /** Where the row that was added last starts in the last block. */
  #lastStart = 0
  /** Number of dropped rows. */
  #droppedRows = 0

  /**
   * @param width numbers in a row
   * @param limit number of the newest rows to keep, and at most one block more. A multiple of 256.
   */
  constructor(width: number, limit = Number.POSITIVE_INFINITY) {
    this.#width = width
    this.#limit = limit
  }

  /** Number of rows so far, with the dropped ones. */
  get length(): number {
    return this.#droppedRows + this.#fullBlocks.length * BLOCK + this.#usedRows
  }

  /** Position of the oldest kept row. */
  get oldest(): number {
    return this.#droppedRows
  }

  /** Adds a row. Returns its position. */
  push(row: readonly number[]): number {
    const position = this.add()
    // Not `set` of the array, which is slow for a plain array.
    for (let i = 0; i < row.length; i++) this.#lastBlock[this.#lastStart + i] = row[i]!
    return position
  }

  /** Adds a row of zeros, to be written by `set`: a row that many events add needs no array. Returns its position. */
  add(): number {
    if (this.#usedRows === BLOCK) {
      this.#fullBlocks = [...this.#fullBlocks, this.#lastBlock]
      if (this.#fullBlocks.length * BLOCK > this.#limit) {
        this.#fullBlocks = this.#fullBlocks.slice(1)
        this.#droppedRows += BLOCK
      }
      this.#lastBlock = new Float64Array(BLOCK * this.#width)
      this.#usedRows = 0
    } else if (this.#usedRows * this.#width === this.#lastBlock.length) {
      const rows = Math.min(BLOCK, Math.max(4, this.#usedRows * 2))
      this.#lastBlock = widened(this.#lastBlock, rows * this.#width)
    }
    this.#lastStart = this.#usedRows * this.#width
    this.#usedRows++
    return this.#droppedRows + this.#fullBlocks.length * BLOCK + this.#usedRows - 1
  }

  /** Writes a number of the row that was added last. */
  set(column: number, value: number): void {
    this.#lastBlock[this.#lastStart + column] = value
  }

  /** Returns a number of a kept row. */
  at(row: number, column: number): number {
    const inBlock = row % BLOCK
    const block = this.#fullBlocks[(row - inBlock - this.#droppedRows) / BLOCK] ?? this.#lastBlock
    return block[inBlock * this.#width + column]!
  }

  archive(archive: Archive): void {
    this.#droppedRows = archive.value(this.#droppedRows)
    this.#usedRows = archive.value(this.#usedRows)
    this.#fullBlocks = archive.value(this.#fullBlocks)
    const lastBlock = archive.own(this.#lastBlock.subarray(0, this.#usedRows * this.#width))
    // A writer keeps the free rows of its block.
    if (archive.isReading) this.#lastBlock = lastBlock
  }
}
