import type { Archive } from '../../../kernel/archive.ts'
import type { SimulationContext } from '../../context.ts'
import { assertHandled, type EventOf } from '../../events.ts'
import type { Ledger } from '../ledger.ts'
import { RateLimits } from './rate-limits.ts'
import { UserRecord } from './user-record.ts'

/** The parts below that it uses. */
export interface AccountAccessParts {
  readonly ledger: Ledger
}

/** Who the account is, and how much its tokens may ask: its record and its rate limits. */
export class AccountAccess {
  readonly userRecord: UserRecord
  readonly rateLimits: RateLimits

  constructor(context: SimulationContext, parts: AccountAccessParts, origin?: AccountAccess) {
    this.userRecord = new UserRecord(context, parts)
    this.rateLimits = new RateLimits(context, parts, origin?.rateLimits)
  }

  archive(archive: Archive): void {
    this.rateLimits.archive(archive)
  }

  onEvent(event: EventOf<'access'>, subject: number): void {
    switch (event) {
      case 'limit.rateDecided':
        this.rateLimits.onReviewed(subject)
        break
      default:
        assertHandled(event)
    }
  }
}
