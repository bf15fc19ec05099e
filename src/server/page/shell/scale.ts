/** Where times are on the timeline: the past takes most of the width, and the near future the rest. */

/** The share of the width that the past takes. */
const PAST_SHARE = 0.78
/** A world that just began has no past to draw. Its timeline then begins this many microseconds before now. */
const LEAST_PAST = 60_000_000

/** Times are microseconds since the epoch of the world; places are shares of the width, from 0 to 1. */
export class TimelineScale {
  readonly begin: number
  readonly now: number
  readonly end: number

  constructor(begin: number, now: number, ahead: number) {
    this.now = now
    this.begin = Math.min(begin, now - LEAST_PAST)
    this.end = now + ahead
  }

  placeOf(time: number): number {
    if (time <= this.now) return (PAST_SHARE * (time - this.begin)) / (this.now - this.begin)
    return PAST_SHARE + ((1 - PAST_SHARE) * (time - this.now)) / (this.end - this.now)
  }

  timeAt(place: number): number {
    if (place <= PAST_SHARE) return this.begin + (place / PAST_SHARE) * (this.now - this.begin)
    return this.now + ((place - PAST_SHARE) / (1 - PAST_SHARE)) * (this.end - this.now)
  }
}
