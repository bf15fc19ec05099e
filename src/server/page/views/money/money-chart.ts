/** What the money of a world is as a picture: the burn of each owner over time. */

import { formatMicrocents, MICROCENTS, plural } from '../../parts/format.ts'
import type { Chart } from '../../plots/chart.ts'
import type { AnswersByRoute } from '../../store/ask.ts'

export type Money = AnswersByRoute['GET /_sim/money']
export type MoneyOwner = Money['owners'][number]

/** Steps of the picture, with their seconds. The answer takes each of them. */
const STEPS = [
  ['10s', 10],
  ['1m', 60],
  ['5m', 300],
  ['15m', 900],
  ['1h', 3_600],
  ['4h', 14_400],
  ['1d', 86_400],
  ['7d', 604_800],
] as const
/** Owners that have an area of their own. */
const MAX_AREAS = 8
/** Most steps of a picture. */
const MAX_STEPS = 120

/** The burn in steps, and that of now if the steps end now. Owners that cost nothing in these steps are in neither. */
export interface BurnChart {
  readonly chart: Chart
  readonly now: readonly number[] | undefined
}

/** Returns the step for a world of so many seconds; undefined if it is too young for a picture. */
export function stepFor(seconds: number): string | undefined {
  if (seconds < 10) return undefined
  const [step] = STEPS.find(([, length]) => seconds / length <= MAX_STEPS) ?? STEPS.at(-1)!
  return step
}

/**
 * Returns the picture of the burn: dollars per hour of each owner in each step. The owners that spent the most have an
 * area of their own, the most expensive one at the bottom. The others are one area together.
 */
export function burnChart(money: Money): BurnChart | undefined {
  const { series } = money
  if (series === undefined || series.times.length === 0) return undefined
  const owners = new Map(money.owners.map(owner => [owner.id, owner]))
  const from = Date.parse(series.from) / 1000
  const times = series.times.map(time => Date.parse(time) / 1000)
  const hours = times.map((time, index) => (time - (times[index - 1] ?? from)) / 3_600)
  const isUpToNow = Date.parse(series.times.at(-1)!) >= Date.parse(money.now)
  // What began to cost at this moment has cost nothing in the steps.
  const started = isUpToNow
    ? money.owners.filter(owner => owner.burn_microcents_per_hour > 0 && !series.owners.includes(owner.id))
    : []
  const burns = [...series.owners, ...started.map(({ id }) => id)]
    .map((id, column) => ({
      name: owners.get(id)?.name || id,
      now: (owners.get(id)?.burn_microcents_per_hour ?? 0) / MICROCENTS,
      total: series.spent_microcents.reduce((sum, row) => sum + (row[column] ?? 0), 0),
      values: series.spent_microcents.map((row, step) => (row[column] ?? 0) / MICROCENTS / hours[step]!),
    }))
    .sort((a, b) => b.total - a.total)
  const own = burns.length > MAX_AREAS ? burns.slice(0, MAX_AREAS - 1) : burns
  const rest = burns.slice(own.length)
  const others = {
    name: plural(rest.length, 'other'),
    now: rest.reduce((sum, { now }) => sum + now, 0),
    total: rest.reduce((sum, { total }) => sum + total, 0),
    values: times.map((_, step) => rest.reduce((sum, { values }) => sum + values[step]!, 0)),
  }
  const shown = rest.length === 0 ? own : [...own, others]
  const chart: Chart = {
    name: 'burn',
    title: 'Burn over time',
    description: `Dollars per hour, stacked by owner: ${shown.map(({ name }) => name).join(', ')}.`,
    ...{ unit: '$ per hour', kind: 'areas', shape: 'steps', scale: 'linear' },
    ...{ from, times, marks: [] },
    series: shown.map(({ name, total, values }) => ({ name, values, figure: formatMicrocents(total) })),
    figureLabel: 'total',
    emptyText: 'Nothing has cost anything yet.',
  }
  return { chart, now: isUpToNow ? shown.map(({ now }) => now) : undefined }
}
