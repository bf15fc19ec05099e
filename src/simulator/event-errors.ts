import type { World } from '../simulation/world.ts'
import { warn } from './clock/fake-timers.ts'
import type { SimulatorClock } from './clock/simulator-clock.ts'
import type { SimulatorOptions } from './options.ts'

/**
 * Reports what an event of a world throws to `onBug`. If the option is missing, the first error of the world is a warning
 * of the process. With `check`, the move of time in progress rejects with the error when it is complete.
 */
export function reportEventErrors(world: World, { onBug, check }: SimulatorOptions, clock: () => SimulatorClock): void {
  let hasWarned = false
  world.onEventError = (error, event) => {
    try {
      if (onBug !== undefined) onBug(error, event)
      else if (!hasWarned) {
        hasWarned = true
        warn(`A bug of modelhost-sim in the event ${event}: ${String(error)}. Please report it.`)
      }
    } catch (thrown) {
      clock().fail(thrown)
    }
    if (check) clock().fail(error, true)
  }
}
