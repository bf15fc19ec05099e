import type { Archive } from '../../kernel/archive.ts'
import { Part } from '../part.ts'
import type { AccountObserver, AccountRow, AccountTable, SuspensionReason } from './ledger-types.ts'
import type { Microcents } from './money.ts'

/** The suspension of the account: its reasons, and the grace after which nothing runs any more. */
export class Suspension extends Part<AccountTable, AccountObserver> {
  /** Why a command suspended the account. The three causes are separate, so none of them ends another. */
  #imposedReason: Exclude<SuspensionReason, 'balance'> | undefined
  #isOutOfFunds = false
  #isLimitReached = false
  #graceEvent = 0
  /** The grace is over: nothing runs on the account any more, batches on shared capacity included. */
  #isCutOff = false

  archive(archive: Archive): void {
    this.#imposedReason = archive.value(this.#imposedReason)
    this.#isOutOfFunds = archive.value(this.#isOutOfFunds)
    this.#isLimitReached = archive.value(this.#isLimitReached)
    this.#graceEvent = archive.value(this.#graceEvent)
    this.#isCutOff = archive.value(this.#isCutOff)
  }

  /** Suspends an account that is out of funds at the world's epoch. */
  openWithoutFunds(): void {
    this.#isOutOfFunds = true
    this.#beginGrace()
  }

  /** Suspends an account whose use has reached its spending limit at the world's epoch. */
  openAtSpendingLimit(): void {
    this.#isLimitReached = true
    if (!this.#isOutOfFunds) this.#beginGrace()
  }

  /** Why the account is suspended. An imposed reason comes first, because neither funds nor a higher limit end it. */
  get reason(): SuspensionReason | undefined {
    if (this.#imposedReason !== undefined) return this.#imposedReason
    if (this.#isOutOfFunds) return 'balance'
    return this.#isLimitReached ? 'limit-reached' : undefined
  }

  /** Whether a command suspended the account. */
  get isImposed(): boolean {
    return this.#imposedReason !== undefined
  }

  get isOutOfFunds(): boolean {
    return this.#isOutOfFunds
  }

  /** Whether the use has reached the spending limit. */
  get isLimitReached(): boolean {
    return this.#isLimitReached
  }

  /** Whether the grace of a suspension is over. */
  get isCutOff(): boolean {
    return this.#isCutOff
  }

  /** Suspends the account for an imposed reason. Ignored if a reason is imposed already. */
  impose(reason: Exclude<SuspensionReason, 'balance'>): void {
    if (this.#imposedReason !== undefined) return
    const wasSuspended = this.reason !== undefined
    this.#imposedReason = reason
    this.context.recordCommand(this.#account, 'account.suspended', { reason })
    if (wasSuspended) this.context.markVisibleChange()
    else this.#beginGrace()
  }

  /** Ends an imposed suspension. Returns the reason that it cannot end, if no reason was imposed. */
  resume(): SuspensionReason | undefined {
    if (this.#imposedReason === undefined) return this.reason
    this.#imposedReason = undefined
    const { reason } = this
    if (reason !== undefined) {
      this.context.recordCommand(this.#account, 'account.suspended', { reason })
      this.context.markVisibleChange()
      return undefined
    }
    this.context.recordCommand(this.#account, 'account.resumed')
    this.#end()
    return undefined
  }

  /** Suspends the account because its funds ran out. Ignored if they ran out before. */
  onOutOfFunds(): void {
    if (this.#isOutOfFunds) return
    const wasSuspended = this.reason !== undefined
    this.#isOutOfFunds = true
    this.context.record(this.#account, 'account.suspended', { reason: 'balance' })
    if (!wasSuspended) this.#beginGrace()
  }

  /** Ends the suspension for an empty balance if added money made the balance positive. */
  onMoneyAdded(balance: Microcents): void {
    if (!this.#isOutOfFunds || balance <= 0) return
    this.#isOutOfFunds = false
    this.#endUnlessSuspended()
  }

  /** Suspends the account because its use has reached the spending limit. Ignored if it had before. */
  onSpendingLimitReached(): void {
    if (this.#isLimitReached) return
    const wasSuspended = this.reason !== undefined
    this.#isLimitReached = true
    this.context.record(this.#account, 'account.suspended', { reason: 'limit-reached' })
    if (!wasSuspended) this.#beginGrace()
  }

  /** Ends the suspension for the spending limit: the limit is higher, or a new billing period began. */
  onSpendingLimitLeft(): void {
    if (!this.#isLimitReached) return
    this.#isLimitReached = false
    this.#endUnlessSuspended()
  }

  /** Stops what runs, because the grace is over. */
  onGraceEnded(): void {
    this.#graceEvent = 0
    this.context.record(this.#account, 'account.graceEnded')
    this.ports.onGraceEnded(`the account was suspended (${this.reason})`)
    this.#isCutOff = true
    this.ports.onCutOff()
  }

  get #account(): AccountRow {
    return this.parts.accounts.writable(0)
  }

  #endUnlessSuspended(): void {
    if (this.reason !== undefined) return
    this.context.record(this.#account, 'account.resumed')
    this.#end()
  }

  #beginGrace(): void {
    this.#graceEvent = this.context.schedule(this.context.profile.policies.suspensionGrace, 'account.graceEnded')
    this.context.markVisibleChange()
  }

  #end(): void {
    this.context.cancel(this.#graceEvent)
    this.#graceEvent = 0
    const wasCutOff = this.#isCutOff
    this.#isCutOff = false
    this.ports.onSuspensionEnded(wasCutOff)
    this.context.markVisibleChange()
  }
}
