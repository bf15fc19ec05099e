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

/** A part of the state of another world, and whether this world has the same state then. */
export interface GhostPart {
  readonly segment: Segment
  readonly begin: number
  readonly end: number
  readonly isSame: boolean
}

/** Returns the states of another world, cut where the states of this world begin and end. */
export function compareSegments(
  ghost: Lifecycle,
  own: Lifecycle | undefined,
  { ghostNow, ownNow }: { ghostNow: number; ownNow: number },
): GhostPart[] {
  const cuts = (own?.segments ?? []).flatMap(({ begin, end }) => [begin, end ?? ownNow])
  const parts: GhostPart[] = []
  for (const segment of ghost.segments) {
    const end = isGone(segment.state) ? segment.begin : (segment.end ?? ghostNow)
    const inner = cuts.filter(time => time > segment.begin && time < end).sort((a, b) => a - b)
    let begin = segment.begin
    for (const cut of [...inner, end]) {
      const isSame = own !== undefined && stateAt(own, begin, ownNow) === segment.state
      const last = parts.at(-1)
      if (last !== undefined && last.segment === segment && last.isSame === isSame) {
        parts[parts.length - 1] = { ...last, end: cut }
      } else parts.push({ segment, begin, end: cut, isSame })
      begin = cut
    }
  }
  return parts
}
