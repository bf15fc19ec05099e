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

  first(side: Side, level: number, from: Micros): Micros {
    const bursting = this.#isBurstAt(from)
    if (isOnSide(side, level, bursting ? this.#peak : this.#base)) return from
    return isOnSide(side, level, bursting ? this.#base : this.#peak)
      ? this.nextBreakpoint(from)
      : Number.POSITIVE_INFINITY
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
