/** What differs between two worlds now, and the entry with which they went apart. */

import type { Micros } from '../../../kernel/duration.ts'
import type { Entry, RequestEntry } from '../../../kernel/journal.ts'
import type { World } from '../../../simulation/world.ts'
import { compareMoney, compareStates } from '../../../simulator/history/replay/consequences.ts'
import { isControlRequest } from '../../../simulator/observer.ts'
import type { Simulator } from '../../../simulator/simulator.ts'

/** A difference between a world and another one. */
export interface WorldDifference {
  readonly kind: 'state' | 'money' | 'count' | 'request' | 'time'
  /** An id, or what is counted. A request is counted by its operation and status. */
  readonly subject: string
  readonly before: string
  readonly after: string
}

/**
 * Position of the newest entry that a world shares with its earlier state. If it cannot be found, as for the start of a
 * fork, it is `unknown`.
 */
export type LastShared = number | 'unknown'

/**
 * Compares two worlds. Journals are compared from the time on that both have, and requests since a fork of the one from
 * the other.
 *
 * @param lastShared the newest entry of `after` that came before `before`, if that is an earlier state of `after`, or
 *   `unknown`
 */
export function compareWorlds(before: Simulator, after: Simulator, lastShared?: LastShared) {
  const hasSameTime = before.world.clock.now === after.world.clock.now
  const [one, other] = [present(before), present(after)]
  const requests = compareRequests(before, after, lastShared)
  return {
    equal: hasSameTime && before.digest === after.digest,
    same_time: hasSameTime,
    differences: [
      ...(hasSameTime
        ? []
        : [{ kind: 'time' as const, subject: 'now', before: before.clock.iso, after: after.clock.iso }]),
      ...(compareStates(one, other) as WorldDifference[]),
      ...compareTexts('state', nodeStates(before.world), nodeStates(after.world)),
      ...(compareMoney(one, other) as WorldDifference[]),
      ...compareTexts('count', countsOf(before), countsOf(after)),
      // Last: a read that only one world got changes nothing else.
      ...(requests ?? []),
    ] satisfies WorldDifference[],
    /** No, if requests before a fork cannot be distinguished from those after it. */
    requests_compared: requests !== undefined,
    divergence: findDivergence(before, after),
  }
}

/** Returns the states that things went through, and the money, as far as two plays are compared by them. */
function present({ world, ledger }: Simulator) {
  const states = new Map<string, readonly { readonly at: Micros; readonly became: string }[]>()
  for (const [, row] of world.deployments.entries()) {
    const statuses = [...world.history.statuses(row)].reverse()
    states.set(
      row.id,
      statuses.map(({ at, status }) => ({ at: Math.max(0, at), became: status })),
    )
  }
  for (const [, { id, createdAt, status, statusTimes }] of world.batches.entries()) {
    const times = Object.entries(statusTimes) as [string, Micros][]
    const passed = times.sort(([, a], [, b]) => a - b).map(([became, at]) => ({ at: Math.max(0, at), became }))
    states.set(id, passed.length > 0 ? passed : [{ at: Math.max(0, createdAt), became: status }])
  }
  for (const [, { id, state, since }] of world.rentals.entries()) {
    states.set(id, [{ at: Math.max(0, since), became: state }])
  }
  const postings = new Map<string, number>()
  for (const { kind, microcents } of ledger.entries()) postings.set(kind, (postings.get(kind) ?? 0) + microcents)
  return { states, balance: ledger.balance, postings }
}

function nodeStates({ nodes }: World): Map<string, string> {
  return new Map(
    nodes.list().map(({ name, state, free, broken, slowdown }) => {
      const more = [broken > 0 ? `${broken} broken` : '', slowdown === 1 ? '' : `slower by ${slowdown}`]
      return [name, [state, `${free} free`, ...more].filter(Boolean).join(', ')]
    }),
  )
}

function countsOf({ world: { deployments, instances, batches, files } }: Simulator): Map<string, string> {
  return new Map([
    ['deployments', String(deployments.count)],
    ['instances', String(instances.count)],
    ['batches', String([...batches.entries()].length)],
    ['files', String(files.list().length)],
  ])
}

