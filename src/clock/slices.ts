/** Moves of time for a server: in slices, so that its other worlds and its health go on in between. */
import type { World } from '../cluster/world.ts'
import type { Micros } from '../kernel/duration.ts'
import { monotonicMs } from '../kernel/pacer.ts'
import { began, type Happened, happenedSince } from './happened.ts'
import { turn } from './turns.ts'

/** How long one slice may hold the process. */
const SLICE_MS = 20

/** What of a clock is needed to move it. */
interface Movable {
  readonly world: World
  prepare(): Promise<void>
  /** Brings the world up to where its clock says. */
  catchUp(): void
  /** Everything up to `target` happens, and who sleeps until then is woken. */
  fire(target: Micros): void
  /** Time was moved: its mode goes on from there. */
  moved(): void
  /** Throws when the world is another by now. */
  demandSame(world: World): void
}

/** Lets the process go on where a slice is over. */
export type Breathe = () => Promise<void> | undefined

export class Slices {
  readonly #clock: Movable
  #underWay: Promise<void> | undefined
  #interrupted = false

  constructor(clock: Movable) {
    this.#clock = clock
  }

  /** Resolves when the move that is under way is over; undefined when there is none. */
  get underWay(): Promise<void> | undefined {
    return this.#underWay
  }

  /** Ends moves early, where they are. */
  interrupt(): void {
    this.#interrupted = true
  }

  /** Runs a move, for which everybody else waits. */
  async move<T>(run: (breathe: Breathe) => Promise<T>): Promise<T> {
    await this.#clock.prepare()
    let release = () => {}
    this.#underWay = new Promise(resolve => {
      release = resolve
    })
    let since = monotonicMs()
    const breathe = () => {
      if (monotonicMs() - since < SLICE_MS) return undefined
      return turn().then(() => {
        since = monotonicMs()
      })
    }
    try {
      this.#clock.catchUp()
      return await run(breathe)
    } finally {
      this.#clock.moved()
      this.#underWay = undefined
      release()
    }
  }

  async runTo(end: Micros, breathe: Breathe): Promise<Happened> {
    const start = began(this.#clock.world)
    while (this.#clock.world.next(end)) {
      const pause = breathe()
      if (pause) await pause
      this.#clock.demandSame(start.world)
      if (this.#interrupted) return happenedSince(start)
    }
    this.#clock.fire(end)
    this.#clock.demandSame(start.world)
    return happenedSince(start)
  }

  /** Goes to the next change that a client could see; false, with time at `limit`, when none comes. */
  async toNextChange(limit: Micros, breathe: Breathe): Promise<boolean> {
    const seen = this.#clock.world.visibleChanges
    while (this.#clock.world.visibleChanges === seen) {
      if (!this.#clock.world.next(limit)) {
        if (limit < Number.POSITIVE_INFINITY) this.#clock.fire(limit)
        return false
      }
      const pause = breathe()
      if (pause) await pause
      if (this.#interrupted) return false
    }
    return true
  }
}
