import type { GpuType } from '../../data/records/gpu-config.ts'
import { HOUR, type Micros } from '../../kernel/duration.ts'
import { purpose } from '../../kernel/random.ts'
import type { Microcents } from '../account/money.ts'
import type { World } from '../world.ts'

const INVOICE = purpose('invoice.id')

/** A calendar month in UTC, counted from the year 0. */
export type Month = number

/** What one thing cost in a month, or a part of it. */
export interface UsageItem {
  readonly type: 'rent' | 'tokens'
  /** Wire id of what was billed; the model's name where live requests were. */
  readonly id: string
  /** Its name, or that of the model whose tokens they are. */
  readonly name: string
  /** Null for tokens. */
  readonly gpu: GpuType | null
  readonly gpu_hours: number | null
  readonly microcents: Microcents
}

/** A month of the ledger, as far as it lies within what was asked for. */
export interface MonthlyUsage {
  readonly month: Month
  readonly from: Micros
  readonly to: Micros
  /** The dearest first. */
  readonly items: readonly UsageItem[]
  readonly microcents: Microcents
  /** Once the month is over. */
  readonly invoice: string | undefined
}

/** The month of a moment. */
export function monthOf({ clock }: World, at: Micros): Month {
  const date = new Date(clock.epochMs + Math.floor(at / 1000))
  return date.getUTCFullYear() * 12 + date.getUTCMonth()
}

/** The first moment of a month, which is the end of the one before. */
export function startOfMonth({ clock }: World, month: Month): Micros {
  return (Date.UTC(Math.floor(month / 12), month % 12, 1) - clock.epochMs) * 1000
}

/** @example periodOf(2026 * 12) === '2026.01' */
export function formatMonth(month: Month): string {
  return `${String(Math.floor(month / 12)).padStart(4, '0')}.${String((month % 12) + 1).padStart(2, '0')}`
}

/**
 * What the account used between two moments, month by month: a difference of two running totals of the ledger, so the
 * sum of all months is what was spent, to the micro-cent. Reading changes nothing.
 */
export function monthlyUsage(world: World, from: Micros, to: Micros): MonthlyUsage[] {
  const months: MonthlyUsage[] = []
  for (let month = monthOf(world, from), start = from; start < to || month === monthOf(world, from); month++) {
    const end = startOfMonth(world, month + 1)
    const until = Math.min(end, to)
    const items = [...rentItems(world, start, until), ...tokenItems(world, start, until)]
    items.sort((a, b) => b.microcents - a.microcents || (a.id < b.id ? -1 : 1))
    months.push({
      month,
      from: start,
      to: until,
      items,
      microcents: items.reduce((sum, one) => sum + one.microcents, 0),
      invoice: end <= world.clock.now ? invoiceId(world, month) : undefined,
    })
    start = until
  }
  return months
}

function rentItems(world: World, from: Micros, to: Micros): UsageItem[] {
  return world.ledger.meteredUsage(from, to).flatMap(({ id, gpu, gpuMicros, microcents }) => {
    if (gpuMicros === 0 && microcents === 0) return []
    const name =
      world.deployments.get(id)?.model_name ??
      world.hostedInstances.get(id)?.name ??
      world.containers.get(id)?.name ??
      id
    return [{ type: 'rent' as const, id, name, gpu, gpu_hours: gpuMicros / HOUR, microcents }]
  })
}

function tokenItems(world: World, from: Micros, to: Micros): UsageItem[] {
  const sums = new Map<string, Microcents>()
  for (const { kind, time, subject, microcents } of world.ledger.entries()) {
    // A window includes its end. No window ends at the epoch of the world.
    if (kind !== 'tokens' || time > to || (time <= from && from > 0)) continue
    sums.set(subject, (sums.get(subject) ?? 0) - microcents)
  }
  return Array.from(sums, ([id, microcents]) => {
    const name = world.batches.modelOf(id) ?? id
    return { type: 'tokens' as const, id, name, gpu: null, gpu_hours: null, microcents }
  })
}

/** A function of the account's seed and the month, so that it reads the same whenever it is asked for. */
function invoiceId({ chance }: World, month: Month): string {
  return `invoice_${chance.letters(24, chance.key('invoice', formatMonth(month), 0), INVOICE)}`
}
