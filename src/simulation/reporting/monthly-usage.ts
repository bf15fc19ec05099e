import type { GpuType } from '../../data/records/gpu-config.ts'
import { type Micros, SECOND } from '../../kernel/duration.ts'
import { purpose } from '../../kernel/random.ts'
import type { Microcents } from '../account/money.ts'
import type { PricingType } from '../account/request-cost.ts'
import { startOfPeriod } from '../account/spending-limit.ts'
import type { World } from '../world.ts'
import { compareTexts, sumBy } from './figures.ts'

const INVOICE = purpose('invoice.id')
/** Decimals of a sum of units. Rounding removes the binary noise of fractions. */
const UNIT_DECIMALS = 6

/** A calendar month in UTC, counted from the year 0. */
export type Month = number

/** The use and cost of one thing in a month, or a part of it. */
export interface UsageItem {
  readonly type: 'rent' | 'requests'
  /** `uptime` for rent. */
  readonly pricingType: PricingType
  /** Wire id of the billed deployment or rental; the model for requests. */
  readonly id: string
  /** Name of the deployment or rental; the model for requests. */
  readonly name: string
  /** Null for requests. */
  readonly gpu: GpuType | null
  /** Whole GPU-seconds, tokens, or units of the pricing type to a millionth. */
  readonly units: number
  readonly microcents: Microcents
}

/** Which usage a reader wants. Default: all. */
export interface UsageFilter {
  /** Without rent. */
  readonly tokensOnly?: boolean
  /** Only the requests of this API token. */
  readonly tokenId?: string
}

/** A month of the account, as far as it lies within the window that was asked for. */
export interface MonthlyUsage {
  readonly month: Month
  readonly from: Micros
  readonly to: Micros
  /** The highest cost first. */
  readonly items: readonly UsageItem[]
  readonly microcents: Microcents
  /** Undefined before the month has ended; null if nothing was used in it. */
  readonly invoice: string | null | undefined
}

/** Returns the month of a time. */
export function monthOf({ clock }: World, at: Micros): Month {
  const date = new Date(clock.epochMs + Math.floor(at / 1000))
  return date.getUTCFullYear() * 12 + date.getUTCMonth()
}

/** Returns the first moment of a month, which is the end of the month before. */
export function startOfMonth({ clock }: World, month: Month): Micros {
  return (Date.UTC(Math.floor(month / 12), month % 12, 1) - clock.epochMs) * 1000
}

/** @example formatMonth(2026 * 12) === '2026.01' */
export function formatMonth(month: Month): string {
  return `${String(Math.floor(month / 12)).padStart(4, '0')}.${String((month % 12) + 1).padStart(2, '0')}`
}

/**
 * Returns the use of the account between two times, month by month. Each figure is a difference of two running totals,
 * so the sum of all months is the spent money, to the micro-cent. Times before the epoch answer from the history of the
 * fixture. Reading changes nothing.
 */
export function monthlyUsage(world: World, from: Micros, to: Micros, filter: UsageFilter = {}): MonthlyUsage[] {
  const months: MonthlyUsage[] = []
  for (let month = monthOf(world, from), start = from; start < to || month === monthOf(world, from); month++) {
    const end = startOfMonth(world, month + 1)
    const until = Math.min(end, to)
    const items = usageItems(world, start, until, filter)
    months.push({
      month,
      from: start,
      to: until,
      items,
      microcents: sumBy(items, one => one.microcents),
      invoice: end <= world.clock.now ? invoiceOf(world, month) : undefined,
    })
    start = until
  }
  return months
}

/** Returns the use of the account between two times, the highest cost first. */
export function usageItems(world: World, from: Micros, to: Micros, filter: UsageFilter = {}): UsageItem[] {
  const isRentShown = !filter.tokensOnly && filter.tokenId === undefined
  const items = [...(isRentShown ? rentItems(world, from, to) : []), ...requestItems(world, from, to, filter.tokenId)]
  return items.sort((a, b) => b.microcents - a.microcents || compareTexts(a.id, b.id))
}

