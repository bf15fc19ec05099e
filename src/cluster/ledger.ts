import { HOUR, type Micros } from '../kernel/duration.ts'
import { AppendLog, Layers } from '../kernel/layers.ts'
import { NumberLog } from '../kernel/number-log.ts'
import { type Generation, Table } from '../kernel/table.ts'
import type { Tape } from '../kernel/tape.ts'
import { GPU_TYPES, type GpuType } from '../store/records.ts'
import { Accrual } from './accrual.ts'
import type { EventName } from './events.ts'
import { gpuIndex } from './gpus.ts'
import { AccountRow, MeterRow } from './ledger-row.ts'
import {
  costOf,
  MICROCENTS_PER_CENT,
  type Microcents,
  overlap,
  type Ran,
  tokenCost,
  tokenWeight,
  weightOf,
} from './money.ts'
import type { World } from './world.ts'

export interface TopupRule {
  /** Cents that are added. */
  readonly amount: number
  /** Balance in cents below which they are. */
  readonly threshold: number
  readonly enabled: boolean
}

/** A posting, or, with `open`, what ran and is not posted yet. */
export interface LedgerEntry {
  /** Microseconds since the epoch of the world. */
  readonly time: Micros
  readonly kind: 'funds' | 'topup' | 'rent' | 'tokens'
  /** Wire id of what was billed; the account's for funds. */
  readonly subject: string
  /** Positive is money in, negative money out. */
  readonly microcents: Microcents
  readonly open?: true
}

/** What the ledger keeps, each sum beside the postings that it should be the sum of. */
export interface Books {
  /** Funds at the epoch and all that was paid in since. */
  readonly funds: Microcents
  /** What tokens have cost. */
  readonly tokens: Microcents
  readonly postings: Pick<AppendLog<LedgerEntry>, 'length' | 'at'>
}

/** What one thing ran and cost between two moments. */
export interface Metered {
  readonly id: string
  readonly kind: MeterRow['kind']
  readonly gpu: GpuType
  readonly microcents: Microcents
  /** GPU-microseconds that were billed. */
  readonly gpuMicros: number
}

/** Why an account is suspended. */
export type SuspendReason = 'balance' | 'payment-method' | 'overdue-invoices' | 'limit-reached' | 'admin' | 'bad-cc'

/**
 * The account's money: integer micro-cents, metered lazily. Reads compute and never post; what is posted for a thing is
 * always `floor(Σ GPU-µs × µ¢/h ÷ 3.6e9)` minus what was posted before, so the sum never depends on when it was posted.
 */
export class Ledger {
  readonly #world: World
  readonly #meters: Table<MeterRow>
  readonly #accounts: Table<AccountRow>
  readonly #entries: AppendLog<LedgerEntry>
  /** Stretches of time in which a constant number of units ran: the one before of the same meter, from, to, units, price. */
  readonly #stretches: NumberLog
  /** Micro-cents per hour of one GPU, by type. */
  #prices: Float64Array
  /** Tokens of live requests by model: Σ tokens × price in force, and what of it is posted. */
  readonly #tokenMeters: Layers<{ readonly weighted: bigint; readonly charged: Microcents }>
  /** Funds at the world's epoch. */
  #opening: Microcents = 0
  #funds: Microcents = 0
  #tokens: Microcents = 0
  /** All meters together, not floored: what the next crossing is planned by. */
  #rate = 0
  #accrued = new Accrual()
  #accruedAt: Micros = 0
  #rule: TopupRule = { amount: 0, threshold: 0, enabled: false }
  /** Whether the next crossing of the threshold fires the rule. */
  #armed = false
  #cardGood = true
  #topupFailed = false
  /** The charge that is planned: the first of a crossing, or a further try of one that was declined. */
  #charge = 0
  /** When the threshold was crossed, and how long the first charge takes without what a verb adds. */
  #charging: { readonly since: Micros; readonly takes: Micros } | undefined
  /** How much longer first charges take, by a verb. */
  #topupDelay: Micros = 0
  /** Charges begun since the world did: the index of their draws. */
  #charges = 0
  /** Why somebody suspended the account; that it is out of funds stands apart, so that neither ends the other. */
  #imposed: Exclude<SuspendReason, 'balance'> | undefined
  #outOfFunds = false
  #crossing = 0
  #grace = 0
  /** The grace is over: nothing runs on the account any more, batches on shared capacity included. */
  #cutOff = false

