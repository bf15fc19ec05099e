import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type OfferedLoad, parseLoadTrace } from '../../src/data/offered-load.ts'
import { DAY, HOUR, MINUTE, type Micros, micros, SECOND } from '../../src/kernel/duration.ts'
import { Chance } from '../../src/kernel/random.ts'
import { LoadCurve } from '../../src/simulation/load/load-curve.ts'
import { forAll } from '../setup/for-all.ts'
import { anyLoad, anyStretch, curveOf } from './any-load.ts'

const NEVER = Number.POSITIVE_INFINITY

/** The moments that decide over (from, until]: a rate is straight between them, so it is highest and lowest there. */
function corners(curve: LoadCurve, from: Micros, until: Micros): Micros[] {
  const moments = [from + 1, until]
  for (let t = curve.nextBreakpoint(from); t <= until; t = curve.nextBreakpoint(t)) moments.push(t - 1, t)
  return moments.filter(t => t > from && t <= until)
}

/** The rate as the load's own words have it, without a thought for speed. */
function plainRate(load: OfferedLoad, t: Micros): number | undefined {
  switch (load.kind) {
    case 'constant':
      return load.rps
    case 'steps':
      return load.steps.findLast(({ at }) => micros(at) <= t)?.rps ?? 0
    case 'wave': {
      const angle = (2 * Math.PI * (t - micros(load.peak_at))) / micros(load.period)
      return load.low + ((load.high - load.low) * (1 + Math.cos(angle))) / 2
    }
    case 'ramp': {
      const [start, end] = [micros(load.start), micros(load.end)]
      const share = Math.min(1, Math.max(0, (t - start) / (end - start)))
      return load.from + (load.to - load.from) * share
    }
    case 'trace': {
      const points = parseLoadTrace(load.text!)
      const [before, last] = [points.at(-2)!, points.at(-1)!]
      const around = load.repeat ? t % (2 * last.at - before.at) : t
      return points.findLast(({ at }) => at <= around)?.rps ?? 0
    }
    case 'burst':
      return undefined
  }
}

const anyLevel = () => fc.double({ min: -1, max: 101, noNaN: true })

