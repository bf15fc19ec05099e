import type { Archive } from '../../kernel/archive.ts'
import type { Micros } from '../../kernel/duration.ts'
import { Part } from '../part.ts'
import { drawTopupDecline, drawTopupDelay } from './chaos-draws.ts'
import type { AccountRow, AccountTable, TopupRule } from './ledger-types.ts'
import { MICROCENTS_PER_CENT, type Microcents } from './money.ts'

/** The automatic top-ups of the ledger: their rule, and the charge under way. The ledger posts the money. */
export class Topups extends Part<AccountTable> {
  #rule: TopupRule = { amount: 0, threshold: 0, enabled: false }
  /** Whether the next crossing of the threshold fires the rule. */
  #isArmed = false
  #isCardAccepted = true
  #hasFailed = false
  /** The charge that is planned: the first of a crossing, or a further try of one that was declined. */
  #chargeEvent = 0
  /** When the threshold was crossed, and how long the first charge takes without what a verb adds. */
  #pending: { readonly since: Micros; readonly takes: Micros } | undefined
  /** The earliest time of the next charge of a crossing. */
  #nextChargeFrom: Micros = 0
  /** How much longer first charges take, by a verb. */
  #delay: Micros = 0
  /** Charges begun since the world did: the index of their draws. */
  #chargeCount = 0

  archive(archive: Archive): void {
    this.#rule = archive.value(this.#rule)
    this.#isArmed = archive.value(this.#isArmed)
    this.#isCardAccepted = archive.value(this.#isCardAccepted)
    this.#hasFailed = archive.value(this.#hasFailed)
    this.#chargeEvent = archive.value(this.#chargeEvent)
    this.#pending = archive.value(this.#pending)
    this.#nextChargeFrom = archive.value(this.#nextChargeFrom)
    this.#delay = archive.value(this.#delay)
    this.#chargeCount = archive.value(this.#chargeCount)
  }

  /** Sets the rule and the state of the card at the world's epoch. */
  open(rule: TopupRule, isCardAccepted: boolean): void {
    this.#rule = rule
    this.#isCardAccepted = isCardAccepted
    this.#isArmed = this.#isEnabled
  }

  get rule(): TopupRule {
    return this.#rule
  }

  /** Whether charges to the card go through. */
  get isCardAccepted(): boolean {
    return this.#isCardAccepted
  }

  /** Whether the last top-up was declined and nothing has made up for it since. */
  get hasFailed(): boolean {
    return this.#hasFailed
  }

  /** The highest balance at which the armed rule fires: one micro-cent below the threshold. Undefined if not armed. */
  get firingBalance(): Microcents | undefined {
    return this.#isArmed ? this.#threshold - 1 : undefined
  }

  /** Replaces the rule, and cancels the charge under way. */
  setRule(rule: TopupRule): void {
    this.#cancelCharge()
    this.#rule = rule
    this.#isArmed = this.#isEnabled
    this.#hasFailed = false
    this.context.record(this.#account, 'topup.set', { ...rule })
  }

  /** Sets whether the card accepts charges. Returns true if a declined top-up must be posted now. */
  setCardAccepted(isAccepted: boolean): boolean {
    if (this.#isCardAccepted === isAccepted && !(isAccepted && this.#hasFailed)) return false
    this.#isCardAccepted = isAccepted
    this.context.recordCommand(this.#account, isAccepted ? 'card.accepted' : 'card.declined')
    if (!isAccepted || !this.#hasFailed) return false
    this.#cancelCharge()
    return true
  }

  /** Makes top-ups take this much longer from now on, those under way included; 0 for their usual time. */
  setDelay(delay: Micros): void {
    if (this.#delay === delay) return
    this.#delay = delay
    if (delay > 0) this.context.recordCommand(this.#account, 'topup.delayed', { by_us: delay })
    else this.context.recordCommand(this.#account, 'topup.normal')
    if (this.#pending) this.#scheduleCharge(this.#pending)
  }

  /** Begins a top-up if the rule is armed and the balance is below its threshold. Returns true if its charge is due now. */
  onBalanceFell(balance: Microcents): boolean {
    if (!this.#isArmed || balance >= this.#threshold) return false
    this.#isArmed = false
    const drawn = drawTopupDelay(this.context, this.parts.accounts.read(0).id, this.#chargeCount)
    const takes = this.context.profile.timings.topupDelay + (drawn?.delay ?? 0)
    if (takes + this.#delay === 0 && this.#nextChargeFrom <= this.context.clock.now) return true
    this.context.record(this.#account, 'topup.begun', {
      cents: this.#rule.amount,
      ...(drawn && { draw: drawn.draw, delay_us: drawn.delay }),
    })
    this.#pending = { since: this.context.clock.now, takes }
    this.#scheduleCharge(this.#pending)
    return false
  }

  /** Charges the card. Returns false if the card is declined, and schedules a further try. */
  charge(): boolean {
    this.#chargeEvent = 0
    this.#pending = undefined
    const index = this.#chargeCount++
    const drawn = this.#isCardAccepted
      ? drawTopupDecline(this.context, this.parts.accounts.read(0).id, index)
      : undefined
    if (this.#isCardAccepted && drawn === undefined) return true
    this.#hasFailed = true
    this.#chargeEvent = this.context.schedule(this.context.profile.timings.topupRetry, 'account.topupDue')
    this.context.record(this.#account, 'topup.declined', {
      cents: this.#rule.amount,
      ...(drawn !== undefined && { draw: drawn }),
    })
    this.context.markVisibleChange()
    return false
  }

  /** Arms the rule again if added money brought the balance to the threshold. */
  onMoneyAdded(kind: 'funds' | 'topup', balance: Microcents): void {
    if (kind === 'topup') {
      this.#hasFailed = false
      this.#nextChargeFrom = this.context.clock.now + this.context.profile.timings.topupInterval
    }
    if (balance < this.#threshold) return
    // The threshold is reached without the charge that was planned: it would be one without a crossing.
    if (this.#chargeEvent !== 0) this.context.record(this.#account, 'topup.calledOff')
    this.#cancelCharge()
    this.#hasFailed = false
    this.#isArmed = this.#isEnabled
  }

  get #account(): AccountRow {
    return this.parts.accounts.writable(0)
  }

  get #threshold(): Microcents {
    return this.#rule.threshold * MICROCENTS_PER_CENT
  }

  get #isEnabled(): boolean {
    return this.#rule.enabled && this.#rule.amount > 0 && this.#rule.threshold > 0
  }

  #scheduleCharge({ since, takes }: { readonly since: Micros; readonly takes: Micros }): void {
    this.context.cancel(this.#chargeEvent)
    const at = Math.max(this.context.clock.now, since + takes + this.#delay, this.#nextChargeFrom)
    this.#chargeEvent = this.context.scheduleAt(at, 'account.topupDue')
  }

  #cancelCharge(): void {
    this.context.cancel(this.#chargeEvent)
    this.#chargeEvent = 0
    this.#pending = undefined
  }
}
