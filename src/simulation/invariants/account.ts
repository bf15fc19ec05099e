import { GPU_TYPES, gpuIndex } from '../../data/records/gpu-config.ts'
import { HOUR, type Micros } from '../../kernel/duration.ts'
import type { Ledger } from '../account/ledger.ts'
import type { LedgerEntry, MeterRow } from '../account/ledger-types.ts'
import { MICROCENTS_PER_CENT, type Microcents } from '../account/money.ts'
import type { World } from '../world.ts'
import { type ReportViolation, WorldInvariants } from './invariant.ts'

/** Micro-cents by which the balance as it is followed here may be off; nearer to a level the exact one is asked for. */
const BALANCE_MARGIN = MICROCENTS_PER_CENT

/** What a meter was when it was looked at last. */
interface CheckedMeter {
  readonly row: Readonly<MeterRow>
  readonly units: number
  readonly since: Micros
  readonly weighted: bigint
  readonly posted: Microcents
  readonly newestInterval: MeterRow['newestInterval']
  /** Its part of the sums below. */
  readonly rate: number
}

/** I9 to I11: every posting, every metered interval, every crossing. */
export class AccountInvariants extends WorldInvariants {
  readonly #meters: (CheckedMeter | undefined)[] = []
  readonly #postedById = new Map<string, Microcents>()
  readonly #changedMeters = new Set<number>()
  /** Postings that were taken in, and their sums. */
  #postingsRead = 0
  #paidIn: Microcents
  #tokens: Microcents = 0
  readonly #rentBySubject = new Map<string, Microcents>()
  readonly #tokensBySubject = new Map<string, Microcents>()
  /** Σ weighted, Σ rate and Σ rate × since of all meters: the balance without floors, followed in doubles. */
  #weighted = 0
  #rate = 0
  #rateSince = 0
  #units = 0
  /** Micro-cents per hour by type, as they were after the step before. */
  readonly #prices: number[]
  #topupRule: Ledger['topups']['rule']
  /** A top-up has been charged since the balance fell below the threshold. */
  #hasToppedUp = false
  #suspendedAt: Micros | undefined
  #cutOffAt: Micros | undefined

