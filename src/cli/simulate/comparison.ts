/** Simulates one world once for each value of a setting, and says which values suffice. */

import { loadProfile } from '../../data/profiles/load.ts'
import { firstTokenOf } from '../../server/page/plots/report-charts.ts'
import { type PlottedReport, readSteps } from '../../server/page/plots/report-steps.ts'
import type { Report } from '../../simulation/reporting/report-types.ts'
import type { ReportStep } from '../../simulation/reporting/time-series.ts'
import { count, formatDollars, formatHours, formatPercent, formatTable } from '../report-text.ts'
import { type ComparedSetting, type ComparedWorld, withSetting } from './setting.ts'

/** A report with the rows of its series. */
export type SteppedReport = Report & { readonly series: readonly ReportStep[] }

export interface ComparedValue {
  readonly value: string
  readonly report: SteppedReport
  /** The same with engines that are slower by their band. Null: no deployment has an engine whose band is known. */
  readonly slower: Report | null
  /** The first day on which a deployment does something else than with the first value, as `2026-01-02`. */
  readonly first_difference: string | null
}

export interface Comparison {
  readonly setting: string
  /** The widest band of the engines, as a share. Null: none is known. */
  readonly band: number | null
  readonly values: readonly ComparedValue[]
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
  }
  if (compared.length === 0) return undefined
  const stopped = values.slice(compared.length).map(value => `${name}=${value}`)
  const note = stopped.length === 0 ? [] : [`It was stopped before ${stopped.join(', ')}.`]
  return { setting: name, band, values: compared, answer: [...note, ...answerOf(name, compared, band)] }
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
  read(report: Report): number | null
  format(value: number): string
  /** Whether the speed of engines changes it. */
  readonly followsEngines?: boolean
  /** Whether it is left out if it is 0 for all values. */
  readonly isRare?: boolean
}

const seconds = (value: number) => value.toFixed(value < 10 ? 2 : 1)
const firstToken = (percent: number) => (report: Report) => firstTokenOf(readSteps(report as PlottedReport), percent)
const lostOf = ({ totals: { requests } }: Report) => requests.refused + requests.failed + requests.left

const FIGURES: readonly Figure[] = [
  { label: 'requests', read: ({ totals }) => totals.requests.arrived, format: count },
  { label: 'refused or failed', read: lostOf, format: count, followsEngines: true },
  { label: 'waiting at the end', read: ({ totals }) => totals.requests.waiting, format: count },
  { label: 'time to first token, median, s', read: firstToken(50), format: seconds, followsEngines: true },
  { label: 'time to first token, p95, s', read: firstToken(95), format: seconds, followsEngines: true },
  { label: 'spent, $', read: spentOf, format: formatDollars, followsEngines: true },
  { label: 'GPU-hours held', read: ({ totals }) => totals.held_gpu_hours, format: formatHours, followsEngines: true },
  { label: 'GPU-hours of capacity', read: ({ totals }) => totals.capacity_gpu_hours, format: formatHours },
  { label: 'starts', read: ({ cold_starts }) => cold_starts.count, format: count },
  { label: 'instances lost', read: ({ failures }) => failures.instances_lost, format: count, isRare: true },
  { label: 'deployments failed', read: ({ failures }) => failures.deployments_failed, format: count, isRare: true },
]

function spentOf({ money: { rent_microcents, tokens_microcents, units_microcents } }: Report): number {
  return rent_microcents + tokens_microcents + units_microcents
}

