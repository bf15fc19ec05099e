import type { Micros } from '../../kernel/duration.ts'
import { GPU_TYPES } from '../../store/records.ts'
import { gpuIndex } from '../gpus.ts'
import type { Ledger, LedgerEntry } from '../ledger.ts'
import type { MeterRow } from '../ledger-row.ts'
import { MICROCENTS_PER_CENT, type Microcents } from '../money.ts'
import type { World } from '../world.ts'
import type { Broken } from './law.ts'

const MICROS_PER_HOUR = 3_600_000_000
/** Micro-cents by which the balance as it is followed here may be off; nearer to a level the exact one is asked for. */
const MARGIN = MICROCENTS_PER_CENT

/** What a meter was when it was looked at last. */
interface Seen {
  readonly row: Readonly<MeterRow>
  readonly units: number
  readonly since: Micros
  readonly weighted: bigint
  readonly posted: Microcents
  readonly stretches: MeterRow['stretches']
  /** Its part of the sums below. */
  readonly rate: number
}

/** I9 to I11: every posting, every metered interval, every crossing. */
export class MoneyLaws {
  readonly #world: World
  readonly #meters: (Seen | undefined)[] = []
  readonly #metersToLookAt = new Set<number>()
  /** Postings that were taken in, and their sums. */
  #taken = 0
  #paidIn: Microcents
  #tokens: Microcents = 0
  readonly #rentOf = new Map<string, Microcents>()
  readonly #tokensOf = new Map<string, Microcents>()
  /** Σ weighted, Σ rate and Σ rate × since of all meters: the balance without floors, followed in doubles. */
  #weighted = 0
  #rate = 0
  #rateSince = 0
  #units = 0
  /** Micro-cents per hour by type, as they were after the step before. */
  readonly #prices: number[]
  #rule: Ledger['topupRule']
  /** A top-up has been charged since the balance fell below the threshold. */
  #toppedUp = false
  #suspendedAt: Micros | undefined
  #cutOffAt: Micros | undefined

