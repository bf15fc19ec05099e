/** Where the states of a row are drawn, and what lies under the pointer. Pixels are those of the drawing. */
import type { Lifecycle, Segment } from './lifecycle-model.ts'
import { isGone } from './state-styles.ts'

/** Least width of a state, so that a short one is seen. */
const MIN_WIDTH = 6
/** How far short states may push later ones from their places. Then they get one pixel each. */
const MAX_SHIFT = 24
/** Width of the last state of something that is gone. */
const CAP_WIDTH = 15

export interface PlacedSegment {
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
export function stateAt({ segments }: Lifecycle, time: number, now: number): string | undefined {
  return segments.find(({ begin, end }) => begin <= time && time < (end ?? now + 1))?.state
}

/** A part of the life in another world, and whether this world has the same state and as many ready replicas then. */
export interface GhostPart {
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
