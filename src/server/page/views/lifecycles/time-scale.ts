/**
 * Where a time lies in the drawing. Times are microseconds since the epoch of the world; places are shares of the whole
 * width, from 0 to 1. A gap in which nothing happens may be compressed, so that what happens has the room.
 */
import { TIME_STEPS } from '../../plots/ticks.ts'

export interface IdleGap {
  readonly begin: number
  readonly end: number
}

/** A gap is idle if it has more than this share of the time that is not yet compressed. */
const IDLE_SHARE = 0.15
/** A shorter gap is never compressed, in microseconds. */
const MIN_IDLE = 120_000_000
const MAX_GAPS = 8
/** What a gap keeps of itself at each of its ends, at most. */
const MAX_MARGIN = 60_000_000
/** The share of the width that a compressed gap has, and the most that all have together. */
const GAP_SHARE = 0.06
const MAX_GAPS_SHARE = 0.5

interface Corner {
  readonly time: number
  readonly place: number
}

/** Places of times on straight lines between corners, and beyond the first and the last. */
export class CornerScale {
  readonly #corners: readonly Corner[]

  /** @param corners at least two, in the order of time */
  constructor(corners: readonly Corner[]) {
    this.#corners = corners
  }

  /** Returns the place of a time. Times before and after the scale lie outside of 0 and 1. */
  toPlace(time: number): number {
    return this.#convert(time, 'time', 'place')
  }

  /** Returns the time at a place: the opposite of `toPlace`. */
  toTime(place: number): number {
    return this.#convert(place, 'place', 'time')
  }

  #convert(value: number, from: keyof Corner, to: keyof Corner): number {
    const corners = this.#corners
    let i = 1
    // A line without a length has no slope.
    while (i < corners.length - 1 && (value > corners[i]![from] || corners[i]![from] === corners[i - 1]![from])) i++
    const [a, b] = [corners[i - 1]!, corners[i]!]
    return a[to] + ((value - a[from]) / (b[from] - a[from])) * (b[to] - a[to])
  }
}

export class TimeScale extends CornerScale {
  readonly gaps: readonly IdleGap[]
  /** Share of the width of each microsecond that is not compressed. */
  readonly slope: number

  constructor(from: number, to: number, gaps: readonly IdleGap[]) {
    const active = to - from - gaps.reduce((sum, { begin, end }) => sum + end - begin, 0)
    const gapShare = gaps.length === 0 ? 0 : Math.min(GAP_SHARE, MAX_GAPS_SHARE / gaps.length)
    const slope = (1 - gapShare * gaps.length) / Math.max(1, active)
    const corners = [{ time: from, place: 0 }]
    for (const { begin, end } of gaps) {
      const last = corners.at(-1)!
      const place = last.place + (begin - last.time) * slope
      corners.push({ time: begin, place }, { time: end, place: place + gapShare })
    }
    corners.push({ time: Math.max(to, from + 1), place: 1 })
    super(corners)
    this.gaps = gaps
    this.slope = slope
  }
}

/**
 * Returns the gaps between times in which nothing happens for long, in their order. The longest gap goes first: it is
 * idle if it is long beside the rest of the time. Then the next longest is compared with what is left.
 *
 * @param times in any order
 */
export function findIdleGaps(times: readonly number[], from: number, to: number): IdleGap[] {
  // A typed array sorts numbers many times as fast as an array. A large world has 60,000 times.
  const sorted = Float64Array.from([from, ...times.filter(time => time > from && time < to), to]).sort()
  const gaps: IdleGap[] = []
  for (let index = 1; index < sorted.length; index++) {
    const [begin, end] = [sorted[index - 1]!, sorted[index]!]
    if (end - begin >= MIN_IDLE) gaps.push({ begin, end })
  }
  gaps.sort((a, b) => b.end - b.begin - (a.end - a.begin))
  let active = to - from
  const idle: IdleGap[] = []
  for (const { begin, end } of gaps) {
    const length = end - begin
    if (length < IDLE_SHARE * active || idle.length === MAX_GAPS) break
    active -= length
    // What comes before and after the gap keeps a little of it, so that its states are seen to go on.
    const margin = Math.min(length * 0.05, MAX_MARGIN)
    idle.push({ begin: begin + margin, end: end - margin })
  }
  return idle.sort((a, b) => a.begin - b.begin)
}

const SECOND = 1_000_000
/** Longer steps are multiples of four weeks. */
const LONGEST_STEP = 2 * TIME_STEPS.at(-1)! * SECOND

/** Returns a step between ticks that leaves at least so much time between them. */
export function tickStep(least: number): number {
  const step = TIME_STEPS.find(seconds => seconds * SECOND >= least)
  return step === undefined ? Math.ceil(least / LONGEST_STEP) * LONGEST_STEP : step * SECOND
}