  constructor(world: World) {
    this.#world = world
    const { ledger } = world
    this.#paidIn = ledger.opening
    this.#rule = ledger.topupRule
    this.#prices = GPU_TYPES.map(gpu => this.#priceOf(gpu))
    // What was posted before anybody looked is taken in without asking when and why.
    const { postings } = ledger.books
    while (this.#taken < postings.length) this.#add(postings.at(this.#taken++)!)
  }

  wroteMeter(ordinal: number): void {
    this.#metersToLookAt.add(ordinal)
  }

  /** Micro-cents of tokens that were posted for a subject. */
  tokensOf(subject: string): Microcents {
    return this.#tokensOf.get(subject) ?? 0
  }

  /** @param touched deployments that were written in this step, or whose instances were */
  settle(touched: ReadonlySet<number>, rows: (ordinal: number) => Readonly<MeterRow>, broken: Broken): void {
    const { ledger, clock, store } = this.#world
    const account = store.account.uid
    this.#takePostings(account, broken)
    this.#lookAtPrices(rows, broken)
    for (const ordinal of this.#metersToLookAt) this.#checkMeter(rows(ordinal), ordinal, clock.now, broken)
    this.#metersToLookAt.clear()
    for (const deployment of touched) this.#checkUnits(deployment, broken)
    for (const [index, gpu] of GPU_TYPES.entries()) this.#prices[index] = this.#priceOf(gpu)
    this.#checkFunds(account, broken)
    this.#rule = ledger.topupRule
  }

  /** The whole of it anew: the balance against all postings and what runs. */
  recount(broken: Broken): void {
    const { ledger, store } = this.#world
    const { balance } = ledger
    const account = store.account.uid
    const sum = ledger.entries().reduce((total, entry) => total + entry.microcents, ledger.opening)
    if (sum !== balance) broken('I9', `the balance is ${balance}, its entries sum to ${sum}`, account)
    if (!Number.isSafeInteger(balance)) broken('I9', `the balance ${balance} is no integer`, account)
  }

  #takePostings(account: string, broken: Broken): void {
    const { ledger, clock } = this.#world
    const { funds, tokens, postings } = ledger.books
    if (postings.length < this.#taken) {
      broken('I9', `${this.#taken - postings.length} postings have left the ledger`, account)
      this.#taken = postings.length
    }
    for (; this.#taken < postings.length; this.#taken++) {
      const entry = postings.at(this.#taken)!
      const { kind, microcents, time } = entry
      this.#add(entry)
      const paidIn = kind === 'funds' || kind === 'topup'
      if (!Number.isSafeInteger(microcents) || microcents === 0 || microcents > 0 !== paidIn) {
        broken('I9', `a posting of ${kind} is ${microcents} micro-cents`, entry.subject)
      }
      if (time !== clock.now) broken('I9', `a posting of ${kind} is dated ${time}, it is ${clock.now}`, entry.subject)
      if (kind === 'tokens' && this.#cutOffAt !== undefined && ledger.cutOff) {
        broken('I10', `tokens were charged to an account that is cut off`, entry.subject)
      }
      if (kind === 'topup') this.#checkTopup(entry, account, broken)
    }
    if (this.#paidIn !== funds) {
      broken('I9', `${funds} micro-cents count as paid in, ${this.#paidIn} were`, account)
      this.#paidIn = funds
    }
    if (this.#tokens !== tokens) {
      broken('I9', `${tokens} micro-cents count as charged for tokens, ${this.#tokens} were`, account)
      this.#tokens = tokens
    }
  }

  #add({ kind, subject, microcents }: LedgerEntry): void {
    if (kind === 'rent') this.#rentOf.set(subject, (this.#rentOf.get(subject) ?? 0) - microcents)
    else if (kind === 'tokens') {
      this.#tokens -= microcents
      this.#tokensOf.set(subject, (this.#tokensOf.get(subject) ?? 0) - microcents)
    } else this.#paidIn += microcents
  }

  #checkTopup({ microcents }: LedgerEntry, account: string, broken: Broken): void {
    const { balance, topupRule } = this.#world.ledger
    if (!this.#rule.enabled && !topupRule.enabled) broken('I11', 'a top-up was charged that is disabled', account)
    if (this.#toppedUp) broken('I11', 'a top-up was charged twice for one crossing of the threshold', account)
    const threshold = Math.max(this.#rule.threshold, topupRule.threshold) * MICROCENTS_PER_CENT
    if (balance - microcents >= threshold) {
      broken(
        'I11',
        `a top-up was charged at a balance of ${balance - microcents}, the threshold is ${threshold}`,
        account,
      )
    }
    this.#toppedUp = true
  }

  /** A price holds from its event on: what ran before must have been closed at the old one. */
  #lookAtPrices(rows: (ordinal: number) => Readonly<MeterRow>, broken: Broken): void {
    const { now } = this.#world.clock
    for (const [index, gpu] of GPU_TYPES.entries()) {
      if (this.#priceOf(gpu) === this.#prices[index]) continue
      for (const [ordinal, meter] of this.#meters.entries()) {
        if (meter === undefined || gpuIndex(meter.row.gpu) !== index) continue
        this.#metersToLookAt.add(ordinal)
        if (meter.units > 0 && rows(ordinal).since !== now) {
          broken('I9', `${meter.row.id} runs on at a new price for what ran at the old one`, meter.row.id)
        }
      }
    }
  }

  #checkMeter(row: Readonly<MeterRow>, ordinal: number, now: Micros, broken: Broken): void {
    const before = this.#meters[ordinal]
    const { id, units, since, stretches, posted } = row
    const weighted = row.accrued.exact
    if (before !== undefined) {
      const ran = before.units > 0 ? now - before.since : 0
      if (since === before.since) {
        if (weighted !== before.weighted || stretches !== before.stretches) {
          broken('I9', `${id} was charged for an interval that has no time`, id)
        }
        if (units !== before.units && since !== now) {
          broken('I9', `${id} went from ${before.units} to ${units} without an end of the interval`, id)
        }
      } else {
        if (since !== now) broken('I9', `${id} is metered since ${since}, which is not now, ${now}`, id)
        const price = this.#prices[gpuIndex(row.gpu)]!
        const due = BigInt(ran) * BigInt(before.units * row.gpusPerUnit) * BigInt(price)
        if (weighted - before.weighted !== due) {
          broken('I9', `${id} was charged ${weighted - before.weighted} for an interval worth ${due}`, id)
        }
        const newest = stretches < 0 ? undefined : this.#world.ledger.stretch(stretches)
        const fits =
          ran === 0
            ? stretches === before.stretches
            : newest?.before === before.stretches &&
              newest.from === before.since &&
              newest.to === now &&
              newest.units === before.units
        if (!fits) broken('I9', `the intervals of ${id} overlap or leave a gap at ${now}`, id)
      }
      if (posted < before.posted) broken('I9', `${id} had ${before.posted} posted and now has ${posted}`, id)
    }
    const whole = Number(weighted / BigInt(MICROS_PER_HOUR))
    if (posted > whole) broken('I9', `${id} was posted ${posted}, it cost ${whole}`, id)
    const inBooks = this.#rentOf.get(id) ?? 0
    if (posted !== inBooks) broken('I9', `${id} counts ${posted} as posted, its entries sum to ${inBooks}`, id)
    this.#follow(row, ordinal, before)
  }

  #follow(row: Readonly<MeterRow>, ordinal: number, before: Seen | undefined): void {
    const { units, since, posted, stretches } = row
    const weighted = row.accrued.exact
    const rate = units * row.gpusPerUnit * this.#priceOf(row.gpu)
    this.#weighted += Number(weighted) - Number(before?.weighted ?? 0n)
    this.#rate += rate - (before?.rate ?? 0)
    this.#rateSince += rate * since - (before === undefined ? 0 : before.rate * before.since)
    this.#units += units - (before?.units ?? 0)
    this.#meters[ordinal] = { row, units, since, weighted, posted, stretches, rate }
  }

  /** What is metered is what is billable: from ready, or from placed, to gone. */
  #checkUnits(deployment: number, broken: Broken): void {
    const { deployments, instances, profile } = this.#world
    const row = deployments.read(deployment)
    const meter = this.#meters[row.meter]
    if (meter === undefined) return
    const placed = profile.policies.billFrom === 'placed'
    let billable = 0
    for (const one of row.instances) {
      const { state, node } = instances.read(one)
      if (placed ? node >= 0 : state === 'ready' || state === 'draining') billable++
    }
    if (meter.units !== billable) {
      const law = billable < meter.units ? 'I14' : 'I9'
      broken(law, `deployment ${row.id} is billed for ${meter.units} instances, ${billable} are billable`, row.id)
    }
  }

