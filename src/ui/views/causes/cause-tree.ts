/** What caused a journal entry, and what came of it, from the entries that the page has. */
import type { ControlEntry } from '../../../control/client/index.ts'

export interface CauseNode {
  readonly entry: ControlEntry
  /** Steps from the selected entry: negative for causes, 0 for itself, positive for effects. */
  readonly distance: number
  /** How many more effects it has that are not shown. */
  readonly hidden: number
}

/** The most effects of one entry, and of all, that are shown. */
const MAX_CHILDREN = 12
const MAX_NODES = 300

/**
 * Returns the causes of an entry, the first cause first, then the entry, then its effects: each below its own cause, in
 * the order of time. Empty if the page does not have the entry.
 */
export function findCauseTree(entries: readonly ControlEntry[], seq: number): readonly CauseNode[] {
  const index = new EntryIndex(entries)
  const selected = index.find(seq)
  if (selected === undefined) return []
  const causes: ControlEntry[] = []
  for (let cause = index.find(selected.cause); cause !== undefined; cause = index.find(cause.cause))
    causes.unshift(cause)
  const nodes: CauseNode[] = causes.map((entry, place) => ({ entry, distance: place - causes.length, hidden: 0 }))
  const add = (entry: ControlEntry, distance: number) => {
    const effects = index.effectsOf(entry.seq)
    const shown = effects.slice(0, MAX_CHILDREN)
    nodes.push({ entry, distance, hidden: effects.length - shown.length })
    for (const effect of shown) if (nodes.length < MAX_NODES) add(effect, distance + 1)
  }
  add(selected, 0)
  return nodes
}

class EntryIndex {
  readonly #entries: readonly ControlEntry[]
  #effects: Map<number, ControlEntry[]> | undefined

  constructor(entries: readonly ControlEntry[]) {
    this.#entries = entries
  }

  /** Entries are in the order of their positions, so a search by halves finds one. */
  find(seq: number): ControlEntry | undefined {
    let [low, high] = [0, this.#entries.length - 1]
    while (low <= high) {
      const middle = (low + high) >> 1
      const entry = this.#entries[middle]!
      if (entry.seq === seq) return entry
      if (entry.seq < seq) low = middle + 1
      else high = middle - 1
    }
    return undefined
  }

  effectsOf(seq: number): readonly ControlEntry[] {
    this.#effects ??= this.#groupByCause()
    return this.#effects.get(seq) ?? []
  }

  #groupByCause(): Map<number, ControlEntry[]> {
    const groups = new Map<number, ControlEntry[]>()
    for (const entry of this.#entries) {
      if (entry.cause === 0) continue
      const group = groups.get(entry.cause)
      if (group === undefined) groups.set(entry.cause, [entry])
      else group.push(entry)
    }
    return groups
  }
}