describe('laws of a load curve', () => {
  test('the rate is what the load says', () => {
    forAll([anyLoad(), anyStretch()], (load, [t]) => {
      const plain = plainRate(load, t)
      const rate = curveOf(load).rateAt(t)
      if (plain === undefined) return
      const swing = load.kind === 'wave' ? load.high - load.low : 0
      expect(Math.abs(rate - plain)).toBeLessThanOrEqual(1e-9 + 0.0011 * swing)
    })
  })

  test('between two breaks it is a straight line', () => {
    forAll([anyLoad(), anyStretch()], (load, [t]) => {
      const curve = curveOf(load)
      const next = curve.nextBreakpoint(t)
      expect(next).toBeGreaterThan(t)
      const last = Math.min(next - 1, t + DAY)
      const middle = Math.floor((t + last) / 2)
      const [a, b, c] = [curve.rateAt(t), curve.rateAt(middle), curve.rateAt(last)]
      const straight = last === t ? a : a + ((c - a) * (middle - t)) / (last - t)
      expect(Math.abs(b - straight)).toBeLessThan(1e-9)
    })
  })

  test('the integral is the sum of the rates at fine steps', () => {
    forAll([anyLoad(), anyStretch()], (load, [from, to]) => {
      const curve = curveOf(load)
      const steps = 2000
      const step = (to - from) / steps
      // A burst shorter than a step would come and go unseen, and so would half a wave.
      const period = load.kind === 'wave' ? micros(load.period) / 100 : load.kind === 'burst' ? 0 : NEVER
      fc.pre(step < period)
      let sum = 0
      let change = 0
      for (let i = 0; i < steps; i++) {
        const [a, b, c] = [from + step * i, from + step * (i + 0.5), from + step * (i + 1)].map(t => curve.rateAt(t))
        sum += (b! * step) / SECOND
        change += ((Math.abs(b! - a!) + Math.abs(c! - b!)) * step) / SECOND
      }
      // What lasts less than a step may go unseen, and a jump lies somewhere within its step.
      let unseen = 0
      for (let t = curve.nextBreakpoint(from - 1); t < to; t = curve.nextBreakpoint(t)) {
        const lasts = curve.nextBreakpoint(t) - t
        if (lasts < step) unseen += (100 * lasts) / SECOND
      }
      expect(Math.abs(curve.integral(from, to) - sum)).toBeLessThanOrEqual(1e-6 + change + unseen + 1e-6 * sum)
    })
  })

  test('the integral is the sum of its pieces, wherever it is cut', () => {
    forAll(
      [anyLoad(), anyStretch(), fc.double({ min: 0, max: 1, noNaN: true })],
      { numRuns: 200 },
      (load, [from, to], share) => {
        const curve = curveOf(load)
        const whole = curve.integral(from, to)
        let sum = 0
        for (let t = from; t < to; ) {
          const next = Math.min(curve.nextBreakpoint(t), to)
          sum += (((curve.rateAt(t) + curve.rateAt(next - 1)) / 2) * (next - t)) / SECOND
          t = next
        }
        // The rate at the last microsecond of a piece is that of its end.
        expect(Math.abs(whole - sum)).toBeLessThanOrEqual(1e-2 + 1e-9 * whole)
        const middle = Math.floor(from + (to - from) * share)
        const halves = curve.integral(from, middle) + curve.integral(middle, to)
        expect(Math.abs(whole - halves)).toBeLessThanOrEqual(1e-12 + 1e-9 * whole)
      },
    )
  })

  test('an answer does not depend on the questions before it', () => {
    forAll([anyLoad(), fc.array(anyStretch(), { minLength: 2, maxLength: 20 })], (load, stretches) => {
      const asked = curveOf(load)
      for (const [from, to] of stretches) {
        const fresh = () => curveOf(load)
        expect(asked.integral(from, to)).toBe(fresh().integral(from, to))
        expect(asked.nextBreakpoint(to)).toBe(fresh().nextBreakpoint(to))
        expect(asked.rateAt(from)).toBe(fresh().rateAt(from))
        expect(asked.firstOutside(20, 60, from)).toBe(fresh().firstOutside(20, 60, from))
      }
    })
  })

  test('the first above and the first at most are really the first', () => {
    forAll(
      [anyLoad(), anyStretch(), fc.double({ min: -1, max: 101, noNaN: true })],
      { numRuns: 300 },
      (load, [from, to], any) => {
        const curve = curveOf(load)
        const until = Math.min(to, from + 10 * MINUTE)
        // Levels that the load takes, too: there a rounding shows.
        for (const level of [any, curve.rateAt(until), curve.rateAt(curve.nextBreakpoint(from) === NEVER ? 0 : from)]) {
          for (const [found, holds] of [
            [curve.firstAbove(level, from, until), (t: Micros) => curve.rateAt(t) > level],
            [curve.firstAtMost(level, from, until), (t: Micros) => curve.rateAt(t) <= level],
          ] as const) {
            const before = corners(curve, from, Math.min(until, found - 1))
            expect(before.filter(holds)).toEqual([])
            if (found === NEVER) continue
            expect(found).toBeGreaterThan(from)
            expect(found).toBeLessThanOrEqual(until)
            expect(holds(found)).toBe(true)
          }
        }
      },
    )
  })
})

test('the first outside two levels is the earlier of the two, however far either is', () => {
  forAll([anyLoad(), anyStretch(), anyLevel(), anyLevel()], { numRuns: 300 }, (load, [from], one, other) => {
    const curve = curveOf(load)
    const [low, high] = [Math.min(one, other), Math.max(one, other)]
    const earlier = Math.min(curve.firstAtMost(low, from, NEVER), curve.firstAbove(high, from, NEVER))
    expect(curve.firstOutside(low, high, from)).toBe(earlier)
  })
})

