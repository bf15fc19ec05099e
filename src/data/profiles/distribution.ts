/** The distributions of random numbers that a profile sets, and the draw of a number from one. */
import type { Chance, EntityKey, Purpose } from '../../kernel/random.ts'

/** Lognormal around `median`, with the sigma of its logarithm, cut at `cap`. A sigma of 0 is a constant. */
export interface Lognormal {
  readonly median: number
  readonly sigma: number
  readonly cap: number
}

/** Exponential around `mean`, cut at `cap`. */
export interface Exponential {
  readonly mean: number
  readonly cap: number
}

/** Uniform from `min` to `max`. */
export interface Uniform {
  readonly min: number
  readonly max: number
}

/** The distribution of a random number: microseconds for a time, bytes/s for a rate. */
export type Distribution = Lognormal | Exponential | Uniform

/** The cap of a distribution without a cap. Finite, because JSON has no Infinity. */
export const NO_CAP = Number.MAX_SAFE_INTEGER

/**
 * Draws a number, in the unit of the distribution. A constant needs no draw. If a setting becomes a constant, all other
 * draws stay the same.
 *
 * @example draw(profile.timings.imagePull, world.chance, deployment.key, IMAGE_PULL, instance.nth)
 */
export function draw(distribution: Distribution, chance: Chance, key: EntityKey, purpose: Purpose, index = 0): number {
  if ('median' in distribution) {
    const { median, sigma, cap } = distribution
    return sigma === 0 ? Math.min(cap, median) : Math.min(cap, chance.lognormal(median, sigma, key, purpose, index))
  }
  if ('mean' in distribution)
    return Math.min(distribution.cap, chance.exponential(distribution.mean, key, purpose, index))
  return distribution.min === distribution.max
    ? distribution.min
    : distribution.min + (distribution.max - distribution.min) * chance.unit(key, purpose, index)
}
