import type { Micros } from './duration.ts'

/**
 * Real time, scaled: the only reader of a real clock in the simulator.
 *
 * It says where a world's time should be; the world catches up when somebody asks it something. Changing the speed or
 * pausing never jumps, because each change starts a new base at the time reached.
 */
export class Pacer {
  #speed: number
  #base: Micros
  #since: number
  #paused = false

  /**
   * @param speed simulated seconds in a real second; 60 makes an hour pass in a minute
   * @param base where the world's time stands now
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

/** Milliseconds of a real clock that never goes back: for measuring how long something took, never for an answer. */
export function monotonicMs(): number {
  return realNow()
}

// Captured at import: under the fake timers of a test runner the real clock must go on. Where they stand already, the
// time that the process has been up is one that nobody fakes.
const realNow: () => number =
  'clock' in performance.now && typeof process === 'object'
    ? () => process.uptime() * 1000
    : performance.now.bind(performance)

/** The wall's time in milliseconds since 1970, only for `--epoch now`. */
export function wallMs(): number {
  return Date.now()
}
