/** The lives of deployments, instances, batches, rentals and nodes as a page draws them. */

import * as z from 'zod'
import {
  BATCH_LIFECYCLE,
  CONTAINER_LIFECYCLE,
  DEPLOYMENT_LIFECYCLE,
  HOSTED_LIFECYCLE,
} from '../../../data/records/enums.ts'
import type { Micros } from '../../../kernel/duration.ts'
import type { Entry } from '../../../kernel/journal.ts'
import { fieldsOf } from '../../../lib/fields.ts'
import { rowsOf } from '../../../service/fields.ts'
import { INSTANCE_STATES, type InstanceRow } from '../../../simulation/deployments/instance-row.ts'
import type { World } from '../../../simulation/world.ts'
import type { Simulator } from '../../../simulator/simulator.ts'

/** The kind of row that an entry belongs to, by the first word of its kind. */
const KIND_OF_FAMILY: Readonly<Record<string, LifeKind>> = {
  ...{ deployment: 'deployment', adapter: 'deployment', instance: 'instance', batch: 'batch' },
  ...{ hosted: 'hosted', container: 'container', node: 'node', gpu: 'node', disk: 'node' },
}
/** Entries of the whole world that are shown beside the rows. */
const WORLD_KINDS =
  /^(?:zone|pool|hub|registry|autoscaler|provisioning|account|funds|card|price|limit|rateLimit|spendingLimit|topup|fault|scenario)\./

export const LIFE_KINDS = ['deployment', 'instance', 'batch', 'hosted', 'container', 'node'] as const
export type LifeKind = (typeof LIFE_KINDS)[number]

export const MarkSchema = z.object({
  time: z.int(),
  seq: z.int().describe('Position in the journal'),
  ...fieldsOf(z.string(), 'kind', 'subject', 'sentence'),
})

export const LifeSchema = z.object({
  id: z.string(),
  kind: z.enum(LIFE_KINDS),
  name: z.string().describe('Name of the model or of the rental; otherwise the id'),
  owner: z.string().nullable().describe('The deployment of an instance'),
  state: z.string(),
  begin: z.int().describe('Microseconds since the epoch of the world'),
  end: z.int().nullable().describe('When it reached a final state; null while it lasts'),
  segments: rowsOf({
    state: z.string(),
    begin: z.int(),
    end: z.int().nullable(),
    seq: z.int().describe('Position of the entry that began it; 0 if it is older than the journal'),
  }),
  replicas: rowsOf({ time: z.int(), ready: z.int(), starting: z.int() }).describe(
    'Instances of a deployment, from each time on',
  ),
  marks: z.array(MarkSchema).describe('What happened to it beside changes of its state'),
  requests: z.int().describe('Requests that named it, of those that are kept'),
})

/** The life of a thing. Its marks are the entries that changed no state. */
export type Life = Pick<z.input<typeof LifeSchema>, 'id' | 'kind' | 'segments' | 'end' | 'requests'> & {
  readonly marks: Entry[]
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
    const prior = stateBefore(kind, id, first)
    if (prior === undefined && first === undefined) return
    const segments = prior === undefined ? [] : [{ ...prior, end: null, seq: 0 }]
    lives.set(id, { id, kind, segments, marks: [], end: null, requests: 0 })
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
      addEntry(lives.get(subject)!, entry)
    }
  }
  for (let number = requestLog.dropped + 1; number <= requestLog.total; number++) {
    for (const id of requestLog.read(world, number)?.subjects ?? []) {
      const life = lives.get(id)
      if (life !== undefined) life.requests++
    }
  }
  return { lives: [...lives.values()].filter(life => overlaps(life, filter)), worldMarks }
}

/** Adds the next entry of a thing. */
function addEntry(life: Life, entry: Entry): void {
  const { kind, time, seq } = entry
  if (!isState(kind)) {
    life.marks.push(entry)
    return
  }
  const state = FIRST_STATES[kind] ?? kind.slice(kind.indexOf('.') + 1)
  const last = life.segments.at(-1)
  if (last?.state === state) return
  if (last !== undefined) last.end = time
  life.segments.push({ state, begin: time, end: null, seq })
  life.end = FINAL.test(kind) ? time : null
}

function overlaps({ segments, marks, end }: Life, { from, to }: LifeFilter): boolean {
  const begins = [segments[0]?.begin, marks[0]?.time].map(time => time ?? Number.POSITIVE_INFINITY)
  return Math.min(...begins) <= to && (end ?? Number.POSITIVE_INFINITY) >= from
}

