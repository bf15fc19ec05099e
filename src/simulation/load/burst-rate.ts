import type { OfferedLoad } from '../../data/offered-load.ts'
import { type Micros, micros } from '../../kernel/duration.ts'
import { type Chance, type EntityKey, purpose } from '../../kernel/random.ts'
import { isOnSide, type RateFunction, type Side } from './rate-function.ts'

const BURST = purpose('load.burst')

/** A load with two rates: one burst at the peak in each period, at a random position, and the base otherwise. */
export class BurstRate implements RateFunction {
  readonly #base: number
  readonly #peak: number
  readonly #every: Micros
  readonly #duration: Micros
  readonly #jitter: number
  readonly #chance: Chance
  readonly #key: EntityKey
  /** The last period whose start was computed, and that start. One event needs it several times. */
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
