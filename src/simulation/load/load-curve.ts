/** Offered load as a function of time, so that whoever waits for it can ask when it changes instead of watching it. */

import { type LoadPoint, type OfferedLoad, parseLoadTrace, tracePeriod } from '../../data/offered-load.ts'
import { type Micros, micros, SECOND } from '../../kernel/duration.ts'
import { type Chance, type EntityKey, purpose } from '../../kernel/random.ts'

const BURST = purpose('load.burst')

/** Whose chance a curve draws from: bursts fall where the key of their deployment says. */
export interface CurveRandomness {
  readonly chance: Chance
  readonly key: EntityKey
}

/**
 * A load, compiled: a piecewise linear rate over integer microseconds since the start of the world.
 *
 * At a jump the rate is the one after it. Periodic loads are evaluated where they are asked and never expanded; no call
 * costs more than the logarithm of the pieces of one period. A curve never changes, so forks share it.
 *
 * @example
 * const curve = new LoadCurve(OfferedLoad.parse({ kind: 'wave', low: 2, high: 40 }), { chance, key })
 * curve.rateAt(14 * HOUR) // 40
 * curve.firstBelow(20, 14 * HOUR, DAY) // the microsecond at which it has fallen below 20
 */
export class LoadCurve {
  readonly #rateFunction: RateFunction
  /** What it was compiled from. */
  readonly load: OfferedLoad
  readonly randomness: CurveRandomness

  /** @throws Error for a trace whose text nobody read, LoadTraceError for one that makes no sense */
  constructor(load: OfferedLoad, by: CurveRandomness) {
    this.load = load
    this.randomness = by
    this.#rateFunction = createRateFunction(load, by.chance, by.key)
  }

  /** Requests/s at a moment. */
  rateAt(t: Micros): number {
    return this.#rateFunction.rateAt(t)
  }

  /** Requests that arrive in [from, to), a real number; 0 where `to` does not lie after `from`. */
  integral(from: Micros, to: Micros): number {
    return to > from ? this.#rateFunction.area(from, to) / SECOND : 0
  }

  /** The next moment after `t` at which the rate jumps or changes its slope; Infinity when it never does. */
  nextBreakpoint(t: Micros): Micros {
    return this.#rateFunction.nextBreakpoint(t)
  }

  /** The first microsecond after `from`, up to and including `until`, with a rate above `level`; Infinity when there is none. */
  firstAbove(level: number, from: Micros, until: Micros): Micros {
    return this.#first('above', level, from, until)
  }

  /** The first microsecond after `from`, up to and including `until`, with a rate below `level`; Infinity when there is none. */
  firstBelow(level: number, from: Micros, until: Micros): Micros {
    return this.#first('below', level, from, until)
  }

  /**
   * As `firstBelow`, with the level itself counting: the opposite of `firstAbove`, and what a load that settles exactly
   * on a threshold needs.
   */
  firstAtMost(level: number, from: Micros, until: Micros): Micros {
    return this.#first('at most', level, from, until)
  }

  /**
   * The first microsecond after `from` with a rate at most `low` or above `high`; Infinity when there is none. As the
   * earlier of `firstAtMost` and `firstAbove`, and sooner said: most often both are near.
   */
  firstOutside(low: number, high: number, from: Micros): Micros {
    const soon = this.#firstOutsideUntil(low, high, from, this.#rateFunction.nextBreakpoint(from))
    return soon < Number.POSITIVE_INFINITY ? soon : this.#firstOutsideUntil(low, high, from, Number.POSITIVE_INFINITY)
  }

  #firstOutsideUntil(low: number, high: number, from: Micros, until: Micros): Micros {
    const above = this.#first('above', high, from, until)
    return Math.min(above, this.#first('at most', low, from, Math.min(above, until)))
  }

  #first(side: Side, level: number, from: Micros, until: Micros): Micros {
    if (until <= from) return Number.POSITIVE_INFINITY
    const t = this.#rateFunction.first(side, level, from + 1, until)
    return t <= until ? t : Number.POSITIVE_INFINITY
  }
}

type Side = 'above' | 'below' | 'at most'

