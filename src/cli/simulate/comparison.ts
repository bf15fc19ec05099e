/** Simulates one world once for each value of a setting, and says which values suffice. */

import { loadProfile } from '../../data/profiles/load.ts'
import { formatDuration } from '../../kernel/duration.ts'
import { groupBy } from '../../lib/lists.ts'
import { formatCount } from '../../lib/text/numbers.ts'
import { firstTokenOf } from '../../server/page/plots/report-charts.ts'
import { readSteps, type Steps } from '../../server/page/plots/report-steps.ts'
import type { Report } from '../../simulation/reporting/report-types.ts'
import type { ReportStep } from '../../simulation/reporting/time-series.ts'
import {
  capacityCost,
  formatDollars,
  formatHours,
  formatPercent,
  formatTable,
  othersGpuHours,
  reachedQuotas,
} from '../report-text.ts'
import { type ComparedSetting, type ComparedWorld, withSetting } from './setting.ts'

/** A report with the rows of its series. */
export type SteppedReport = Report & { readonly series: readonly ReportStep[] }

export interface ComparedValue {
  readonly value: string
  readonly report: SteppedReport
  /** The same with engines that are slower by their band. Null: no deployment has an engine whose band is known. */
  readonly slower: SteppedReport | null
  /** The first day on which a deployment does something else than with the first value, as `2026-01-02`. */
  readonly first_difference: string | null
}

export interface Comparison {
  readonly setting: string
  /** The widest band of the engines, as a share. Null: none is known. */
  readonly band: number | null
  readonly values: readonly ComparedValue[]
  /** The figures of each value. */
  readonly readings: readonly Reading[]
  /** The answer in sentences. */
  readonly answer: readonly string[]
}

/**
 * Simulates each value twice: as it is, and with engines that are slower by their band.
 *
 * @param start makes a simulator of a world, as a check before the first run
 * @param play simulates a world; undefined ends the comparison with the values that were simulated
 */
export async function compareValues(
  { name, values }: ComparedSetting,
  base: ComparedWorld,
  start: (world: ComparedWorld) => unknown,
  play: (world: ComparedWorld) => Promise<SteppedReport | undefined>,
): Promise<Comparison | undefined> {
  // Every value is checked before the first one is simulated.
  const worlds = values.map(value => withSetting(base, name, value, start))
  const compared: ComparedValue[] = []
  const readings: Reading[] = []
  let band: number | null = null
  for (const [i, world] of worlds.entries()) {
    const report = await play(world)
    if (report === undefined) break
    const bands = report.deployments.flatMap(({ engine }) => engine?.band ?? [])
    const own = bands.length === 0 ? null : Math.max(...bands)
    band = own === null ? band : Math.max(own, band ?? 0)
    const { efficiency } = loadProfile(world.profile).engine
    const slower =
      own === null ? null : await play(withSetting(world, 'engine.efficiency', String(efficiency * (1 - own))))
    if (slower === undefined) break
    const first = compared[0]?.report ?? report
    compared.push({ value: values[i]!, report, slower, first_difference: firstDifference(first, report) })
    readings.push({ now: figuresOf(report), slower: slower && figuresOf(slower) })
  }
  if (compared.length === 0) return undefined
  const stopped = values.slice(compared.length).map(value => `${name}=${value}`)
  const note = stopped.length === 0 ? [] : [`The comparison was stopped. Not simulated: ${stopped.join(', ')}.`]
  const comparison = { setting: name, band, values: compared, readings }
  return { ...comparison, answer: [...note, ...answerOf(comparison)] }
}

function firstDifference(one: SteppedReport, other: SteppedReport): string | null {
  const rows = (report: SteppedReport) => report.series.map(row => JSON.stringify({ ...row, deploy_id: undefined }))
  const [before, now] = [rows(one), rows(other)]
  const index = now.findIndex((row, i) => row !== before[i])
  const row = other.series[index] ?? one.series[before.length > now.length ? now.length : -1]
  // A step that ends at midnight belongs to the day before.
  return row === undefined ? null : new Date(Date.parse(row.time) - 1).toISOString().slice(0, 10)
}

