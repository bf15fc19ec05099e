import type { Micros } from '../../kernel/duration.ts'
import { type BilledInterval, gpuTimeCost, gpuTimeWeight, type Microcents } from '../account/money.ts'
import type { World } from '../world.ts'

/** The rent of one meter, read at ever later times. Differences of two readings add up, as those of reports do. */
export class RentReader {
  readonly #intervals: ForwardReader<BilledInterval & { readonly at: Micros; readonly before: bigint }>

  /** @param meter -1 for a thing without one */
  constructor(world: World, meter: number) {
    let before = 0n
    const intervals = meter < 0 ? [] : [...world.ledger.meters.intervalsOf(meter)].reverse()
    this.#intervals = new ForwardReader(
      intervals.map(interval => {
        const own = { ...interval, at: interval.from, before }
        before += gpuTimeWeight(interval, interval.from, interval.to)
        return own
      }),
    )
  }

  /** Returns the rent from the start of the world to a time that is neither before the last one nor in the future. */
  totalAt(at: Micros): Microcents {
    const interval = this.#intervals.readAt(at)
    if (interval === undefined) return 0
    return gpuTimeCost(interval.before + gpuTimeWeight(interval, interval.from, Math.min(at, interval.to)))
  }
}

/** Lines in order of time, of which the newest that holds is asked for at ever later moments. */
export class ForwardReader<Line extends { readonly at: Micros }> {
  readonly #lines: readonly Line[]
  #next = 0

  constructor(lines: readonly Line[]) {
    this.#lines = lines
  }

  readAt(at: Micros): Line | undefined {
    while (this.#next < this.#lines.length && this.#lines[this.#next]!.at <= at) this.#next++
    return this.#lines[this.#next - 1]
  }
}
