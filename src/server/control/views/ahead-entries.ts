/** What will happen if no further request and no command comes: the coming journal entries of a copy of the world. */

import type { Micros } from '../../../kernel/duration.ts'
import type { Entry } from '../../../kernel/journal.ts'
import { LIMITS } from '../../../lib/limits.ts'
import { Slices } from '../../../lib/slices.ts'
import type { World } from '../../../simulation/world.ts'
import { requireWithinMaxAge } from '../../../simulator/clock/moves/arguments.ts'
import { describeEntry } from '../../../simulator/explain/kind-sentences.ts'
import { MINOR_KINDS } from './lifecycle.ts'

/** What a look ahead looks for. */
export interface AheadOptions {
  /** How far it looks, in microseconds. */
  readonly by: Micros
  /** The most entries. */
  readonly limit: number
  /** Whether it leaves out what no client can see. */
  readonly isVisibleOnly: boolean
}

/**
 * Runs a copy of the world ahead and returns its journal entries: at most `limit`, and those of 50,000 events. The world
 * does not change. It gives other requests a turn every few milliseconds.
 *
 * @throws RangeError for a time beyond the age of a world
 */
export async function lookAheadFrom(world: World, { by, limit, isVisibleOnly }: AheadOptions) {
  const from = world.clock.now
  const end = requireWithinMaxAge(from + by)
  const future = world.fork()
  // The copy must not report its errors as errors of the world.
  future.onEventError = () => {}
  const entries: { time: Micros; kind: string; subject: string; sentence: string; visible: boolean }[] = []
  let step: Entry[] = []
  future.journal.listen(entry => step.push(entry))
  let events = 0
  const slices = new Slices()
  const conclude = (stoppedBy: 'time' | 'limit' | 'events' | 'nothing', to: Micros) => ({
    from,
    to,
    stoppedBy,
    events,
    entries,
  })
  while (events < LIMITS.aheadEvents) {
    const before = future.visibleChanges
    if (!future.next(end)) return conclude(future.agenda.size === 0 ? 'nothing' : 'time', end)
    events++
    const visible = future.visibleChanges !== before
    for (const entry of step) {
      if (isMinor(entry.kind) || (isVisibleOnly && !visible)) continue
      const { time, kind, subject } = entry
      entries.push({ time, kind, subject, sentence: describeEntry(entry), visible })
      if (entries.length >= limit) return conclude('limit', time)
    }
    step = []
    const turn = slices.turnIfDue()
    if (turn) await turn
  }
  return conclude('events', future.clock.now)
}

/** A pulled image is a step within the start of an instance, which a look ahead need not show. */
function isMinor(kind: string): boolean {
  return kind === 'instance.imagePulled' || MINOR_KINDS.test(kind)
}
