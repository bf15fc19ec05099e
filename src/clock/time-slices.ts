/** Moves of time for a server: in slices, so that its other worlds and its health go on in between. */

import type { Micros } from '../kernel/duration.ts'
import { eventLoopTurn, monotonicMs } from '../lib/real-time.ts'
import type { World } from '../simulation/world.ts'
import { type MoveResult, moveResultSince, startMove } from './move-result.ts'

/** How long one slice may hold the process. */
const SLICE_MS = 20

/** What of a clock is needed to move it. */
interface MovableClock {
  readonly world: World
  prepare(): Promise<void>
  /** Brings the world up to where its clock says. */
  catchUp(): void
  /** Everything up to `target` happens, and who sleeps until then is woken. */
  fire(target: Micros): void
  /** Time was moved: its mode goes on from there. */
  onMoved(): void
  /** Throws when the world is another by now. */
  assertSameWorld(world: World): void
}

/** Lets the process go on where a slice is over. */
export type YieldIfDue = () => Promise<void> | undefined

export class Slices {
  readonly #clock: MovableClock
  #currentMove: Promise<void> | undefined
  #isInterrupted = false

  constructor(clock: MovableClock) {
    this.#clock = clock
  }

  /** Resolves when the move that is under way is over; undefined when there is none. */
  get currentMove(): Promise<void> | undefined {
    return this.#currentMove
  }

  /** Ends moves early, where they are. */
  interrupt(): void {
    this.#isInterrupted = true
  }

  /** Runs a move, for which everybody else waits. */
  async move<T>(run: (yieldIfDue: YieldIfDue) => Promise<T>): Promise<T> {
    await this.#clock.prepare()
    let release = () => {}
    this.#currentMove = new Promise(resolve => {
      release = resolve
    })
    let sliceStart = monotonicMs()
    const breathe = () => {
      if (monotonicMs() - sliceStart < SLICE_MS) return undefined
      return eventLoopTurn().then(() => {
        sliceStart = monotonicMs()
      })
    }
    try {
      this.#clock.catchUp()
      return await run(breathe)
    } finally {
      this.#clock.onMoved()
      this.#currentMove = undefined
      release()
    }
  }

  async runTo(end: Micros, yieldIfDue: YieldIfDue): Promise<MoveResult> {
    const start = startMove(this.#clock.world)
    while (this.#clock.world.next(end)) {
      const yielded = yieldIfDue()
      if (yielded) await yielded
      this.#clock.assertSameWorld(start.world)
      if (this.#isInterrupted) return moveResultSince(start)
    }
    this.#clock.fire(end)
    this.#clock.assertSameWorld(start.world)
    return moveResultSince(start)
  }

  /** Goes to the next change that a client could see; false, with time at `limit`, when none comes. */
  async toNextChange(limit: Micros, yieldIfDue: YieldIfDue): Promise<boolean> {
    const changesBefore = this.#clock.world.visibleChanges
    while (this.#clock.world.visibleChanges === changesBefore) {
      if (!this.#clock.world.next(limit)) {
        if (limit < Number.POSITIVE_INFINITY) this.#clock.fire(limit)
        return false
      }
      const yielded = yieldIfDue()
      if (yielded) await yielded
      if (this.#isInterrupted) return false
    }
    return true
  }
}
