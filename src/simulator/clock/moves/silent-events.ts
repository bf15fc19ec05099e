import { EventCapError } from '../../../kernel/loop.ts'
import { LIMITS } from '../../../lib/limits.ts'

/**
 * Bounds a move to the next change. Without a bound, a world whose events no client can see would move on for ever.
 *
 * @throws EventCapError if so many events have left no change. They stay.
 */
export function assertFewSilentEvents(count: number, visible: boolean): void {
  if (count < LIMITS.silentEvents) return
  const change = visible ? 'a change that a client could see' : 'an entry of the journal'
  throw new EventCapError(
    `Failed to move to the next change: ${count} events were fired without ${change}. ` +
      'Give the longest wait, as in next({ within: "1h" }), or advance by a duration.',
  )
}