  constructor(world: World) {
    super(world)
    const { ledger } = world
    this.#paidIn = ledger.openingFunds
    this.#topupRule = ledger.topups.rule
    this.#prices = GPU_TYPES.map(gpu => this.#priceOf(gpu))
    // Postings from before the first check are added without a check of their time and reason.
    const { postings } = ledger.totals
    while (this.#postingsRead < postings.length) this.#addPosting(postings.at(this.#postingsRead++)!)
  }

  onMeterWrite(ordinal: number): void {
    this.#changedMeters.add(ordinal)
  }

  /** Micro-cents of tokens that were posted for a subject. */
  tokensOf(subject: string): Microcents {
    return this.#tokensBySubject.get(subject) ?? 0
  }

  /** @param changedDeployments deployments that were written in this step, or whose instances were */
  verify(
    changedDeployments: ReadonlySet<number>,
    meterRow: (ordinal: number) => Readonly<MeterRow>,
    report: ReportViolation,
  ): void {
    const { ledger, clock, store } = this.world
    const account = store.account.uid
    this.#readPostings(account, report)
    this.#checkPrices(meterRow, report)
    for (const ordinal of this.#changedMeters) this.#checkMeter(meterRow(ordinal), ordinal, clock.now, report)
    // After all of them: a record whose price changed has several meters.
    for (const ordinal of this.#changedMeters) {
      const { id } = meterRow(ordinal)
      const [posted = 0, rent = 0] = [this.#postedById.get(id), this.#rentBySubject.get(id)]
      if (posted !== rent) report('I9', `${id} counts ${posted} as posted, its entries sum to ${rent}`, id)
    }
    this.#changedMeters.clear()
    for (const deployment of changedDeployments) this.#checkUnits(deployment, report)
    for (const [index, gpu] of GPU_TYPES.entries()) this.#prices[index] = this.#priceOf(gpu)
    this.#checkFunds(account, report)
    this.#topupRule = ledger.topups.rule
  }

  /** Recounts the balance from all postings and all running meters. */
  checkBalance(report: ReportViolation): void {
    const { ledger, store } = this.world
    const { balance } = ledger
    const account = store.account.uid
    const sum = ledger.entries().reduce((total, entry) => total + entry.microcents, ledger.openingFunds)
    if (sum !== balance) report('I9', `the balance is ${balance}, its entries sum to ${sum}`, account)
    if (!Number.isSafeInteger(balance)) report('I9', `the balance ${balance} is not an integer`, account)
  }

  #readPostings(account: string, report: ReportViolation): void {
    const { ledger, clock } = this.world
    const { funds, tokens, postings } = ledger.totals
    if (postings.length < this.#postingsRead) {
      report('I9', `${this.#postingsRead - postings.length} postings have left the ledger`, account)
      this.#postingsRead = postings.length
    }
    for (; this.#postingsRead < postings.length; this.#postingsRead++) {
      const entry = postings.at(this.#postingsRead)!
      const { kind, microcents, time } = entry
      this.#addPosting(entry)
      const isPaidIn = kind === 'funds' || kind === 'topup'
      const hasWrongSign = kind !== 'adjustment' && microcents > 0 !== isPaidIn
      if (!Number.isSafeInteger(microcents) || microcents === 0 || hasWrongSign) {
        report('I9', `a posting of ${kind} is ${microcents} micro-cents`, entry.subject)
      }
      if (time !== clock.now) report('I9', `a posting of ${kind} is dated ${time}, it is ${clock.now}`, entry.subject)
      if ((kind === 'tokens' || kind === 'units') && this.#cutOffAt !== undefined && ledger.suspension.isCutOff) {
        report('I10', `${kind} were charged to an account that is cut off`, entry.subject)
      }
      if (kind === 'topup') this.#checkTopup(entry, account, report)
    }
    if (this.#paidIn !== funds) {
      report('I9', `${funds} micro-cents count as paid in, ${this.#paidIn} were`, account)
      this.#paidIn = funds
    }
    if (this.#tokens !== tokens) {
      report('I9', `${tokens} micro-cents count as charged for tokens and units, ${this.#tokens} were`, account)
      this.#tokens = tokens
    }
  }

  #addPosting({ kind, subject, microcents }: LedgerEntry): void {
    if (kind === 'rent') this.#rentBySubject.set(subject, (this.#rentBySubject.get(subject) ?? 0) - microcents)
    else if (kind === 'tokens' || kind === 'units') {
      this.#tokens -= microcents
      this.#tokensBySubject.set(subject, (this.#tokensBySubject.get(subject) ?? 0) - microcents)
    } else this.#paidIn += microcents
  }

  #checkTopup({ microcents }: LedgerEntry, account: string, report: ReportViolation): void {
    const { balance, topups } = this.world.ledger
    if (!this.#topupRule.enabled && !topups.rule.enabled)
      report('I11', 'a top-up was charged that is disabled', account)
    if (this.#hasToppedUp) report('I11', 'a top-up was charged twice for one crossing of the threshold', account)
    const threshold = Math.max(this.#topupRule.threshold, topups.rule.threshold) * MICROCENTS_PER_CENT
    const before = balance - microcents
    if (before >= threshold) {
      report('I11', `a top-up was charged at a balance of ${before}, the threshold is ${threshold}`, account)
    }
    this.#hasToppedUp = true
  }

  /** A price holds from its event on: what ran before must have been closed at the old one. */
  #checkPrices(meterRow: (ordinal: number) => Readonly<MeterRow>, report: ReportViolation): void {
    const { now } = this.world.clock
    for (const [index, gpu] of GPU_TYPES.entries()) {
      if (this.#priceOf(gpu) === this.#prices[index]) continue
      for (const [ordinal, meter] of this.#meters.entries()) {
        if (meter === undefined || gpuIndex(meter.row.gpu) !== index) continue
        this.#changedMeters.add(ordinal)
        if (meter.units > 0 && meterRow(ordinal).since !== now) {
          report('I9', `${meter.row.id} runs on at a new price for what ran at the old one`, meter.row.id)
        }
      }
    }
  }

  #checkMeter(row: Readonly<MeterRow>, ordinal: number, now: Micros, report: ReportViolation): void {
    const before = this.#meters[ordinal]
    const { id, units, since, newestInterval, posted } = row
    const weighted = row.accrued.exact
    if (before !== undefined) {
      const elapsed = before.units > 0 ? now - before.since : 0
      if (since === before.since) {
        if (weighted !== before.weighted || newestInterval !== before.newestInterval) {
          report('I9', `${id} was charged for an interval that has no time`, id)
        }
        if (units !== before.units && since !== now) {
          report('I9', `${id} went from ${before.units} to ${units} without an end of the interval`, id)
        }
      } else {
        if (since !== now) report('I9', `${id} is metered since ${since}, which is not now, ${now}`, id)
        const price = row.ownPrice >= 0 ? row.ownPrice : this.#prices[gpuIndex(row.gpu)]!
        const expectedCharge = BigInt(elapsed) * BigInt(before.units * row.gpusPerUnit) * BigInt(price)
        if (weighted - before.weighted !== expectedCharge) {
          report('I9', `${id} was charged ${weighted - before.weighted} for an interval worth ${expectedCharge}`, id)
        }
        const lastInterval = newestInterval < 0 ? undefined : this.world.ledger.meters.closedInterval(newestInterval)
        const isContiguous =
          elapsed === 0
            ? newestInterval === before.newestInterval
            : lastInterval?.previous === before.newestInterval &&
              lastInterval.from === before.since &&
              lastInterval.to === now &&
              lastInterval.units === before.units
        if (!isContiguous) report('I9', `the intervals of ${id} overlap or leave a gap at ${now}`, id)
      }
      if (posted < before.posted) report('I9', `${id} had ${before.posted} posted and now has ${posted}`, id)
    }
    const maxPosted = Number(weighted / BigInt(HOUR))
    if (posted > maxPosted) report('I9', `${id} was posted ${posted}, it cost ${maxPosted}`, id)
    this.#addMeter(row, ordinal, before)
  }

  #addMeter(row: Readonly<MeterRow>, ordinal: number, before: CheckedMeter | undefined): void {
    const { id, units, since, posted, newestInterval } = row
    const weighted = row.accrued.exact
    const rate = units * row.gpusPerUnit * (row.ownPrice >= 0 ? row.ownPrice : this.#priceOf(row.gpu))
    this.#postedById.set(id, (this.#postedById.get(id) ?? 0) + posted - (before?.posted ?? 0))
    this.#weighted += Number(weighted) - Number(before?.weighted ?? 0n)
    this.#rate += rate - (before?.rate ?? 0)
    this.#rateSince += rate * since - (before === undefined ? 0 : before.rate * before.since)
    this.#units += units - (before?.units ?? 0)
    this.#meters[ordinal] = { row, units, since, weighted, posted, newestInterval, rate }
  }

  /** What is metered is what is billable: from ready, or from placed, to gone. */
  #checkUnits(deployment: number, report: ReportViolation): void {
    const { deployments, instances, profile } = this.world
    const row = deployments.read(deployment)
    const meter = this.#meters[row.meter]
    if (meter === undefined) return
    const billsFromPlaced = profile.policies.billFrom === 'placed'
    let billable = 0
    for (const instance of row.instances) {
      const { state, node } = instances.read(instance)
      if (billsFromPlaced ? node >= 0 : state === 'ready' || state === 'draining') billable++
    }
    if (meter.units !== billable) {
      const invariant = billable < meter.units ? 'I14' : 'I9'
      report(invariant, `deployment ${row.id} is billed for ${meter.units} instances, ${billable} are billable`, row.id)
    }
  }

  #checkFunds(account: string, report: ReportViolation): void {
    const { ledger, clock, agenda, profile } = this.world
    const { now } = clock
    const { suspensionGrace, overdraftCents } = profile.policies
    const { drain, rentalShutdown } = profile.timings
    // What is due at this instant may still put it right.
    const isIdle = agenda.nextTime > now
    const approximateBalance =
      this.#paidIn - this.#tokens - (this.#weighted + now * this.#rate - this.#rateSince) / HOUR
    if (this.#hasToppedUp) {
      const threshold = ledger.topups.rule.threshold * MICROCENTS_PER_CENT
      if (ledger.topups.rule !== this.#topupRule || approximateBalance >= threshold + BALANCE_MARGIN)
        this.#hasToppedUp = false
      else if (approximateBalance >= threshold - BALANCE_MARGIN && ledger.balance >= threshold)
        this.#hasToppedUp = false
    }
    const emptyBalance = -overdraftCents * MICROCENTS_PER_CENT
    const limitBalance = ledger.spending.balanceWhenReached(this.#paidIn)
    if (isIdle && limitBalance !== undefined && Math.abs(approximateBalance - limitBalance) < BALANCE_MARGIN) {
      const isReached = ledger.balance <= limitBalance
      if (isReached !== ledger.suspension.isLimitReached) {
        report('I10', `the spending limit ${isReached ? 'is' : 'is not'} reached, unlike the suspension says`, account)
      }
    }
    if (ledger.suspensionReason === undefined) {
      this.#suspendedAt = undefined
      if (isIdle && approximateBalance < emptyBalance + BALANCE_MARGIN && ledger.balance <= emptyBalance) {
        report('I10', `the balance is ${ledger.balance} and the account is not suspended`, account)
      }
    } else {
      this.#suspendedAt ??= now
      if (!ledger.suspension.isCutOff && now > this.#suspendedAt + suspensionGrace) {
        report('I10', `the account has been suspended since ${this.#suspendedAt} and its grace never ends`, account)
      }
    }
    if (!ledger.suspension.isCutOff) {
      this.#cutOffAt = undefined
      return
    }
    this.#cutOffAt ??= now
    if (this.#units > 0 && now > this.#cutOffAt + Math.max(drain, rentalShutdown)) {
      report('I10', `the account was cut off at ${this.#cutOffAt} and ${this.#units} units are still billed`, account)
    }
  }

  #priceOf(gpu: (typeof GPU_TYPES)[number]): Microcents {
    return Math.round(this.world.ledger.meters.priceCentsPerHour(gpu) * MICROCENTS_PER_CENT)
  }
}
