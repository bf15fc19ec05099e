/** What happens to a thing next, if no further request and no command changes it. */

import { DAY, formatDuration } from '../../kernel/duration.ts'
import type { Entry } from '../../kernel/journal.ts'
import { LIMITS } from '../../lib/limits.ts'
import { formatCount } from '../../lib/text/format-count.ts'
import type { World } from '../../simulation/world.ts'
import type { NextEvent } from './explanation.ts'
import { describeEntry } from './kind-sentences.ts'
import { toFuture } from './sentence.ts'

/** How far ahead it looks. */
const HORIZON = 30 * DAY
/** What it costs at most: the copy of a fleet of 1,000 GPUs takes up to a tenth of a millisecond for an event. */
const MAX_EVENTS = LIMITS.explainEvents
/** What it says of a thing whose state is final. */
export const NOTHING_PLANNED = 'Nothing is planned that changes it.'

/** What a look ahead found: the next event, or how far it looked. */
export interface LookAhead {
  readonly next?: NextEvent
  /** Says that it found nothing, and up to when. */
  readonly sentence?: string
}

/**
 * Looks for the next journal entry that matches, by running a copy of the world ahead: at most 30 days and 1,500 events.
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
    const sentence = toFuture(describeEntry(found))
    return { next: { at: clock.iso(time), in: formatDuration(time - clock.now), sentence } }
  }
  if (future.agenda.size === 0) return { sentence: NOTHING_PLANNED }
  if (events < MAX_EVENTS) return { sentence: `Nothing is planned that changes it up to ${clock.iso(limit)}.` }
  const sentence = `The next ${formatCount(events)} events of the world, up to ${clock.iso(future.clock.now)}, do not change it.`
  return { sentence }
}