test('between a moment and itself nothing is found', () => {
  const rising = curveOf({ kind: 'ramp', from: 0, to: 10, start: '0s', end: '10s' })
  const last = rising.firstAbove(5, 0, NEVER) - 1
  expect(rising.rateAt(last)).toBeLessThanOrEqual(5)
  expect(rising.firstAtMost(5, last, last)).toBe(NEVER)
})

describe('a wave', () => {
  const curve = curveOf({ kind: 'wave', low: 2, high: 40 })

  test('is high at its hour, low half a day away, every day', () => {
    for (const day of [0, 1, 29, 36_000]) {
      expect(curve.rateAt(day * DAY + 14 * HOUR)).toBe(40)
      expect(curve.rateAt(day * DAY + 2 * HOUR)).toBe(2)
      expect(curve.rateAt(day * DAY + 8 * HOUR)).toBe(21)
      expect(curve.rateAt(day * DAY + 20 * HOUR)).toBe(21)
    }
    expect(curve.integral(0, DAY)).toBeCloseTo(21 * 86_400, 6)
    expect(curve.integral(5 * HOUR, 30 * DAY + 5 * HOUR)).toBeCloseTo(30 * 21 * 86_400, 4)
  })

  test('says when it crosses a level, on whatever day', () => {
    expect(curve.firstAbove(21, 0, DAY)).toBe(8 * HOUR + 1)
    expect(curve.firstAtMost(21, 14 * HOUR, DAY)).toBe(20 * HOUR)
    expect(curve.firstAbove(21, 20 * DAY + 15 * HOUR, NEVER)).toBe(20 * DAY + 15 * HOUR + 1)
    expect(curve.firstAbove(21, 20 * DAY + 21 * HOUR, NEVER)).toBe(21 * DAY + 8 * HOUR + 1)
    expect(curve.firstAbove(21, 0, 8 * HOUR)).toBe(NEVER)
    expect(curve.firstAbove(40, 0, NEVER)).toBe(NEVER)
    expect(curve.firstAtMost(2, 14 * HOUR, NEVER)).toBe(26 * HOUR)
  })
})

describe('bursts', () => {
  const load = { kind: 'burst', base: 3, peak: 50, every: '6h', lasts: '10m' } as const
  const starts = (curve: LoadCurve) => {
    const found: Micros[] = []
    for (let t = curve.firstAbove(3, -1, NEVER); found.length < 100; t = curve.firstAbove(3, t, NEVER)) {
      found.push(t)
      t = curve.firstAtMost(3, t, NEVER)
      expect(t - found.at(-1)!).toBe(10 * MINUTE)
    }
    return found
  }

  test('come once in each stretch, where the seed and the deployment say', () => {
    const own = starts(curveOf(load))
    expect(own.map(t => Math.floor(t / (6 * HOUR)))).toEqual(own.map((_, i) => i))
    expect(own.every(t => (t % (6 * HOUR)) + 10 * MINUTE <= 6 * HOUR)).toBe(true)
    expect(new Set(own.map(t => t % (6 * HOUR))).size).toBe(100)
    expect(starts(curveOf(load))).toEqual(own)
    expect(starts(curveOf(load, 'acme/other'))).not.toEqual(own)
    expect(starts(curveOf(load, 'acme/chat', 2))).not.toEqual(own)
  })

  test('without jitter come in the middle of each', () => {
    const own = starts(curveOf({ ...load, jitter: 0 }))
    expect(own).toEqual(own.map((_, i) => i * 6 * HOUR + 175 * MINUTE))
  })

  test('bring the same number of requests in every stretch', () => {
    const curve = curveOf(load)
    expect(curve.integral(0, 6 * HOUR)).toBe(3 * 350 * 60 + 50 * 600)
    expect(curve.integral(0, 3650 * DAY)).toBe(4 * 3650 * (3 * 350 * 60 + 50 * 600))
  })

  test('that last as long as they come are a constant load', () => {
    const curve = curveOf({ ...load, lasts: '360m' })
    expect(curve.nextBreakpoint(0)).toBe(NEVER)
    expect(curve.rateAt(DAY)).toBe(50)
  })
})

