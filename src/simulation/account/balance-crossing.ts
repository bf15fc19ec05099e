import type { Archive } from '../../kernel/archive.ts'
import { HOUR, type Micros } from '../../kernel/duration.ts'
import type { SimulationContext } from '../context.ts'
import type { Meters } from './meters.ts'
import type { Microcents } from './money.ts'

/** The event of the moment at which the balance reaches the next level that matters. */
export class BalanceCrossing {
  readonly #context: SimulationContext
  readonly #meters: Meters
  #event = 0

  constructor(context: SimulationContext, meters: Meters, origin?: BalanceCrossing) {
    this.#context = context
    this.#meters = meters
    if (origin) this.#event = origin.#event
  }

  archive(archive: Archive): void {
    this.#event = archive.value(this.#event)
  }

  /** Forgets the event, which fires now. */
  onFired(): void {
    this.#event = 0
  }

  /** Cancels the event and accrues the meters to now, before `timeOf`. */
  reset(): void {
    this.#context.cancel(this.#event)
    this.#event = 0
    this.#meters.accrueTotal(this.#context.clock.now)
  }

  /**
   * Returns the earliest time at which the balance can reach a level; Infinity for never. The sum of all meters without
   * floors reaches a level no later than the floored one. If the balance is still above it then, the caller schedules
   * again.
   *
   * @param withoutRent funds less the cost of tokens
   */
  timeOf(level: Microcents, withoutRent: Microcents): Micros {
    const { now } = this.#context.clock
    const left = this.#meters.timeUntil(withoutRent - level)
    if (left > 0) return now + left
    const above = withoutRent - this.#meters.totalRent() - level
    // Floors of many meters may keep the balance a few micro-cents above: look again when one more has run.
    if (above <= 0 || this.#meters.totalRate === 0) return above <= 0 ? now : Number.POSITIVE_INFINITY
    return now + Math.floor((above * HOUR) / this.#meters.totalRate) + 1
  }

  /** Schedules the event. `at` is the minimum of `timeOf` over the levels that matter. */
  schedule(at: Micros): void {
    if (at === Number.POSITIVE_INFINITY) return
    this.#event = this.#context.scheduleAt(Math.max(at, this.#context.clock.now), 'account.crossing')
  }
}
