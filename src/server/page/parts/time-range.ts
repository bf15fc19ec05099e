/** Parts of the time, as times or as places of a scale: how they are zoomed and moved. */
export interface TimeRange {
  readonly from: number
  readonly to: number
}

/** Returns a range of another length around a place. Below 1, the factor shows less time. */
export function zoomed({ from, to }: TimeRange, factor: number, around = (from + to) / 2): TimeRange {
  return { from: around - (around - from) * factor, to: around + (to - around) * factor }
}

/** Returns a range that lies later by a share of its length. */
export function shifted({ from, to }: TimeRange, share: number): TimeRange {
  return { from: from + (to - from) * share, to: to + (to - from) * share }
}

/** Returns a range within another one, as long as it was wanted and at least so long; undefined for all of it. */
export function within(wanted: TimeRange, extent: TimeRange, least: number): TimeRange | undefined {
  const length = Math.max(least, wanted.to - wanted.from)
  if (length >= extent.to - extent.from) return undefined
  const middle = (wanted.from + wanted.to) / 2
  const from = Math.min(Math.max(extent.from, middle - length / 2), extent.to - length)
  return { from, to: from + length }
}

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
