import type { Chart, ChartSeries } from './chart.ts'
import type { Caption } from './figure.ts'
import { type PlottedReport, readSteps, type SteppedDeployment, type Steps } from './report-steps.ts'
import { formatFigure } from './ticks.ts'

const MICROCENTS_PER_DOLLAR = 100_000_000
/** Series that a chart shows one by one. The others are one series together. */
const MAX_SERIES = 7
const PERCENTILES = [99, 95, 50] as const

/** The charts of a report, in their order. Each is also the name of a file. */
export const REPORT_CHARTS = ['money', 'gpu-hours', 'queue', 'refusals', 'latency'] as const

/**
 * Returns the charts of a report with a series: money, GPU-hours, queue, refusals and latency. The figures are those of the rows
 * of the series, so a sum over a chart is the figure of the report.
 *
 * @param stepSeconds the length of a step; without it, steps in which no deployment existed are left out
 */
export function reportCharts(report: PlottedReport, stepSeconds?: number): Chart[] {
  const steps = readSteps(report, stepSeconds)
  return [moneyChart(steps), gpuHoursChart(steps), queueChart(steps), refusalsChart(steps), latencyChart(steps)]
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
    of: Pick<Chart, 'name' | 'title' | 'description' | 'unit' | 'scale' | 'figureLabel' | 'emptyText'>,
    read: (steps: Steps, step: number) => number | null,
    figureOf: (values: readonly (number | null)[]) => string,
  ): Chart => ({
    ...{ ...of, kind: 'lines', ...windowOf(window) },
    series: lines.map(({ name, steps }) => {
      const values = steps.times.map((_, i) => read(steps, i))
      return { name, values, figure: figureOf(values) }
    }),
  })
  const sum = (steps: Steps, read: (one: SteppedDeployment) => number) => sumOf(steps.deployments.map(read))
  const most = (digits: number) => (values: readonly (number | null)[]) =>
    formatFigure(Math.max(0, ...values.map(value => value ?? 0)), digits)
  const total = (digits: number) => (values: readonly (number | null)[]) =>
    formatFigure(sumOf(values.map((value, i) => (value ?? 0) * window.hours[i]!)), digits)
  return [
    chart(
      { ...REFUSALS, description: 'Requests that all deployments refused, per hour of each step.' },
      (steps, i) => sum(steps, ({ refused }) => refused[i]!) / steps.hours[i]!,
      total(0),
    ),
    chart(
      {
        ...{ ...LATENCY, title: `${LATENCY.title}, p95` },
        description: 'Seconds from the arrival of a request to its first token: p95 of each step.',
      },
      (steps, i) => firstTokenOf(steps, 95, i),
      most(2),
    ),
    chart(
      { ...MONEY, description: 'What the GPU time of all deployments cost, as dollars per hour of each step.' },
      (steps, i) => sum(steps, ({ cost }) => cost[i]!) / MICROCENTS_PER_DOLLAR / steps.hours[i]!,
      total(2),
    ),
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

const MONEY = {
  name: 'money',
  title: 'Rent of deployments',
  unit: '$ per hour',
  scale: 'linear',
  figureLabel: 'total, $',
  emptyText: 'No deployment cost anything in this time.',
} as const
const REFUSALS = {
  name: 'refusals',
  title: 'Refused requests',
  unit: 'requests per hour',
  scale: 'linear',
  figureLabel: 'total',
  emptyText: 'No deployment refused a request in this time.',
} as const
const LATENCY = {
  name: 'latency',
  title: 'Time to the first token',
  unit: 'seconds',
  scale: 'log',
  figureLabel: 'highest, s',
  emptyText: 'No request of a load was served in this time.',
} as const

function moneyChart(steps: Steps): Chart {
  const costs = steps.deployments.map(one => ({
    name: one.name,
    total: sumOf(one.cost) / MICROCENTS_PER_DOLLAR,
    values: one.cost.map((cost, i) => cost / MICROCENTS_PER_DOLLAR / steps.hours[i]!),
  }))
  return {
    ...MONEY,
    description:
      'What the GPU time of each deployment cost, as dollars per hour of each step. Its area is the rent of the report.',
    ...{ kind: 'areas', ...windowOf(steps) },
    series: rankSeries(costs, total => formatFigure(total, 2)),
  }
}

function gpuHoursChart(steps: Steps): Chart {
  const { hours, deployments } = steps
  const used = hours.map((_, i) => deployments.reduce((sum, one) => sum + one.used[i]!, 0))
  const held = hours.map((_, i) => deployments.reduce((sum, one) => sum + one.held[i]!, 0))
  // Both are sums of the same kind, so a difference can be a rounding error below 0.
  const idle = held.map((hours, i) => Math.max(0, hours - used[i]!))
  const series = Object.entries({ used, idle }).map(([name, values]) => ({
    ...{ name, values: values.map((value, i) => value / hours[i]!), figure: formatFigure(sumOf(values), 1) },
  }))
  return {
    name: 'gpu-hours',
    title: 'GPU-hours',
    description:
      'GPU-hours that instances of deployments held, per hour of each step: used by work, and idle. Idle are starts, draining and waiting for work.',
    unit: 'GPU-hours per hour',
    ...{ kind: 'areas', scale: 'linear', ...windowOf(steps) },
    series: held.some(hours => hours > 0) ? series : [],
    figureLabel: 'total, GPU-hours',
    emptyText: 'No deployment held a GPU in this time.',
  }
}

function queueChart(steps: Steps): Chart {
  const queues = steps.deployments.map(({ name, backlog: values }) => ({ name, total: Math.max(0, ...values), values }))
  return {
    name: 'queue',
    title: 'Requests that wait',
    description: 'Requests of the load that wait for an instance, for each deployment at the end of each step.',
    unit: 'requests',
    ...{ kind: 'lines', scale: 'linear', ...windowOf(steps) },
    series: rankSeries(queues, (_, values) => formatFigure(Math.max(...values), 0)),
    figureLabel: 'most',
    emptyText: 'No request waited at the end of a step.',
  }
}

function refusalsChart(steps: Steps): Chart {
  const refusals = steps.deployments.map(({ name, refused }) => ({
    name,
    total: sumOf(refused),
    values: refused.map((count, i) => count / steps.hours[i]!),
  }))
  return {
    ...REFUSALS,
    description: 'Requests that each deployment refused, per hour of each step.',
    ...{ kind: 'areas', ...windowOf(steps) },
    series: rankSeries(refusals, total => formatFigure(total, 0)),
  }
}

function latencyChart(steps: Steps): Chart {
  const samples = steps.hours.map((_, i) => samplesOf(steps, i).sort((a, b) => a.seconds - b.seconds))
  const lines = [
    { name: 'slowest deployment', values: samples.map(one => one.at(-1)?.seconds ?? null) },
    ...PERCENTILES.map(percent => ({ name: `p${percent}`, values: samples.map(one => percentileOf(one, percent)) })),
  ]
  const series = lines.map(({ name, values }) => {
    const most = Math.max(0, ...values.map(value => value ?? 0))
    return { name, values, figure: formatFigure(most, most < 10 ? 2 : 1) }
  })
  return {
    ...LATENCY,
    description:
      'Seconds from the arrival of a request of the load to its first token, wait included: percentiles over the requests that were served in each step. Each request counts with the time of its deployment at the end of the step.',
    ...{ kind: 'lines', ...windowOf(steps) },
    series: samples.some(one => one.length > 0) ? series : [],
  }
}

function windowOf({ from, to, times, marks }: Steps) {
  return { from, to, times, marks }
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