interface Figure {
  readonly label: string
  read(report: Report, steps: Steps): number | null
  format(value: number): string
  /** Whether the speed of engines changes it. */
  readonly followsEngines?: boolean
  /** Whether it is left out if it is 0 for all values. */
  readonly isRare?: boolean
}

/** The figures of one value in the order of the table, and the same with slower engines. */
interface Reading {
  readonly now: readonly (number | null)[]
  readonly slower: readonly (number | null)[] | null
}

const seconds = (value: number) => value.toFixed(value < 10 ? 2 : 1)
const firstToken = (percent: number) => (_: Report, steps: Steps) => firstTokenOf(steps, percent)
const lostOf = ({ totals: { requests } }: Report) => requests.refused + requests.failed + requests.left

const FIGURES: readonly Figure[] = [
  { label: 'requests', read: ({ totals }) => totals.requests.arrived, format: formatCount },
  { label: 'lost requests', read: lostOf, format: formatCount, followsEngines: true },
  { label: 'waiting at the end', read: ({ totals }) => totals.requests.waiting, format: formatCount },
  { label: 'time to first token, median, s', read: firstToken(50), format: seconds, followsEngines: true },
  { label: 'time to first token, p95, s', read: firstToken(95), format: seconds, followsEngines: true },
  { label: 'spent, $', read: spentOf, format: formatDollars, followsEngines: true },
  { label: 'GPU-hours held', read: ({ totals }) => totals.held_gpu_hours, format: formatHours, followsEngines: true },
  { label: 'cost of the capacity, $', read: capacityCost, format: formatDollars },
  { label: 'GPU-hours of capacity', read: ({ totals }) => totals.capacity_gpu_hours, format: formatHours },
  { label: 'GPU-hours of other customers', read: othersGpuHours, format: formatHours, isRare: true },
  { label: 'starts', read: ({ cold_starts }) => cold_starts.count, format: formatCount },
  { label: 'instances lost', read: ({ failures }) => failures.instances_lost, format: formatCount, isRare: true },
  {
    label: 'deployments failed',
    read: ({ failures }) => failures.deployments_failed,
    format: formatCount,
    isRare: true,
  },
]

function figuresOf(report: SteppedReport): (number | null)[] {
  const steps = readSteps(report)
  return FIGURES.map(({ read }) => read(report, steps))
}

function spentOf({ money: { rent_microcents, tokens_microcents, units_microcents } }: Report): number {
  return rent_microcents + tokens_microcents + units_microcents
}

/** Returns the table of a comparison, and its answer. */
export function formatComparison({ setting, band, values, readings, answer }: Comparison): string {
  const { from, to } = values[0]!.report
  const rows = [[setting, ...values.map(({ value }) => value)]]
  for (const [row, { label, format, followsEngines, isRare }] of FIGURES.entries()) {
    if (isRare && readings.every(({ now }) => now[row] === 0)) continue
    const cells = (read: (reading: Reading) => number | null | undefined) =>
      readings.map(reading => {
        const figure = read(reading) ?? null
        return figure === null ? '-' : format(figure)
      })
    rows.push([label, ...cells(({ now }) => now[row])])
    if (!followsEngines || band === null) continue
    rows.push([`    engines up to ${percent(band)} slower`, ...cells(({ slower }) => slower?.[row])])
  }
  const differences = values.map(({ first_difference }) => first_difference ?? '-')
  rows.push([`first day that differs from ${values[0]!.value}`, ...differences])
  return `${from.slice(0, 10)} to ${to.slice(0, 10)}, compared by ${setting}\n${formatTable(rows)}\n\n${answer.join('\n')}\n`
}

function percent(share: number): string {
  return `${Math.round(100 * share)} %`
}

function answerOf({ setting, band, values, readings }: Omit<Comparison, 'answer'>): string[] {
  const { report } = values[0]!
  const weather = setting.startsWith('weather.') ? '' : `, weather ${report.weather}`
  const assumed = `It assumes fixture ${report.fixture}, profile ${report.profile}${weather} and seed ${report.seed}. Another seed can give another result.`
  const blind = report.deployments.flatMap(({ model_name, engine }) => (engine?.band === null ? [model_name] : []))
  return [
    ...sufficient(setting, values, band),
    ...limitedByAccount(setting, values),
    ...tooSmall(readings, band),
    ...(blind.length > 0 ? [`The error of the engines of ${blind.join(', ')} is unknown.`] : []),
    assumed,
  ]
}

