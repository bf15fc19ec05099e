/** Long work in slices: between two of them, the event loop answers other requests. */
import { eventLoopTurn, monotonicMs } from './real-time.ts'

/** Longest real time of a slice in milliseconds. */
const SLICE_MS = 20

/** Work that can pause at each `yield`. */
export type Steps<Result> = Generator<void, Result>

/** Measures the real time since the last turn of the event loop. */
export class Slices {
  #start = monotonicMs()

  /** Returns a turn of the event loop to await if the slice is over; undefined if not, since each await has a cost. */
  turnIfDue(): Promise<void> | undefined {
    if (monotonicMs() - this.#start < SLICE_MS) return undefined
    return eventLoopTurn().then(() => {
      this.#start = monotonicMs()
    })
  }
}

/** Does the work in slices. Resolves to its result. */
export async function inSlices<Result>(work: Steps<Result>, slices = new Slices()): Promise<Result> {
  for (;;) {
    const step = work.next()
    if (step.done) return step.value
    const turn = slices.turnIfDue()
    if (turn) await turn
  }
}

/** Does the work at once. Returns its result. */
export function withoutPause<Result>(work: Steps<Result>): Result {
  for (;;) {
    const step = work.next()
    if (step.done) return step.value
  }
}
