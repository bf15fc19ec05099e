import { expect, test } from 'vitest'
import { captionOf, REPORT_CHARTS, reportCharts } from '../../../../src/server/page/plots/report-charts.ts'
import type { PlottedReport, PlottedStep } from '../../../../src/server/page/plots/report-steps.ts'
import { createSimulator } from '../../../../src/simulator/simulator.ts'

const HOURS = [
  '2026-01-01T01:00:00.000000+00:00',
  '2026-01-01T02:00:00.000000+00:00',
  '2026-01-01T02:30:00.000000+00:00',
]

function step(deployment: string, time: number, changes: Partial<PlottedStep> = {}): PlottedStep {
  return {
    ...{ time: HOURS[time]!, deployment, served: 0, refused: 0, backlog: 0, time_to_first_token_seconds: null },
    ...{ cost_microcents: 0, held_gpu_hours: 0, used_gpu_hours: 0 },
    ...changes,
  }
}

function report(series: readonly PlottedStep[]): PlottedReport {
  return {
    from: '2026-01-01T00:00:00.000000+00:00',
    to: HOURS[2]!,
    ...{ fixture: 'fleet', seed: '7', profile: 'realistic', weather: 'none' },
    commands: { newest: [] },
    series,
  }
}

function chartOf(name: (typeof REPORT_CHARTS)[number], series: readonly PlottedStep[]) {
  return reportCharts(report(series)).find(chart => chart.name === name)!
}

const valuesOf = (chart: { readonly series: readonly { name: string; values: readonly (number | null)[] }[] }) =>
  Object.fromEntries(chart.series.map(({ name, values }) => [name, values]))

test('the charts of a report have the names that files have, and the times of its steps', () => {
  const charts = reportCharts(report([step('a', 0), step('b', 0), step('a', 1)]))
  expect(charts.map(({ name }) => name)).toEqual([...REPORT_CHARTS])
  for (const { from, times } of charts) expect([from, ...times]).toEqual([1767225600, 1767229200, 1767232800])
})

test('money is dollars per hour of each step, the most expensive deployment first, and those without costs left out', () => {
  const dollars = 100_000_000
  const chart = chartOf('money', [
    step('cheap', 0, { cost_microcents: dollars }),
    step('idle', 0),
    step('dear', 0, { cost_microcents: 3 * dollars }),
    step('dear', 1, { cost_microcents: 2 * dollars }),
    // Half an hour.
    step('dear', 2, { cost_microcents: 2 * dollars }),
  ])
  expect(valuesOf(chart)).toEqual({ dear: [3, 2, 4], cheap: [1, 0, 0] })
  expect(chart.series.map(({ figure }) => figure)).toEqual(['7.00', '1.00'])
})

test('the deployments after the seventh are one series, unless that would be of one', () => {
  const rows = (count: number) =>
    Array.from({ length: count }, (_, i) => step(`d${i}`, 0, { cost_microcents: (count - i) * 1e8 }))
  expect(chartOf('money', rows(8)).series.map(({ name }) => name)).toEqual([...'01234567'].map(i => `d${i}`))
  const { series } = chartOf('money', rows(10))
  expect(series).toHaveLength(8)
  expect(series.at(-1)).toEqual({ name: '3 others', values: [6], figure: '6.00' })
})

test('deployments with one name are one series', () => {
  const again = [step('a', 0, { cost_microcents: 1e8 }), step('a', 0, { cost_microcents: 2e8 })]
  expect(valuesOf(chartOf('money', again))).toEqual({ a: [3] })
})

test('GPU-hours are used or idle, and never less than none', () => {
  const chart = chartOf('gpu-hours', [
    step('a', 0, { held_gpu_hours: 4, used_gpu_hours: 1 }),
    step('b', 0, { held_gpu_hours: 2, used_gpu_hours: 2.0000001 }),
    step('a', 1, { held_gpu_hours: 1, used_gpu_hours: 1.0000001 }),
  ])
  expect(chart.series.map(({ name }) => name)).toEqual(['used', 'idle'])
  expect(chart.series[0]!.values[0]).toBeCloseTo(3, 5)
  expect(chart.series[1]!.values[0]).toBeCloseTo(3, 5)
  expect(chart.series[1]!.values[1]).toBe(0)
})

