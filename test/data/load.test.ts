import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { LoadTraceError, OfferedLoad, parseLoadTrace } from '../../src/data/offered-load.ts'
import { jsonPath, problemsOf } from '../../src/lib/zod-problems.ts'
import { forAll } from '../setup/for-all.ts'

function complaints(load: unknown): string[] {
  const result = OfferedLoad.safeParse(load)
  if (result.success) return []
  return problemsOf(OfferedLoad, load, result.error).map(({ path, text }) => `${jsonPath(path)}: ${text}`)
}

describe('an offered load', () => {
  test('is valid with its kind and its rates', () => {
    expect(OfferedLoad.parse({ kind: 'constant', rps: 5 })).toEqual({
      kind: 'constant',
      rps: 5,
      prompt_tokens: 500,
      output_tokens: 200,
    })
    expect(OfferedLoad.parse({ kind: 'wave', low: 1, high: 9 })).toMatchObject({ period: '24h', peak_at: '14h' })
    expect(OfferedLoad.parse({ kind: 'burst', base: 1, peak: 9, every: '6h', lasts: '10m' })).toMatchObject({
      jitter: 1,
    })
    expect(OfferedLoad.parse({ kind: 'ramp', from: 1, to: 9, end: '1h' })).toMatchObject({ start: '0s' })
    expect(OfferedLoad.parse({ kind: 'trace', path: 'load.csv' })).toMatchObject({ repeat: false })
  })

  test('can be parsed again after parsing', () => {
    const load = OfferedLoad.parse({ kind: 'steps', steps: [{ at: '1h', rps: 3 }], prompt_tokens: 10 })
    expect(OfferedLoad.parse(load)).toEqual(load)
  })

  test.each<[load: unknown, problem: string]>([
    [
      { kind: 'wawe', low: 1, high: 2 },
      "$.kind: expected one of 'constant', 'steps', 'wave', 'burst', 'ramp', 'trace', got 'wawe'. Did you mean 'wave'? Fix that value.",
    ],
    [
      { kind: 'wave', low: 1, high: 2, peak: '14h' },
      "$.peak: unknown field. Did you mean 'peak_at'? Rename or remove it.",
    ],
    [{ kind: 'constant', rps: -1 }, '$.rps: expected at least 0, got -1. Fix that value.'],
    [{ kind: 'constant' }, '$.rps: expected a number, got nothing. Add that field.'],
    [{ kind: 'constant', rps: 1, output_tokens: 0 }, '$.output_tokens: expected at least 1, got 0. Fix that value.'],
    [{ kind: 'wave', low: 9, high: 5 }, '$.high: expected at least low, 9, got 5. Fix that value.'],
    [
      { kind: 'wave', low: 1, high: 5, period: '1ms', peak_at: '0s' },
      "$.period: expected a duration of at least 1s, got '1ms'. Fix that value.",
    ],
    [
      { kind: 'wave', low: 1, high: 5, period: '12h' },
      "$.peak_at: expected at most period, '12h', got nothing. Add that field.",
    ],
    [
      { kind: 'wave', low: 9, high: 5, period: 'daily' },
      "$.period: expected a duration like '90s', '10m' or '1h30m', at most 100 years, got 'daily'. Fix that value.",
    ],
    [
      {
        kind: 'steps',
        steps: [
          { at: '1h', rps: 1 },
          { at: '2h', rps: 2 },
          { at: '90m', rps: 3 },
        ],
      },
      "$.steps[2].at: expected a time after the step before it, '2h', got '90m'. Fix that value.",
    ],
    [{ kind: 'steps', steps: [] }, '$.steps: expected at least 1 item, got an array. Fix that value.'],
    [
      { kind: 'burst', base: 1, peak: 2, every: '10m', lasts: '1h' },
      "$.lasts: expected at most every, '10m', got '1h'. Fix that value.",
    ],
    [
      { kind: 'burst', base: 1, peak: 2, every: '10m', lasts: '0s' },
      "$.lasts: expected more than no time, got '0s'. Fix that value.",
    ],
    [
      { kind: 'burst', base: 3, peak: 2, every: '10m', lasts: '1m' },
      '$.peak: expected at least base, 3, got 2. Fix that value.',
    ],
    [
      { kind: 'ramp', from: 1, to: 2, start: '2h', end: '1h' },
      "$.end: expected a time after start, '2h', got '1h'. Fix that value.",
    ],
    [
      { kind: 'trace' },
      "$.text: expected a trace (or 'path', a file below the fixture's folder), got nothing. Add that field.",
    ],
    [
      { kind: 'trace', text: '0,-1' },
      "$.text: expected lines of 'seconds,requests/s' (line 1: expected requests/s of at least 0, got -1), got '0,-1'. Fix that value.",
    ],
    [
      { kind: 'trace', text: '0,1\n0.0005,2', repeat: true },
      '$.repeat: expected false for a trace of less than 1s, got true. Fix that value.',
    ],
  ])('is rejected if it is %j', (load, problem) => {
    expect(complaints(load)).toEqual([problem])
  })
})

