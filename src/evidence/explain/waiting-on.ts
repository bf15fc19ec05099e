/** Which deployments wait because of a journal entry. A stock-out has no effects: what it prevents has no entry. */

import type { Entry } from '../../kernel/journal.ts'
import type { World } from '../../simulation/world.ts'
import { formatNumberOf, formatValue } from './sentence.ts'
import { waitOf } from './waits.ts'

/** The kinds of entries that begin a wait. Without them, no deployment has to be read. */
const BEGINS_WAIT =
  /^(?:pool\.(?:stockedOut|soldOut)|zone\.down|hub\.(?:down|throttled)|registry\.down|autoscaler\.frozen|account\.suspended|limit\.(?:set|approved)|node\.(?:cordoned|drained|preemptionNoticed|crashed|lost|preempted)|gpu\.failed)$/
/** The most deployments that the sentence names. */
const MAX_NAMED = 3

/** A deployment that waits. */
export interface Waiting {
  readonly id: string
  readonly name: string
}

/** Returns the deployments that wait now because of an entry. */
export function waitingBecauseOf(world: World, entry: Entry, entries: readonly Entry[]): readonly Waiting[] {
  if (!BEGINS_WAIT.test(entry.kind)) return []
  return [...world.deployments.entries()].flatMap(([, row]) => {
    const { began } = waitOf(world, row) ?? {}
    const isBegin = began?.(entry) === true && entries.findLast(one => began(one)) === entry
    return isBegin ? [{ id: row.id, name: row.plan.modelName }] : []
  })
}

/** Returns the sentence that names the deployments which wait now because of an entry; none if no deployment does. */
export function describeWaiting(world: World, entry: Entry, entries: readonly Entry[]): readonly string[] {
  const names = waitingBecauseOf(world, entry, entries).map(({ name }) => name)
  if (names.length === 0) return []
  const rest = names.length - MAX_NAMED
  const named = names.slice(0, MAX_NAMED).map(formatValue).join(', ')
  const verb = names.length === 1 ? 'waits' : 'wait'
  const words = `${formatNumberOf(names.length, 'deployment')} ${verb} because of it: ${named}`
  return [`${words}${rest > 0 ? ` and ${formatNumberOf(rest, 'other')}` : ''}.`]
}