/** Returns the table of a comparison, and its answer. */
export function formatComparison({ setting, band, values, answer }: Comparison): string {
  const { from, to } = values[0]!.report
  const rows = [[setting, ...values.map(({ value }) => value)]]
  const cells = (read: (value: ComparedValue) => number | null | undefined, format: Figure['format']) =>
    values.map(value => {
      const figure = read(value) ?? null
      return figure === null ? '-' : format(figure)
    })
  for (const { label, read, format, followsEngines, isRare } of FIGURES) {
    if (isRare && values.every(({ report }) => read(report) === 0)) continue
    rows.push([label, ...cells(({ report }) => read(report), format)])
    if (!followsEngines || band === null) continue
    rows.push([`    engines ${percent(band)} slower`, ...cells(({ slower }) => slower && read(slower), format)])
  }
  rows.push([`first day unlike ${values[0]!.value}`, ...values.map(({ first_difference }) => first_difference ?? '-')])
  return `${from.slice(0, 10)} to ${to.slice(0, 10)}, compared by ${setting}\n${formatTable(rows)}\n\n${answer.join('\n')}\n`
}

function percent(share: number): string {
  return `${Math.round(100 * share)} %`
}

function answerOf(setting: string, values: readonly ComparedValue[], band: number | null): string[] {
  const { report } = values[0]!
  const weather = setting.startsWith('weather.') ? '' : `, weather ${report.weather}`
  const assumed = `It assumes fixture ${report.fixture}, profile ${report.profile}${weather} and seed ${report.seed}. Another seed has another course of events.`
  const blind = report.deployments.flatMap(({ model_name, engine }) => (engine?.band === null ? [model_name] : []))
  return [
    ...sufficient(setting, values, band),
    ...tooSmall(values, band),
    ...(blind.length > 0 ? [`The engines of ${blind.join(', ')} are not validated.`] : []),
    assumed,
  ]
}

/** Says which values refuse no request, and whether they still do so with slower engines. */
function sufficient(setting: string, values: readonly ComparedValue[], band: number | null): string[] {
  if (values.every(({ report }) => report.totals.requests.arrived === 0)) {
    return ['Which value suffices is unknown: no deployment has requests. Give a load in the fixture, or --trace.']
  }
  const named = ({ value }: ComparedValue) => `${setting}=${value}`
  const lost = (report: Report) =>
    `${count(lostOf(report))} of ${count(report.totals.requests.arrived)} requests (${formatPercent(lostOf(report) / report.totals.requests.arrived)})`
  const byCost = values.toSorted(
    ({ report: a }, { report: b }) =>
      spentOf(a) - spentOf(b) || a.totals.capacity_gpu_hours - b.totals.capacity_gpu_hours,
  )
  const enough = byCost.filter(({ report }) => lostOf(report) === 0)
  const [chosen] = enough
  if (chosen === undefined) {
    const least = byCost.reduce((best, one) => (lostOf(one.report) < lostOf(best.report) ? one : best))
    return [`No value suffices. ${named(least)} refuses least: ${lost(least.report)}.`]
  }
  const cheapest = enough.length > 1 ? ' and costs least' : ''
  const first = `${named(chosen)} suffices${cheapest}: it refuses no request, and none fails.`
  if (chosen.slower === null || band === null) return [first]
  if (lostOf(chosen.slower) === 0) return [`${first} It also suffices with engines ${percent(band)} slower.`]
  const safe = enough.find(({ slower }) => slower !== null && lostOf(slower) === 0)
  const instead = safe === undefined ? 'No value suffices then.' : `${named(safe)} suffices also then.`
  return [`${first} With engines ${percent(band)} slower it refuses ${lost(chosen.slower)}. ${instead}`]
}

/** Names the figures whose differences an error of the engine can make. */
function tooSmall(values: readonly ComparedValue[], band: number | null): string[] {
  const labels = FIGURES.filter(({ followsEngines }) => followsEngines).flatMap(({ label, read }) => {
    const figures = values.map(({ report }) => read(report) ?? 0)
    const errors = values.map(({ slower }, i) => (slower === null ? 0 : Math.abs((read(slower) ?? 0) - figures[i]!)))
    const spread = Math.max(...figures) - Math.min(...figures)
    return spread > 0 && spread < Math.max(...errors) ? [label] : []
  })
  if (labels.length === 0) return []
  return [
    `The differences of these figures are smaller than the error of the engines (± ${percent(band!)}): ${labels.join('; ')}.`,
  ]
}
