/** What the end of a client tells: the ids that it keeps. */

import { leavesOf } from '../../../simulator/judge/answers/leaves.ts'
import type { ClientEnd } from '../../../simulator/judge/observation.ts'

/** Returns the ids that the end of a client names: anywhere in its result, or in its error. */
export function findOwnedIds(end: ClientEnd, ids: readonly string[]): ReadonlySet<string> {
  if (ids.length === 0 || end.kind === 'unsettled') return new Set()
  const leaves = leavesOf(end.kind === 'returned' ? end.result : end.error)
  const texts = leaves.flatMap(({ place, value }) => [...place, value]).filter(one => typeof one === 'string')
  return new Set(ids.filter(id => texts.some(text => text.includes(id))))
}