  constructor(world: World, from?: { meters: Table<MeterRow>; accounts: Table<AccountRow>; ledger: Ledger }) {
    this.#world = world
    this.#meters = from?.meters ?? new Table(world.generation)
    this.#accounts = from?.accounts ?? new Table(world.generation)
    this.#entries = from ? from.ledger.#entries.fork() : new AppendLog()
    this.#stretches = from ? from.ledger.#stretches.fork() : new NumberLog(5)
    this.#tokenMeters = from ? from.ledger.#tokenMeters.fork() : new Layers()
    this.#prices = from
      ? from.ledger.#prices.slice()
      : Float64Array.from(GPU_TYPES, gpu =>
          gpu === 'other' ? 0 : Math.round(world.profile.prices.centsPerHour[gpu] * MICROCENTS_PER_CENT),
        )
    if (!from) return
    const { ledger } = from
    this.#opening = ledger.#opening
    this.#funds = ledger.#funds
    this.#tokens = ledger.#tokens
    this.#rate = ledger.#rate
    this.#accrued = ledger.#accrued.copy()
    this.#accruedAt = ledger.#accruedAt
    this.#rule = ledger.#rule
    this.#armed = ledger.#armed
    this.#cardGood = ledger.#cardGood
    this.#topupFailed = ledger.#topupFailed
    this.#charge = ledger.#charge
    this.#charging = ledger.#charging
    this.#topupDelay = ledger.#topupDelay
    this.#charges = ledger.#charges
    this.#imposed = ledger.#imposed
    this.#outOfFunds = ledger.#outOfFunds
    this.#crossing = ledger.#crossing
    this.#grace = ledger.#grace
    this.#cutOff = ledger.#cutOff
  }

  fork(world: World, theirs: Generation): Ledger {
    return new Ledger(world, {
      meters: this.#meters.fork(theirs, world.generation),
      accounts: this.#accounts.fork(theirs, world.generation),
      ledger: this,
    })
  }

  keep(tape: Tape): void {
    this.#meters.keep(tape)
    this.#accounts.keep(tape)
    this.#entries.keep(tape)
    this.#stretches.keep(tape)
    this.#tokenMeters.keep(tape)
    this.#prices = tape.value(this.#prices)
    this.#opening = tape.value(this.#opening)
    this.#funds = tape.value(this.#funds)
    this.#tokens = tape.value(this.#tokens)
    this.#rate = tape.value(this.#rate)
    this.#accrued = tape.value(this.#accrued)
    this.#accruedAt = tape.value(this.#accruedAt)
    this.#rule = tape.value(this.#rule)
    this.#armed = tape.value(this.#armed)
    this.#cardGood = tape.value(this.#cardGood)
    this.#topupFailed = tape.value(this.#topupFailed)
    this.#charge = tape.value(this.#charge)
    this.#charging = tape.value(this.#charging)
    this.#topupDelay = tape.value(this.#topupDelay)
    this.#charges = tape.value(this.#charges)
    this.#imposed = tape.value(this.#imposed)
    this.#outOfFunds = tape.value(this.#outOfFunds)
    this.#crossing = tape.value(this.#crossing)
    this.#grace = tape.value(this.#grace)
    this.#cutOff = tape.value(this.#cutOff)
  }

  /** Opens the account with its funds at the world's epoch. */
  open(uid: string, fundsCents: number, rule: TopupRule, cardGood: boolean): void {
    this.#accounts.add(new AccountRow(this.#accounts.generation, uid))
    this.#opening = fundsCents * MICROCENTS_PER_CENT
    this.#funds = this.#opening
    this.#rule = rule
    this.#cardGood = cardGood
    this.#armed = this.#topupIsOn
    if (this.#funds <= this.#empty) {
      this.#outOfFunds = true
      this.#beginGrace()
    }
    this.#planCrossing()
  }

  /** The account's wire id. */
  get uid(): string {
    return this.#accounts.read(0).id
  }

  /** The account's row, to record what happens to it. */
  get account(): AccountRow {
    return this.#accounts.own(0)
  }

  /** Why the account is suspended; what somebody imposed comes before an empty balance, for funds do not end it. */
  get suspended(): SuspendReason | undefined {
    return this.#imposed ?? (this.#outOfFunds ? 'balance' : undefined)
  }

  /** Whether charges to the card go through. */
  get cardGood(): boolean {
    return this.#cardGood
  }

