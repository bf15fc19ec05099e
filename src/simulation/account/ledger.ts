import type { GpuType } from '../../data/records/gpu-config.ts'
import type { Archive } from '../../kernel/archive.ts'
import { HOUR, type Micros } from '../../kernel/duration.ts'
import { AppendLog, LayeredMap } from '../../kernel/layered-map.ts'
import { Table } from '../../kernel/table.ts'
import type { SimulationContext } from '../context.ts'
import { declinesTopup, drawTopupDelay } from './chaos-draws.ts'
import { AccountRow, type MeterRow } from './ledger-row.ts'
import type { LedgerEntry, LedgerTotals, MeteredUsage, SuspensionReason, TopupRule } from './ledger-types.ts'
import { Meters } from './meters.ts'
import { type BilledInterval, MICROCENTS_PER_CENT, type Microcents, tokenCost, tokenWeight } from './money.ts'
import type { AccountObserverPort } from './observer.ts'

export type { LedgerEntry, MeteredUsage, SuspensionReason, TopupRule } from './ledger-types.ts'

/**
 * The account's money: integer micro-cents, metered lazily. Reads compute and never post; what is posted for a thing is
 * always `floor(Σ GPU-µs × µ¢/h ÷ 3.6e9)` minus what was posted before, so the sum never depends on when it was posted.
 */
export class Ledger {
  readonly #context: SimulationContext
  #ports!: AccountObserverPort
  readonly #meters: Meters
  readonly #accounts: Table<AccountRow>
  readonly #entries: AppendLog<LedgerEntry>
  /** Tokens of live requests by model: Σ tokens × price in force, and what of it is posted. */
  readonly #tokenMeters: LayeredMap<{ readonly weighted: bigint; readonly charged: Microcents }>
  /** Funds at the world's epoch. */
  #openingFunds: Microcents = 0
  #funds: Microcents = 0
  #tokens: Microcents = 0
  #topupRule: TopupRule = { amount: 0, threshold: 0, enabled: false }
  /** Whether the next crossing of the threshold fires the rule. */
  #isTopupArmed = false
  #isCardAccepted = true
  #hasTopupFailed = false
  /** The charge that is planned: the first of a crossing, or a further try of one that was declined. */
  #chargeEvent = 0
  /** When the threshold was crossed, and how long the first charge takes without what a verb adds. */
  #pendingTopup: { readonly since: Micros; readonly takes: Micros } | undefined
  /** How much longer first charges take, by a verb. */
  #topupDelay: Micros = 0
  /** Charges begun since the world did: the index of their draws. */
  #chargeCount = 0
  /** Why a command suspended the account. `#isOutOfFunds` is separate, so neither suspension ends the other. */
  #imposedReason: Exclude<SuspensionReason, 'balance'> | undefined
  #isOutOfFunds = false
  #crossingEvent = 0
  #graceEvent = 0
  /** The grace is over: nothing runs on the account any more, batches on shared capacity included. */
  #isCutOff = false

  constructor(context: SimulationContext, origin?: Ledger) {
    this.#context = context
    this.#accounts = origin
      ? origin.#accounts.fork(origin.#context.generation, context.generation)
      : new Table(context.generation)
    this.#entries = origin ? origin.#entries.fork() : new AppendLog()
    this.#meters = new Meters(context, this.#entries, origin ? origin.#meters : undefined)
    this.#tokenMeters = origin ? origin.#tokenMeters.fork() : new LayeredMap()
    if (!origin) return
    this.#openingFunds = origin.#openingFunds
    this.#funds = origin.#funds
    this.#tokens = origin.#tokens
    this.#topupRule = origin.#topupRule
    this.#isTopupArmed = origin.#isTopupArmed
    this.#isCardAccepted = origin.#isCardAccepted
    this.#hasTopupFailed = origin.#hasTopupFailed
    this.#chargeEvent = origin.#chargeEvent
    this.#pendingTopup = origin.#pendingTopup
    this.#topupDelay = origin.#topupDelay
    this.#chargeCount = origin.#chargeCount
    this.#imposedReason = origin.#imposedReason
    this.#isOutOfFunds = origin.#isOutOfFunds
    this.#crossingEvent = origin.#crossingEvent
    this.#graceEvent = origin.#graceEvent
    this.#isCutOff = origin.#isCutOff
  }

