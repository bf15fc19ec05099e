/** Where the money of the account goes: by owner, now and since the start of the world, and in steps of time. */

import { HOUR, type Micros } from '../../kernel/duration.ts'
import type { Microcents } from '../../simulation/account/money.ts'
import { RentReader } from '../../simulation/reporting/rent-reader.ts'
import type { World } from '../../simulation/world.ts'
import type { Simulator } from '../simulator.ts'

/** What costs: a thing that is rented, a batch, or a model of the catalog that requests outside batches use. */
export interface MoneyOwner {
  readonly id: string
  /** That of its meter, `batch` or `model`. */
  readonly kind: string
  /** What it costs per hour now; tokens and units cost nothing by the hour. */
  readonly burnPerHour: Microcents
  /** What it cost since the start of the world. */
  readonly spent: Microcents
  /** GPUs that are billed now. */
  readonly gpus: number
}

export type MoneyView = ReturnType<MoneyTracker['look']>

/** Reads the postings of the ledger as they come. */
export class MoneyTracker {
  readonly #sim: Simulator
  #world: World | undefined
  #next = 0
  /** What was charged for tokens and units, by subject. */
  #charged = new Map<string, Microcents>()
  #added: Microcents = 0

  constructor(sim: Simulator) {
    this.#sim = sim
  }

  /** Returns what the account has and spends now. */
  look() {
    const { world } = this.#sim
    this.#read(world)
    const { ledger, clock } = world
    const open = new Map<string, Microcents>()
    for (const { subject, microcents } of ledger.meters.openEntries()) add(open, subject, -microcents)
    const rates = ledger.meters.rates()
    const metered = new Map<string, MoneyOwner>()
    // A record has a meter for each of its prices.
    for (const [, { id, kind, posted, units, gpusPerUnit, ownPrice }] of ledger.meters.entries()) {
      const { spent, gpus } = metered.get(id) ?? { spent: open.get(id) ?? 0, gpus: 0 }
      const billed = ownPrice < 0 ? units * gpusPerUnit : 0
      metered.set(id, { id, kind, spent: spent + posted, burnPerHour: rates.get(id)!, gpus: gpus + billed })
    }
    const owners = [...metered.values()]
    for (const [id, spent] of this.#charged) {
      const kind = world.batches.modelOf(id) === undefined ? 'model' : 'batch'
      owners.push({ id, kind, spent, burnPerHour: 0, gpus: 0 })
    }
    const { balance } = ledger
    const burnPerHour = owners.reduce((sum, owner) => sum + owner.burnPerHour, 0)
    return {
      balance,
      /** Funds at the start of the world. */
      opening: ledger.openingFunds,
      /** Payments, top-ups and adjustments since then. */
      added: this.#added,
      burnPerHour,
      spent: owners.reduce((sum, owner) => sum + owner.spent, 0),
      /** When the balance is zero at this burn. Undefined: never. */
      runsOutAt: burnPerHour === 0 ? undefined : clock.now + Math.ceil((Math.max(0, balance) / burnPerHour) * HOUR),
      /** The most expensive first. */
      owners: owners.sort((a, b) => b.burnPerHour - a.burnPerHour || b.spent - a.spent || (a.id < b.id ? -1 : 1)),
    }
  }

  #read(world: World): void {
    const { postings } = world.ledger.totals
    if (world !== this.#world) {
      this.#world = world
      this.#next = 0
      this.#charged = new Map()
      this.#added = 0
    }
    for (; this.#next < postings.length; this.#next++) {
      const { kind, subject, microcents } = postings.at(this.#next)!
      if (kind === 'tokens' || kind === 'units') add(this.#charged, subject, -microcents)
      else if (kind !== 'rent') this.#added += microcents
    }
  }
}

/**
 * Returns what each owner cost in each step of a window, those without costs left out: a row for each step, with the
 * owners in their order. `times` are the ends of the steps. The last step may be shorter.
 */
export function moneySeries(
  world: World,
  { from, to, step }: { readonly from: Micros; readonly to: Micros; readonly step: Micros },
) {
  const { ledger } = world
  const times: Micros[] = []
  for (let end = from + step; end - step < to; end += step) times.push(Math.min(end, to))
  const columns = new Map<string, Microcents[]>()
  const columnOf = (id: string) => {
    const column = columns.get(id) ?? times.map(() => 0)
    columns.set(id, column)
    return column
  }
  for (const [meter, { id }] of ledger.meters.entries()) {
    const reader = new RentReader(world, meter)
    let before = reader.totalAt(from)
    for (const [index, time] of times.entries()) {
      const total = reader.totalAt(time)
      if (total > before) columnOf(id)[index]! += total - before
      before = total
    }
  }
  for (const { kind, time, subject, microcents } of ledger.entries(from, to)) {
    // A window does not contain its start, except that of the world.
    if ((kind !== 'tokens' && kind !== 'units') || (time === from && from > 0)) continue
    const column = columnOf(subject)
    const index = Math.min(times.length - 1, Math.max(0, Math.ceil((time - from) / step) - 1))
    column[index] = column[index]! - microcents
  }
  const owners = [...columns.keys()].sort()
  return { step, times, owners, spent: times.map((_, index) => owners.map(id => columns.get(id)![index]!)) }
}

function add(sums: Map<string, Microcents>, id: string, microcents: Microcents): void {
  sums.set(id, (sums.get(id) ?? 0) + microcents)
}
