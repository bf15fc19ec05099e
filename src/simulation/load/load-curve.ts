/** Offered load as a function of time. A caller can ask for the next change, so it does not have to poll. */

import type { OfferedLoad } from '../../data/offered-load.ts'
import { type Micros, SECOND } from '../../kernel/duration.ts'
import type { Chance, EntityKey } from '../../kernel/random.ts'
import { createRateFunction } from './load-shapes.ts'
import type { RateFunction, Side } from './rate-function.ts'

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
 * curve.firstBelow(20, 14 * HOUR, DAY) // the microsecond at which it has fallen below 20
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
    return this.#first('above', level, from, until)
  }

  /** Returns the first microsecond in (from, until] with a rate below `level`; Infinity if it is missing. */
  firstBelow(level: number, from: Micros, until: Micros): Micros {
    return this.#first('below', level, from, until)
  }

  /**
   * Returns the first microsecond in (from, until] with a rate of at most `level`; Infinity if it is missing. A load can
   * stay exactly at a threshold, which `firstBelow` ignores.
   */
  firstAtMost(level: number, from: Micros, until: Micros): Micros {
    return this.#first('at most', level, from, until)
  }

  /**
   * Returns the first microsecond after `from` with a rate of at most `low` or above `high`; Infinity if it is missing.
   * This is the minimum of `firstAtMost` and `firstAbove`, but faster, because both are usually near.
   */
  firstOutside(low: number, high: number, from: Micros): Micros {
    return this.#rateFunction.firstOutside(low, high, from + 1)
  }

  #first(side: Side, level: number, from: Micros, until: Micros): Micros {
    if (until <= from) return Number.POSITIVE_INFINITY
    const t = this.#rateFunction.first(side, level, from + 1, until)
    return t <= until ? t : Number.POSITIVE_INFINITY
  }
}