/** Returns when the first thing is known of a life. */
export function beginOf({ segments, marks }: Life): Micros {
  return segments[0]?.begin ?? marks[0]!.time
}

/** Entries that tell neither a client nor an operator anything: the progress of work, and the caches of nodes. */
export const MINOR_KINDS = /^(?:batch\.progressed|node\.(?:image|weights)Evicted|adapter\.(?:resident|evicted))$/

/** The states of the things whose other journal entries change no state, by the first word of their kinds. */
const STATES: Readonly<Record<string, ReadonlySet<string>>> = {
  deployment: new Set(DEPLOYMENT_LIFECYCLE.statuses),
  batch: new Set(BATCH_LIFECYCLE.statuses),
  hosted: new Set(HOSTED_LIFECYCLE.statuses),
  container: new Set(CONTAINER_LIFECYCLE.statuses),
  instance: new Set([...INSTANCE_STATES, 'imagePulled', 'gone', 'lost', 'crashed']),
}
/** The states in which things are created. */
const FIRST_STATES: Readonly<Record<string, string>> = {
  'deployment.created': 'initializing',
  'batch.created': 'validating',
  'hosted.created': 'creating',
  'container.created': 'creating',
}
/** Kinds after which their subject is not at work any more. */
const FINAL = /^(?:instance\.crashed|.*\.(?:deleted|failed|completed|cancelled|expired|lost|stopped|gone|removed))$/

function isState(kind: string): boolean {
  const states = STATES[kind.slice(0, kind.indexOf('.'))]
  if (states === undefined) return kind !== 'fault.hit'
  return kind in FIRST_STATES || states.has(kind.slice(kind.indexOf('.') + 1))
}

/** A state that began before the journal; at the earliest at the start of the world. */
type PriorState = Pick<Life['segments'][number], 'state' | 'begin'>

/**
 * Returns a function that looks up the state that a thing had before an entry. Undefined: it did not exist, or its state is
 * unknown. Without an entry, its present state is meant. It reads the instances of a world once.
 */
function priorStatesOf(world: World) {
  let instances: ReadonlyMap<string, Readonly<InstanceRow>> | undefined
  return (kind: LifeKind, id: string, entry?: Entry): PriorState | undefined => {
    if (entry !== undefined && /\.(?:created|pending|provisioning)$/.test(entry.kind)) return undefined
    const before = entry?.time ?? Number.POSITIVE_INFINITY
    switch (kind) {
      case 'deployment':
        return deploymentState(world, id, before)
      case 'instance':
        instances ??= new Map(Array.from(world.instances.entries(), ([, row]) => [row.id, row]))
        return instanceState(instances.get(id), before, entry)
      case 'batch':
        return batchState(world, id, before)
      case 'hosted':
      case 'container':
        return entry === undefined ? rentalState(world, id) : undefined
      case 'node':
        return { state: 'ready', begin: 0 }
    }
  }
}

function deploymentState({ deployments, history }: World, id: string, before: Micros): PriorState | undefined {
  const row = deployments.findById(id)
  if (row === undefined) return undefined
  for (const { at, status } of history.statuses(row)) {
    if (at < before) return { state: status, begin: Math.max(0, at) }
  }
  return undefined
}

function instanceState(
  row: Readonly<InstanceRow> | undefined,
  before: Micros,
  entry: Entry | undefined,
): PriorState | undefined {
  // If it is gone, its loss says what it was.
  if (row === undefined) return { state: String(entry?.fields?.state ?? 'ready'), begin: 0 }
  const { timeline, state } = row
  const newest = INSTANCE_STATES.filter(name => timeline[name] >= 0 && timeline[name] < before).at(-1)
  if (newest !== undefined) return { state: newest, begin: timeline[newest] }
  return { state: entry === undefined ? state : 'ready', begin: 0 }
}

function batchState({ batches }: World, id: string, before: Micros): PriorState | undefined {
  for (const [, { id: other, createdAt, statusTimes }] of batches.entries()) {
    if (other !== id) continue
    const times = Object.entries(statusTimes) as [string, Micros][]
    const [newest] = times.filter(([, time]) => time < before).sort(([, a], [, b]) => b - a)
    const [state, begin] = newest ?? ['validating', createdAt]
    return { state, begin: Math.max(0, begin) }
  }
  return undefined
}

function rentalState({ rentals }: World, id: string): PriorState | undefined {
  const row = rentals.findById(id)
  return row && { state: row.state, begin: Math.max(0, row.since) }
}
