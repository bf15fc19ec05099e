/** How long an exploration goes on. */
import { type Duration, micros } from '../../../kernel/duration.ts'
import { acceptCopies, attempt } from '../../../lib/errors.ts'
import { quote } from '../../../lib/quote.ts'

/** Runs of an exploration unless it has a budget. */
export const DEFAULT_BUDGET = 2000

/** A bound in runs, or in real time. */
export class Budget {
  /** Whether the same flow gives the same report again: with real time, the number of runs varies. */
  readonly isReproducible: boolean
  readonly #runs: number
  readonly #endsAt: number
  readonly #realTime: () => number

  /**
   * @param realTime returns real milliseconds
   * @throws ExploreError for a budget that is neither a number of runs nor a duration
   */
  constructor(budget: number | Duration = DEFAULT_BUDGET, flow: string, realTime: () => number) {
    const length = typeof budget === 'string' ? attempt(() => micros(budget)) : undefined
    const isCount = typeof budget === 'number' && Number.isInteger(budget) && budget > 0
    if (length === 0 || (length === undefined && !isCount)) {
      throw new ExploreError(
        `Failed to explore ${flow}: the budget ${quote(budget)} is invalid. Give a number of runs, or real time as in '60s'.`,
      )
    }
    this.isReproducible = length === undefined
    this.#realTime = realTime
    this.#runs = length === undefined ? Number(budget) : Number.POSITIVE_INFINITY
    this.#endsAt = length === undefined ? Number.POSITIVE_INFINITY : realTime() + length / 1000
  }

  /** The runs after which the swarm begins, even if pairs are left: four fifths of all. Infinite for real time. */
  get runsBeforeSwarm(): number {
    return Math.floor(this.#runs * 0.8)
  }

  /** Returns how many of the planned runs are left of the budget. Real time bounds none. */
  atMost(planned: number, runs: number): number {
    return Math.max(0, Math.min(planned, this.#runs - runs))
  }

  isSpentAfter(runs: number): boolean {
    return runs >= this.#runs || (!this.isReproducible && this.#realTime() >= this.#endsAt)
  }
}

/** A flow that cannot be explored. The message names the flow and a remedy. */
export class ExploreError extends Error {
  override readonly name = 'ExploreError'
}
acceptCopies(ExploreError, 'ExploreError')