describe('a trace', () => {
  const text = 'seconds,rps\n0,5\n60,8\n120,0\n'

  test('holds each rate until the next line, and the last for ever', () => {
    const curve = curveOf({ kind: 'trace', text })
    expect([0, 59, 60, 119, 120, 180, 1e6].map(s => curve.rateAt(s * SECOND))).toEqual([5, 5, 8, 8, 0, 0, 0])
    expect(curve.integral(0, DAY)).toBe(780)
    expect(curve.nextBreakpoint(120 * SECOND)).toBe(NEVER)
  })

  test('repeats after its last line has lasted as long as the one before', () => {
    const curve = curveOf({ kind: 'trace', text, repeat: true })
    expect([0, 59, 60, 120, 179, 180, 240].map(s => curve.rateAt(s * SECOND))).toEqual([5, 5, 8, 0, 0, 5, 8])
    expect(curve.integral(0, 30 * DAY)).toBe((780 * 30 * 86_400) / 180)
    expect(curve.firstAbove(7, 30 * DAY + 70 * SECOND, NEVER)).toBe(30 * DAY + 70 * SECOND + 1)
    expect(curve.firstAbove(7, 30 * DAY + 130 * SECOND, NEVER)).toBe(30 * DAY + 240 * SECOND)
  })

  test('is refused if its file was not read', () => {
    expect(() => curveOf({ kind: 'trace', path: 'x.csv' })).toThrow(
      "Failed to compile the trace 'x.csv': its text was not read. Read the file first.",
    )
  })

  test('of 100,000 lines answers from a tree, not by scanning', () => {
    const lines = Array.from({ length: 100_000 }, (_, i) => `${i},${i === 99_999 ? 9 : i % 7}`).join('\n')
    const curve = curveOf({ kind: 'trace', text: lines, repeat: true })
    for (let i = 0; i < 20_000; i++) expect(curve.firstAbove(8, i, NEVER)).toBe(99_999 * SECOND)
  })
})

test('a ramp is straight between its ends', () => {
  const curve = curveOf({ kind: 'ramp', from: 10, to: 0, start: '1h', end: '2h' })
  expect([0, 1, 1.5, 2, 3].map(h => curve.rateAt(h * HOUR))).toEqual([10, 10, 5, 0, 0])
  expect([0, 1.5 * HOUR, 2 * HOUR].map(t => curve.nextBreakpoint(t))).toEqual([HOUR, 2 * HOUR, NEVER])
  expect(curve.firstAtMost(5, 0, NEVER)).toBe(1.5 * HOUR)
  expect(curve.firstAtMost(0, 0, NEVER)).toBe(2 * HOUR)
  expect(curve.integral(0, DAY)).toBe(15 * 3600)
})

test('steps of the same rate are not break', () => {
  const curve = curveOf({
    kind: 'steps',
    steps: [
      { at: '1h', rps: 4 },
      { at: '2h', rps: 4 },
      { at: '3h', rps: 6 },
    ],
  })
  expect(curve.rateAt(0)).toBe(0)
  expect(curve.nextBreakpoint(0)).toBe(HOUR)
  expect(curve.nextBreakpoint(HOUR)).toBe(3 * HOUR)
})

test('another purpose of the same key leaves bursts where they are', () => {
  const chance = new Chance(1)
  const key = chance.key('deployment', 'acme/chat')
  const load = { kind: 'burst', base: 0, peak: 1, every: '1h', lasts: '1m', jitter: 1 } as const
  const curve = new LoadCurve({ ...load, prompt_tokens: 1, output_tokens: 1 }, { chance, key })
  const first = curve.firstAbove(0, -1, NEVER)
  chance.unit(key, 12_345, 0)
  expect(curve.firstAbove(0, -1, NEVER)).toBe(first)
  expect(curveOf(load).firstAbove(0, -1, NEVER)).toBe(first)
})
