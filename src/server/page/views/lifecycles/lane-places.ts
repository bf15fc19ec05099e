/** Where the states of a row are drawn, and what lies under the pointer. Pixels are those of the drawing. */
import { countWhile } from '../../../../lib/lists.ts'
import { CornerScale, type TimeRange, within } from '../../parts/time-range.ts'
import { TIME_STEPS } from '../../plots/ticks.ts'
import { isGone, type Lifecycle, type Mark, type Row, type Segment } from './lifecycle-model.ts'

/** Least width of a state, so that a short one is seen. */
const MIN_WIDTH = 6
/** How far short states may push later ones from their places. Then they get one pixel each. */
const MAX_SHIFT = 24
/** Width of the last state of something that is gone. */
const CAP_WIDTH = 15

interface PlacedSegment {
  readonly segment: Segment
  readonly left: number
  readonly right: number
}

/**
 * Returns the places of the states of a row, in their order, without those outside of the drawing.
 *
 * @param toX returns the place of a time
 * @param now the time at which a state ends that goes on
 */
export function placeSegments(
  { segments }: Pick<Lifecycle, 'segments'>,
  toX: (time: number) => number,
  now: number,
  width: number,
): PlacedSegment[] {
  const placed: PlacedSegment[] = []
  let free = Number.NEGATIVE_INFINITY
  for (const segment of segments) {
    const begin = toX(segment.begin)
    const end = isGone(segment.state) ? begin + CAP_WIDTH : toX(segment.end ?? now)
    const left = Math.max(begin, free)
    const right = Math.max(end, left + (left - begin > MAX_SHIFT ? 1 : MIN_WIDTH))
    free = right
    if (right >= 0 && left <= width) placed.push({ segment, left, right })
  }
  return placed
}

/** Returns the state of a lifecycle at a time, if it had begun. */
function stateAt({ segments }: Lifecycle, time: number, now: number): string | undefined {
  return segments.find(({ begin, end }) => begin <= time && time < (end ?? now + 1))?.state
}

/** A part of the life in another world, and whether this world has the same state and as many ready replicas then. */
interface GhostPart {
  readonly segment: Segment
  readonly begin: number
  readonly end: number
  /** Ready replicas in the other world; undefined for things without replicas. */
  readonly ready: number | undefined
  readonly isSame: boolean
}

/** Returns the life in another world, cut where it differs from the life in this one. */
export function compareLives(
  ghost: Lifecycle,
  own: Lifecycle | undefined,
  { ghostNow, ownNow }: { ghostNow: number; ownNow: number },
): GhostPart[] {
  const cuts = [
    ...(own?.segments ?? []).flatMap(({ begin, end }) => [begin, end ?? ownNow]),
    ...(own?.replicas ?? []).map(({ time }) => time),
    ...ghost.replicas.map(({ time }) => time),
  ].sort((a, b) => a - b)
  const parts: GhostPart[] = []
  let cut = 0
  for (const segment of ghost.segments) {
    const end = isGone(segment.state) ? segment.begin : (segment.end ?? ghostNow)
    let begin = segment.begin
    while (cut < cuts.length && cuts[cut]! <= begin) cut++
    for (;;) {
      const next = Math.min(end, cuts[cut] ?? end)
      const ready = readyAt(ghost, begin)
      // After the end of this world there is nothing to differ from.
      const isSame =
        own !== undefined &&
        (begin >= ownNow || (stateAt(own, begin, ownNow) === segment.state && readyAt(own, begin) === ready))
      const last = parts.at(-1)
      const isLonger = last !== undefined && last.segment === segment && last.isSame === isSame
      if (isLonger && (isSame || last.ready === ready)) parts[parts.length - 1] = { ...last, end: next }
      else parts.push({ segment, begin, end: next, ready, isSame })
      if (next >= end) break
      begin = next
      while (cut < cuts.length && cuts[cut]! <= begin) cut++
    }
  }
  return parts
}

/** Returns the ready replicas at a time; undefined for a thing without replicas. */
function readyAt({ replicas }: Lifecycle, time: number): number | undefined {
  return replicas[countWhile(replicas.length, index => replicas[index]!.time <= time) - 1]?.ready
}

/** Height of the axis above the rows. */
export const AXIS_HEIGHT = 28
/** Space at the right for what happens next. */
export const RIGHT_MARGIN = 20

/** Heights of a row and its parts in pixels. */
interface RowShape {
  readonly height: number
  /** From the top of the row. */
  readonly bar: number
  readonly replicas: number
  readonly ghost: number
}

export const PLAIN_ROW: RowShape = { height: 46, bar: 6, replicas: 26, ghost: 0 }
export const GHOST_ROW: RowShape = { height: 60, bar: 6, replicas: 26, ghost: 44 }
export const BAR_HEIGHT = 17
export const REPLICAS_HEIGHT = 13
export const GHOST_HEIGHT = 9

export interface LanesScene {
  readonly rows: readonly Row[]
  readonly shape: RowShape
  readonly scale: TimeScale
  readonly worldMarks: readonly Mark[]
  /** The visible part of the scale. */
  readonly window: TimeRange
  readonly width: number
  /** First visible pixel of the rows. */
  readonly top: number
  /** The time of this world and of the other one: microseconds since the epoch of the world. */
  readonly now: number
  readonly ghostNow: number | undefined
  /** The name of the other world. */
  readonly ghostWorld: string | undefined
  /** The epoch of the world: milliseconds since 1970. */
  readonly epochMs: number
  /** Id of the row whose inspector is open. */
  readonly selected: string | undefined
}

/** Returns a time of the world as ISO 8601. */
export function isoOf({ epochMs }: Pick<LanesScene, 'epochMs'>, time: number): string {
  return new Date(epochMs + time / 1000).toISOString()
}

export function toX({ scale, window, width }: LanesScene, time: number): number {
  return ((scale.toPlace(time) - window.from) / (window.to - window.from)) * (width - RIGHT_MARGIN)
}

/** Returns the place of the scale at a pixel. */
export function toPlace({ window, width }: Pick<LanesScene, 'window' | 'width'>, x: number): number {
  return window.from + (x / Math.max(1, width - RIGHT_MARGIN)) * (window.to - window.from)
}

export function toTime(scene: LanesScene, x: number): number {
  return scene.scale.toTime(toPlace(scene, x))
}

export const WHOLE: TimeRange = { from: 0, to: 1 }
const LEAST_WINDOW = 1e-6

/** Returns the window of a part of the time, which is in microseconds since the epoch of the world; undefined: all of it. */
export function windowOf(span: TimeRange | undefined, scale: TimeScale): TimeRange {
  return span === undefined ? WHOLE : { from: scale.toPlace(span.from), to: scale.toPlace(span.to) }
}

/** Returns the part of the time in a window, as far as the scale goes; undefined for all of it. */
export function spanOf(window: TimeRange, scale: TimeScale): TimeRange | undefined {
  const kept = within(window, WHOLE, LEAST_WINDOW)
  return kept && { from: scale.toTime(kept.from), to: scale.toTime(kept.to) }
}

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