describe('a trace of load', () => {
  test('has seconds and requests/s, with a header or without', () => {
    const points = [
      { at: 0, rps: 5 },
      { at: 500_000, rps: 0 },
      { at: 60_000_000, rps: 8.5 },
    ]
    expect(parseLoadTrace('0,5\n0.5,0\n60,8.5')).toEqual(points)
    expect(parseLoadTrace('\uFEFFseconds, requests/s, note\r\n0, 5, quiet\r\n\r\n.5,0\r\n6e1,8.5,busy\r\n')).toEqual(
      points,
    )
    expect(parseLoadTrace('"time, s","rate"\n"0","5"\n0.5,"0"\n"60", "8.5"')).toEqual(points)
    expect(parseLoadTrace('"0","5"\n"0.5","0"\n60,8.5')).toEqual(points)
  })

  test.each([
    ['', "line 1: the trace is empty. Add lines of 'seconds,requests/s'."],
    ['seconds,rps\n', "line 1: the trace is empty. Add lines of 'seconds,requests/s'."],
    ['0,1\n7', "line 2: expected 'seconds,requests/s' with a comma, got '7'. Add the missing column."],
    ['s,r\n0,1\n5,2\n5,3', 'line 4: expected seconds after the line before, 5, got 5. Put the lines in order of time.'],
    ['0,1\n9,2\n\n3,3', 'line 4: expected seconds after the line before, 9, got 3. Put the lines in order of time.'],
    ['0,1\n1,-2', 'line 2: expected requests/s of at least 0, got -2. Fix that value.'],
    ['-1,1', 'line 1: expected seconds of at least 0, got -1. Fix that value.'],
    ['0,1\n1,many', "line 2: expected a number of requests/s, got 'many'. Fix that value."],
    ['0,1\n00:01,2', 'line 2: expected a number of seconds, or before requests a header with timestamp or time'],
    ['0,', "line 1: expected a number of requests/s, got ''. Fix that value."],
    ['0,Infinity', "line 1: expected a number of requests/s, got 'Infinity'. Fix that value."],
    ['0,1e10', 'line 1: expected requests/s of at most 1000000000, got 1e10. Fix that value.'],
    [
      '1767225600,1',
      "line 1: expected seconds since the start of the world, at most 10 years, got 1767225600. Subtract the first line's from every line's.",
    ],
  ])('is rejected for %j', (text, reason) => {
    expect(() => parseLoadTrace(text, 'x.csv')).toThrow(`Failed to read the trace 'x.csv': ${reason}`)
  })

  test('reads written traces, and each error has a line number', () => {
    forAll([fc.uniqueArray(fc.nat(1e9)), fc.nat()], (times, seed) => {
      const points = [...times, 1e9 + 1].sort((a, b) => a - b).map(at => ({ at, rps: (at * seed) % 1009 }))
      expect(parseLoadTrace(points.map(({ at, rps }) => `${at / 1e6},${rps}`).join('\n'))).toEqual(points)
    })
    forAll([fc.array(fc.constantFrom('0', '1', '-', ',', '\n', '.', 'e', 'x'), { maxLength: 30 })], letters => {
      try {
        parseLoadTrace(letters.join(''))
      } catch (error) {
        expect(error).toBeInstanceOf(LoadTraceError)
        expect((error as LoadTraceError).line).toBeGreaterThan(0)
      }
    })
  })
})