/** How a curve is evaluated. Areas are in requests/s × µs. */
interface RateFunction {
  rateAt(t: Micros): number
  area(from: Micros, to: Micros): number
  nextBreakpoint(t: Micros): Micros
  /**
   * The first microsecond from `from` on, itself included, that lies on this side of the level. Whoever asks wants none
   * after `until`, so none after it need be found.
   */
  first(side: Side, level: number, from: Micros, until: Micros): Micros
}

function isOnSide(side: Side, level: number, rate: number): boolean {
  return side === 'above' ? rate > level : side === 'below' ? rate < level : rate <= level
}

function createRateFunction(load: OfferedLoad, chance: Chance, key: EntityKey): RateFunction {
  switch (load.kind) {
    case 'constant':
      return stepRate([{ at: 0, rps: load.rps }])
    case 'steps':
      return stepRate(load.steps.map(({ at, rps }) => ({ at: micros(at), rps })))
    case 'wave':
      return load.low === load.high ? stepRate([{ at: 0, rps: load.low }]) : waveRate(load)
    case 'burst': {
      const isConstant = micros(load.lasts) === micros(load.every) || load.base === load.peak
      return isConstant ? stepRate([{ at: 0, rps: load.peak }]) : new BurstRate(load, chance, key)
    }
    case 'ramp':
      return rampRate(load)
    case 'trace': {
      if (load.text === undefined) {
        throw new Error(`Failed to compile the trace '${load.path ?? ''}': its text was not read. Read the file first.`)
      }
      const points = parseLoadTrace(load.text, load.path)
      return stepRate(points, load.repeat ? tracePeriod(points) : Number.POSITIVE_INFINITY)
    }
  }
}

function stepRate(points: readonly LoadPoint[], period: Micros = Number.POSITIVE_INFINITY): PiecewiseRate {
  const pieces: LinearPiece[] = []
  const addPiece = (at: Micros, rps: number) => {
    if (pieces.at(-1)?.from !== rps) pieces.push({ at, from: rps, to: rps })
  }
  if (points[0]!.at > 0) addPiece(0, 0)
  for (const { at, rps } of points) addPiece(at, rps)
  return new PiecewiseRate(pieces, period, 0)
}

function rampRate(load: Extract<OfferedLoad, { kind: 'ramp' }>): PiecewiseRate {
  const start = micros(load.start)
  const pieces = [
    { at: 0, from: load.from, to: load.from },
    { at: start, from: load.from, to: load.to },
    { at: micros(load.end), from: load.to, to: load.to },
  ]
  return new PiecewiseRate(start === 0 ? pieces.slice(1) : pieces, Number.POSITIVE_INFINITY, 0)
}

/** (1 + cos x) / 2 for x from 0 to π in 24 steps: a table, because engines may round Math.cos differently. */
const RAISED_COSINE = [
  1, 0.9957224306869052, 0.9829629131445341, 0.9619397662556434, 0.9330127018922194, 0.8966766701456176,
  0.8535533905932737, 0.8043807145043603, 0.75, 0.6913417161825449, 0.6294095225512604, 0.5652630961100259, 0.5,
  0.4347369038899742, 0.3705904774487397, 0.30865828381745525, 0.25, 0.19561928549563967, 0.14644660940672627,
  0.10332332985438247, 0.06698729810778065, 0.03806023374435663, 0.0170370868554659, 0.004277569313094809, 0,
] as const

/** Half an hour a piece for a wave of a day; the straight pieces stay within 0.11 % of the swing from the cosine. */
const WAVE_PIECES = 48

function waveRate(load: Extract<OfferedLoad, { kind: 'wave' }>): PiecewiseRate {
  const period = micros(load.period)
  const height = (index: number) => {
    const share = RAISED_COSINE[index <= WAVE_PIECES / 2 ? index : WAVE_PIECES - index]!
    return share === 1 ? load.high : load.low + (load.high - load.low) * share
  }
  const pieces = Array.from({ length: WAVE_PIECES }, (_, k) => ({
    at: Math.round((period / WAVE_PIECES) * k),
    from: height(k),
    to: height(k + 1),
  }))
  return new PiecewiseRate(pieces, period, micros(load.peak_at))
}

