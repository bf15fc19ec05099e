/** What the money of a world is as a picture: the burn of each owner over time. */
import type { Chart } from '../../../plots/chart.ts'
import { formatMoney } from '../../parts/format.ts'
import type { AnswersByRoute } from '../../simulator/ask.ts'

export type Money = AnswersByRoute['GET /_sim/money']
export type MoneyOwner = Money['owners'][number]

export const MICROCENTS = 100_000_000

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

/** Returns the step for a world of so many seconds; undefined if it is too young for a picture. */
export function stepFor(seconds: number): string | undefined {
  if (seconds < 10) return undefined
  const [step] = STEPS.find(([, length]) => seconds / length <= MAX_STEPS) ?? STEPS.at(-1)!
  return step
}

/**
 * Returns the picture of the burn: dollars per hour of each owner in each step. The owners that spent the most have an
 * area of their own, the most expensive one at the bottom. The others are one area together.
 *
 * @param startSeconds the begin of the world: Unix seconds
 */
export function burnChart(money: Money, startSeconds: number): Chart | undefined {
  const { series } = money
  if (series === undefined || series.times.length === 0) return undefined
  const names = new Map(money.owners.map(({ id, name }) => [id, name === '' ? id : name]))
  const times = series.times.map(time => Date.parse(time) / 1000)
  const hours = times.map((time, index) => (time - (times[index - 1] ?? startSeconds)) / 3_600)
  const burns = series.owners
    .map((id, column) => ({
      name: names.get(id) ?? id,
      total: series.spent_microcents.reduce((sum, row) => sum + row[column]!, 0),
      values: series.spent_microcents.map((row, step) => row[column]! / MICROCENTS / hours[step]!),
    }))
    .sort((a, b) => b.total - a.total)
  const own = burns.length > MAX_AREAS ? burns.slice(0, MAX_AREAS - 1) : burns
  const rest = burns.slice(own.length)
  const others = {
    name: `${rest.length} others`,
    total: rest.reduce((sum, { total }) => sum + total, 0),
    values: times.map((_, step) => rest.reduce((sum, { values }) => sum + values[step]!, 0)),
  }
  const shown = rest.length === 0 ? own : [...own, others]
  return {
    name: 'burn',
    title: 'Burn over time',
    description: `Dollars per hour, stacked by owner: ${shown.map(({ name }) => name).join(', ')}.`,
    ...{ unit: '$ per hour', kind: 'areas', shape: 'steps', scale: 'linear' },
    ...{ from: startSeconds, times, marks: [] },
    series: shown.map(({ name, total, values }) => ({ name, values, figure: formatMoney(total / MICROCENTS) })),
    figureLabel: 'total',
    emptyText: 'Nothing has cost anything yet.',
  }
}
