import type { Chart, ChartSeries } from './chart.ts'
import type { Caption } from './figure.ts'
import { type PlottedReport, readSteps, type Steps } from './report-steps.ts'
import { formatFigure } from './ticks.ts'

const MICROCENTS_PER_DOLLAR = 100_000_000
/** Series that a chart shows one by one. The others are one series together. */
const MAX_SERIES = 7
const PERCENTILES = [99, 95, 50] as const

/** A chart of a report: its texts, and how its series follow from the steps. */
interface ReportChart extends Omit<Chart, 'name' | 'from' | 'to' | 'times' | 'marks' | 'series'> {
  series(steps: Steps): ChartSeries[]
}

/** Amounts of which a chart has the rate per hour. */
interface Amount {
  readonly field: 'cost' | 'refused'
  /** What is 1 in the chart. */
  readonly unit: number
  /** Decimals of a total. */
  readonly digits: number
}

const AMOUNTS = {
  money: { field: 'cost', unit: MICROCENTS_PER_DOLLAR, digits: 2 },
  refusals: { field: 'refused', unit: 1, digits: 0 },
} as const satisfies Readonly<Record<string, Amount>>

/** The charts of a report by their names, in their order. */
const CHARTS = {
  money: {
    title: 'Rent of deployments',
    description:
      'What the GPU time of each deployment cost, as dollars per hour of each step. Its area is the rent of the report.',
    ...{ unit: '$ per hour', kind: 'areas', scale: 'linear', figureLabel: 'total, $' },
    emptyText: 'No deployment cost anything in this time.',
    series: steps => ratesOf(steps, AMOUNTS.money),
  },
  'gpu-hours': {
    title: 'GPU-hours',
    description:
      'GPU-hours that instances of deployments held, per hour of each step: used by work, and idle. Idle are starts, draining and waiting for work.',
    ...{ unit: 'GPU-hours per hour', kind: 'areas', scale: 'linear', figureLabel: 'total, GPU-hours' },
    emptyText: 'No deployment held a GPU in this time.',
    series: ({ deployments, hours }) => {
      const used = hours.map((_, i) => sumOf(deployments.map(one => one.used[i]!)))
      const held = hours.map((_, i) => sumOf(deployments.map(one => one.held[i]!)))
      if (held.every(hours => hours === 0)) return []
      // Both are sums of the same kind, so a difference can be a rounding error below 0.
      const idle = held.map((hours, i) => Math.max(0, hours - used[i]!))
      return Object.entries({ used, idle }).map(([name, values]) => ({
        ...{ name, values: values.map((value, i) => value / hours[i]!), figure: formatFigure(sumOf(values), 1) },
      }))
    },
  },
  queue: {
    title: 'Requests that wait',
    description: 'Requests of the load that wait for an instance, for each deployment at the end of each step.',
    ...{ unit: 'requests', kind: 'lines', scale: 'linear', figureLabel: 'most' },
    emptyText: 'No request waited at the end of a step.',
    series: ({ deployments }) => {
      const queues = deployments.map(({ name, backlog: values }) => ({ name, total: Math.max(0, ...values), values }))
      return rankSeries(queues, (_, values) => formatFigure(Math.max(...values), 0))
    },
  },
  refusals: {
    title: 'Refused requests',
    description: 'Requests that each deployment refused, per hour of each step.',
    ...{ unit: 'requests per hour', kind: 'areas', scale: 'linear', figureLabel: 'total' },
    emptyText: 'No deployment refused a request in this time.',
    series: steps => ratesOf(steps, AMOUNTS.refusals),
  },
  latency: {
    title: 'Time to the first token',
    description:
      'Seconds from the arrival of a request of the load to its first token, wait included: percentiles over the requests that were served in each step. Each request counts with the time of its deployment at the end of the step.',
    ...{ unit: 'seconds', kind: 'lines', scale: 'log', figureLabel: 'highest, s' },
    emptyText: 'No request of a load was served in this time.',
    series: steps => {
      const samples = steps.hours.map((_, i) => samplesOf(steps, i).sort((a, b) => a.seconds - b.seconds))
      if (samples.every(one => one.length === 0)) return []
      const lines = [
        { name: 'slowest deployment', values: samples.map(one => one.at(-1)?.seconds ?? null) },
        ...PERCENTILES.map(percent => ({
          name: `p${percent}`,
          values: samples.map(one => percentileOf(one, percent)),
        })),
      ]
      return lines.map(({ name, values }) => {
        const most = mostOf(values)
        return { name, values, figure: formatFigure(most, most < 10 ? 2 : 1) }
      })
    },
  },
} as const satisfies Readonly<Record<string, ReportChart>>

/** The names of the charts of a report, in their order. */
export const REPORT_CHARTS = Object.keys(CHARTS)

/**
 * Returns the charts of a report with a series: money, GPU-hours, queue, refusals and latency. The figures are those of the rows
 * of the series, so a sum over a chart is the figure of the report.
 *
 * @param stepSeconds the length of a step; without it, steps in which no deployment existed are left out
 */
export function reportCharts(report: PlottedReport, stepSeconds?: number): Chart[] {
  const steps = readSteps(report, stepSeconds)
  return Object.entries<ReportChart>(CHARTS).map(([name, chart]) => ({
    ...{ name, ...chart, ...windowOf(steps), series: chart.series(steps) },
  }))
}

/** Returns the head of the picture of a report: its window, and its world. */
export function captionOf({ from, to, fixture, seed, profile, weather }: PlottedReport): Caption {
  return {
    title: `${formatDate(from)} to ${formatDate(to)}`,
    detail: `fixture ${fixture}, seed ${seed}, profile ${profile}, weather ${weather}; virtual time in UTC`,
  }
}