/** A straight line from one rate to another, which it reaches where the next piece begins. */
interface LinearPiece {
  readonly at: Micros
  readonly from: number
  readonly to: number
}

/** Numbers in the table of a piece, and where among them they lie; its start comes first. */
const PIECE_WIDTH = 4
const RATE_OFFSET = 1
const SLOPE_OFFSET = 2
const AREA_OFFSET = 3

/**
 * A table of straight pieces from 0 to `period`, which then repeats; its 0 lies at `origin`. A table without end (period
 * Infinity) keeps the rate of its last piece.
 *
 * Two trees over the pieces, of their highest and lowest rates, find the first piece that crosses a level.
 */
class PiecewiseRate implements RateFunction {
  readonly #period: Micros
  readonly #origin: Micros
  readonly #count: number
  /**
   * Start, rate, slope in requests/s per µs, and area from 0 to the start of each piece, side by side: a fleet's curves
   * fill more than a core's cache, so what is read together lies together. At the end the period and its area.
   */
  readonly #table: Float64Array
  /** Leaves from #leaves on; the parent of node n is n >> 1. */
  readonly #highest: Float64Array
  readonly #lowest: Float64Array
  readonly #leaves: number

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
    const phase = this.#phaseOf(t)
    return this.#rateIn(this.#pieceAt(phase), phase)
  }

  area(from: Micros, to: Micros): number {
    const start = this.#phaseOf(from)
    const end = start + (to - from)
    if (end <= this.#period) return this.#areaBetween(start, end)
    const excess = end - this.#period
    const remainder = excess % this.#period
    const periods = Math.round((excess - remainder) / this.#period)
    return (
      this.#areaBetween(start, this.#period) + periods * this.#areaBefore(this.#count) + this.#areaBetween(0, remainder)
    )
  }

  nextBreakpoint(t: Micros): Micros {
    const phase = this.#phaseOf(t)
    return t + (this.#startOf(this.#pieceAt(phase) + 1) - phase)
  }

  first(side: Side, level: number, from: Micros, until: Micros): Micros {
    const phase = this.#phaseOf(from)
    const latest = phase + (until - from)
    const piece = this.#pieceAt(phase)
    const inThisPiece = this.#firstIn(piece, side, level, phase, latest)
    if (inThisPiece >= 0) return from + (inThisPiece - phase)
    // Most of what is asked lies in one piece.
    if (latest < this.#startOf(piece + 1)) return Number.POSITIVE_INFINITY
    const laterPiece = this.#pieceFrom(piece + 1, side, level)
    if (laterPiece >= 0) return from + (this.#firstIn(laterPiece, side, level, this.#startOf(laterPiece)) - phase)
    if (this.#period === Number.POSITIVE_INFINITY) return Number.POSITIVE_INFINITY
    const wrappedPiece = this.#pieceFrom(0, side, level)
    if (wrappedPiece < 0) return Number.POSITIVE_INFINITY
    return from + (this.#period - phase) + this.#firstIn(wrappedPiece, side, level, this.#startOf(wrappedPiece))
  }

  #phaseOf(t: Micros): Micros {
    const period = this.#period
    if (period === Number.POSITIVE_INFINITY) return t
    const since = t - this.#origin
    // Exact below 2^53, and a tenth of what `%` costs between numbers that are no small integers.
    return since - Math.floor(since / period) * period
  }

  #pieceAt(phase: Micros): number {
    // Right at once where the pieces are of one length, as those of a wave are.
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

  /** Where a piece begins, which is where the one before it ends. */
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

  /** The first phase of a piece, from `from` to `until`, that lies on this side of the level; -1 when none does. */
  #firstIn(piece: number, side: Side, level: number, from: Micros, until: Micros = Number.POSITIVE_INFINITY): Micros {
    if (isOnSide(side, level, this.#rateIn(piece, from))) return from
    const slope = this.#table[piece * PIECE_WIDTH + SLOPE_OFFSET]!
    if (slope === 0) return -1
    const start = this.#startOf(piece)
    let before = from
    let upper = Math.min(this.#startOf(piece + 1) - 1, until)
    if (!isOnSide(side, level, this.#rateIn(piece, upper))) return -1
    // The crossing by division may be a rounding off, so it only narrows the search.
    const guess = start + Math.floor((level - this.#table[piece * PIECE_WIDTH + RATE_OFFSET]!) / slope)
    if (guess - 1 > before && !isOnSide(side, level, this.#rateIn(piece, guess - 1))) before = guess - 1
    if (guess + 2 < upper && isOnSide(side, level, this.#rateIn(piece, guess + 2))) upper = guess + 2
    while (upper - before > 1) {
      const middle = Math.floor((before + upper) / 2)
      if (isOnSide(side, level, this.#rateIn(piece, middle))) upper = middle
      else before = middle
    }
    return upper
  }

  /** The first piece from this one on that somewhere lies on this side of the level; -1 when none does. */
  #pieceFrom(piece: number, side: Side, level: number): number {
    if (piece >= this.#count) return -1
    const extremes = side === 'above' ? this.#highest : this.#lowest
    let node = this.#leaves + piece
    while (!isOnSide(side, level, extremes[node]!)) {
      while ((node & 1) === 1) {
        if (node === 1) return -1
        node >>= 1
      }
      node++
    }
    while (node < this.#leaves) {
      node *= 2
      if (!isOnSide(side, level, extremes[node]!)) node++
    }
    return node - this.#leaves
  }
}

/** Two rates: the peak for a while in each period, where the key's chance says, and the base otherwise. */
class BurstRate implements RateFunction {
  readonly #base: number
  readonly #peak: number
  readonly #every: Micros
  readonly #duration: Micros
  readonly #jitter: number
  readonly #chance: Chance
  readonly #key: EntityKey
  /** The period whose start was asked for last, and that: one moment asks for it several times. */
  #cachedPeriod = -1
  #cachedStart: Micros = 0

  constructor(load: Extract<OfferedLoad, { kind: 'burst' }>, chance: Chance, key: EntityKey) {
    this.#base = load.base
    this.#peak = load.peak
    this.#every = micros(load.every)
    this.#duration = micros(load.lasts)
    this.#jitter = load.jitter
    this.#chance = chance
    this.#key = key
  }

  rateAt(t: Micros): number {
    return this.#isBurstAt(t) ? this.#peak : this.#base
  }

  area(from: Micros, to: Micros): number {
    const first = this.#periodOf(from)
    const last = this.#periodOf(to)
    const bursting =
      first === last
        ? this.#overlap(first, from, to)
        : this.#overlap(first, from, Number.POSITIVE_INFINITY) +
          (last - first - 1) * this.#duration +
          this.#overlap(last, 0, to)
    return this.#base * (to - from) + (this.#peak - this.#base) * bursting
  }

  nextBreakpoint(t: Micros): Micros {
    const period = this.#periodOf(t)
    const start = this.#startOf(period)
    if (t < start) return start
    return t < start + this.#duration ? start + this.#duration : this.#startOf(period + 1)
  }

  first(side: Side, level: number, from: Micros): Micros {
    const bursting = this.#isBurstAt(from)
    if (isOnSide(side, level, bursting ? this.#peak : this.#base)) return from
    return isOnSide(side, level, bursting ? this.#base : this.#peak)
      ? this.nextBreakpoint(from)
      : Number.POSITIVE_INFINITY
  }

  #periodOf(t: Micros): number {
    return Math.floor(t / this.#every)
  }

  #startOf(period: number): Micros {
    if (period !== this.#cachedPeriod) {
      const position = 0.5 + this.#jitter * (this.#chance.unit(this.#key, BURST, period) - 0.5)
      this.#cachedStart = period * this.#every + Math.floor((this.#every - this.#duration) * position)
      this.#cachedPeriod = period
    }
    return this.#cachedStart
  }

  #isBurstAt(t: Micros): boolean {
    const since = t - this.#startOf(this.#periodOf(t))
    return since >= 0 && since < this.#duration
  }

  #overlap(period: number, from: Micros, to: Micros): Micros {
    const start = this.#startOf(period)
    return Math.max(0, Math.min(to, start + this.#duration) - Math.max(from, start))
  }
}
