import { GPU_TYPES, type GpuType, gpuIndex } from '../../data/records/gpu-config.ts'
import type { Archive } from '../../kernel/archive.ts'
import type { Micros } from '../../kernel/duration.ts'
import { NumberLog } from '../../kernel/number-log.ts'
import { TablePart } from '../part.ts'
import { Accrual, NO_ACCRUAL } from './accrual.ts'
import { type LedgerEntry, type MeteredUsage, MeterRow } from './ledger-types.ts'
import {
  type BilledInterval,
  gpuTimeCost,
  gpuTimeWeight,
  MICROCENTS_PER_CENT,
  type Microcents,
  overlap,
} from './money.ts'
import type { PostingLog } from './posting-log.ts'

/** What meters write to. */
interface MetersParts {
  readonly postings: PostingLog
}

/** The meters of the ledger: they measure GPU time, and post its rent. */
export class Meters extends TablePart<MeterRow, MetersParts> {
  protected readonly table = this.tableOf(MeterRow)
  /** Closed intervals with a constant number of units: the previous one of the meter, from, to, units, price. */
  readonly #intervals = new NumberLog(5)
  /** Micro-cents per hour of one GPU, by type. */
  #prices = Float64Array.from(GPU_TYPES, gpu =>
    gpu === 'other' ? 0 : Math.round(this.context.profile.prices.centsPerHour[gpu] * MICROCENTS_PER_CENT),
  )
  /** All meters together, not floored. The next crossing is computed from it. */
  #totalRate = 0
  #totalAccrued = new Accrual()
  #totalAccruedAt: Micros = 0

  override archive(archive: Archive): void {
    super.archive(archive)
    this.#intervals.archive(archive)
    this.#prices = archive.own(this.#prices)
    this.#totalRate = archive.value(this.#totalRate)
    this.#totalAccrued = archive.own(this.#totalAccrued)
    this.#totalAccruedAt = archive.value(this.#totalAccruedAt)
  }

  priceCentsPerHour(gpu: GpuType): number {
    return this.#prices[gpuIndex(gpu)]! / MICROCENTS_PER_CENT
  }

  /** Opens a meter of GPUs. Returns its ordinal. */
  openGpus(id: string, kind: 'deployment' | 'container', gpu: GpuType, gpusPerUnit: number): number {
    return this.#open(id, { kind, gpu, gpusPerUnit, ownPrice: -1 })
  }

  /** Opens the meter of a thing without GPUs, at a price that never changes. Returns its ordinal. */
  openMachine(id: string, kind: string, centsPerHour: number): number {
    const ownPrice = Math.round(centsPerHour * MICROCENTS_PER_CENT)
    return this.#open(id, { kind, gpu: 'other', gpusPerUnit: 1, ownPrice })
  }

  #open(id: string, initial: ConstructorParameters<typeof MeterRow>[2]): number {
    const row = new MeterRow(this.table.generation, id, initial)
    row.since = this.context.clock.now
    return this.table.add(row)
  }

  /** Sets the number of running units from now on. Returns false if it is unchanged. */
  setUnits(meter: number, units: number): boolean {
    const { now } = this.context.clock
    const currentRow = this.table.read(meter)
    if (currentRow.units === units) return false
    const row = this.table.writable(meter)
    this.accrueTotal(now)
    this.#closeInterval(row, now)
    this.#totalRate += (units - row.units) * row.gpusPerUnit * this.#priceOf(row)
    row.units = units
    this.#postRent(row, now)
    return true
  }

  /** Sets the price of a GPU type from now on. Earlier time keeps its price. */
  setPrice(gpu: GpuType, centsPerHour: number): void {
    const { now } = this.context.clock
    this.accrueTotal(now)
    for (const [ordinal, currentRow] of this.table.entries()) {
      if (currentRow.gpu !== gpu || currentRow.units === 0) continue
      const row = this.table.writable(ordinal)
      this.#totalRate -= this.#rateOf(row)
      this.#closeInterval(row, now)
    }
    this.#prices[gpuIndex(gpu)] = Math.round(centsPerHour * MICROCENTS_PER_CENT)
    for (const [, row] of this.table.entries()) {
      if (row.gpu === gpu) this.#totalRate += this.#rateOf(row)
    }
  }

  /** Returns the billed microseconds of the units of each meter between two times, summed over its units. */
  billedUnitTimes(from: Micros, to: Micros): Map<string, number> {
    const { now } = this.context.clock
    const end = Math.min(to, now)
    const times = new Map<string, number>()
    for (const [, row] of this.table.entries()) {
      let total = row.units > 0 ? overlap(row.since, now, from, end) * row.units : 0
      const log = this.#intervals
      for (let index = row.newestInterval; index >= 0; index = log.at(index, 0)) {
        total += overlap(log.at(index, 1), log.at(index, 2), from, end) * log.at(index, 3)
      }
      // A record has a meter for each of its prices.
      if (total > 0) times.set(row.id, (times.get(row.id) ?? 0) + total)
    }
    return times
  }

  /**
   * Returns the GPU time and cost of each meter, by its ordinal, between two times, both in the past. A cost is the
   * difference between the posted totals at `to` and at `from`. Both are floored, so adjoining windows add up.
   */
  meteredUsage(from: Micros, to: Micros): MeteredUsage[] {
    const { now } = this.context.clock
    const usages: MeteredUsage[] = []
    for (const [ordinal, row] of this.table.entries()) {
      let weighted = row.accrued.exact
      let within = 0n
      let gpuMicros = 0
      for (const interval of this.intervalsOf(ordinal)) {
        if (interval.isOpen) weighted += gpuTimeWeight(interval, interval.from, interval.to)
        else if (interval.to <= from) break
        weighted -= gpuTimeWeight(interval, to, now)
        within += gpuTimeWeight(interval, from, to)
        gpuMicros += overlap(interval.from, interval.to, from, to) * interval.gpus
      }
      const microcents = gpuTimeCost(weighted) - gpuTimeCost(weighted - within)
      usages.push({ id: row.id, kind: row.kind, gpu: row.gpu, microcents, gpuMicros })
    }
    return usages
  }

  /** Yields the billed intervals of a meter, the newest first. */
  *intervalsOf(meter: number): Generator<BilledInterval> {
    const row = this.table.read(meter)
    const { units, since, gpusPerUnit } = row
    if (units > 0) {
      const price = this.#priceOf(row)
      yield { from: since, to: this.context.clock.now, gpus: units * gpusPerUnit, price, isOpen: true }
    }
    const log = this.#intervals
    for (let index = row.newestInterval; index >= 0; index = log.at(index, 0)) {
      const gpus = log.at(index, 3) * gpusPerUnit
      yield { from: log.at(index, 1), to: log.at(index, 2), gpus, price: log.at(index, 4), isOpen: false }
    }
  }

  /** Returns a closed interval of a meter. `previous` is the index of the interval before it; -1 for the first. */
  closedInterval(index: number): {
    readonly previous: number
    readonly from: Micros
    readonly to: Micros
    readonly units: number
  } {
    const log = this.#intervals
    return { previous: log.at(index, 0), from: log.at(index, 1), to: log.at(index, 2), units: log.at(index, 3) }
  }

  /** Returns the accrued rent that is not posted yet, computed to now, sorted by subject. */
  openEntries(): LedgerEntry[] {
    const { now } = this.context.clock
    const open: LedgerEntry[] = []
    for (const [, row] of this.table.entries()) {
      const unposted = this.#unposted(row, now)
      if (unposted > 0) open.push({ time: now, kind: 'rent', subject: row.id, microcents: -unposted, open: true })
    }
    return open.sort((a, b) => (a.subject < b.subject ? -1 : 1))
  }

  /** Micro-cents per hour of all meters. */
  get totalRate(): Microcents {
    return this.#totalRate
  }

  /** Returns the time until all meters together reach `microcents`, not floored; 0 if they have, Infinity if nothing runs. */
  timeUntil(microcents: Microcents): Micros {
    return this.#totalAccrued.timeUntil(microcents, this.#totalRate)
  }

  #priceOf(row: Readonly<MeterRow>): Microcents {
    return row.ownPrice >= 0 ? row.ownPrice : this.#prices[gpuIndex(row.gpu)]!
  }

  /** Returns the micro-cents per hour that a thing costs now. */
  rateOf(id: string): Microcents {
    return this.rates().get(id) ?? 0
  }

  /** Returns the micro-cents per hour that each thing costs now. */
  rates(): Map<string, Microcents> {
    const rates = new Map<string, Microcents>()
    for (const [, row] of this.table.entries()) rates.set(row.id, (rates.get(row.id) ?? 0) + this.#rateOf(row))
    return rates
  }

  /** Returns micro-cents per hour of all running units. */
  #rateOf(row: Readonly<MeterRow>): Microcents {
    return row.units * row.gpusPerUnit * this.#priceOf(row)
  }

  /** The rent of all meters, computed to now. */
  totalRent(): Microcents {
    const { now } = this.context.clock
    let sum = 0
    for (const [, row] of this.table.entries()) sum += row.posted + this.#unposted(row, now)
    return sum
  }

  /** Returns the rent since the last posting. */
  #unposted(row: Readonly<MeterRow>, now: Micros): Microcents {
    if (row.units === 0) return 0
    return row.accrued.wholeMicrocentsAfter(this.#rateOf(row), now - row.since) - row.posted
  }

  /** Accrues a meter to now, and closes its current interval. */
  #closeInterval(row: MeterRow, now: Micros): void {
    if (row.units > 0 && now > row.since) {
      if (row.accrued === NO_ACCRUAL) row.accrued = new Accrual()
      row.accrued.add(this.#rateOf(row), now - row.since)
      const interval = [row.newestInterval, row.since, now, row.units, this.#priceOf(row)]
      row.newestInterval = this.#intervals.push(interval)
    }
    row.since = now
  }

  #postRent(row: MeterRow, now: Micros): void {
    const total = row.accrued.wholeMicrocents
    if (total === row.posted) return
    this.parts.postings.push(now, 'rent', row.id, row.posted - total)
    row.posted = total
  }

  /** Accrues the unfloored total of all meters to now. */
  accrueTotal(now: Micros): void {
    if (now === this.#totalAccruedAt) return
    this.#totalAccrued.add(this.#totalRate, now - this.#totalAccruedAt)
    this.#totalAccruedAt = now
  }
}