  /** Connects the higher parts. The world calls it once. */
  connect(ports: AccountObserverPort): void {
    this.#ports = ports
  }

  archive(archive: Archive): void {
    this.#meters.archive(archive)
    this.#accounts.archive(archive)
    this.#entries.archive(archive)
    this.#tokenMeters.archive(archive)
    this.#openingFunds = archive.value(this.#openingFunds)
    this.#funds = archive.value(this.#funds)
    this.#tokens = archive.value(this.#tokens)
    this.#topupRule = archive.value(this.#topupRule)
    this.#isTopupArmed = archive.value(this.#isTopupArmed)
    this.#isCardAccepted = archive.value(this.#isCardAccepted)
    this.#hasTopupFailed = archive.value(this.#hasTopupFailed)
    this.#chargeEvent = archive.value(this.#chargeEvent)
    this.#pendingTopup = archive.value(this.#pendingTopup)
    this.#topupDelay = archive.value(this.#topupDelay)
    this.#chargeCount = archive.value(this.#chargeCount)
    this.#imposedReason = archive.value(this.#imposedReason)
    this.#isOutOfFunds = archive.value(this.#isOutOfFunds)
    this.#crossingEvent = archive.value(this.#crossingEvent)
    this.#graceEvent = archive.value(this.#graceEvent)
    this.#isCutOff = archive.value(this.#isCutOff)
  }

  /** Opens the account with its funds at the world's epoch. */
  openAccount(uid: string, fundsCents: number, rule: TopupRule, isCardAccepted: boolean): void {
    this.#accounts.add(new AccountRow(this.#accounts.generation, uid))
    this.#openingFunds = fundsCents * MICROCENTS_PER_CENT
    this.#funds = this.#openingFunds
    this.#topupRule = rule
    this.#isCardAccepted = isCardAccepted
    this.#isTopupArmed = this.#isTopupEnabled
    if (this.#funds <= this.#emptyBalance) {
      this.#isOutOfFunds = true
      this.#beginGrace()
    }
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
    return this.#imposedReason ?? (this.#isOutOfFunds ? 'balance' : undefined)
  }

  /** Whether charges to the card go through. */
  get isCardAccepted(): boolean {
    return this.#isCardAccepted
  }

  /** Whether the last top-up was declined and nothing has made up for it since. */
  get hasTopupFailed(): boolean {
    return this.#hasTopupFailed
  }

  get topupRule(): TopupRule {
    return this.#topupRule
  }

  /** Whether anything new may be started: not suspended, for which there must be funds. */
  canSpend(): boolean {
    return this.suspensionReason === undefined
  }

  /** Funds at the world's epoch: balance = opening + the sum of all entries. */
  get openingFunds(): Microcents {
    return this.#openingFunds
  }

  /** Whether the grace of a suspension is over. */
  get isCutOff(): boolean {
    return this.#isCutOff
  }

  /** Remaining funds, computed to now. */
  get balance(): Microcents {
    return this.#funds - this.#tokens - this.#meters.totalRent()
  }

  priceCentsPerHour(gpu: GpuType): number {
    return this.#meters.priceCentsPerHour(gpu)
  }

