import type { Archive } from '../../kernel/archive.ts'
import type { Micros } from '../../kernel/duration.ts'
import type { SimulationContext } from '../context.ts'
import { Part } from '../part.ts'
import type { Meters } from './meters.ts'
import type { Microcents } from './money.ts'
import type { PastUsage } from './past-usage.ts'
import type { PostingLog } from './posting-log.ts'

/** Returns the time at which the billing period of a time began, in UTC: a month or a day by `invoice_closes`. */
export function startOfPeriod(context: Pick<SimulationContext, 'clock' | 'profile'>, at: Micros): Micros {
  return periodEdge(context, at, 0)
}

/** Returns midnight of the first day of a period, counted from the period of a time. */
function periodEdge(
  { clock, profile }: Pick<SimulationContext, 'clock' | 'profile'>,
  at: Micros,
  periods: number,
): Micros {
  const date = new Date(clock.epochMs + Math.floor(at / 1000))
  const [year, month, day] = [date.getUTCFullYear(), date.getUTCMonth(), date.getUTCDate()]
  const isMonthly = profile.policies.invoiceCloses === 'monthly'
  const unixMs = isMonthly ? Date.UTC(year, month + periods, 1) : Date.UTC(year, month, day + periods)
  return (unixMs - clock.epochMs) * 1000
}

/** The parts of the ledger that it reads. */
export interface SpendingLimitParts {
  readonly meters: Meters
  readonly postings: PostingLog
  readonly past: PastUsage
}

/**
 * The limit on the use of one billing period: `recent` of the checklist. It compares the spent money with the money that
 * was spent when the period began. Both are sums since the epoch, to the micro-cent.
 */
export class SpendingLimit extends Part<SpendingLimitParts> {
  #limit: Microcents | undefined
  #periodStart: Micros = 0
  /** Spent since the epoch when the period began. Negative by the use of the period before the epoch. */
  #spentBefore: Microcents = 0
  #periodEvent = 0

  archive(archive: Archive): void {
    this.#limit = archive.value(this.#limit)
    this.#periodStart = archive.value(this.#periodStart)
    this.#spentBefore = archive.value(this.#spentBefore)
    this.#periodEvent = archive.value(this.#periodEvent)
  }

  /** The limit of a period; undefined for none. */
  get limit(): Microcents | undefined {
    return this.#limit
  }

  /** Sets the limit. `spent` is the cost of all use since the epoch. */
  set(limit: Microcents | undefined, spent: Microcents): void {
    this.context.cancel(this.#periodEvent)
    this.#periodEvent = 0
    this.#limit = limit
    if (limit === undefined) return
    this.#periodStart = startOfPeriod(this.context, this.context.clock.now)
    this.#spentBefore = spent - this.#useSince(this.#periodStart)
    this.#schedulePeriodEnd()
  }

  /** Begins the next period. */
  onPeriodEnded(spent: Microcents): void {
    this.#periodStart = this.context.clock.now
    // A charge of this moment belongs to the new period, also if it came before this event.
    this.#spentBefore = spent - this.#useSince(this.#periodStart)
    this.#schedulePeriodEnd()
  }

  /** The use of the period. */
  use(spent: Microcents): Microcents {
    return spent - this.#spentBefore
  }

  isReached(spent: Microcents): boolean {
    return this.#limit !== undefined && this.use(spent) >= this.#limit
  }

  /** The balance at which the limit is reached, with these funds; undefined without a limit. */
  balanceWhenReached(funds: Microcents): Microcents | undefined {
    return this.#limit === undefined ? undefined : funds - this.#spentBefore - this.#limit
  }

  #schedulePeriodEnd(): void {
    const end = periodEdge(this.context, this.context.clock.now, 1)
    this.#periodEvent = this.context.scheduleAt(end, 'account.periodEnded')
  }

  /** Returns the cost of all use since the beginning of a period, before the epoch too. */
  #useSince(from: Micros): Microcents {
    const { meters, postings, past } = this.parts
    const { now } = this.context.clock
    let use = 0
    for (const { microcents } of past.rentUsage(from, now)) use += microcents
    for (const { microcents } of past.tokenUsage(from, now)) use += microcents
    if (now > 0) for (const { microcents } of meters.meteredUsage(Math.max(0, from), now)) use += microcents
    for (const { kind, time, microcents } of postings) {
      const isCharge = kind === 'tokens' || kind === 'units'
      if (isCharge && time >= from) use -= microcents
    }
    return use
  }
}