/** Says which values lose no request, and whether they still do so with slower engines. */
function sufficient(setting: string, values: readonly ComparedValue[], band: number | null): string[] {
  if (values.every(({ report }) => report.totals.requests.arrived === 0)) {
    return ['Which value suffices is unknown: no deployment has requests. Give a load in the fixture, or --trace.']
  }
  const named = ({ value }: ComparedValue) => `${setting}=${value}`
  const lost = (report: Report) =>
    `${formatCount(lostOf(report))} of ${formatCount(report.totals.requests.arrived)} (${formatPercent(lostOf(report) / report.totals.requests.arrived)})`
  const byCost = values.toSorted(
    ({ report: a }, { report: b }) =>
      spentOf(a) - spentOf(b) || a.totals.capacity_gpu_hours - b.totals.capacity_gpu_hours,
  )
  const enough = byCost.filter(({ report }) => lostOf(report) === 0)
  const [chosen] = enough
  if (chosen === undefined) {
    const least = byCost.reduce((best, one) => (lostOf(one.report) < lostOf(best.report) ? one : best))
    const most = `No value suffices. ${named(least)} loses the fewest requests: ${lost(least.report)}.`
    return [most, ...whenLost(least.report)]
  }
  const cheapest = enough.length > 1 ? ' and costs least' : ''
  const first = `${named(chosen)} suffices${cheapest}: it loses no request.`
  if (chosen.slower === null || band === null) return [first]
  if (lostOf(chosen.slower) === 0) return [`${first} It also suffices with engines up to ${percent(band)} slower.`]
  const safe = enough.find(({ slower }) => slower !== null && lostOf(slower) === 0)
  const instead = safe === undefined ? 'Then no value suffices.' : `${named(safe)} still suffices.`
  return [`${first} With engines up to ${percent(band)} slower it loses ${lost(chosen.slower)} requests. ${instead}`]
}

/** Names the limits of the account that a value met, or would meet with slower engines. */
function limitedByAccount(setting: string, values: readonly ComparedValue[]): string[] {
  const limitsOf = (report: Report | null) =>
    report === null
      ? []
      : [...(report.money.suspensions > 0 ? ['the account was suspended'] : []), ...reachedQuotas(report)]
  const worlds = values.flatMap(({ value, report, slower }) => {
    const limits = limitsOf(report)
    const more = limitsOf(slower).filter(limit => !limits.includes(limit))
    const name = `${setting}=${value}`
    return [...limits.map(limit => [limit, name]), ...more.map(limit => [limit, `${name} and slower engines`])]
  })
  const met = groupBy(worlds, ([limit]) => limit!)
  if (met.size === 0) return []
  const sentences = [...met].map(([limit, cases]) => `With ${cases.map(([, name]) => name).join(', ')}, ${limit}.`)
  return [...sentences, 'To compare without these limits, raise funds_cents or gpu_limits in account.json.']
}

/** Says by the end of which steps the first and the last request were lost, counted from the start. */
function whenLost({ from, series }: SteppedReport): string[] {
  const lossy = series.filter(({ refused, failed, left }) => refused + failed + left > 0)
  const ends = lossy.map(({ time }) => formatDuration((Date.parse(time) - Date.parse(from)) * 1000))
  if (ends.length === 0) return []
  return [`The first of them is lost within ${ends[0]} of the start, the last within ${ends.at(-1)}.`]
}

/** Names the figures that an error of the engine changes more than the setting does. */
function tooSmall(readings: readonly Reading[], band: number | null): string[] {
  const labels = FIGURES.flatMap(({ label, followsEngines }, row) => {
    if (!followsEngines) return []
    const values = readings.map(({ now }) => now[row] ?? 0)
    const errors = readings.map(({ slower }, i) => (slower === null ? 0 : Math.abs((slower[row] ?? 0) - values[i]!)))
    const spread = Math.max(...values) - Math.min(...values)
    return spread > 0 && spread < Math.max(...errors) ? [label] : []
  })
  if (labels.length === 0) return []
  const error = `An engine error of up to ${percent(band!)}`
  return [`${error} changes these figures more than the setting does: ${labels.join('; ')}.`]
}
