import { EventCapError } from '../../../kernel/loop.ts'
import { LIMITS } from '../../../lib/limits.ts'

/**
 * Counts the events of a move to the next change. Without a bound, a world whose events no client can see would move on
 * for ever.
 */
export class SilentEvents {
  #count = 0

  /** @throws EventCapError if too many events have left no change. They stay. */
  add(visible: boolean): void {
    if (++this.#count < LIMITS.silentEvents) return
    const change = visible ? 'a change that a client could see' : 'an entry of the journal'
    throw new EventCapError(
      `Failed to move to the next change: ${this.#count} events were fired without ${change}. ` +
        'Give the longest wait, as in next({ within: "1h" }), or advance by a duration.',
    )
  }
}
