import { monotonicMs } from '../lib/real-time.ts'
import type { Micros } from './duration.ts'

/**
 * Scales real time to a world's time.
 *
 * It gives the time that a world should have reached; the world catches up at its next request. Changing the speed or
 * pausing never jumps, because each change starts a new base at the time reached.
 */
export class Pacer {
  #speed: number
  #base: Micros
  #since: number
  #paused = false

  /**
   * @param speed simulated seconds in a real second; 60 makes an hour pass in a minute
   * @param base the present time of the world
   */
  constructor(speed: number, base: Micros) {
    this.#speed = speed
    this.#base = base
    this.#since = monotonicMs()
  }

  /** Where the world's time should be, in microseconds since its epoch. */
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

  /** Goes on from here at another speed. */
  setSpeed(speed: number): void {
    this.rebase(this.target)
    this.#speed = speed
  }

  /** Goes on from `base`: after the world was moved by hand. */
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
