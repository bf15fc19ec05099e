import type { Micros } from '../../kernel/duration.ts'

/** The rate of a load as a function of time. Areas are in requests/s × µs. */
export interface RateFunction {
  rateAt(t: Micros): number
  area(from: Micros, to: Micros): number
  nextBreakpoint(t: Micros): Micros
  /**
   * Returns the first microsecond at or after `from` with a rate of at most `low` or above `high`; Infinity for never. A
   * result after `until` is ignored, so the search can end there.
   */
  firstOutside(low: number, high: number, from: Micros, until: Micros): Micros
}

/** A straight line from one rate to another. It ends at the start of the next piece. */
export interface LinearPiece {
  readonly at: Micros
  readonly from: number
  readonly to: number
}

/** The layout of a piece in the table: how many numbers, and the offset of each. The start of the piece has offset 0. */
const PIECE_WIDTH = 4
const RATE_OFFSET = 1
const SLOPE_OFFSET = 2
const AREA_OFFSET = 3

/**
 * A table of straight pieces from 0 to `period`, which then repeats. Its 0 is at `origin`. If the period is Infinity, the
 * rate of the last piece continues.
 *
 * Two trees hold the highest and the lowest rates of the pieces. They find the first piece that crosses a level.
 */
export class PiecewiseRate implements RateFunction {
  readonly #period: Micros
  readonly #origin: Micros
  readonly #count: number
  /**
   * For each piece: its start, rate, slope in requests/s per µs, and the area from 0 to its start. The curves of a fleet
   * exceed the cache of a core, so numbers that are read together are adjacent. The last row is the period and its area.
   */
  readonly #table: Float64Array
  /** Leaves from #leaves on; the parent of node n is n >> 1. */
  readonly #highest: Float64Array
  readonly #lowest: Float64Array
  readonly #leaves: number
  /** The piece that was looked up last, and the time at which its period starts. An event needs it several times. */
  #cachedPiece = 0
  #cachedBase: Micros = Number.NaN

