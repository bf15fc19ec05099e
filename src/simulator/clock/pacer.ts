import type { Micros } from '../../kernel/duration.ts'
import { monotonicMs } from '../../lib/real-time.ts'

/**
 * Scales real time to a world's time.
 *
 * It returns the time that a world should have reached. The world catches up at its next request. A change of speed or
 * a pause never makes time jump, because each change starts a new base at the present time.
 */
export class Pacer {
  #speed: number
  #base: Micros
  #since: number
  #paused = false

  /**
   * @param speed simulated seconds in a real second. With 60 an hour takes a minute.
   * @param base the present time of the world
   */
  constructor(speed: number, base: Micros) {
    this.#speed = speed
    this.#base = base
    this.#since = monotonicMs()
  }

  /** The time that the world should have, in microseconds since its epoch. */
  get target(): Micros {
    if (this.#paused) return this.#base
    return Math.floor(this.#base + (monotonicMs() - this.#since) * 1000 * this.#speed)
  }

  get speed(): number {
    return this.#speed
  }

  get paused(): boolean {
    return this.#paused
  }

  /** Goes on from the present time at another speed. */
  setSpeed(speed: number): void {
    this.rebase(this.target)
    this.#speed = speed
  }

  /** Goes on from `base`, after a manual move of the world. */
  rebase(base: Micros): void {
    this.#base = base
    this.#since = monotonicMs()
  }

  pause(): void {
    this.rebase(this.target)
    this.#paused = true
  }

  resume(): void {
    this.rebase(this.#base)
    this.#paused = false
  }
}
