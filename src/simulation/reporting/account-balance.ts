import type { Microcents } from '../account/money.ts'
import { startOfPeriod } from '../account/spending-limit.ts'
import type { World } from '../world.ts'
import { sumBy } from './figures.ts'
import { usageItems } from './monthly-usage.ts'

/** The money of the account as invoices show it. */
export interface AccountBalance {
  /** Negative for prepaid credit, positive for debt. It changes when money comes and when an invoice closes. */
  readonly owed: Microcents
  /** The use since the last invoice. `-(owed + recent)` is the balance of the ledger. */
  readonly recent: Microcents
}

/** Returns the balance of the last invoice, with the money that has come since, and the use since then. */
export function accountBalance(world: World): AccountBalance {
  const items = usageItems(world, startOfPeriod(world, world.clock.now), world.clock.now)
  const recent = sumBy(items, item => item.microcents)
  // Avoids minus zero for an empty balance.
  return { owed: 0 - (world.ledger.balance + recent), recent }
}