  /** Whether the last top-up was declined and nothing has made up for it since. */
  get topupFailed(): boolean {
    return this.#topupFailed
  }

  get topupRule(): TopupRule {
    return this.#rule
  }

  /** Whether anything new may be started: not suspended, for which there must be funds. */
  canSpend(): boolean {
    return this.suspended === undefined
  }

  /** Funds at the world's epoch: balance = opening + the sum of all entries. */
  get opening(): Microcents {
    return this.#opening
  }

  /** Whether the grace of a suspension is over. */
  get cutOff(): boolean {
    return this.#cutOff
  }

  /** Remaining funds, computed to now. */
  get balance(): Microcents {
    return this.#funds - this.#tokens - this.#rent()
  }

  priceCentsPerHour(gpu: GpuType): number {
    return this.#prices[gpuIndex(gpu)]! / MICROCENTS_PER_CENT
  }

  /** Adds prepaid funds by card; false when the card is declined. */
  addFunds(cents: number): boolean {
    if (!this.#cardGood) return false
    this.#book('funds', cents)
    return true
  }

  /** A new rule takes the place of the old one and of everything that was under way by it. */
  setTopup(rule: TopupRule): void {
    this.#dropCharge()
    this.#rule = rule
    this.#armed = this.#topupIsOn
    this.#topupFailed = false
    this.#world.happened(this.account, 'topup.set', { ...rule })
    this.#planCrossing()
  }

  /** The card goes through, or does not: a fault and its repair. A repair makes up for a declined top-up at once. */
  setCard(good: boolean): void {
    if (this.#cardGood === good && !(good && this.#topupFailed)) return
    this.#cardGood = good
    this.#world.command(this.account, good ? 'card.accepted' : 'card.declined')
    if (!good || !this.#topupFailed) return
    this.#dropCharge()
    this.#book('topup', this.#rule.amount)
  }

  /** Top-ups take this much longer from now on, those under way included; 0 for their usual time. */
  setTopupDelay(delay: Micros): void {
    if (this.#topupDelay === delay) return
    this.#topupDelay = delay
    if (delay > 0) this.#world.command(this.account, 'topup.delayed', { by_us: delay })
    else this.#world.command(this.account, 'topup.normal')
    if (this.#charging) this.#planCharge(this.#charging)
  }

  /** Suspends the account: creates are refused, and what runs stops when the grace is over. */
  suspend(reason: Exclude<SuspendReason, 'balance'>): void {
    if (this.#imposed !== undefined) return
    const already = this.#outOfFunds
    this.#imposed = reason
    this.#world.command(this.account, 'account.suspended', { reason })
    if (already) this.#world.seen()
    else this.#beginGrace()
  }

  /** Ends what somebody imposed; false when only funds can end the suspension. */
  resume(): boolean {
    if (this.#imposed === undefined) return !this.#outOfFunds
    this.#imposed = undefined
    if (this.#outOfFunds) {
      this.#world.command(this.account, 'account.suspended', { reason: 'balance' })
      this.#world.seen()
      return true
    }
    this.#world.command(this.account, 'account.resumed')
    this.#endSuspension()
    return true
  }

  #beginGrace(): void {
    const world = this.#world
    this.#grace = world.plan(world.profile.policies.suspensionGrace, 'account.graceEnded')
    world.seen()
  }

  #endSuspension(): void {
    const world = this.#world
    world.cancel(this.#grace)
    this.#grace = 0
    if (this.#cutOff) {
      this.#cutOff = false
      world.batches.paceAll()
    }
    world.deployments.suspensionEnded()
    world.deployments.fundsReturned()
    world.rentals.fundsReturned()
    world.seen()
  }

  /** Opens the meter of a thing that can be billed. */
  openMeter(id: string, kind: MeterRow['kind'], gpu: GpuType, gpusPerUnit: number): number {
    const row = new MeterRow(this.#meters.generation, id, kind, gpu, gpusPerUnit)
    row.since = this.#world.clock.now
    return this.#meters.add(row)
  }

  /** Says how many units of a thing run from now on. */
  setUnits(meter: number, units: number): void {
    const { now } = this.#world.clock
    const seen = this.#meters.read(meter)
    if (seen.units === units) return
    const row = this.#meters.own(meter)
    this.#advanceAll(now)
    this.#close(row, now)
    this.#rate += (units - row.units) * row.gpusPerUnit * this.#priceOf(row)
    row.units = units
    this.#post(row, now)
    this.#planCrossing()
  }

  /** Sets the price of a GPU type from now on: what ran before keeps its price. */
  setPrice(gpu: GpuType, centsPerHour: number): void {
    const { now } = this.#world.clock
    this.#advanceAll(now)
    for (const [ordinal, seen] of this.#meters.entries()) {
      if (seen.gpu !== gpu || seen.units === 0) continue
      const row = this.#meters.own(ordinal)
      this.#rate -= this.#rateOf(row)
      this.#close(row, now)
    }
    this.#prices[gpuIndex(gpu)] = Math.round(centsPerHour * MICROCENTS_PER_CENT)
    for (const [, row] of this.#meters.entries()) {
      if (row.gpu === gpu) this.#rate += this.#rateOf(row)
    }
    this.#world.command(this.account, 'price.set', { gpu, cents_per_hour: centsPerHour })
    this.#planCrossing()
  }

  /** Charges tokens: `microcents` more for this subject. */
  chargeTokens(subject: string, microcents: Microcents): void {
    if (microcents === 0) return
    this.#tokens += microcents
    this.#entries.push({ time: this.#world.clock.now, kind: 'tokens', subject, microcents: -microcents })
    this.#planCrossing()
  }

  /** Charges the tokens of a request to a model of the catalog, at a share of its price: one floor for each model. */
  chargeLiveTokens(model: string, share: number, promptTokens: number, answerTokens: number): void {
    const serverless = this.#world.store.hardware.get(model)?.hardware.find(one => one.type === 'serverless')
    if (serverless?.type !== 'serverless') return
    const { cents_per_million_input_tokens: input, cents_per_million_output_tokens: output } = serverless.pricing
    const { weighted, charged } = this.#tokenMeters.get(model) ?? { weighted: 0n, charged: 0 }
    const sum = weighted + tokenWeight(promptTokens, input * share) + tokenWeight(answerTokens, output * share)
    const total = tokenCost(sum)
    this.#tokenMeters.set(model, { weighted: sum, charged: total })
    this.chargeTokens(model, total - charged)
  }

  /** Whole seconds that each thing ran between two Unix times, summed over its instances and floored once. */
  rent(fromUnix: number, toUnix: number): Record<string, number> {
    const { clock } = this.#world
    const from = clock.fromUnix(fromUnix)
    const to = Math.min(clock.fromUnix(toUnix), clock.now)
    const found: [string, number][] = []
    for (const [, row] of this.#meters.entries()) {
      let total = row.units > 0 ? overlap(row.since, clock.now, from, to) * row.units : 0
      const log = this.#stretches
      for (let one = row.stretches; one >= 0; one = log.at(one, 0)) {
        total += overlap(log.at(one, 1), log.at(one, 2), from, to) * log.at(one, 3)
      }
      if (total > 0) found.push([row.id, Math.floor(total / 1_000_000)])
    }
    return Object.fromEntries(found.sort(([a], [b]) => (a < b ? -1 : 1)))
  }

  /**
   * What each thing ran and cost between two moments, neither of them to come. A cost is what would have been posted by
   * `to` less what would have been posted by `from`: a difference of two floors, so adjoining windows add up.
   */
  metered(from: Micros, to: Micros): Metered[] {
    const { now } = this.#world.clock
    const found: Metered[] = []
    for (const [ordinal, row] of this.#meters.entries()) {
      let weighted = row.accrued.exact
      let within = 0n
      let gpuMicros = 0
      for (const one of this.ran(ordinal)) {
        if (one.isOpen) weighted += weightOf(one, one.from, one.to)
        else if (one.to <= from) break
        weighted -= weightOf(one, to, now)
        within += weightOf(one, from, to)
        gpuMicros += overlap(one.from, one.to, from, to) * one.gpus
      }
      const microcents = costOf(weighted) - costOf(weighted - within)
      found.push({ id: row.id, kind: row.kind, gpu: row.gpu, microcents, gpuMicros })
    }
    return found
  }

  /** When a meter ran, the newest stretch first. */
  *ran(meter: number): Generator<Ran> {
    const row = this.#meters.read(meter)
    const { units, since, gpusPerUnit } = row
    if (units > 0) {
      const price = this.#prices[gpuIndex(row.gpu)]!
      yield { from: since, to: this.#world.clock.now, gpus: units * gpusPerUnit, price, isOpen: true }
    }
    const log = this.#stretches
    for (let one = row.stretches; one >= 0; one = log.at(one, 0)) {
      const gpus = log.at(one, 3) * gpusPerUnit
      yield { from: log.at(one, 1), to: log.at(one, 2), gpus, price: log.at(one, 4), isOpen: false }
    }
  }

  /** A stretch of a meter that is over, as it is kept; `before` is the one before it, -1 for none. */
  stretch(line: number): {
    readonly before: number
    readonly from: Micros
    readonly to: Micros
    readonly units: number
  } {
    const log = this.#stretches
    return { before: log.at(line, 0), from: log.at(line, 1), to: log.at(line, 2), units: log.at(line, 3) }
  }

  /** Postings between two moments, and what runs and is not posted yet, computed to now. */
  entries(from: Micros = Number.NEGATIVE_INFINITY, to: Micros = Number.POSITIVE_INFINITY): LedgerEntry[] {
    const { now } = this.#world.clock
    const found: LedgerEntry[] = []
    for (const entry of this.#entries) if (entry.time >= from && entry.time <= to) found.push(entry)
    if (now < from || now > to) return found
    const open: LedgerEntry[] = []
    for (const [, row] of this.#meters.entries()) {
      const due = this.#due(row, now)
      if (due > 0) open.push({ time: now, kind: 'rent', subject: row.id, microcents: -due, open: true })
    }
    return [...found, ...open.sort((a, b) => (a.subject < b.subject ? -1 : 1))]
  }

  /** The books as they are kept, for whoever checks them. */
  get books(): Books {
    return { funds: this.#funds, tokens: this.#tokens, postings: this.#entries }
  }

  /** Every meter with its ordinal. */
  meters(): Generator<[number, Readonly<MeterRow>]> {
    return this.#meters.entries()
  }

  on(event: EventName): void {
    if (event === 'account.crossing') this.#crossed()
    else if (event === 'account.topupDue') this.#chargeCard()
    else this.#graceEnded()
  }

  /** The balance may have reached the top-up threshold or zero. */
  #crossed(): void {
    const world = this.#world
    this.#crossing = 0
    const { balance } = this
    if (this.#armed && balance < this.#rule.threshold * MICROCENTS_PER_CENT) this.#topUp()
    if (this.balance <= this.#empty && !this.#outOfFunds) {
      const already = this.#imposed !== undefined
      this.#outOfFunds = true
      world.happened(this.account, 'account.suspended', { reason: 'balance' })
      if (!already) this.#beginGrace()
    }
    this.#planCrossing()
  }

  /** The grace is over: what runs stops. */
  #graceEnded(): void {
    const world = this.#world
    this.#grace = 0
    world.happened(this.account, 'account.graceEnded')
    for (const deployment of world.deployments.list()) {
      if (deployment.type === 'llm' || deployment.type === 'lora') world.deployments.stopForFunds(deployment.ordinal)
    }
    const reason = `the account was suspended (${this.suspended})`
    world.rentals.stopForFunds(reason)
    // Before it is cut off: what was made until now is charged.
    world.inference.accountCutOff(reason)
    this.#cutOff = true
    world.batches.paceAll()
  }

  /** The balance at which an account counts as out of funds: zero, less what it may overdraw. */
  get #empty(): Microcents {
    return -this.#world.profile.policies.overdraftCents * MICROCENTS_PER_CENT
  }

  get #topupIsOn(): boolean {
    return this.#rule.enabled && this.#rule.amount > 0 && this.#rule.threshold > 0
  }

  /** The threshold was crossed: one charge, now or when it comes through. */
  #topUp(): void {
    const world = this.#world
    this.#armed = false
    const takes = world.profile.timings.topupDelay + world.weather.topupDelay(this.#charges)
    if (takes + this.#topupDelay === 0) {
      this.#chargeCard()
      return
    }
    world.happened(this.account, 'topup.begun', { cents: this.#rule.amount })
    this.#charging = { since: world.clock.now, takes }
    this.#planCharge(this.#charging)
  }

  #planCharge({ since, takes }: { readonly since: Micros; readonly takes: Micros }): void {
    const world = this.#world
    world.cancel(this.#charge)
    this.#charge = world.planAt(Math.max(world.clock.now, since + takes + this.#topupDelay), 'account.topupDue')
  }

  #chargeCard(): void {
    const world = this.#world
    this.#charge = 0
    this.#charging = undefined
    const nth = this.#charges++
    if (this.#cardGood && !world.weather.declinesTopup(nth)) {
      this.#book('topup', this.#rule.amount)
      return
    }
    this.#topupFailed = true
    this.#charge = world.plan(world.profile.timings.topupRetry, 'account.topupDue')
    world.happened(this.account, 'topup.declined', { cents: this.#rule.amount })
    world.seen()
  }

  #dropCharge(): void {
    this.#world.cancel(this.#charge)
    this.#charge = 0
    this.#charging = undefined
  }

  /** Money comes in: what waited for it goes on. */
  #book(kind: 'funds' | 'topup', cents: number): void {
    const world = this.#world
    const microcents = cents * MICROCENTS_PER_CENT
    this.#funds += microcents
    this.#entries.push({ time: world.clock.now, kind, subject: this.uid, microcents })
    world.happened(this.account, kind === 'topup' ? 'topup.charged' : 'funds.added', { cents })
    const { balance } = this
    if (kind === 'topup') this.#topupFailed = false
    if (balance >= this.#rule.threshold * MICROCENTS_PER_CENT) {
      // The threshold is reached without the charge that was planned: it would be one without a crossing.
      if (this.#charge !== 0) world.happened(this.account, 'topup.calledOff')
      this.#dropCharge()
      this.#topupFailed = false
      this.#armed = this.#topupIsOn
    }
    if (this.#outOfFunds && balance > 0) {
      this.#outOfFunds = false
      if (this.#imposed === undefined) {
        world.happened(this.account, 'account.resumed')
        this.#endSuspension()
      }
    }
    world.seen()
    this.#planCrossing()
  }

  #priceOf(row: Readonly<MeterRow>): Microcents {
    return this.#prices[gpuIndex(row.gpu)]!
  }

  /** Micro-cents an hour of what runs. */
  #rateOf(row: Readonly<MeterRow>): Microcents {
    return row.units * row.gpusPerUnit * this.#priceOf(row)
  }

  #rent(): Microcents {
    const { now } = this.#world.clock
    let sum = 0
    for (const [, row] of this.#meters.entries()) sum += row.posted + this.#due(row, now)
    return sum
  }

  /** What has run since it was posted last. */
  #due(row: Readonly<MeterRow>, now: Micros): Microcents {
    if (row.units === 0) return 0
    return row.accrued.after(this.#rateOf(row), now - row.since) - row.posted
  }

  /** Brings a meter to now. */
  #close(row: MeterRow, now: Micros): void {
    if (row.units > 0 && now > row.since) {
      row.accrued.add(this.#rateOf(row), now - row.since)
      const price = this.#prices[gpuIndex(row.gpu)]!
      row.stretches = this.#stretches.push([row.stretches, row.since, now, row.units, price])
    }
    row.since = now
  }

  #post(row: MeterRow, now: Micros): void {
    const total = row.accrued.whole
    if (total === row.posted) return
    this.#entries.push({ time: now, kind: 'rent', subject: row.id, microcents: row.posted - total })
    row.posted = total
  }

  #advanceAll(now: Micros): void {
    this.#accrued.add(this.#rate, now - this.#accruedAt)
    this.#accruedAt = now
  }

  /**
   * Plans the moment at which the balance reaches the next level that matters. The sum of all meters without floors
   * reaches it no later than the floored one, so at that moment `crossed` looks and, if need be, plans again.
   */
  #planCrossing(): void {
    const world = this.#world
    world.cancel(this.#crossing)
    this.#crossing = 0
    const { now } = world.clock
    this.#advanceAll(now)
    let at = Number.POSITIVE_INFINITY
    // Below the threshold is one micro-cent under it; empty is at zero.
    if (this.#armed) at = Math.min(at, this.#reaches(this.#rule.threshold * MICROCENTS_PER_CENT - 1))
    if (!this.#outOfFunds) at = Math.min(at, this.#reaches(this.#empty))
    if (at < Number.POSITIVE_INFINITY) this.#crossing = world.planAt(Math.max(at, now), 'account.crossing')
  }

  #reaches(level: Microcents): Micros {
    const { now } = this.#world.clock
    const left = this.#accrued.until(this.#funds - this.#tokens - level, this.#rate)
    if (left > 0) return now + left
    const exact = this.balance - level
    // Floors of many meters may keep the balance a few micro-cents above: look again when one more has run.
    if (exact <= 0 || this.#rate === 0) return exact <= 0 ? now : Number.POSITIVE_INFINITY
    return now + Math.floor((exact * HOUR) / this.#rate) + 1
  }
}