function rentItems(world: World, from: Micros, to: Micros): UsageItem[] {
  const sums = new Map<string, { gpu: GpuType; gpuMicros: number; microcents: Microcents }>()
  const recorded = to > 0 ? world.ledger.meters.meteredUsage(Math.max(0, from), to) : []
  for (const { id, gpu, gpuMicros, microcents } of [...world.ledger.past.rentUsage(from, to), ...recorded]) {
    const sum = sums.get(id)
    sums.set(id, {
      gpu,
      gpuMicros: (sum?.gpuMicros ?? 0) + gpuMicros,
      microcents: (sum?.microcents ?? 0) + microcents,
    })
  }
  return [...sums].flatMap(([id, { gpu, gpuMicros, microcents }]): UsageItem[] => {
    if (gpuMicros === 0 && microcents === 0) return []
    const name = world.deployments.get(id)?.row.plan.modelName ?? world.rentals.findById(id)?.name ?? id
    // A hosted instance has no GPU.
    const type = gpu === 'other' ? null : gpu
    const units = Math.floor(gpuMicros / SECOND)
    return [{ type: 'rent', pricingType: 'uptime', id, name, gpu: type, units, microcents }]
  })
}

function requestItems(world: World, from: Micros, to: Micros, tokenId: string | undefined): UsageItem[] {
  const sums = new Map<string, { model: string; pricingType: PricingType; units: number; microcents: Microcents }>()
  const add = (model: string, pricingType: PricingType, units: number, microcents: Microcents) => {
    const key = `${pricingType} ${model}`
    const sum = sums.get(key) ?? { model, pricingType, units: 0, microcents: 0 }
    sum.units = Number((sum.units + units).toFixed(UNIT_DECIMALS))
    sum.microcents += microcents
    sums.set(key, sum)
  }
  for (const past of world.ledger.past.tokenUsage(from, to)) {
    if (tokenId === undefined || past.tokenId === tokenId) add(past.model, 'tokens', past.tokens, past.microcents)
  }
  // A window excludes its end, unless it is open: then its end is now, and no month begins now.
  const isOpen = to === world.clock.now && (from === to || to !== startOfMonth(world, monthOf(world, to)))
  for (const row of world.ledger.entries(from, to)) {
    const { kind, time, subject, microcents, tokens = 0, units = tokens, pricing_type, token_id } = row
    if ((kind !== 'tokens' && kind !== 'units') || (time === to && !isOpen)) continue
    if (tokenId !== undefined && token_id !== tokenId) continue
    add(world.batches.modelOf(subject) ?? subject, pricing_type ?? 'tokens', units, -microcents)
  }
  return Array.from(sums.values(), ({ model, pricingType, units, microcents }) => {
    return { type: 'requests' as const, pricingType, id: model, name: model, gpu: null, units, microcents }
  })
}

/** Returns the id of the invoice of a month that is over; null if nothing was used in it. */
function invoiceOf(world: World, month: Month): string | null {
  const items = usageItems(world, startOfMonth(world, month), startOfMonth(world, month + 1))
  if (items.length === 0) return null
  // A function of the seed and the month, so it is equal whenever it is read.
  const { chance } = world
  return `invoice_${chance.letters(24, chance.key('invoice', formatMonth(month), 0), INVOICE)}`
}

/** The money of the account as invoices show it. */
export interface AccountBalance {
  /** Negative for prepaid credit, positive for debt. It changes when money comes and when an invoice closes. */
  readonly owed: Microcents
  /** The use since the last invoice. `-(owed + recent)` is the balance of the ledger. */
  readonly recent: Microcents
}

/** Returns the balance of the last invoice, with the money that has come since, and the use since then. */
export function accountBalance(world: World): AccountBalance {
  const items = usageItems(world, startOfPeriod(world, world.clock.now), world.clock.now)
  const recent = sumBy(items, item => item.microcents)
  // Avoids minus zero for an empty balance.
  return { owed: 0 - (world.ledger.balance + recent), recent }
}
