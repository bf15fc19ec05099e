import type { Account } from '../../../data/records/account.ts'
import type { SimulationContext } from '../../context.ts'
import type { Ledger } from '../ledger.ts'

/** The fields of the account that its owner can change. */
export type UserRecordChanges = Partial<
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

/** The parts below that it uses. */
export interface UserRecordParts {
  readonly ledger: Ledger
}

/** The record of the account that its owner can change. The store holds it. */
export class UserRecord {
  readonly #context: SimulationContext
  readonly #parts: UserRecordParts

  constructor(context: SimulationContext, parts: UserRecordParts) {
    this.#context = context
    this.#parts = parts
  }

  /** Changes the given fields. Equal values are ignored. A changed address counts as unverified. */
  edit(changes: UserRecordChanges): void {
    const { store } = this.#context
    const names = (Object.keys(changes) as (keyof UserRecordChanges)[]).filter(
      name => changes[name] !== undefined && changes[name] !== store.account[name],
    )
    if (names.length === 0) return
    store.editAccount({
      ...Object.fromEntries(names.map(name => [name, changes[name]])),
      ...(names.includes('email') && { email_verified: false }),
    })
    this.#context.record(this.#parts.ledger.account, 'account.edited', { changed: names.sort().join(' ') })
    this.#context.markVisibleChange()
  }
}
