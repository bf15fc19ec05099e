import { afterEach } from 'vitest'

/**
 * The real clock, in the hands of a test. `src` captures `performance.now` when it is imported. As a setup file, this is
 * imported before. After each test, the clock goes on by itself.
 */
interface WallClock {
  /** Milliseconds that the clock shows; undefined for the real time. */
  now: number | undefined
  /** Milliseconds that each further read of the real time adds. */
  ahead: number
  /** What the reads added so far. */
  added: number
}

const KEY = Symbol.for('modelhost-sim.wallClock')
const worker = globalThis as { [KEY]?: WallClock }

if (worker[KEY] === undefined) {
  const clock: WallClock = { now: undefined, ahead: 0, added: 0 }
  worker[KEY] = clock
  const realNow = performance.now.bind(performance)
  performance.now = () => {
    clock.added += clock.ahead
    return clock.now ?? realNow() + clock.added
  }
}

export const wall: WallClock = worker[KEY]
// Tests share a worker. Time does not go back, so what was added stays.
afterEach(() => {
  wall.now = undefined
  wall.ahead = 0
})