  /** Adds prepaid funds by card; false when the card is declined. */
  addFunds(cents: number): boolean {
    if (!this.#isCardAccepted) return false
    this.#addMoney('funds', cents)
    return true
  }

  /** A new rule takes the place of the old one and of everything that was under way by it. */
  setTopupRule(rule: TopupRule): void {
    this.#cancelCharge()
    this.#topupRule = rule
    this.#isTopupArmed = this.#isTopupEnabled
    this.#hasTopupFailed = false
    this.#context.record(this.account, 'topup.set', { ...rule })
    this.#scheduleCrossing()
  }

  /** The card goes through, or does not: a fault and its repair. A repair makes up for a declined top-up at once. */
  setCardAccepted(isAccepted: boolean): void {
    if (this.#isCardAccepted === isAccepted && !(isAccepted && this.#hasTopupFailed)) return
    this.#isCardAccepted = isAccepted
    this.#context.recordCommand(this.account, isAccepted ? 'card.accepted' : 'card.declined')
    if (!isAccepted || !this.#hasTopupFailed) return
    this.#cancelCharge()
    this.#addMoney('topup', this.#topupRule.amount)
  }

  /** Top-ups take this much longer from now on, those under way included; 0 for their usual time. */
  setTopupDelay(delay: Micros): void {
    if (this.#topupDelay === delay) return
    this.#topupDelay = delay
    if (delay > 0) this.#context.recordCommand(this.account, 'topup.delayed', { by_us: delay })
    else this.#context.recordCommand(this.account, 'topup.normal')
    if (this.#pendingTopup) this.#scheduleCharge(this.#pendingTopup)
  }

  /** Suspends the account: creates are refused, and what runs stops when the grace is over. */
  suspend(reason: Exclude<SuspensionReason, 'balance'>): void {
    if (this.#imposedReason !== undefined) return
    const wasSuspended = this.#isOutOfFunds
    this.#imposedReason = reason
    this.#context.recordCommand(this.account, 'account.suspended', { reason })
    if (wasSuspended) this.#context.markVisibleChange()
    else this.#beginGrace()
  }

  /** Ends an imposed suspension. Returns false if only funds can end the suspension. */
  resume(): boolean {
    if (this.#imposedReason === undefined) return !this.#isOutOfFunds
    this.#imposedReason = undefined
    if (this.#isOutOfFunds) {
      this.#context.recordCommand(this.account, 'account.suspended', { reason: 'balance' })
      this.#context.markVisibleChange()
      return true
    }
    this.#context.recordCommand(this.account, 'account.resumed')
    this.#endSuspension()
    return true
  }

  #beginGrace(): void {
    this.#graceEvent = this.#context.schedule(this.#context.profile.policies.suspensionGrace, 'account.graceEnded')
    this.#context.markVisibleChange()
  }

  #endSuspension(): void {
    this.#context.cancel(this.#graceEvent)
    this.#graceEvent = 0
    const wasCutOff = this.#isCutOff
    this.#isCutOff = false
    this.#ports.observer.onSuspensionEnded(wasCutOff)
    this.#context.markVisibleChange()
  }

  /** Opens a meter. Returns its ordinal. */
  openMeter(id: string, kind: MeterRow['kind'], gpu: GpuType, gpusPerUnit: number): number {
    return this.#meters.open(id, kind, gpu, gpusPerUnit)
  }

  /** Sets the number of running units of a meter from now on. */
  setUnits(meter: number, units: number): void {
    if (this.#meters.setUnits(meter, units)) this.#scheduleCrossing()
  }

  /** Sets the price of a GPU type from now on. Earlier time keeps its price. */
  setPrice(gpu: GpuType, centsPerHour: number): void {
    this.#meters.setPrice(gpu, centsPerHour)
    this.#context.recordCommand(this.account, 'price.set', { gpu, cents_per_hour: centsPerHour })
    this.#scheduleCrossing()
  }

  /** Charges tokens: `microcents` more for this subject. */
  chargeTokens(subject: string, microcents: Microcents): void {
    if (microcents === 0) return
    this.#tokens += microcents
    this.#entries.push({ time: this.#context.clock.now, kind: 'tokens', subject, microcents: -microcents })
    this.#scheduleCrossing()
  }

  /** Charges the tokens of a request to a model of the catalog, at a share of its price: one floor for each model. */
  chargeRequestTokens(model: string, share: number, promptTokens: number, answerTokens: number): void {
    const serverless = this.#context.store.hardware.get(model)?.hardware.find(one => one.type === 'serverless')
    if (serverless?.type !== 'serverless') return
    const { cents_per_million_input_tokens: input, cents_per_million_output_tokens: output } = serverless.pricing
    const { weighted, charged } = this.#tokenMeters.get(model) ?? { weighted: 0n, charged: 0 }
    const sum = weighted + tokenWeight(promptTokens, input * share) + tokenWeight(answerTokens, output * share)
    const total = tokenCost(sum)
    this.#tokenMeters.set(model, { weighted: sum, charged: total })
    this.chargeTokens(model, total - charged)
  }

  /** Returns the billed seconds of each meter between two Unix times. */
  secondsBilled(fromUnix: number, toUnix: number): Record<string, number> {
    return this.#meters.secondsBilled(fromUnix, toUnix)
  }

  /** Returns the GPU time and cost of each meter between two times, both in the past. */
  meteredUsage(from: Micros, to: Micros): MeteredUsage[] {
    return this.#meters.meteredUsage(from, to)
  }

  /** Postings between two moments, and what runs and is not posted yet, computed to now. */
  entries(from: Micros = Number.NEGATIVE_INFINITY, to: Micros = Number.POSITIVE_INFINITY): LedgerEntry[] {
    const { now } = this.#context.clock
    const entries: LedgerEntry[] = []
    for (const entry of this.#entries) if (entry.time >= from && entry.time <= to) entries.push(entry)
    if (now < from || now > to) return entries
    return [...entries, ...this.#meters.openEntries()]
  }

  /** The sums and postings, for the invariant checker. */
  get totals(): LedgerTotals {
    return { funds: this.#funds, tokens: this.#tokens, postings: this.#entries }
  }

  /** Every meter with its ordinal. */
  meters(): Generator<[number, Readonly<MeterRow>]> {
    return this.#meters.entries()
  }

  /** Yields the billed intervals of a meter, the newest first. */
  intervalsOf(meter: number): Generator<BilledInterval> {
    return this.#meters.intervalsOf(meter)
  }

  /** Returns a closed interval of a meter. */
  closedInterval(index: number): ReturnType<Meters['closedInterval']> {
    return this.#meters.closedInterval(index)
  }

  /** The balance may have reached the top-up threshold or zero. */
  onCrossing(): void {
    this.#crossingEvent = 0
    const { balance } = this
    if (this.#isTopupArmed && balance < this.#topupRule.threshold * MICROCENTS_PER_CENT) this.#beginTopup()
    if (this.balance <= this.#emptyBalance && !this.#isOutOfFunds) {
      const wasSuspended = this.#imposedReason !== undefined
      this.#isOutOfFunds = true
      this.#context.record(this.account, 'account.suspended', { reason: 'balance' })
      if (!wasSuspended) this.#beginGrace()
    }
    this.#scheduleCrossing()
  }

  /** The grace is over: what runs stops. */
  onGraceEnded(): void {
    this.#graceEvent = 0
    this.#context.record(this.account, 'account.graceEnded')
    this.#ports.observer.onGraceEnded(`the account was suspended (${this.suspensionReason})`)
    this.#isCutOff = true
    this.#ports.observer.onCutOff()
  }

  /** The balance at which an account counts as out of funds: zero, less what it may overdraw. */
  get #emptyBalance(): Microcents {
    return -this.#context.profile.policies.overdraftCents * MICROCENTS_PER_CENT
  }

  get #isTopupEnabled(): boolean {
    return this.#topupRule.enabled && this.#topupRule.amount > 0 && this.#topupRule.threshold > 0
  }

  /** The threshold was crossed: one charge, now or when it comes through. */
  #beginTopup(): void {
    this.#isTopupArmed = false
    const takes = this.#context.profile.timings.topupDelay + drawTopupDelay(this.#context, this.uid, this.#chargeCount)
    if (takes + this.#topupDelay === 0) {
      this.chargeCard()
      return
    }
    this.#context.record(this.account, 'topup.begun', { cents: this.#topupRule.amount })
    this.#pendingTopup = { since: this.#context.clock.now, takes }
    this.#scheduleCharge(this.#pendingTopup)
  }

  #scheduleCharge({ since, takes }: { readonly since: Micros; readonly takes: Micros }): void {
    this.#context.cancel(this.#chargeEvent)
    this.#chargeEvent = this.#context.scheduleAt(
      Math.max(this.#context.clock.now, since + takes + this.#topupDelay),
      'account.topupDue',
    )
  }

  chargeCard(): void {
    this.#chargeEvent = 0
    this.#pendingTopup = undefined
    const index = this.#chargeCount++
    if (this.#isCardAccepted && !declinesTopup(this.#context, this.uid, index)) {
      this.#addMoney('topup', this.#topupRule.amount)
      return
    }
    this.#hasTopupFailed = true
    this.#chargeEvent = this.#context.schedule(this.#context.profile.timings.topupRetry, 'account.topupDue')
    this.#context.record(this.account, 'topup.declined', { cents: this.#topupRule.amount })
    this.#context.markVisibleChange()
  }

  #cancelCharge(): void {
    this.#context.cancel(this.#chargeEvent)
    this.#chargeEvent = 0
    this.#pendingTopup = undefined
  }

  /** Money comes in: what waited for it goes on. */
  #addMoney(kind: 'funds' | 'topup', cents: number): void {
    const microcents = cents * MICROCENTS_PER_CENT
    this.#funds += microcents
    this.#entries.push({ time: this.#context.clock.now, kind, subject: this.uid, microcents })
    this.#context.record(this.account, kind === 'topup' ? 'topup.charged' : 'funds.added', { cents })
    const { balance } = this
    if (kind === 'topup') this.#hasTopupFailed = false
    if (balance >= this.#topupRule.threshold * MICROCENTS_PER_CENT) {
      // The threshold is reached without the charge that was planned: it would be one without a crossing.
      if (this.#chargeEvent !== 0) this.#context.record(this.account, 'topup.calledOff')
      this.#cancelCharge()
      this.#hasTopupFailed = false
      this.#isTopupArmed = this.#isTopupEnabled
    }
    if (this.#isOutOfFunds && balance > 0) {
      this.#isOutOfFunds = false
      if (this.#imposedReason === undefined) {
        this.#context.record(this.account, 'account.resumed')
        this.#endSuspension()
      }
    }
    this.#context.markVisibleChange()
    this.#scheduleCrossing()
  }

  /**
   * Plans the moment at which the balance reaches the next level that matters. The sum of all meters without floors
   * reaches it no later than the floored one, so at that moment `crossed` looks and, if need be, plans again.
   */
  #scheduleCrossing(): void {
    this.#context.cancel(this.#crossingEvent)
    this.#crossingEvent = 0
    const { now } = this.#context.clock
    this.#meters.accrueTotal(now)
    let at = Number.POSITIVE_INFINITY
    // Below the threshold is one micro-cent under it; empty is at zero.
    if (this.#isTopupArmed)
      at = Math.min(at, this.#whenBalanceReaches(this.#topupRule.threshold * MICROCENTS_PER_CENT - 1))
    if (!this.#isOutOfFunds) at = Math.min(at, this.#whenBalanceReaches(this.#emptyBalance))
    if (at < Number.POSITIVE_INFINITY)
      this.#crossingEvent = this.#context.scheduleAt(Math.max(at, now), 'account.crossing')
  }

  #whenBalanceReaches(level: Microcents): Micros {
    const { now } = this.#context.clock
    const left = this.#meters.timeUntil(this.#funds - this.#tokens - level)
    if (left > 0) return now + left
    const exact = this.balance - level
    // Floors of many meters may keep the balance a few micro-cents above: look again when one more has run.
    if (exact <= 0 || this.#meters.totalRate === 0) return exact <= 0 ? now : Number.POSITIVE_INFINITY
    return now + Math.floor((exact * HOUR) / this.#meters.totalRate) + 1
  }
}