/** Formats ISO 8601 as `2026-01-01`, and the time of day behind it if it is not midnight. */
function formatDate(iso: string): string {
  const [date, clock] = [iso.slice(0, 10), iso.slice(11, 19)]
  return clock === '00:00:00' ? date : `${date} ${clock.replace(/:00$/, '')}`
}

/**
 * Returns the charts of reports of equal windows, with a line for each of them: the sums of its deployments.
 *
 * @param reports the reports with a series, by the name of their line
 * @param stepSeconds the length of a step
 */
export function comparisonCharts(reports: ReadonlyMap<string, PlottedReport>, stepSeconds: number): Chart[] {
  const lines = Array.from(reports, ([name, report]) => ({ name, steps: readSteps(report, stepSeconds) }))
  const { steps: window } = lines[0]!
  const chart = (
    name: keyof typeof CHARTS,
    texts: Partial<Chart> & Pick<Chart, 'description'>,
    read: (steps: Steps, step: number) => number | null,
    figureOf: (values: readonly (number | null)[]) => string,
  ): Chart => ({
    ...{ name, ...CHARTS[name], ...texts, kind: 'lines', ...windowOf(window) },
    series: lines.map(({ name, steps }) => {
      const values = steps.times.map((_, i) => read(steps, i))
      return { name, values, figure: figureOf(values) }
    }),
  })
  const rates = (name: keyof typeof AMOUNTS, description: string) => {
    const { field, unit, digits } = AMOUNTS[name]
    return chart(
      name,
      { description },
      ({ deployments, hours }, i) => sumOf(deployments.map(one => one[field][i]!)) / unit / hours[i]!,
      values => formatFigure(sumOf(values.map((value, i) => (value ?? 0) * window.hours[i]!)), digits),
    )
  }
  return [
    rates('refusals', 'Requests that all deployments refused, per hour of each step.'),
    chart(
      'latency',
      {
        title: `${CHARTS.latency.title}, p95`,
        description: 'Seconds from the arrival of a request to its first token: p95 of each step.',
      },
      (steps, i) => firstTokenOf(steps, 95, i),
      values => formatFigure(mostOf(values), 2),
    ),
    rates('money', 'What the GPU time of all deployments cost, as dollars per hour of each step.'),
  ]
}

/**
 * Returns the time to the first token in seconds that this share of the served requests is below; null if none was served.
 *
 * @param step the index of a step. Default: all steps
 */
export function firstTokenOf(steps: Steps, percent: number, step?: number): number | null {
  const indexes = step === undefined ? steps.times.map((_, i) => i) : [step]
  const samples = indexes.flatMap(i => samplesOf(steps, i))
  samples.sort((a, b) => a.seconds - b.seconds)
  return percentileOf(samples, percent)
}

function samplesOf({ deployments }: Steps, step: number): { seconds: number; weight: number }[] {
  return deployments.flatMap(({ firstToken, served }) => {
    const seconds = firstToken[step]!
    return seconds === null || served[step] === 0 ? [] : [{ seconds, weight: served[step]! }]
  })
}

function windowOf({ from, to, times, marks }: Steps) {
  return { from, to, times, marks }
}

/** Returns the highest value; 0 without one. */
function mostOf(values: readonly (number | null)[]): number {
  return Math.max(0, ...values.map(value => value ?? 0))
}

/** Returns what each deployment has of an amount, per hour of each step. */
function ratesOf({ deployments, hours }: Steps, { field, unit, digits }: Amount): ChartSeries[] {
  const series = deployments.map(({ name, [field]: amounts }) => ({
    ...{ name, total: sumOf(amounts) / unit, values: amounts.map((amount, i) => amount / unit / hours[i]!) },
  }))
  return rankSeries(series, total => formatFigure(total, digits))
}

interface RankedSeries {
  readonly name: string
  /** What decides the order. 0: it is left out. */
  readonly total: number
  readonly values: readonly number[]
}

/** Keeps the series with the highest totals, from the highest down, and adds the others up to one. */
function rankSeries(
  all: readonly RankedSeries[],
  figureOf: (total: number, values: readonly number[]) => string,
): ChartSeries[] {
  const ranked = all.filter(({ total }) => total > 0).sort((a, b) => b.total - a.total || (a.name < b.name ? -1 : 1))
  // One series alone is shown by its name.
  const shown = ranked.length === MAX_SERIES + 1 ? ranked.length : MAX_SERIES
  const rest = ranked.slice(shown)
  const others = {
    name: `${rest.length} others`,
    total: sumOf(rest.map(({ total }) => total)),
    values: rest[0]?.values.map((_, i) => sumOf(rest.map(({ values }) => values[i]!))) ?? [],
  }
  return [...ranked.slice(0, shown), ...(rest.length > 0 ? [others] : [])].map(({ name, total, values }) => ({
    ...{ name, values, figure: figureOf(total, values) },
  }))
}

/** Returns the value of the nearest rank among weighted values in ascending order; null without any. */
function percentileOf(
  sorted: readonly { readonly seconds: number; readonly weight: number }[],
  percent: number,
): number | null {
  const rank = (sumOf(sorted.map(({ weight }) => weight)) * percent) / 100
  let passed = 0
  for (const { seconds, weight } of sorted) {
    passed += weight
    if (passed >= rank) return seconds
  }
  return sorted.at(-1)?.seconds ?? null
}

function sumOf(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0)
}
