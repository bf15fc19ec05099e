/** The lives of deployments, instances, batches, rentals and nodes as a page draws them. */

import type { Micros } from '../../../kernel/duration.ts'
import type { Entry } from '../../../kernel/journal.ts'
import type { Simulator } from '../../../simulator/simulator.ts'
import { Lifecycle, type LifeKind, MINOR_KINDS } from './lifecycle.ts'
import { priorStatesOf } from './prior-state.ts'

/** The kind of row that an entry belongs to, by the first word of its kind. */
const KIND_OF_FAMILY: Readonly<Record<string, LifeKind>> = {
  ...{ deployment: 'deployment', adapter: 'deployment', instance: 'instance', batch: 'batch' },
  ...{ hosted: 'hosted', container: 'container', node: 'node', gpu: 'node', disk: 'node' },
}
/** Entries of the whole world that are shown beside the rows. */
const WORLD_KINDS =
  /^(?:zone|pool|hub|registry|autoscaler|provisioning|account|funds|card|price|limit|rateLimit|spendingLimit|topup|fault|scenario)\./

/** The life of a thing. */
export interface Life {
  readonly id: string
  readonly kind: LifeKind
  readonly lifecycle: Lifecycle
  /** The kept requests that name it. */
  requests: number
}

/** Which lives are read. */
interface LifeFilter {
  /** Empty for all kinds. */
  readonly kinds: ReadonlySet<string>
  /** Lives that overlap this window. */
  readonly from: Micros
  readonly to: Micros
}

/** Reads the lives of things from the journal, the oldest first, and what happened to the whole world. */
export function readLives(
  { world, requestLog }: Simulator,
  filter: LifeFilter,
): { readonly lives: readonly Life[]; readonly worldMarks: readonly Entry[] } {
  const { deployments, instances, batches, rentals, journal } = world
  const lives = new Map<string, Life>()
  const worldMarks: Entry[] = []
  const stateBefore = priorStatesOf(world)
  const entries = journal.entries()
  const isWanted = (kind: LifeKind) => filter.kinds.size === 0 || filter.kinds.has(kind)
  const begin = (id: string, kind: LifeKind, first?: Entry) => {
    const life = { id, kind, lifecycle: new Lifecycle(), requests: 0 }
    const prior = stateBefore(kind, id, first)
    if (prior !== undefined) life.lifecycle.beginIn(prior.name, prior.begin)
    else if (first === undefined) return
    lives.set(id, life)
  }
  // First come the things that have no entry in the journal.
  const mentioned = new Set(entries.map(({ subject }) => subject))
  for (const [kind, rows] of [
    ...[['deployment', deployments] as const, ['instance', instances] as const],
    ...[['batch', batches] as const, [undefined, rentals] as const],
  ]) {
    for (const [, row] of rows.entries()) {
      const own = kind ?? (row as { readonly kind: LifeKind }).kind
      if (!mentioned.has(row.id) && isWanted(own)) begin(row.id, own)
    }
  }
  for (const entry of entries) {
    const { kind, subject } = entry
    if (MINOR_KINDS.test(kind)) continue
    const lifeKind = KIND_OF_FAMILY[kind.slice(0, kind.indexOf('.'))]
    if (lifeKind === undefined) {
      if (WORLD_KINDS.test(kind)) worldMarks.push(entry)
    } else if (isWanted(lifeKind)) {
      if (!lives.has(subject)) begin(subject, lifeKind, entry)
      lives.get(subject)!.lifecycle.add(entry)
    }
  }
  for (let number = requestLog.dropped + 1; number <= requestLog.total; number++) {
    for (const id of requestLog.read(world, number)?.subjects ?? []) {
      const life = lives.get(id)
      if (life !== undefined) life.requests++
    }
  }
  return { lives: [...lives.values()].filter(life => isWithin(life, filter)), worldMarks }
}

function isWithin({ lifecycle: { segments, marks, last } }: Life, { from, to }: LifeFilter): boolean {
  const begin = Math.min(segments[0]?.begin ?? Number.POSITIVE_INFINITY, marks[0]?.time ?? Number.POSITIVE_INFINITY)
  const end = last?.isFinal ? last.begin : Number.POSITIVE_INFINITY
  return begin <= to && end >= from
}
