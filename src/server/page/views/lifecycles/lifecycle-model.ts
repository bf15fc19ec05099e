/** The lifecycles as the page keeps them: whole, from answers that have only what changed. */

import type { AnswersByRoute } from '../../store/ask.ts'
import type { Folding } from '../../store/live-answer.ts'

type LifecyclesAnswer = AnswersByRoute['GET /_sim/lifecycles']
export type Lifecycle = LifecyclesAnswer['rows'][number]
export type Segment = Lifecycle['segments'][number]

export type Mark = Lifecycle['marks'][number]

export interface Lifecycles {
  readonly revision: number
  /** Virtual time: microseconds since the epoch of the world. */
  readonly now: number
  /** Entries of the journal that were dropped, and cannot be shown. */
  readonly dropped: number
  readonly rows: ReadonlyMap<string, Lifecycle>
  /** What happened to the provider, the account and the fault rules. */
  readonly worldMarks: readonly Mark[]
  /** Where an answer of several pages goes on. */
  readonly next: { readonly since?: number; readonly after: string } | undefined
}

/** Rows of a page. */
export const PAGE_ROWS = 500

export const LIFECYCLES_FOLDING: Folding<'GET /_sim/lifecycles', Lifecycles> = {
  since: ({ revision, next }) => next ?? { since: revision },
  isPartial: ({ next }) => next !== undefined,
  fold(before, { revision, full, now_time: now, dropped, rows, world_marks: marks }) {
    const isFirstPage = before?.next === undefined
    const byId = new Map(full && isFirstPage ? undefined : before?.rows)
    for (const row of rows) byId.set(row.id, row)
    const last = rows.at(-1)
    const since = isFirstPage ? (full ? undefined : before?.revision) : before.next.since
    return {
      // What changes between two pages is in the answer to the revision of the first one.
      ...{ revision: isFirstPage ? revision : before.revision, now, dropped, rows: byId },
      worldMarks: full ? marks : joinMarks(before?.worldMarks ?? [], marks),
      next:
        rows.length < PAGE_ROWS || last === undefined
          ? undefined
          : { ...(since !== undefined && { since }), after: last.id },
    }
  },
}

function joinMarks(before: readonly Mark[], marks: readonly Mark[]): readonly Mark[] {
  const last = before.at(-1)?.seq ?? 0
  const added = marks.filter(({ seq }) => seq > last)
  return added.length === 0 ? before : [...before, ...added]
}

/** A row of the view: a lifecycle of the shown world, that of another world, or both. */
export interface Row {
  readonly id: string
  readonly kind: string
  readonly name: string
  readonly own: Lifecycle | undefined
  readonly ghost: Lifecycle | undefined
}

/** The kinds of things that a person can choose. Those without a choice are shown too, with all. */
export const KIND_CHOICES = [
  { value: 'all', title: 'All', kinds: ['deployment', 'batch', 'container', 'hosted'] },
  { value: 'deployments', title: 'Deployments', kinds: ['deployment'] },
  { value: 'instances', title: 'Instances', kinds: ['instance'] },
  { value: 'batches', title: 'Batches', kinds: ['batch'] },
  { value: 'rentals', title: 'Rentals', kinds: ['container', 'hosted'] },
  { value: 'nodes', title: 'Nodes', kinds: ['node'] },
] as const

/** Returns the rows of some kinds whose name or id has a text, in the order in which they began. */
export function toRows(
  own: Lifecycles | undefined,
  ghost: Lifecycles | undefined,
  { kinds, text }: { kinds: readonly string[]; text: string },
): Row[] {
  const wanted = text.trim().toLowerCase()
  const isWanted = ({ id, name, kind, owner }: Lifecycle) =>
    kinds.includes(kind) && (wanted === '' || [id, name, owner].some(one => one?.toLowerCase().includes(wanted)))
  const rows: Row[] = []
  for (const row of own?.rows.values() ?? []) {
    if (isWanted(row)) rows.push({ ...pick(row), own: row, ghost: ghost?.rows.get(row.id) })
  }
  for (const row of ghost?.rows.values() ?? []) {
    if (own?.rows.has(row.id) !== true && isWanted(row)) rows.push({ ...pick(row), own: undefined, ghost: row })
  }
  return rows.sort((a, b) => beginOf(a) - beginOf(b) || (a.id < b.id ? -1 : 1))
}

function pick({ id, kind, name }: Lifecycle) {
  return { id, kind, name }
}

function beginOf({ own, ghost }: Row): number {
  return Math.max(0, (own ?? ghost)!.begin)
}

/**
 * Returns the first time at which something is shown, for the begin of the axis. A world can be older than what is known
 * of it: that of a snapshot, for example.
 */
export function beginOfAll(lifecycles: Lifecycles | undefined): number {
  let begin = Number.POSITIVE_INFINITY
  for (const row of lifecycles?.rows.values() ?? []) begin = Math.min(begin, row.begin)
  for (const { time } of lifecycles?.worldMarks ?? []) begin = Math.min(begin, time)
  return Number.isFinite(begin) ? Math.max(0, begin) : 0
}

/** Returns all times at which something changes in some rows or in their world, for the scale. */
export function timesOf(rows: readonly Row[], worldMarks: readonly Mark[]): number[] {
  const times: number[] = []
  for (const { own, ghost } of rows) {
    for (const life of [own, ghost]) {
      if (life === undefined) continue
      for (const { begin, end } of life.segments) {
        times.push(begin)
        if (end !== null) times.push(end)
      }
      for (const { time } of life.marks) times.push(time)
      for (const { time } of life.replicas) times.push(time)
    }
  }
  for (const { time } of worldMarks) times.push(time)
  return times
}
