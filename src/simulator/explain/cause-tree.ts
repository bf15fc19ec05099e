/** What caused a journal entry, back to the first cause, and everything that came of it, up to the money. */

import type { Entry } from '../../kernel/journal.ts'
import { groupBy } from '../../lib/lists.ts'
import type { Simulator } from '../simulator.ts'
import { Causes } from './causes.ts'
import { findEntry, withoutRepeats } from './explain.ts'
import { type MoneyOwner, type MoneyView, moneySeries } from './money-tracker.ts'
import { type Waiting, waitingBecauseOf } from './waits.ts'

export interface Effect {
  readonly entry: Entry
  /** Steps from the entry whose effects are listed. */
  readonly depth: number
}

/** The owner of costs among the things that an entry and its effects are about. */
export interface CostSince extends MoneyOwner {
  /** What it cost since the time of the entry. */
  readonly since: number
}

export interface CauseTree {
  /** The first cause first. Repeated steps of a subject are left out. */
  readonly causes: readonly Entry[]
  readonly entry: Entry
  /** Each below its own cause, in the order of time. */
  readonly effects: readonly Effect[]
  /** The number of all effects. */
  readonly matched: number
  /** Deployments that wait now because of the entry. What a stock-out prevents has no entry of its own. */
  readonly waiting: readonly Waiting[]
  /** The most expensive since then first. */
  readonly money: readonly CostSince[]
}

/**
 * Returns the causes and the effects of a journal entry.
 *
 * @param limit the most effects that are listed: the oldest
 * @throws RangeError for an unknown position
 */
export function findCauseTree(sim: Simulator, seq: number, limit: number, { owners }: MoneyView): CauseTree {
  const causes = new Causes(sim)
  const entry = findEntry(sim, causes, seq)
  const all = causes.effectsOf([entry])
  return {
    causes: withoutRepeats(causes.chainOf(entry).slice(1)).reverse(),
    entry,
    effects: toTree(causes, entry, all.slice(0, limit)),
    matched: all.length,
    waiting: waitingBecauseOf(sim.world, entry, causes.entries),
    money: costsSince(sim, owners, entry.time, subjectsOf(causes, [entry, ...all])),
  }
}

/** Puts effects below their causes. The cause of a listed one is listed too, since it is older. */
function toTree(causes: Causes, root: Entry, effects: readonly Entry[]): Effect[] {
  const listed = new Set(effects)
  const byCause = groupBy(effects, effect => {
    const cause = causes.causeOf(effect)
    return cause !== undefined && listed.has(cause) ? cause : root
  })
  const tree: Effect[] = []
  const open: Effect[] = [{ entry: root, depth: 0 }]
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { entry, depth } = next
    if (depth > 0) tree.push(next)
    for (const effect of (byCause.get(entry) ?? []).reverse()) open.push({ entry: effect, depth: depth + 1 })
  }
  return tree
}

/** Returns the ids of the things that entries are about. A request names several. */
function subjectsOf(causes: Causes, entries: readonly Entry[]): Set<string> {
  const subjects = new Set<string>()
  for (const { kind, subject, seq } of entries) {
    for (const id of kind === 'request' ? (causes.received(seq)?.subjects ?? []) : [subject]) {
      subjects.add(id)
      // An instance is paid by its deployment.
      subjects.add(id.slice(0, Math.max(0, id.lastIndexOf('-'))))
    }
  }
  return subjects
}

function costsSince(
  { world }: Simulator,
  owners: readonly MoneyOwner[],
  from: number,
  subjects: ReadonlySet<string>,
): CostSince[] {
  const to = world.clock.now
  const named = owners.filter(({ id }) => subjects.has(id))
  if (named.length === 0) return []
  const series = to > from ? moneySeries(world, { from, to, step: to - from }) : undefined
  return named
    .map(owner => ({ ...owner, since: series?.spent[0]?.[series.owners.indexOf(owner.id)] ?? 0 }))
    .sort((one, other) => other.since - one.since)
}
