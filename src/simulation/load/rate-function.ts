import type { Micros } from '../../kernel/duration.ts'

/** The side of a level on which a rate lies. */
export type Side = 'above' | 'below' | 'at most'

/** The rate of a load as a function of time. Areas are in requests/s × µs. */
export interface RateFunction {
  rateAt(t: Micros): number
  area(from: Micros, to: Micros): number
  nextBreakpoint(t: Micros): Micros
  /**
   * Returns the first microsecond at or after `from` with a rate on this side of the level. A result after `until` is
   * ignored, so the search can end there.
   */
  first(side: Side, level: number, from: Micros, until: Micros): Micros
  /** Returns the first microsecond at or after `from` with a rate of at most `low` or above `high`; Infinity for never. */
  firstOutside(low: number, high: number, from: Micros): Micros
}

/** Whether a rate lies on this side of a level. */
export function isOnSide(side: Side, level: number, rate: number): boolean {
  return side === 'above' ? rate > level : side === 'below' ? rate < level : rate <= level
}
