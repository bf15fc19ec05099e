import * as z from 'zod'
import type { Micros } from '../../../kernel/duration.ts'
import type { Entry, RequestEntry } from '../../../kernel/journal.ts'
import { orNull } from '../../../service/fields.ts'
import { refuse } from '../../../service/refusals.ts'
import { compareMoney, compareStates } from '../../../simulator/history/replay/consequences.ts'
import { isControlRequest } from '../../../simulator/observer.ts'
import { hideSecretsIn } from '../../../simulator/requests/secrets.ts'
import type { Simulator } from '../../../simulator/simulator.ts'
import type { ServedWorld } from '../../worlds/served-world.ts'
import type { Worlds } from '../../worlds/worlds.ts'
import { control, requireSnapshot, requireWorld } from '../endpoint.ts'
import { DescribedEntrySchema, toDescribedEntry } from '../event-views.ts'

const SideSchema = DescribedEntrySchema.nullable()
const DifferenceSchema = z.object({
  kind: z
    .enum(['state', 'money', 'count', 'request', 'time'])
    .describe('request: how often clients called an operation and got a status'),
  subject: z.string().describe('An id, or what is counted'),
  before: z.string(),
  after: z.string(),
})
type WorldDifference = z.input<typeof DifferenceSchema>

export const compareWorlds = control({
  route: 'GET /_sim/differences',
  summary:
    'Compare this world (`after`) with another one (`before`): states, nodes, money, counts and requests that ' +
    'differ, and the first journal entry that differs. The other world is the world `with`, or a `snapshot` of this ' +
    'one, or with `fresh=true` this one at its start. If one is a fork of the other, only requests since then count',
  example: { target: '/_sim/differences?with=default' },
  refusals: { 400: 'not one of with, snapshot and fresh', 404: 'an unknown world or snapshot' },
  query: { with: z.string().optional(), snapshot: z.string().optional(), fresh: z.literal('true').optional() },
  returns: z.object({
    world: z.string(),
    with: z.string().describe('The other world, the snapshot, or `start`'),
    equal: z.boolean().describe('Whether digest and time are the same'),
    same_time: z.boolean(),
    differences: z.array(DifferenceSchema),
    requests_compared: z
      .boolean()
      .describe('false if requests before a fork cannot be distinguished from those after it'),
    diverged: orNull({
      time: z.int().describe('Microseconds since the epoch of the world'),
      at: z.string().describe('The time as ISO 8601'),
      before: SideSchema.describe('null if the other world has no further entry'),
      after: SideSchema,
    }).describe('null if the journals agree at the times that both have'),
  }),
  handle: async ({ query, sim, worlds }) => {
    const own = worlds.findBySimulator(sim)
    await using other = await beforeOf(query, sim, own, worlds)
    const [one, after] = [presentOf(other.sim), presentOf(sim)]
    const requests = compareRequests(other.sim, sim, other.lastShared)
    const hasSameTime = other.sim.world.clock.now === sim.world.clock.now
    const differences: WorldDifference[] = [
      ...(hasSameTime ? [] : [{ kind: 'time' as const, subject: 'now', before: one.now, after: after.now }]),
      ...(compareStates(one, after) as WorldDifference[]),
      ...compareTexts('state', one.nodes, after.nodes),
      ...(compareMoney(one, after) as WorldDifference[]),
      ...compareTexts('count', one.counts, after.counts),
      // Last: a read that only one world got changes nothing else.
      ...(requests ?? []),
    ]
    const answer = {
      ...{ world: own?.name ?? '', with: other.name, equal: hasSameTime && other.sim.digest === sim.digest },
      ...{ same_time: hasSameTime, differences, requests_compared: requests !== undefined },
      diverged: findDivergence(other.sim, sim),
    }
    return hideSecretsIn(other.sim, answer)
  },
})

interface Before extends AsyncDisposable {
  readonly name: string
  readonly sim: Simulator
  /** The newest entry of the compared world that came before a snapshot of it. */
  readonly lastShared?: LastShared
}

/** Returns what a world is compared with: another world, a copy that continues from a snapshot, or one at the start. */
async function beforeOf(
  { with: other, snapshot, fresh }: { readonly [name in 'with' | 'snapshot' | 'fresh']?: string | undefined },
  sim: Simulator,
  own: ServedWorld | undefined,
  worlds: Worlds,
): Promise<Before> {
  if ([other, snapshot, fresh].filter(given => given !== undefined).length !== 1 || own === undefined) {
    refuse(
      400,
      'Failed to compare: give one of with, snapshot and fresh=true. GET /_sim/worlds and GET /_sim/snapshots list them.',
    )
  }
  if (other !== undefined) {
    const world = requireWorld(worlds, other)
    await world.sim.clock.catchUp()
    return { name: world.name, sim: world.sim, async [Symbol.asyncDispose]() {} }
  }
  const saved = snapshot === undefined ? undefined : requireSnapshot(own, snapshot)
  const copy = sim.fork({ clock: 'manual', fresh: saved === undefined })
  if (saved !== undefined) copy.restore(saved.forServer('manual'))
  return {
    name: snapshot ?? 'start',
    sim: copy,
    lastShared:
      saved?.state.world.journal.lastBeforeFork(sim.world.journal) ??
      // A fork can have the requests that came before it, which a fresh copy of it has not.
      (own.forkOf === undefined ? 0 : 'unknown'),
    [Symbol.asyncDispose]: () => copy[Symbol.asyncDispose](),
  }
}

/**
 * Position of the newest entry that a world shares with its earlier state. If it cannot be found, as for the start of a
 * fork, it is `unknown`.
 */
type LastShared = number | 'unknown'

/** Returns the states that things went through, the money and counts, as far as two worlds are compared by them. */
function presentOf({ world, ledger, clock }: Simulator) {
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
  const nodes = world.nodes.list().map(({ name, state, free, broken, slowdown }) => {
    const more = [broken > 0 ? `${broken} broken` : '', slowdown === 1 ? '' : `slower by ${slowdown}`]
    return [name, [state, `${free} free`, ...more].filter(Boolean).join(', ')] as const
  })
  const counts = {
    ...{ deployments: world.deployments.count, instances: world.instances.count },
    ...{ batches: [...world.batches.entries()].length, files: world.files.list().length },
  }
  return {
    ...{ now: clock.iso, states, balance: ledger.balance, postings, nodes: new Map(nodes) },
    counts: new Map(Object.entries(counts).map(([name, count]) => [name, String(count)])),
  }
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

/** Finds the first difference of what happened at the times that both journals have, without reads and requests to the control plane. */
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
    if (keyOf(first) === keyOf(second)) continue
    const time = Math.min(...[first, second].flatMap(entry => entry?.time ?? []))
    const toSide = (sim: Simulator, entry: Entry | undefined) =>
      entry === undefined ? null : toDescribedEntry(entry, sim)
    return { time, at: after.world.clock.iso(time), before: toSide(before, first), after: toSide(after, second) }
  }
  return null
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
