import type { Archive } from '../../kernel/archive.ts'
import { HOUR, type Micros } from '../../kernel/duration.ts'
import type { SimulationContext } from '../context.ts'
import type { Meters } from './meters.ts'
import type { Microcents } from './money.ts'

/** The money of the account, without and with the rent of all meters. */
export interface CrossingBalance {
  /** Funds less the cost of tokens. */
  readonly withoutRent: Microcents
  /** The balance, computed to now. */
  exact(): Microcents
}

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

  /**
   * Schedules the event for the earliest time at which the balance reaches one of the levels. The sum of all meters
   * without floors reaches a level no later than the floored one. If the balance is still above it then, the caller
   * schedules again.
   */
  schedule(balance: CrossingBalance, levels: readonly Microcents[]): void {
    this.#context.cancel(this.#event)
    this.#event = 0
    const { now } = this.#context.clock
    this.#meters.accrueTotal(now)
    let at = Number.POSITIVE_INFINITY
    for (const level of levels) at = Math.min(at, this.#timeOf(level, balance))
    if (at < Number.POSITIVE_INFINITY) this.#event = this.#context.scheduleAt(Math.max(at, now), 'account.crossing')
  }

  #timeOf(level: Microcents, { withoutRent, exact }: CrossingBalance): Micros {
    const { now } = this.#context.clock
    const left = this.#meters.timeUntil(withoutRent - level)
    if (left > 0) return now + left
    const above = exact() - level
    // Floors of many meters may keep the balance a few micro-cents above: look again when one more has run.
    if (above <= 0 || this.#meters.totalRate === 0) return above <= 0 ? now : Number.POSITIVE_INFINITY
    return now + Math.floor((above * HOUR) / this.#meters.totalRate) + 1
  }
}
