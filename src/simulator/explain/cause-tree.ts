/** What caused a journal entry, back to the first cause, and everything that came of it, up to the money. */

import type { Entry } from '../../kernel/journal.ts'
import { groupBy } from '../../lib/lists.ts'
import type { Simulator } from '../simulator.ts'
import { Causes } from './causes.ts'
import { findEntry, toExplained, withoutRepeats } from './explain.ts'
import { type MoneyOwner, type MoneyView, moneySeries } from './money-tracker.ts'
import { waitingBecauseOf } from './waits.ts'

interface Effect {
  readonly entry: Entry
  /** Steps from the entry whose effects are listed. */
  readonly depth: number
}

/**
 * Returns the causes and the effects of a journal entry, and what the things of both cost.
 *
 * @param limit the most effects that are listed: the oldest
 * @throws RangeError for an unknown position
 */
export function findCauseTree(sim: Simulator, seq: number, limit: number, { owners }: MoneyView) {
  const causes = new Causes(sim)
  const entry = findEntry(sim, causes, seq)
  const all = causes.effectsOf([entry])
  const toView = (each: Entry) => toExplained(sim, each)
  return {
    /** The first cause first. Repeated steps of a subject are left out. */
    causes: withoutRepeats(causes.chainOf(entry).slice(1)).reverse().map(toView),
    entry: toView(entry),
    /** The number of all effects. */
    matched: all.length,
    /** Each below its own cause, in the order of time. */
    effects: toTree(causes, entry, all.slice(0, limit)).map(effect => ({
      ...toView(effect.entry),
      depth: effect.depth,
    })),
    /** Deployments that wait now because of the entry. What a stock-out prevents has no entry of its own. */
    waiting: waitingBecauseOf(sim.world, entry, causes.entries),
    /** The most expensive since then first. */
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

/** Returns the owners of costs among things, with what each cost since a time. */
function costsSince({ world }: Simulator, owners: readonly MoneyOwner[], from: number, subjects: ReadonlySet<string>) {
  const to = world.clock.now
  const named = owners.filter(({ id }) => subjects.has(id))
  if (named.length === 0) return []
  const series = to > from ? moneySeries(world, { from, to, step: to - from }) : undefined
  return named
    .map(owner => ({ ...owner, since: series?.spent[0]?.[series.owners.indexOf(owner.id)] ?? 0 }))
    .sort((one, other) => other.since - one.since)
}
