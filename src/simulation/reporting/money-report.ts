import { HOUR } from '../../kernel/duration.ts'
import type { MeteredUsage } from '../account/ledger-types.ts'
import type { World } from '../world.ts'
import { type CountedWindow, isWithin } from './counted-window.ts'
import type { EventCounts } from './event-counts.ts'
import { compareTexts, sumBy } from './figures.ts'
import type { Report } from './report-types.ts'

/** Returns the money of the account in a window: balances, postings and rent. */
export function moneyReport(
  world: World,
  window: CountedWindow,
  metered: ReadonlyMap<string, MeteredUsage>,
  counts: EventCounts,
): Report['money'] {
  const { ledger } = world
  let opening = ledger.openingFunds - sumBy(ledger.meters.meteredUsage(0, window.from), usage => usage.microcents)
  const sums = { funds: 0, topup: 0, tokens: 0, units: 0, adjustment: 0 }
  let topups = 0
  const bySubject = new Map<string, number>()
  const unitsByModel = new Map<string, number>()
  for (const { kind, time, subject, microcents } of ledger.entries()) {
    if (kind === 'rent' || time > window.to) continue
    if (!isWithin(window, time)) {
      opening += microcents
      continue
    }
    sums[kind] += microcents
    if (kind === 'topup') topups++
    if (kind === 'units') unitsByModel.set(subject, (unitsByModel.get(subject) ?? 0) - microcents)
    if (kind === 'tokens') bySubject.set(subject, (bySubject.get(subject) ?? 0) - microcents)
  }
  const rent = sumBy([...metered.values()], usage => usage.microcents)
  const tokens = [...bySubject]
    .map(([subject, tokens_microcents]) => {
      const batched = world.batches.modelOf(subject)
      // A subject is a batch, or the model of requests outside batches.
      return { subject, batch_id: batched === undefined ? null : subject, model: batched ?? subject, tokens_microcents }
    })
    .sort((a, b) => b.tokens_microcents - a.tokens_microcents || compareTexts(a.subject, b.subject))
    .map(({ subject: _, ...charge }) => charge)
  const byModel = new Map<string, number>()
  for (const { model, tokens_microcents } of tokens) byModel.set(model, (byModel.get(model) ?? 0) + tokens_microcents)
  const rentals = [...world.rentals.entries()].flatMap(([, row]) => {
    const meter = metered.get(row.id)
    return !meter || meter.gpuMicros === 0 ? [] : [{ row, cost: meter.microcents, hours: meter.gpuMicros / HOUR }]
  })
  rentals.sort((a, b) => compareTexts(a.row.id, b.row.id))
  return {
    opening_balance_microcents: opening,
    funds_microcents: sums.funds,
    topups_microcents: sums.topup,
    adjustments_microcents: sums.adjustment,
    rent_microcents: rent,
    tokens_microcents: -sums.tokens || 0,
    units_microcents: -sums.units || 0,
    closing_balance_microcents: opening + sums.funds + sums.topup + sums.adjustment + sums.tokens + sums.units - rent,
    topups,
    topups_declined: counts['topup.declined'],
    suspensions: counts['account.suspended'],
    hosted: rentals.flatMap(({ row: { id, name, plan }, cost, hours }) =>
      plan.machine === undefined
        ? []
        : [{ instance_id: id, name, plan_id: plan.machine.planId, rent_microcents: cost, billed_hours: hours }],
    ),
    containers: rentals.flatMap(({ row: { id, kind, name, gpu }, cost, hours }) =>
      kind === 'container' ? [{ container_id: id, name, gpu, rent_microcents: cost, billed_gpu_hours: hours }] : [],
    ),
    tokens,
    tokens_by_model: [...byModel]
      .map(([model, tokens_microcents]) => ({ model, tokens_microcents }))
      .sort((a, b) => b.tokens_microcents - a.tokens_microcents || compareTexts(a.model, b.model)),
    units_by_model: [...unitsByModel]
      .map(([model, units_microcents]) => ({ model, units_microcents }))
      .sort((a, b) => b.units_microcents - a.units_microcents || compareTexts(a.model, b.model)),
  }
}
