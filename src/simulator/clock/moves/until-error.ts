import { formatDuration, type Micros } from '../../../kernel/duration.ts'
import { formatTraceLine } from '../../../kernel/entry.ts'
import { acceptCopies } from '../../../lib/errors.ts'
import type { World } from '../../../simulation/world.ts'

/** The condition of `until` was not true within its limit of time. */
export class UntilError extends Error {
  override readonly name = 'UntilError'

  /** Creates the error at the end of the limit, with the last journal entries of the world. */
  static after(within: Micros, world: World): UntilError {
    const recentEntries = world.journal
      .entries()
      .filter(entry => entry.kind !== 'request')
      .slice(-5)
      .map(entry => `\n  ${formatTraceLine(entry)}`)
      .join('')
    return new UntilError(
      `Failed to reach the condition within ${formatDuration(within)}: it does not hold at ${world.clock.iso()}. ` +
        `Allow more with { within }, or see what happened last (seed ${world.seed}):${recentEntries || '\n  nothing'}`,
    )
  }
}
acceptCopies(UntilError, 'UntilError')
