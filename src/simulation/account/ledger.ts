import type { GpuType } from '../../data/records/gpu-config.ts'
import type { Archive } from '../../kernel/archive.ts'
import { HOUR, type Micros } from '../../kernel/duration.ts'
import { LayeredMap } from '../../kernel/layered-map.ts'
import { Table } from '../../kernel/table.ts'
import { assertHandled, type EventOf } from '../events.ts'
import { Part } from '../part.ts'
import {
  type AccountObserver,
  AccountRow,
  type ChargedTokens,
  type ChargedUnits,
  type LedgerEntry,
  type LedgerTotals,
  type SuspensionReason,
  type TopupRule,
} from './ledger-types.ts'
import { Meters } from './meters.ts'
import { MICROCENTS_PER_CENT, type Microcents, tokenCost } from './money.ts'
import { PastUsage, toBilledSeconds } from './past-usage.ts'
import { PostingLog } from './posting-log.ts'
import type { RequestCost } from './request-cost.ts'
import { SpendingLimit } from './spending-limit.ts'
import { Suspension } from './suspension.ts'
import { Topups } from './topups.ts'

/**
 * The account's money: integer micro-cents, metered lazily. Reads compute and never post; what is posted for a thing is
 * always `floor(Σ GPU-µs × µ¢/h ÷ 3.6e9)` minus what was posted before, so the sum never depends on when it was posted.
 */
