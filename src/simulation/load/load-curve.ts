/** Offered load as a function of time. A caller can ask for the next change, so it does not have to poll. */

import { type LoadPoint, type OfferedLoad, parseLoadTrace, tracePeriod } from '../../data/offered-load.ts'
import { type Micros, micros, SECOND } from '../../kernel/duration.ts'
import { type Chance, type EntityKey, purpose } from '../../kernel/random.ts'
import { type LinearPiece, PiecewiseRate, type RateFunction } from './piecewise-rate.ts'

const BURST = purpose('load.burst')

/** A load with two rates: one burst at the peak in each period, at a random position, and the base otherwise. */
class BurstRate implements RateFunction {
  readonly #base: number
  readonly #peak: number
  readonly #every: Micros
  readonly #duration: Micros
  readonly #jitter: number
  readonly #chance: Chance
  readonly #key: EntityKey
  /** The last even and the last odd period whose start was computed, and these starts. One event needs them several times. */
  readonly #cachedPeriods = [-1, -1]
  readonly #cachedStarts: Micros[] = [0, 0]

  constructor(load: Extract<OfferedLoad, { kind: 'burst' }>, chance: Chance, key: EntityKey) {
    this.#base = load.base
    this.#peak = load.peak
    this.#every = micros(load.every)
    this.#duration = micros(load.lasts)
    this.#jitter = load.jitter
    this.#chance = chance
    // Forks share this object, so they need the seed that it has.
    chance.isUsed = true
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

  firstOutside(low: number, high: number, from: Micros): Micros {
    const bursting = this.#isBurstAt(from)
    const rate = bursting ? this.#peak : this.#base
    if (rate <= low || rate > high) return from
    const nextRate = bursting ? this.#base : this.#peak
    return nextRate <= low || nextRate > high ? this.nextBreakpoint(from) : Number.POSITIVE_INFINITY
  }

  #periodOf(t: Micros): number {
    return Math.floor(t / this.#every)
  }

  #startOf(period: number): Micros {
    const place = period & 1
    if (period !== this.#cachedPeriods[place]) {
      const position = 0.5 + this.#jitter * (this.#chance.unit(this.#key, BURST, period) - 0.5)
      this.#cachedStarts[place] = period * this.#every + Math.floor((this.#every - this.#duration) * position)
      this.#cachedPeriods[place] = period
    }
    return this.#cachedStarts[place]!
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

/**
 * Returns the rate function of a load.
 *
 * @throws Error for a trace without text, LoadTraceError for an invalid trace
 */
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

/** (1 + cos x) / 2 for x from 0 to π in 24 steps. A table, because engines can round Math.cos differently. */
const RAISED_COSINE = [
  1, 0.9957224306869052, 0.9829629131445341, 0.9619397662556434, 0.9330127018922194, 0.8966766701456176,
  0.8535533905932737, 0.8043807145043603, 0.75, 0.6913417161825449, 0.6294095225512604, 0.5652630961100259, 0.5,
  0.4347369038899742, 0.3705904774487397, 0.30865828381745525, 0.25, 0.19561928549563967, 0.14644660940672627,
  0.10332332985438247, 0.06698729810778065, 0.03806023374435663, 0.0170370868554659, 0.004277569313094809, 0,
] as const

/** For a wave of a day, a piece is half an hour. The pieces differ from the cosine by at most 0.11 % of the swing. */
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

/** The random source of a curve. The key of the deployment decides the positions of bursts. */
export interface CurveRandomness {
  readonly chance: Chance
  readonly key: EntityKey
}

/**
 * An offered load, compiled: a piecewise linear rate over integer microseconds since the start of the world.
 *
 * At a jump, the rate is the rate after it. A periodic load is never expanded: a call costs at most the logarithm of the
 * pieces of one period. A curve is immutable, so forks share it.
 *
 * @example
 * const curve = new LoadCurve(OfferedLoad.parse({ kind: 'wave', low: 2, high: 40 }), { chance, key })
 * curve.rateAt(14 * HOUR) // 40
 * curve.firstAtMost(20, 14 * HOUR, DAY) // the microsecond at which it has fallen to 20
 */
export class LoadCurve {
  readonly #rateFunction: RateFunction
  /** The source of the curve. */
  readonly load: OfferedLoad
  readonly randomness: CurveRandomness

  /** @throws Error for a trace without text, LoadTraceError for an invalid trace */
  constructor(load: OfferedLoad, randomness: CurveRandomness) {
    this.load = load
    this.randomness = randomness
    this.#rateFunction = createRateFunction(load, randomness.chance, randomness.key)
  }

  /** Returns the requests/s at a time. */
  rateAt(t: Micros): number {
    return this.#rateFunction.rateAt(t)
  }

  /** Returns the requests that arrive in [from, to), a real number; 0 if `to` is not after `from`. */
  integral(from: Micros, to: Micros): number {
    return to > from ? this.#rateFunction.area(from, to) / SECOND : 0
  }

  /** Returns the next time after `t` at which the rate jumps or its slope changes; Infinity if it is missing. */
  nextBreakpoint(t: Micros): Micros {
    return this.#rateFunction.nextBreakpoint(t)
  }

  /** Returns the first microsecond in (from, until] with a rate above `level`; Infinity if it is missing. */
  firstAbove(level: number, from: Micros, until: Micros): Micros {
    return this.#firstOutside(Number.NEGATIVE_INFINITY, level, from, until)
  }

  /** Returns the first microsecond in (from, until] with a rate of at most `level`; Infinity if it is missing. */
  firstAtMost(level: number, from: Micros, until: Micros): Micros {
    return this.#firstOutside(level, Number.POSITIVE_INFINITY, from, until)
  }

  /**
   * Returns the first microsecond after `from` with a rate of at most `low` or above `high`; Infinity if it is missing.
   * This is the minimum of `firstAtMost` and `firstAbove`, but faster, because both are usually near.
   */
  firstOutside(low: number, high: number, from: Micros): Micros {
    return this.#firstOutside(low, high, from, Number.POSITIVE_INFINITY)
  }

  #firstOutside(low: number, high: number, from: Micros, until: Micros): Micros {
    if (until <= from) return Number.POSITIVE_INFINITY
    const t = this.#rateFunction.firstOutside(low, high, from + 1, until)
    return t <= until ? t : Number.POSITIVE_INFINITY
  }
}
