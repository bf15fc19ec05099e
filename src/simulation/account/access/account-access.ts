import type { Archive } from '../../../kernel/archive.ts'
import type { SimulationContext } from '../../context.ts'
import { assertHandled, type EventOf } from '../../events.ts'
import type { Ledger } from '../ledger.ts'
import { tokenCost, toNanoDollars } from '../money.ts'
import type { RequestCost } from '../request-cost.ts'
import { RateLimits } from './rate-limits.ts'
import { RequestCosts } from './request-costs.ts'
import { ScopedTokens } from './scoped-tokens.ts'
import { UserRecord } from './user-record.ts'

/** The parts below that it uses. */
export interface AccountAccessParts {
  readonly ledger: Ledger
}

/** Who the account is, and what its tokens may do: its record, rate limits, scoped tokens, and costs of requests. */
export class AccountAccess {
  readonly userRecord: UserRecord
  readonly rateLimits: RateLimits
  readonly scopedTokens: ScopedTokens
  readonly requestCosts: RequestCosts

  constructor(context: SimulationContext, parts: AccountAccessParts, origin?: AccountAccess) {
    this.userRecord = new UserRecord(context, parts)
    this.rateLimits = new RateLimits(context, parts, origin?.rateLimits)
    this.scopedTokens = new ScopedTokens(context, parts, origin?.scopedTokens)
    this.requestCosts = new RequestCosts(origin?.requestCosts)
  }

  archive(archive: Archive): void {
    this.rateLimits.archive(archive)
    this.scopedTokens.archive(archive)
    this.requestCosts.archive(archive)
  }

  /**
   * Keeps the cost of a request that has ended.
   *
   * @param scope the id of the scoped token with a spending limit that sent it
   * @param cost undefined for a request that is not charged
   */
  onRequestEnded(id: string, scope: string | undefined, cost: RequestCost | undefined): void {
    this.requestCosts.add(id, cost === undefined ? 0 : toNanoDollars(cost.weight))
    if (scope !== undefined && cost !== undefined) this.scopedTokens.addCost(scope, tokenCost(cost.weight))
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
