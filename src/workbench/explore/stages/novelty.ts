/** How likely the next run shows something new. */

/** Runs that are necessary before a chance under 1 % means something. */
const LEAST_RUNS = 100

/**
 * Counts features of runs. The chance of something new is the Good-Turing estimate: the features that one run alone had,
 * divided by the runs. Features that are known from the start are never new.
 */
export class Novelty {
  readonly #known: ReadonlySet<string>
  readonly #counts = new Map<string, number>()
  #seenOnce = 0
  #runs = 0

  constructor(known: ReadonlySet<string> = new Set()) {
    this.#known = known
  }

  /** Adds the features of a run. */
  add(features: ReadonlySet<string>): void {
    this.#runs++
    for (const feature of features) {
      if (this.#known.has(feature)) continue
      const count = (this.#counts.get(feature) ?? 0) + 1
      this.#counts.set(feature, count)
      if (count === 1) this.#seenOnce++
      else if (count === 2) this.#seenOnce--
    }
  }

  /** The chance, from 0 to 1; 1 before the first run. */
  get chanceOfNew(): number {
    return this.#runs === 0 ? 1 : Math.min(1, this.#seenOnce / this.#runs)
  }

  /** Whether the chance is under 1 %, after enough runs to say so. */
  get isSaturated(): boolean {
    return this.#runs >= LEAST_RUNS && this.chanceOfNew < 0.01
  }

  /** All features so far. */
  get features(): ReadonlySet<string> {
    return new Set([...this.#known, ...this.#counts.keys()])
  }
}