  constructor(pieces: readonly LinearPiece[], period: Micros, origin: Micros) {
    const count = pieces.length
    this.#period = period
    this.#origin = origin
    this.#count = count
    const table = new Float64Array((count + 1) * PIECE_WIDTH)
    this.#table = table
    for (const [i, { at, from }] of pieces.entries()) table.set([at, from], i * PIECE_WIDTH)
    table[count * PIECE_WIDTH] = period
    let leaves = 1
    while (leaves < count) leaves *= 2
    this.#leaves = leaves
    this.#highest = new Float64Array(2 * leaves).fill(Number.NEGATIVE_INFINITY)
    this.#lowest = new Float64Array(2 * leaves).fill(Number.POSITIVE_INFINITY)
    for (const [i, { from, to }] of pieces.entries()) {
      const end = this.#startOf(i + 1)
      if (from !== to) table[i * PIECE_WIDTH + SLOPE_OFFSET] = (to - from) / (end - this.#startOf(i))
      table[(i + 1) * PIECE_WIDTH + AREA_OFFSET] = this.#areaBefore(i) + this.#areaIn(i, this.#startOf(i), end)
      const last = from === to ? from : this.#rateIn(i, end - 1)
      this.#highest[leaves + i] = Math.max(from, last)
      this.#lowest[leaves + i] = Math.min(from, last)
    }
    for (let node = leaves - 1; node > 0; node--) {
      this.#highest[node] = Math.max(this.#highest[2 * node]!, this.#highest[2 * node + 1]!)
      this.#lowest[node] = Math.min(this.#lowest[2 * node]!, this.#lowest[2 * node + 1]!)
    }
  }

  rateAt(t: Micros): number {
    const piece = this.#pieceOf(t)
    return this.#rateIn(piece, t - this.#cachedBase)
  }

  area(from: Micros, to: Micros): number {
    const piece = this.#pieceOf(from)
    const start = from - this.#cachedBase
    const end = start + (to - from)
    // Most stretches are within one piece.
    if (end < this.#startOf(piece + 1)) return this.#areaIn(piece, start, end)
    if (end <= this.#period) return this.#areaBetween(start, end)
    const excess = end - this.#period
    const remainder = excess % this.#period
    const periods = Math.round((excess - remainder) / this.#period)
    return (
      this.#areaBetween(start, this.#period) + periods * this.#areaBefore(this.#count) + this.#areaBetween(0, remainder)
    )
  }

  nextBreakpoint(t: Micros): Micros {
    const piece = this.#pieceOf(t)
    return t + (this.#startOf(piece + 1) - (t - this.#cachedBase))
  }

  firstOutside(low: number, high: number, from: Micros, until: Micros): Micros {
    const piece = this.#pieceOf(from)
    const phase = from - this.#cachedBase
    const inThisPiece = this.#firstOutsideIn(piece, low, high, phase)
    if (inThisPiece >= 0) return from + (inThisPiece - phase)
    // Most searches end in the first piece.
    if (phase + (until - from) < this.#startOf(piece + 1)) return Number.POSITIVE_INFINITY
    const laterPiece = this.#pieceOutside(piece + 1, low, high)
    if (laterPiece >= 0) return from + (this.#firstOutsideIn(laterPiece, low, high, this.#startOf(laterPiece)) - phase)
    if (this.#period === Number.POSITIVE_INFINITY) return Number.POSITIVE_INFINITY
    const wrappedPiece = this.#pieceOutside(0, low, high)
    if (wrappedPiece < 0) return Number.POSITIVE_INFINITY
    return from + (this.#period - phase) + this.#firstOutsideIn(wrappedPiece, low, high, this.#startOf(wrappedPiece))
  }

  /** Returns the piece at a time. The phase of the time is then its distance from `#cachedBase`. */
  #pieceOf(t: Micros): number {
    const cached = this.#cachedPiece
    const cachedPhase = t - this.#cachedBase
    if (this.#startOf(cached) <= cachedPhase && cachedPhase < this.#startOf(cached + 1)) return cached
    const phase = this.#phaseOf(t)
    const piece = this.#pieceAt(phase)
    this.#cachedPiece = piece
    this.#cachedBase = t - phase
    return piece
  }

  #phaseOf(t: Micros): Micros {
    const period = this.#period
    if (period === Number.POSITIVE_INFINITY) return t
    const since = t - this.#origin
    // Exact below 2^53. It costs a tenth of `%`, which is slow for large numbers.
    return since - Math.floor(since / period) * period
  }

  #pieceAt(phase: Micros): number {
    // The guess is right if all pieces have the same length, as in a wave.
    const guess = Math.floor((phase / this.#period) * this.#count)
    if (guess < this.#count && this.#startOf(guess) <= phase && phase < this.#startOf(guess + 1)) return guess
    let low = 0
    let high = this.#count
    while (high - low > 1) {
      const middle = (low + high) >> 1
      if (this.#startOf(middle) <= phase) low = middle
      else high = middle
    }
    return low
  }

  /** The start of a piece, which is the end of the previous one. */
  #startOf(piece: number): Micros {
    return this.#table[piece * PIECE_WIDTH]!
  }

  #areaBefore(piece: number): number {
    return this.#table[piece * PIECE_WIDTH + AREA_OFFSET]!
  }

  #rateIn(piece: number, phase: Micros): number {
    const at = piece * PIECE_WIDTH
    const table = this.#table
    return table[at + RATE_OFFSET]! + table[at + SLOPE_OFFSET]! * (phase - table[at]!)
  }

  #areaIn(piece: number, from: Micros, to: Micros): number {
    const at = piece * PIECE_WIDTH
    const table = this.#table
    const start = table[at]!
    const rate = table[at + RATE_OFFSET]!
    const slope = table[at + SLOPE_OFFSET]!
    if (slope === 0) return rate * (to - from)
    return ((rate + slope * (from - start) + (rate + slope * (to - start))) / 2) * (to - from)
  }

  #areaBetween(from: Micros, to: Micros): number {
    const first = this.#pieceAt(from)
    const end = this.#startOf(first + 1)
    if (to < end) return this.#areaIn(first, from, to)
    const last = this.#pieceAt(to)
    if (first === last) return this.#areaIn(first, from, to)
    return (
      this.#areaIn(first, from, end) +
      (this.#areaBefore(last) - this.#areaBefore(first + 1)) +
      this.#areaIn(last, this.#startOf(last), to)
    )
  }

  /** Returns the first phase of a piece from `from` on with a rate of at most `low` or above `high`; -1 if it is missing. */
  #firstOutsideIn(piece: number, low: number, high: number, from: Micros): Micros {
    if (this.#isOutside(piece, low, high, from)) return from
    const slope = this.#table[piece * PIECE_WIDTH + SLOPE_OFFSET]!
    if (slope === 0) return -1
    let before = from
    let upper = this.#startOf(piece + 1) - 1
    if (!this.#isOutside(piece, low, high, upper)) return -1
    // The division can have a rounding error, so it only narrows the search.
    const height = (slope > 0 ? high : low) - this.#table[piece * PIECE_WIDTH + RATE_OFFSET]!
    const guess = this.#startOf(piece) + Math.floor(height / slope)
    if (guess - 1 > before && !this.#isOutside(piece, low, high, guess - 1)) before = guess - 1
    if (guess + 2 < upper && this.#isOutside(piece, low, high, guess + 2)) upper = guess + 2
    while (upper - before > 1) {
      const middle = Math.floor((before + upper) / 2)
      if (this.#isOutside(piece, low, high, middle)) upper = middle
      else before = middle
    }
    return upper
  }

  #isOutside(piece: number, low: number, high: number, phase: Micros): boolean {
    const rate = this.#rateIn(piece, phase)
    return rate <= low || rate > high
  }

  /** Returns the first piece at or after this one with a rate of at most `low` or above `high`; -1 if it is missing. */
  #pieceOutside(piece: number, low: number, high: number): number {
    if (piece >= this.#count) return -1
    const highest = this.#highest
    const lowest = this.#lowest
    let node = this.#leaves + piece
    while (highest[node]! <= high && lowest[node]! > low) {
      while ((node & 1) === 1) {
        if (node === 1) return -1
        node >>= 1
      }
      node++
    }
    while (node < this.#leaves) {
      node *= 2
      if (highest[node]! <= high && lowest[node]! > low) node++
    }
    return node - this.#leaves
  }
}
