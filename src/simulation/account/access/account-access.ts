import type { Account } from '../../../data/records/account.ts'
import type { Archive } from '../../../kernel/archive.ts'
import { AppendLog } from '../../../kernel/layered-map.ts'
import { NumberLog } from '../../../kernel/number-log.ts'
import { LIMITS } from '../../../lib/limits.ts'
import { Part } from '../../part.ts'
import type { LedgerParts } from '../ledger.ts'
import { tokenCost, toNanoDollars } from '../money.ts'
import type { RequestCost } from '../request-cost.ts'
import { RateLimits } from './rate-limits.ts'
import { ScopedTokens } from './scoped-tokens.ts'

/** The fields of the account that its owner can change. */
type UserRecordChanges = Partial<
  Pick<
    Account,
    | 'name'
    | 'first_name'
    | 'last_name'
    | 'country'
    | 'email'
    | 'is_business_account'
    | 'company'
    | 'website'
    | 'title'
    | 'display_name'
  >
>

/** The record of the account that its owner can change. The store holds it. */
class UserRecord extends Part<LedgerParts> {
  /** Changes the given fields. Equal values are ignored. A changed address counts as unverified. */
  edit(changes: UserRecordChanges): void {
    const { store } = this.context
    const names = (Object.keys(changes) as (keyof UserRecordChanges)[]).filter(
      name => changes[name] !== undefined && changes[name] !== store.account[name],
    )
    if (names.length === 0) return
    store.editAccount({
      ...Object.fromEntries(names.map(name => [name, changes[name]])),
      ...(names.includes('email') && { email_verified: false }),
    })
    this.context.record(this.parts.ledger.account, 'account.edited', { changed: names.sort().join(' ') })
    this.context.markVisibleChange()
  }
}

/** The costs of the newest requests to models, by request id. */
class RequestCosts {
  readonly #ids = new AppendLog<string>(LIMITS.requestCosts)
  /** Nano-dollars, at the positions of the ids. */
  readonly #costs = new NumberLog(1, LIMITS.requestCosts)

  archive(archive: Archive): void {
    this.#ids.archive(archive)
    this.#costs.archive(archive)
  }

  add(id: string, nanoDollars: number): void {
    this.#ids.push(id)
    this.#costs.push([nanoDollars])
  }

  /** Returns the nano-dollars of the given requests. Unknown and forgotten requests are missing. */
  find(ids: readonly string[]): Map<string, number> {
    const missing = new Set(ids)
    const found = new Map<string, number>()
    const oldest = Math.max(0, this.#ids.length - LIMITS.requestCosts)
    for (let i = this.#ids.length - 1; i >= oldest && missing.size > 0; i--) {
      const id = this.#ids.at(i)!
      if (missing.delete(id)) found.set(id, this.#costs.at(i, 0))
    }
    return found
  }
}

/** Who the account is, and what its tokens may do: its record, rate limits, scoped tokens, and costs of requests. */
export class AccountAccess extends Part<LedgerParts> {
  readonly userRecord = new UserRecord(this.context, this.parts)
  readonly rateLimits = new RateLimits(this.context, this.parts)
  readonly scopedTokens = new ScopedTokens(this.context, this.parts)
  readonly requestCosts = new RequestCosts()

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

  onEvent(_: 'limit.rateDecided', subject: number): void {
    this.rateLimits.onReviewed(subject)
  }
}
