import { DAY, type Micros } from '../../kernel/duration.ts'
import type { Microcents } from '../account/money.ts'
import type { World } from '../world.ts'
import { sumBy } from './figures.ts'
import { monthOf, startOfMonth, usageItems } from './monthly-usage.ts'

/** The money of the account as invoices show it. */
export interface AccountBalance {
  /** Negative for prepaid credit, positive for debt. It changes when money comes and when an invoice closes. */
  readonly owed: Microcents
  /** The use since the last invoice. `-(owed + recent)` is the balance of the ledger. */
  readonly recent: Microcents
}

/** Returns the balance of the last invoice, with the money that has come since, and the use since then. */
export function accountBalance(world: World): AccountBalance {
  const items = usageItems(world, lastInvoiceTime(world), world.clock.now)
  const recent = sumBy(items, item => item.microcents)
  // Avoids minus zero for an empty balance.
  return { owed: 0 - (world.ledger.balance + recent), recent }
}

/** Returns the time at which the last invoice closed, in microseconds since the epoch. */
function lastInvoiceTime(world: World): Micros {
  const { clock, profile } = world
  if (profile.policies.invoiceCloses === 'monthly') return startOfMonth(world, monthOf(world, clock.now))
  const epoch = clock.epochMs * 1000
  return Math.floor((epoch + clock.now) / DAY) * DAY - epoch
}
