/** Texts of amounts. */

import fc from 'fast-check'
import { expect, test } from 'vitest'
import { formatDuration, formatMoney } from '../../../src/server/page/parts/format.ts'
import { withinExtent } from '../../../src/server/page/parts/time-chart.tsx'
import { forAll } from '../../setup/for-all.ts'

test('an amount has the digits that it needs, and zero has no sign', () => {
  const texts = [0, -0, 1e-8, -1e-8, -0.00000004, 0.00005, -0.000123, 0.05, -0.1, 12.4, -1234567.891, 1e-12, -1e-12]
  expect(texts.map(formatMoney)).toEqual([
    ...['$0.00', '$0.00', '$0.00000001', '-$0.00000001', '-$0.00000004', '$0.00005', '-$0.0001', '$0.0500', '-$0.10'],
    ...['$12.40', '-$1,234,567.89', '$0.00', '$0.00'],
  ])
})

test('a duration is in years from a year on', () => {
  expect([7_500, 364 * 86_400, 839.5 * 86_400, 1e40].map(formatDuration)).toEqual([
    ...['2 h 5 min', '364 d', '2.3 years', 'more than 100 years'],
  ])
})

test('every amount of a ledger is shown within half of its last digit, and only zero as zero', () => {
  forAll([fc.integer({ min: -1e13, max: 1e13 })], microcents => {
    const text = formatMoney(microcents / 1e8)
    expect(text).toMatch(/^-?\$\d{1,3}(?:,\d{3})*\.\d{2,8}$/)
    const shown = Number(text.replaceAll(/[$,]/g, ''))
    const digits = text.split('.')[1]!.length
    const step = Math.abs(microcents) < 10_000 ? 10 ** -Math.min(8, digits + 1) : 10 ** -digits
    expect(Math.abs(shown - microcents / 1e8)).toBeLessThanOrEqual(step / 2 + 1e-9)
    expect(shown === 0).toBe(microcents === 0)
  })
})

test('a chosen part of the time lies within all of it, and is never shorter than a minute', () => {
  const time = fc.integer({ min: -10_000, max: 10_000 })
  forAll([time, time, fc.integer({ min: 0, max: 5_000 })], (from, to, length) => {
    const extent = { from: 0, to: length }
    const range = withinExtent({ from: Math.min(from, to), to: Math.max(from, to) }, extent)
    if (range === undefined) {
      expect(Math.max(60, Math.abs(to - from))).toBeGreaterThanOrEqual(length)
      return
    }
    expect(range.from).toBeGreaterThanOrEqual(0)
    expect(range.to).toBeLessThanOrEqual(length)
    expect(range.to - range.from).toBe(Math.max(60, Math.abs(to - from)))
  })
})
