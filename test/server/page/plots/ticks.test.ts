import fc from 'fast-check'
import { expect, test } from 'vitest'
import { formatFigure, linearTicks, logTicks, timeTicks } from '../../../../src/server/page/plots/ticks.ts'
import { forAll } from '../../../setup/for-all.ts'

const labels = (ticks: readonly { label: string }[]) => ticks.map(({ label }) => label)
const unix = (iso: string) => Date.parse(iso) / 1000

test.each([
  [0, ['0', '0.25', '0.5', '0.75', '1']],
  [0.07, ['0', '0.02', '0.04', '0.06', '0.08']],
  [5.3, ['0', '2', '4', '6']],
  [1000, ['0', '250', '500', '750', '1000']],
  [1001, ['0', '500', '1000', '1500']],
  [12_000, ['0', '5k', '10k', '15k']],
  [9_000_000, ['0', '2.5M', '5M', '7.5M', '10M']],
])('the axis up to %d has the ticks %j', (max, expected) => {
  expect(labels(linearTicks(max, 4))).toEqual(expected)
})

test.each([
  [0.2, 11.2, ['0.2', '0.5', '1', '2', '5', '10', '20']],
  [0.13, 0.13, ['0.1', '0.2']],
  [0.1, 0.1, ['0.1', '0.2']],
  [0.003, 7000, ['0.001', '0.01', '0.1', '1', '10', '100', '1000', '10k']],
])('the logarithmic axis from %d to %d has the ticks %j', (min, max, expected) => {
  expect(labels(logTicks(min, max))).toEqual(expected)
})

test.each([
  ['2026-01-01T00:00:00Z', '2026-01-03T12:00:00Z', ['Jan 1', '12:00', 'Jan 2', '12:00', 'Jan 3', '12:00']],
  ['2026-01-01T00:00:00Z', '2026-01-01T00:00:20Z', ['Jan 1', '00:00:05', '00:00:10', '00:00:15', '00:00:20']],
  // Weeks begin on a Monday.
  ['2026-01-01T00:00:00Z', '2026-02-01T00:00:00Z', ['Jan 5', 'Jan 12', 'Jan 19', 'Jan 26']],
  ['2026-03-05T10:00:00Z', '2027-03-01T00:00:00Z', ['May', 'Jul', 'Sep', 'Nov', '2027', 'Mar']],
  ['2026-01-01T00:00:00Z', '2066-01-01T00:00:00Z', ['2030', '2040', '2050', '2060']],
])('the time axis from %s to %s has the ticks %j', (from, to, expected) => {
  expect(labels(timeTicks(unix(from), unix(to), 8))).toEqual(expected)
})

test('a figure has commas and its decimals, and no sign if it rounds to 0', () => {
  expect([formatFigure(1234567.891, 2), formatFigure(-1234, 0), formatFigure(-0.001, 2), formatFigure(0, 1)]).toEqual([
    ...['1,234,567.89', '-1,234', '0.00', '0.0'],
  ])
})

test('axes cover every range with few ticks, in order, whose labels differ', () => {
  const positive = fc.double({ min: 1e-9, max: 1e15, noNaN: true })
  forAll([positive, positive], (a, b) => {
    const [min, max] = [Math.min(a, b), Math.max(a, b)]
    const [linear, log] = [linearTicks(max, 4), logTicks(min, max)]
    expect(linear.at(-1)!.at).toBeGreaterThanOrEqual(max * (1 - 1e-9))
    expect(linear.length).toBeLessThanOrEqual(6)
    expect(log[0]!.at).toBeLessThanOrEqual(min)
    expect(log.at(-1)!.at).toBeGreaterThanOrEqual(max)
    for (const ticks of [linear, log]) {
      expect(ticks.length).toBeGreaterThanOrEqual(2)
      expect(ticks.every(({ at }, i) => i === 0 || at > ticks[i - 1]!.at)).toBe(true)
      expect(new Set(labels(ticks)).size).toBe(ticks.length)
    }
  })
})

test('a time axis has at most the ticks that are wanted, all within its window', () => {
  const times = fc.integer({ min: 0, max: unix('2200-01-01T00:00:00Z') })
  forAll([times, fc.integer({ min: 1, max: 3_000_000_000 })], (from, length) => {
    const ticks = timeTicks(from, from + length, 8)
    expect(ticks.length).toBeLessThanOrEqual(9)
    expect(ticks.every(({ at }) => at >= from && at <= from + length)).toBe(true)
    expect(ticks.every(({ at }, i) => i === 0 || at > ticks[i - 1]!.at)).toBe(true)
  })
})
