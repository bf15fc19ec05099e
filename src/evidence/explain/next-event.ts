/** What happens to a thing next, if no further request and no command changes it. */

import { DAY, formatDuration } from '../../kernel/duration.ts'
import type { Entry } from '../../kernel/journal.ts'
import type { World } from '../../simulation/world.ts'
import type { NextEvent } from './explanation.ts'
import { describeEntry } from './kind-sentences.ts'

/** How far ahead it looks. */
const HORIZON = 30 * DAY
const MAX_EVENTS = 25_000

/** What a look ahead found: the next event, or how far it looked. */
export interface LookAhead {
  readonly next?: NextEvent
  /** Says that it found nothing, and up to when. */
  readonly sentence?: string
}

/**
 * Looks for the next journal entry that matches, by running a copy of the world ahead: at most 30 days and 25,000 events.
 * What happens follows from the seed, so the copy does what the world will do.
 */
export function lookAhead(world: World, matches: (entry: Entry) => boolean): LookAhead {
  if (world.needsTokenizer) {
    return { sentence: 'What happens next is unknown, because a batch runs and the tokenizer is not loaded.' }
  }
  const { clock } = world
  // The copy must not report its errors as errors of the world.
  const future = world.fork()
  future.onEventError = () => {}
  let found: Entry | undefined
  future.journal.listen(entry => {
    if (found === undefined && matches(entry)) found = entry
  })
  const limit = clock.now + HORIZON
  let events = 0
  while (found === undefined && events < MAX_EVENTS && future.next(limit)) events++
  if (found !== undefined) {
    const { time } = found
    return { next: { at: clock.iso(time), in: formatDuration(time - clock.now), sentence: describeEntry(found) } }
  }
  if (future.agenda.size === 0) return { sentence: 'Nothing is planned that changes it.' }
  const until = events < MAX_EVENTS ? limit : future.clock.now
  return { sentence: `Nothing is planned that changes it up to ${clock.iso(until)}.` }
}
