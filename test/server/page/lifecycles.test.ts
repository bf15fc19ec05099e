/** Where the lanes of lifecycles draw times and states. */

import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { shifted, within, zoomed } from '../../../src/server/page/parts/time-range.ts'
import {
  compareLives,
  findIdleGaps,
  placeSegments,
  TimeScale,
  tickStep,
  WHOLE,
} from '../../../src/server/page/views/lifecycles/lane-places.ts'
import type { Lifecycle, Segment } from '../../../src/server/page/views/lifecycles/lifecycle-model.ts'
import { forAll } from '../../setup/for-all.ts'

const MINUTE = 60_000_000
const HOUR = 60 * MINUTE

const times = fc.array(fc.integer({ min: 0, max: 30 * 24 * HOUR }), { minLength: 1, maxLength: 60 })

describe('the scale of time', () => {
  test('keeps the order of times, and gives each place back its time, with gaps compressed or not', () => {
    forAll([times, fc.boolean()], (list, isTrue) => {
      const end = Math.max(...list) + 1
      const scale = new TimeScale(0, end, isTrue ? [] : findIdleGaps(list, 0, end))
      const sorted = [...list].sort((a, b) => a - b)
      const places = sorted.map(time => scale.toPlace(time))
      for (const [index, place] of places.entries()) {
        expect(place).toBeGreaterThanOrEqual(places[index - 1] ?? 0)
        expect(Math.abs(scale.toTime(place) - sorted[index]!)).toBeLessThanOrEqual(end * 1e-9 + 1)
      }
      expect(scale.toPlace(0)).toBe(0)
      expect(scale.toPlace(end)).toBeCloseTo(1)
    })
  })

  test('compresses only time in which nothing happens, and at most half of the width', () => {
    forAll([times], list => {
      const end = Math.max(...list) + 1
      const gaps = findIdleGaps(list, 0, end)
      for (const { begin, end: gapEnd } of gaps) expect(list.filter(time => time > begin && time < gapEnd)).toEqual([])
      const scale = new TimeScale(0, end, gaps)
      const compressed = gaps.reduce((sum, gap) => sum + scale.toPlace(gap.end) - scale.toPlace(gap.begin), 0)
      expect(compressed).toBeLessThanOrEqual(0.5 + 1e-9)
    })
  })

  test('gives two busy minutes the room, and three idle days a sliver', () => {
    const busy = [1, 2, 3, 4, 5, 6].map(count => count * 20_000_000)
    const end = 72 * HOUR
    const scale = new TimeScale(0, end, findIdleGaps(busy, 0, end))
    expect(scale.gaps).toHaveLength(1)
    expect(scale.toPlace(2 * MINUTE)).toBeGreaterThan(0.4)
    expect(new TimeScale(0, end, []).toPlace(2 * MINUTE)).toBeLessThan(0.001)
  })

  test('has ticks at round times', () => {
    const expected = [1_000_000, 10 * MINUTE, 6 * HOUR, 56 * 24 * HOUR]
    expect([900_000, 7 * MINUTE, 5 * HOUR, 40 * 24 * HOUR].map(tickStep)).toEqual(expected)
  })
})

test('a zoom stays within the scale, and shows all of it at the end', () => {
  forAll(
    [fc.array(fc.tuple(fc.double({ min: 0.2, max: 3, noNaN: true }), fc.double({ min: 0, max: 1, noNaN: true })))],
    moves => {
      let window = WHOLE
      for (const [factor, around] of moves) {
        const place = window.from + around * (window.to - window.from)
        window = within(zoomed(window, factor, place), WHOLE, 1e-6) ?? WHOLE
        window = within(shifted(window, factor - 1), WHOLE, 1e-6) ?? WHOLE
        expect(window.from).toBeGreaterThanOrEqual(-1e-9)
        expect(window.to).toBeLessThanOrEqual(1 + 1e-9)
        expect(window.to).toBeGreaterThan(window.from)
      }
      expect(within(zoomed(window, 1e9, 0.5), WHOLE, 1e-6)).toBeUndefined()
    },
  )
})

describe('the states of a row', () => {
  const segments: Segment[] = [
    { state: 'initializing', begin: 0, end: 10, seq: 1 },
    { state: 'downloading', begin: 10, end: 11, seq: 2 },
    { state: 'running', begin: 11, end: null, seq: 3 },
  ]

  test('have six pixels at least, one after the other', () => {
    const placed = placeSegments({ segments }, time => time, 100, 500)
    const expected = [
      [0, 10],
      [10, 16],
      [16, 100],
    ]
    expect(placed.map(({ left, right }) => [left, right])).toEqual(expected)
  })

  test('of another world differ where it has more replicas', () => {
    const segment = { state: 'running', begin: 0, end: null, seq: 1 }
    const lifeOf = (...replicas: (readonly [time: number, ready: number])[]) =>
      ({
        segments: [segment],
        replicas: replicas.map(([time, ready]) => ({ time, ready, starting: 0 })),
      }) as unknown as Lifecycle
    const parts = compareLives(lifeOf([0, 1], [30, 3]), lifeOf([0, 1], [20, 2], [50, 3]), { ghostNow: 100, ownNow: 80 })
    const expected = [
      [0, 20, 1, true],
      [20, 30, 1, false],
      [30, 50, 3, false],
      [50, 100, 3, true],
    ]
    expect(parts.map(({ begin, end, ready, isSame }) => [begin, end, ready, isSame])).toEqual(expected)
  })

  test('of another world are cut where both differ', () => {
    const own = { segments, replicas: [] } as unknown as Lifecycle
    const ghost = {
      segments: [
        segments[0],
        { state: 'running', begin: 10, end: 40, seq: 2 },
        { state: 'failed', begin: 40, end: null, seq: 9 },
      ],
      replicas: [],
    } as unknown as Lifecycle
    const parts = compareLives(ghost, own, { ghostNow: 60, ownNow: 100 })
    expect(parts.map(({ segment, begin, end, isSame }) => [segment.state, begin, end, isSame])).toEqual([
      ['initializing', 0, 10, true],
      ['running', 10, 11, false],
      ['running', 11, 40, true],
      ['failed', 40, 60, false],
    ])
  })
})
