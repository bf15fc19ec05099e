import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { DURATION_PATTERN, formatDuration, micros } from '../../src/kernel/duration.ts'
import { forAll } from '../setup/for-all.ts'

describe('durations', () => {
  test.each([
    ['90s', 90_000_000],
    ['10m', 600_000_000],
    ['24h', 86_400_000_000],
    ['1h30m', 5_400_000_000],
    ['1h 30m', 5_400_000_000],
    ['2d', 172_800_000_000],
    ['1w', 604_800_000_000],
    ['250ms', 250_000],
    ['7us', 7],
    ['1.5h', 5_400_000_000],
    ['PT1H', 3_600_000_000],
    ['P1DT12H', 129_600_000_000],
    ['PT0.5S', 500_000],
    [1500, 1_500_000],
    [0, 0],
    ['0s', 0],
  ] as const)('%s', (text, expected) => {
    expect(micros(text)).toBe(expected)
  })

  test.each([
    ['', 'no known form'],
    ['soon', 'no known form'],
    ['10', 'it has no unit'],
    ['86400000', 'it has no unit'],
    ['10 minutes', 'no known form'],
    ['P', 'no known form'],
    ['PT', 'no known form'],
    ['-5m', 'time does not run backwards'],
    [-1, 'time does not run backwards'],
    [Number.NaN, 'not a finite number'],
    [Number.POSITIVE_INFINITY, 'not a finite number'],
    ['1000000d', 'longer than 100 years'],
  ] as const)('%s is rejected with the valid forms', (text, reason) => {
    expect(() => micros(text)).toThrow(reason)
    expect(() => micros(text)).toThrow("Forms that work: '500ms', '90s'")
  })

  test('an error mentions numbers of milliseconds only when a number was given', () => {
    expect(() => micros('86400000')).toThrow(/'PT1H'\.$/)
    expect(() => micros(-1)).toThrow(/'PT1H', or a number of milliseconds\.$/)
  })

  test('are formatted with their two largest units', () => {
    expect([5, 1500, 90_000_000, 5_400_000_000, 90_061_000_000].map(formatDuration)).toEqual([
      '5us',
      '2ms',
      '1m 30s',
      '1h 30m',
      '1d 1h',
    ])
    const years = [364, 365, 839.5, 36_500, 36_501, Number.POSITIVE_INFINITY, 1e45].map(days => days * 86_400_000_000)
    const words = ['364d', '1 year', '2.3 years', '100 years', 'more than 100 years', 'more than 100 years']
    expect(years.map(formatDuration)).toEqual([...words, 'more than 100 years'])
  })

  test('are exactly the texts that match the pattern for JSON Schema', { tags: 'slow' }, () => {
    const pattern = new RegExp(DURATION_PATTERN)
    const piece = fc.oneof(
      fc.constantFrom('us', 'ms', 's', 'm', 'h', 'd', 'w', 'P', 'T', 'H', 'M', 'S', 'D', 'W', ' ', '\n', '.', '-', 'x'),
      fc.integer({ min: 0, max: 99 }).map(String),
    )
    const anyText = fc.array(piece, { maxLength: 7 }).map(pieces => pieces.join(''))
    forAll([anyText], { numRuns: 2_000 }, text => {
      let reason = ''
      try {
        micros(text)
      } catch (error) {
        reason = (error as Error).message
      }
      expect(pattern.test(text)).toBe(reason === '' || /longer than/.test(reason))
    })
  })
})