  #checkFunds(account: string, broken: Broken): void {
    const { ledger, clock, agenda, profile } = this.#world
    const { now } = clock
    const { suspensionGrace, overdraftCents } = profile.policies
    const { drain, rentalShutdown } = profile.timings
    // What is due at this instant may still put it right.
    const rests = agenda.nextTime > now
    const near = this.#paidIn - this.#tokens - (this.#weighted + now * this.#rate - this.#rateSince) / MICROS_PER_HOUR
    if (this.#toppedUp) {
      const threshold = ledger.topupRule.threshold * MICROCENTS_PER_CENT
      if (ledger.topupRule !== this.#rule || near >= threshold + MARGIN) this.#toppedUp = false
      else if (near >= threshold - MARGIN && ledger.balance >= threshold) this.#toppedUp = false
    }
    const empty = -overdraftCents * MICROCENTS_PER_CENT
    if (ledger.suspended === undefined) {
      this.#suspendedAt = undefined
      if (rests && near < empty + MARGIN && ledger.balance <= empty) {
        broken('I10', `the balance is ${ledger.balance} and the account is not suspended`, account)
      }
    } else {
      this.#suspendedAt ??= now
      if (!ledger.cutOff && now > this.#suspendedAt + suspensionGrace) {
        broken('I10', `the account has been suspended since ${this.#suspendedAt} and its grace never ends`, account)
      }
    }
    if (!ledger.cutOff) {
      this.#cutOffAt = undefined
      return
    }
    this.#cutOffAt ??= now
    if (this.#units > 0 && now > this.#cutOffAt + Math.max(drain, rentalShutdown)) {
      broken('I10', `the account was cut off at ${this.#cutOffAt} and ${this.#units} units are still billed`, account)
    }
  }

  #priceOf(gpu: (typeof GPU_TYPES)[number]): Microcents {
    return Math.round(this.#world.ledger.priceCentsPerHour(gpu) * MICROCENTS_PER_CENT)
  }
}
