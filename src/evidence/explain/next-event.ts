/** What happens to a thing next, if no further request and no command changes it. */

import { DAY, formatDuration } from '../../kernel/duration.ts'
import type { Entry } from '../../kernel/journal.ts'
import type { World } from '../../simulation/world.ts'
import type { NextEvent } from './explanation.ts'
import { describeEntry } from './kind-sentences.ts'

/** How far ahead it looks. */
const HORIZON = 30 * DAY
const MAX_EVENTS = 100_000

/**
 * Returns the next journal entry that matches, by running a copy of the world ahead: at most 30 days and 100,000 events.
 * What happens follows from the seed, so the copy does what the world will do. Undefined if nothing matches by then, or
 * if a batch runs and its tokenizer is not loaded.
 */
export function findNextEvent(world: World, matches: (entry: Entry) => boolean): NextEvent | undefined {
  if (world.needsTokenizer) return undefined
  // The copy must not report its errors as errors of the world.
  const future = world.fork()
  future.onEventError = () => {}
  let next: Entry | undefined
  future.journal.listen(entry => {
    if (next === undefined && matches(entry)) next = entry
  })
  const limit = world.clock.now + HORIZON
  for (let events = 0; next === undefined && events < MAX_EVENTS && future.next(limit); events++);
  if (next === undefined) return undefined
  return {
    at: world.clock.iso(next.time),
    in: formatDuration(next.time - world.clock.now),
    sentence: describeEntry(next),
  }
}
