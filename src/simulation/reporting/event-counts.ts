import type { World } from '../world.ts'
import type { CountedWindow } from './counted-window.ts'

/** The number of events by kind. */
export type EventCounts = ReturnType<World['history']['eventCountsAt']>

/** Returns the number of events of each kind in the window. */
export function eventCountsBetween({ history }: World, { after, to }: CountedWindow): EventCounts {
  const [before, counts] = [history.eventCountsAt(after), history.eventCountsAt(to)]
  for (const kind of Object.keys(counts) as (keyof typeof counts)[]) counts[kind] -= before[kind]
  return counts
}