/** Compares the requests of clients. A fork has none of those that its origin got before. */
function compareRequests(before: Simulator, after: Simulator, lastShared?: LastShared): WorldDifference[] | undefined {
  const [one, other] = [before.world.journal, after.world.journal]
  const own = requestsSince(before, other.lastBeforeFork(one))
  const others = requestsSince(after, lastShared ?? one.lastBeforeFork(other))
  return own && others && compareTexts('request', own, others)
}

/** Counts the requests after an entry; undefined if it is unknown, or the journal has dropped some of them. */
function requestsSince(sim: Simulator, last: LastShared): Map<string, string> | undefined {
  const nameOf = (operation: string, status: number) =>
    `${operation || 'unknown paths'}: ${status === 0 ? 'no answer' : status}`
  if (last === 0) {
    return new Map(sim.requestCounts.map(({ operation, status, count }) => [nameOf(operation, status), String(count)]))
  }
  const { journal } = sim.world
  if (last === 'unknown' || journal.dropped > last) return undefined
  const counts = new Map<string, number>()
  for (const entry of journal.entries(last)) {
    if (!isAnswered(entry)) continue
    const { operation, status } = entry.fields
    const name = nameOf(operation, status)
    counts.set(name, (counts.get(name) ?? 0) + 1)
  }
  return new Map([...counts].map(([name, count]) => [name, String(count)]))
}

/** Returns whether an entry is a request of a client that is no longer pending. */
function isAnswered(entry: Entry): entry is RequestEntry {
  if (entry.kind !== 'request' || isControlRequest(entry)) return false
  const { status, decidedBy } = (entry as RequestEntry).fields
  return status !== 0 || decidedBy !== 'none'
}

function compareTexts(
  kind: WorldDifference['kind'],
  before: ReadonlyMap<string, string>,
  after: ReadonlyMap<string, string>,
): WorldDifference[] {
  const missing = kind === 'count' || kind === 'request' ? '0' : 'missing'
  return [...new Set([...before.keys(), ...after.keys()])].flatMap(subject => {
    const [one, other] = [before.get(subject) ?? missing, after.get(subject) ?? missing]
    return one === other ? [] : [{ kind, subject, before: one, after: other }]
  })
}

/** Compares what happened at the times that both journals have, without reads and requests to the control plane. */
function findDivergence(before: Simulator, after: Simulator) {
  const lists = [before, after].map(sim =>
    sim.journal.entries().filter(entry => !isControlRequest(entry) && !isRead(entry)),
  )
  const [one, other] = lists as [Entry[], Entry[]]
  const begin = Math.max(begins(before, one), begins(after, other))
  const end = Math.min(before.world.clock.now, after.world.clock.now)
  // At the moment of a fork, its origin has entries that came before it.
  const common = (entries: readonly Entry[], last: number) =>
    entries.filter(({ time, seq }) => time <= end && (time > begin || (time === begin && seq > last)))
  const journals = [before.world.journal, after.world.journal] as const
  const left = common(one, journals[1].lastBeforeFork(journals[0]))
  const right = common(other, journals[0].lastBeforeFork(journals[1]))
  for (let index = 0; index < Math.max(left.length, right.length); index++) {
    const [first, second] = [left[index], right[index]]
    if (keyOf(first) !== keyOf(second)) return { before: first, after: second }
  }
  return undefined
}

function isRead({ kind, subject }: Entry): boolean {
  return kind === 'request' && /^(?:GET|HEAD) /.test(subject)
}

/** Returns the time from which on a journal is complete. */
function begins({ world }: Simulator, [first]: readonly Entry[]): Micros {
  return first?.time ?? world.clock.now
}

function keyOf(entry: Entry | undefined): string {
  if (entry === undefined) return ''
  const { time, kind, subject, fields } = entry
  return JSON.stringify([time, kind, subject, kind === 'request' ? undefined : fields])
}
