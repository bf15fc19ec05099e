/** Where the states of a row are drawn, and what lies under the pointer. Pixels are those of the drawing. */
import type { Lifecycle, Mark, Row, Segment } from './lifecycle-model.ts'
import { isGone } from './lifecycle-model.ts'
import type { TimeScale } from './time-scale.ts'

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
  let [low, high] = [0, replicas.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if (replicas[middle]!.time <= time) low = middle + 1
    else high = middle
  }
  return replicas[low - 1]?.ready
}

/** Height of the axis above the rows. */
export const AXIS_HEIGHT = 28
/** Space at the right for what happens next. */
const RIGHT_MARGIN = 20

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

/** A part of the time: as places of the scale, or as times. */
export interface TimeWindow {
  readonly from: number
  readonly to: number
}

export interface LanesScene {
  readonly rows: readonly Row[]
  readonly shape: RowShape
  readonly scale: TimeScale
  readonly worldMarks: readonly Mark[]
  readonly window: TimeWindow
  readonly width: number
  /** First visible pixel of the rows. */
  readonly top: number
  /** The time of this world and of the other one: microseconds since the epoch of the world. */
  readonly now: number
  readonly ghostNow: number | undefined
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

export const WHOLE: TimeWindow = { from: 0, to: 1 }
const LEAST_WINDOW = 1e-6

/** Returns the window of a part of the time, which is in microseconds since the epoch of the world; undefined: all of it. */
export function windowOf(span: TimeWindow | undefined, scale: TimeScale): TimeWindow {
  return span === undefined ? WHOLE : { from: scale.toPlace(span.from), to: scale.toPlace(span.to) }
}

/** Returns the part of the time in a window; undefined for all of it. */
export function spanOf(window: TimeWindow, scale: TimeScale): TimeWindow | undefined {
  return window === WHOLE ? undefined : { from: scale.toTime(window.from), to: scale.toTime(window.to) }
}

/** Returns a window of another width around a place. Below 1, the factor shows less time. */
export function zoomed({ from, to }: TimeWindow, factor: number, around: number): TimeWindow {
  const width = Math.max(LEAST_WINDOW, (to - from) * factor)
  if (width >= 1) return WHOLE
  return shifted({ from: around - ((around - from) / (to - from)) * width, to: 0 }, 0, width)
}

/** Returns a window that lies later by a part of the scale, within the scale. */
export function shifted({ from, to }: TimeWindow, by: number, width: number = to - from): TimeWindow {
  const begin = Math.min(Math.max(0, from + by), 1 - width)
  return { from: begin, to: begin + width }
}