export class Ledger extends Part<void, AccountObserver> {
  readonly #accounts = new Table(AccountRow, this.context)
  readonly #postings = new PostingLog()
  /**
   * For each model, Σ tokens or units of live requests × price in force, and the part of it that is posted. The sum is
   * rounded down, so it does not depend on single requests.
   */
  readonly #requestMeters = new LayeredMap<{ readonly weighted: bigint; readonly charged: Microcents }>()
  readonly meters = new Meters(this.context, { postings: this.#postings })
  /** The event of the moment at which the balance reaches the next level that matters. */
  #crossing = 0
  /** What was used before the epoch. Neither the balance nor the entries contain it. */
  readonly past = new PastUsage(this.context)
  readonly spending = new SpendingLimit(this.context, {
    meters: this.meters,
    past: this.past,
    postings: this.#postings,
  })
  readonly topups = new Topups(this.context, { accounts: this.#accounts })
  readonly suspension = new Suspension(this.context, { accounts: this.#accounts })
  /** Funds at the world's epoch. */
  #openingFunds: Microcents = 0
  #funds: Microcents = 0
  #tokens: Microcents = 0

  /** Connects the higher parts. The world calls it once. */
  override connect(ports: AccountObserver): void {
    this.suspension.connect(ports)
  }

  archive(archive: Archive): void {
    this.meters.archive(archive)
    this.#accounts.archive(archive)
    this.#postings.archive(archive)
    this.#requestMeters.archive(archive)
    this.#openingFunds = archive.value(this.#openingFunds)
    this.#funds = archive.value(this.#funds)
    this.#tokens = archive.value(this.#tokens)
    this.topups.archive(archive)
    this.suspension.archive(archive)
    this.#crossing = archive.value(this.#crossing)
    this.past.archive(archive)
    this.spending.archive(archive)
  }

  /** Opens the account with its funds at the world's epoch. */
  openAccount(uid: string, fundsCents: number, rule: TopupRule, isCardAccepted: boolean): void {
    this.#accounts.add(new AccountRow(this.#accounts.generation, uid))
    this.#openingFunds = fundsCents * MICROCENTS_PER_CENT
    this.#funds = this.#openingFunds
    this.topups.open(rule, isCardAccepted)
    if (this.#funds <= this.#emptyBalance) this.suspension.openWithoutFunds()
    this.#scheduleCrossing()
  }

  /** The account's wire id. */
  get uid(): string {
    return this.#accounts.read(0).id
  }

  /** The account's row, to record what happens to it. */
  get account(): AccountRow {
    return this.#accounts.writable(0)
  }

  /** Why the account is suspended. An imposed reason comes before an empty balance, because funds do not end it. */
  get suspensionReason(): SuspensionReason | undefined {
    return this.suspension.reason
  }

  /** Whether anything new may be started: not suspended, for which there must be funds. */
  canSpend(): boolean {
    return this.suspensionReason === undefined
  }

  /** Funds at the world's epoch: balance = opening + the sum of all entries. */
  get openingFunds(): Microcents {
    return this.#openingFunds
  }

  /** Remaining funds, computed to now. */
  get balance(): Microcents {
    return this.#funds - this.#tokens - this.meters.totalRent()
  }

  /** Adds prepaid funds by card; false when the card is declined. */
  addFunds(cents: number): boolean {
    if (!this.topups.isCardAccepted) return false
    this.#addMoney('funds', cents)
    return true
  }

  /** Sets the remaining funds by a posting of the difference. It needs no card, and can suspend or resume the account. */
  setFunds(cents: number): void {
    const microcents = Math.round(cents * MICROCENTS_PER_CENT) - this.balance
    this.context.recordCommand(this.account, 'funds.set', { cents })
    if (microcents === 0) return
    this.#funds += microcents
    this.#postings.push(this.context.clock.now, 'adjustment', this.uid, microcents)
    if (microcents > 0) this.#onMoneyAdded('funds')
    this.context.markVisibleChange()
    this.#scheduleCrossing()
  }

  /** A new rule takes the place of the old one and of everything that was under way by it. */
  setTopupRule(rule: TopupRule): void {
    this.topups.setRule(rule)
    this.#scheduleCrossing()
  }

  /** Sets the limit of a fixture. The past of the account is open. */
  openSpendingLimit(cents: number): void {
    this.spending.set(cents * MICROCENTS_PER_CENT, this.#spent)
    if (this.spending.isReached(this.#spent)) this.suspension.openAtSpendingLimit()
    this.#scheduleCrossing()
  }

  /** Records the deletion of the account, and ends its top-ups. Its funds stay. */
  onAccountDeleted(): void {
    this.context.record(this.account, 'account.deleted')
    const { rule } = this.topups
    if (rule.enabled) this.setTopupRule({ ...rule, enabled: false })
  }

  /** The card goes through, or does not: a fault and its repair. A repair makes up for a declined top-up at once. */
  setCardAccepted(isAccepted: boolean): void {
    if (this.topups.setCardAccepted(isAccepted)) this.#addMoney('topup', this.topups.rule.amount)
  }

  /** Sets the limit on the use of a billing period, which can suspend or resume the account at once. */
  setSpendingLimit(limit: Microcents | undefined): void {
    this.context.record(this.account, 'spendingLimit.set', { microcents: limit ?? null })
    this.spending.set(limit, this.#spent)
    this.#applySpendingLimit()
    this.context.markVisibleChange()
  }

  #chargeUse(
    kind: 'tokens' | 'units',
    subject: string,
    microcents: Microcents,
    charged?: ChargedTokens | ChargedUnits,
  ): void {
    if (microcents === 0) return
    this.#tokens += microcents
    this.#postings.push(this.context.clock.now, kind, subject, -microcents, charged)
    this.#scheduleCrossing()
  }

  /** Sets the number of running units of a meter from now on. */
  setUnits(meter: number, units: number): void {
    if (this.meters.setUnits(meter, units)) this.#scheduleCrossing()
  }

  /** Sets the price of a GPU type from now on. Earlier time keeps its price. */
  setPrice(gpu: GpuType, centsPerHour: number): void {
    this.meters.setPrice(gpu, centsPerHour)
    this.context.recordCommand(this.account, 'price.set', { gpu, cents_per_hour: centsPerHour })
    this.#scheduleCrossing()
  }

  /** Charges tokens: `microcents` more for this subject. */
  chargeTokens(subject: string, microcents: Microcents, charged?: ChargedTokens): void {
    this.#chargeUse('tokens', subject, microcents, charged)
  }

  /** Charges a request to a model of the catalog: one floor for each model. */
  chargeRequest(model: string, { pricingType, units, weight }: RequestCost, token_id: string): void {
    const before = this.#requestMeters.get(model) ?? { weighted: 0n, charged: 0 }
    const weighted = before.weighted + weight
    const charged = tokenCost(weighted)
    this.#requestMeters.set(model, { weighted, charged })
    const microcents = charged - before.charged
    if (pricingType === 'tokens') this.#chargeUse('tokens', model, microcents, { tokens: units, token_id })
    else this.#chargeUse('units', model, microcents, { pricing_type: pricingType, units, token_id })
  }

  /** Returns the billed seconds of each deployment and rental between two Unix times, before the epoch too. */
  secondsBilled(fromUnix: number, toUnix: number): Record<string, number> {
    const [from, to] = [this.context.clock.fromUnix(fromUnix), this.context.clock.fromUnix(toUnix)]
    return toBilledSeconds(this.meters.billedUnitTimes(from, to), this.past.rentUsage(from, to))
  }

  /** Postings between two moments, and what runs and is not posted yet, computed to now. */
  entries(from: Micros = Number.NEGATIVE_INFINITY, to: Micros = Number.POSITIVE_INFINITY): LedgerEntry[] {
    const { now } = this.context.clock
    const postings = this.#postings.between(from, to)
    return now < from || now > to ? postings : [...postings, ...this.meters.openEntries()]
  }

  /** The sums and postings, for the invariant checker. */
  get totals(): LedgerTotals {
    return { funds: this.#funds, tokens: this.#tokens, postings: this.#postings }
  }

  onEvent(event: EventOf<'ledger'>): void {
    switch (event) {
      case 'account.crossing':
        this.#onCrossing()
        break
      case 'account.topupDue':
        this.#chargeCard()
        break
      case 'account.graceEnded':
        this.suspension.onGraceEnded()
        break
      case 'account.periodEnded':
        this.spending.onPeriodEnded(this.#spent)
        this.#applySpendingLimit()
        break
      default:
        assertHandled(event)
    }
  }

  /** The balance may have reached the top-up threshold or zero. */
  #onCrossing(): void {
    this.#crossing = 0
    if (this.topups.onBalanceFell(this.balance)) this.#chargeCard()
    if (this.balance <= this.#emptyBalance) this.suspension.onOutOfFunds()
    this.#applySpendingLimit()
  }

  /** Suspends the account if its use has reached the limit, else ends that suspension. */
  #applySpendingLimit(): void {
    if (this.spending.isReached(this.#spent)) this.suspension.onSpendingLimitReached()
    else this.suspension.onSpendingLimitLeft()
    this.#scheduleCrossing()
  }

  /** The cost of all use since the epoch, computed to now. */
  get #spent(): Microcents {
    return this.#tokens + this.meters.totalRent()
  }

  /** The balance at which an account counts as out of funds: zero, less what it may overdraw. */
  get #emptyBalance(): Microcents {
    return -this.context.profile.policies.overdraftCents * MICROCENTS_PER_CENT
  }

  /** Charges the card for a top-up, and posts it if the card is accepted. */
  #chargeCard(): void {
    if (this.topups.charge()) this.#addMoney('topup', this.topups.rule.amount)
  }

  /** Money comes in: what waited for it goes on. */
  #addMoney(kind: 'funds' | 'topup', cents: number): void {
    const microcents = cents * MICROCENTS_PER_CENT
    this.#funds += microcents
    this.#postings.push(this.context.clock.now, kind, this.uid, microcents)
    this.context.record(this.account, kind === 'topup' ? 'topup.charged' : 'funds.added', { cents })
    this.#onMoneyAdded(kind)
    this.context.markVisibleChange()
    this.#scheduleCrossing()
  }

  #onMoneyAdded(kind: 'funds' | 'topup'): void {
    const { balance } = this
    this.topups.onMoneyAdded(kind, balance)
    this.suspension.onMoneyAdded(balance)
  }

  /** Schedules the moment at which the balance reaches the next level that matters. */
  #scheduleCrossing(): void {
    const { now } = this.context.clock
    let at = Number.POSITIVE_INFINITY
    this.context.cancel(this.#crossing)
    this.#crossing = 0
    this.meters.accrueTotal(now)
    const { firingBalance } = this.topups
    if (firingBalance !== undefined) at = this.#crossingOf(firingBalance)
    if (!this.suspension.isOutOfFunds) at = Math.min(at, this.#crossingOf(this.#emptyBalance))
    const limitBalance = this.spending.balanceWhenReached(this.#funds)
    if (limitBalance !== undefined && !this.suspension.isLimitReached) at = Math.min(at, this.#crossingOf(limitBalance))
    if (at < Number.POSITIVE_INFINITY) this.#crossing = this.context.scheduleAt(Math.max(at, now), 'account.crossing')
  }

  /**
   * Returns the earliest time at which the balance can reach a level; Infinity for never. The meters are accrued to now.
   * Their sum without floors reaches a level no later than the floored one. If the balance is still above it then, its
   * crossing is scheduled again.
   */
  #crossingOf(level: Microcents): Micros {
    const { now } = this.context.clock
    const { totalRate } = this.meters
    const left = this.meters.timeUntil(this.#funds - this.#tokens - level)
    if (left > 0) return now + left
    const above = this.balance - level
    // Floors of many meters may keep the balance a few micro-cents above: look again when one more has run.
    if (above <= 0 || totalRate === 0) return above <= 0 ? now : Number.POSITIVE_INFINITY
    return now + Math.floor((above * HOUR) / totalRate) + 1
  }
}

/** The lower parts of a part that only acts for the account. */
export interface LedgerParts {
  readonly ledger: Ledger
}