test('a queue has the deployments that waited, with the longest queue of each', () => {
  const chart = chartOf('queue', [
    ...[step('a', 0, { backlog: 5 }), step('b', 0), step('a', 1, { backlog: 1200 }), step('a', 2, { backlog: 3 })],
  ])
  expect(chart.series).toEqual([{ name: 'a', values: [5, 1200, 3], figure: '1,200' }])
})

test('refusals are requests per hour of each step', () => {
  const chart = chartOf('refusals', [step('a', 0, { refused: 10 }), step('a', 1), step('a', 2, { refused: 10 })])
  expect(chart.series).toEqual([{ name: 'a', values: [10, 0, 20], figure: '20' }])
})

test('percentiles weigh each deployment by the requests that it served', () => {
  const chart = chartOf('latency', [
    step('slow', 0, { served: 4, time_to_first_token_seconds: 10 }),
    step('fast', 0, { served: 96, time_to_first_token_seconds: 0.5 }),
    step('unused', 0, { served: 0, time_to_first_token_seconds: 99 }),
    step('slow', 1, { served: 6, time_to_first_token_seconds: 10 }),
    step('fast', 1, { served: 94, time_to_first_token_seconds: 0.5 }),
    step('fast', 2, { served: 5 }),
  ])
  expect(valuesOf(chart)).toEqual({
    'slowest deployment': [10, 10, null],
    p99: [10, 10, null],
    p95: [0.5, 10, null],
    p50: [0.5, 0.5, null],
  })
})

test('a report without a series has charts that say why they are empty', () => {
  const { series: _, ...withoutSeries } = report([])
  for (const chart of reportCharts(withoutSeries)) {
    expect(chart.series).toEqual([])
    expect([chart.from, chart.to]).toEqual([1767225600, 1767234600])
    expect(chart.emptyText).toMatch(/^No .*\.$/)
  }
})

test('steps in which no deployment existed are drawn as empty when the length of a step is known', () => {
  const rows = [step('a', 1, { cost_microcents: 1e8, backlog: 3 })]
  const [money, , queue] = reportCharts(report(rows), 1800)
  const start = 1767225600
  expect(money!.times).toEqual([1, 2, 3, 4, 5].map(count => start + count * 1800))
  expect(money!.series[0]!.values).toEqual([0, 0, 0, 2, 0])
  expect(queue!.series[0]!.values).toEqual([0, 0, 0, 3, 0])
  expect(reportCharts(report(rows), 3600)[0]!.times).toEqual([start + 3600, start + 7200, start + 9000])
  expect(reportCharts(report([]), 4000)[0]!.times).toEqual([start + 4000, start + 8000, start + 9000])
})

test('a caption names the window and the world', () => {
  expect(captionOf(report([]))).toEqual({
    title: '2026-01-01 to 2026-01-01 02:30',
    detail: 'fixture fleet, seed 7, profile realistic, weather none; virtual time in UTC',
  })
})

test('the sums over charts are the figures of the report', async () => {
  const sim = createSimulator({ fixtures: 'fleet', seed: 3 })
  await sim.clock.advance('3h')
  const plotted = sim.report({ from: '2026-01-01T00:30:00Z', step: '25m' })
  const [money, gpuHours, , refusals] = reportCharts(plotted)
  const hours = (chart: { from: number; times: readonly number[] }, i: number) =>
    (chart.times[i]! - (chart.times[i - 1] ?? chart.from)) / 3600
  const total = (chart: typeof money) =>
    chart!.series.reduce(
      (sum, { values }) => sum + values.reduce<number>((all, v, i) => all + v! * hours(chart!, i), 0),
      0,
    )
  const rent = plotted.deployments.reduce((sum, one) => sum + one.rent_microcents, 0)
  expect(total(money)).toBeCloseTo(rent / 1e8, 6)
  expect(total(gpuHours)).toBeCloseTo(plotted.totals.held_gpu_hours, 6)
  expect(total(refusals)).toBeCloseTo(plotted.totals.requests.refused, 3)
  expect(gpuHours!.series.map(({ figure }) => figure)).toEqual([
    plotted.totals.used_gpu_hours.toLocaleString('en', { minimumFractionDigits: 1, maximumFractionDigits: 1 }),
    plotted.totals.wasted_gpu_hours.toLocaleString('en', { minimumFractionDigits: 1, maximumFractionDigits: 1 }),
  ])
  expect(total(money)).toBeGreaterThan(0)
})
