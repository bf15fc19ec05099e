import type { World } from '../cluster/world.ts'
import { type Micros, readable } from '../kernel/duration.ts'
import { traceLine } from '../kernel/journal.ts'

/** `until` gave up: its condition did not come true in the time that it was given. */
export class UntilError extends Error {
  override readonly name = 'UntilError'

  /** With what happened last in the world, where time has come to the limit. */
  static after(within: Micros, world: World): UntilError {
    const last = world
      .history()
      .filter(entry => entry.kind !== 'request')
      .slice(-5)
      .map(entry => `\n  ${traceLine(entry)}`)
      .join('')
    return new UntilError(
      `Failed to reach the condition within ${readable(within)}: it does not hold at ${world.clock.iso()}. ` +
        `Allow more with { within }, or see what happened last (seed ${world.seed}):${last || '\n  nothing'}`,
    )
  }
}
