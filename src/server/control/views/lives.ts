/** The lives of deployments, instances, batches, rentals and nodes as a page draws them. */

import {
  BATCH_LIFECYCLE,
  CONTAINER_LIFECYCLE,
  DEPLOYMENT_LIFECYCLE,
  HOSTED_LIFECYCLE,
} from '../../../data/records/enums.ts'
import type { Micros } from '../../../kernel/duration.ts'
import type { Entry } from '../../../kernel/journal.ts'
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

/** Entries that tell neither a client nor an operator anything: the progress of work, and the caches of nodes. */
export const MINOR_KINDS = /^(?:batch\.progressed|node\.(?:image|weights)Evicted|adapter\.(?:resident|evicted))$/

export const LIFE_KINDS = ['deployment', 'instance', 'batch', 'hosted', 'container', 'node'] as const
export type LifeKind = (typeof LIFE_KINDS)[number]

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

/** A state of a thing. */
export interface Segment {
  readonly name: string
  readonly begin: Micros
  /** Undefined: it lasts. */
  end: Micros | undefined
  readonly isFinal: boolean
  /** The entry that began it; undefined if the state is from before the journal. */
  readonly entry: Entry | undefined
}

export class Lifecycle {
  readonly segments: Segment[] = []
  /** The entries that changed no state. */
  readonly marks: Entry[] = []

  /** The present state. */
  get last(): Segment | undefined {
    return this.segments.at(-1)
  }

  /** Adds the next entry of the thing. */
  add(entry: Entry): void {
    const { kind, time } = entry
    if (!isState(kind)) {
      this.marks.push(entry)
      return
    }
    const name = FIRST_STATES[kind] ?? kind.slice(kind.indexOf('.') + 1)
    if (this.last?.name === name) return
    this.#begin({ name, begin: time, end: undefined, isFinal: FINAL.test(kind), entry })
  }

  /** Begins with a state from before the first entry. */
  beginIn(name: string, begin: Micros): void {
    this.#begin({ name, begin, end: undefined, isFinal: false, entry: undefined })
  }

  #begin(segment: Segment): void {
    if (this.last !== undefined) this.last.end = segment.begin
    this.segments.push(segment)
  }
}

function isState(kind: string): boolean {
  const states = STATES[kind.slice(0, kind.indexOf('.'))]
  if (states === undefined) return kind !== 'fault.hit'
  return kind in FIRST_STATES || states.has(kind.slice(kind.indexOf('.') + 1))
}

interface PriorState {
  readonly name: string
  /** At the earliest the start of the world. */
  readonly begin: Micros
}

/**
 * Returns a function that looks up the state that a thing had before an entry. Undefined: it did not exist, or its state is
 * unknown. Without an entry, its present state is meant. It reads the instances of a world once.
 */
export function priorStatesOf(world: World) {
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
        return { name: 'ready', begin: 0 }
    }
  }
}

function deploymentState({ deployments, history }: World, id: string, before: Micros): PriorState | undefined {
  const row = deployments.findById(id)
  if (row === undefined) return undefined
  for (const { at, status } of history.statuses(row)) {
    if (at < before) return { name: status, begin: Math.max(0, at) }
  }
  return undefined
}

function instanceState(
  row: Readonly<InstanceRow> | undefined,
  before: Micros,
  entry: Entry | undefined,
): PriorState | undefined {
  // If it is gone, its loss says what it was.
  if (row === undefined) return { name: String(entry?.fields?.state ?? 'ready'), begin: 0 }
  const { timeline, state } = row
  const newest = INSTANCE_STATES.filter(name => timeline[name] >= 0 && timeline[name] < before).at(-1)
  if (newest !== undefined) return { name: newest, begin: timeline[newest] }
  return { name: entry === undefined ? state : 'ready', begin: 0 }
}

function batchState({ batches }: World, id: string, before: Micros): PriorState | undefined {
  for (const [, { id: other, createdAt, statusTimes }] of batches.entries()) {
    if (other !== id) continue
    const times = Object.entries(statusTimes) as [string, Micros][]
    const [newest] = times.filter(([, time]) => time < before).sort(([, a], [, b]) => b - a)
    const [name, begin] = newest ?? ['validating', createdAt]
    return { name, begin: Math.max(0, begin) }
  }
  return undefined
}

function rentalState({ rentals }: World, id: string): PriorState | undefined {
  const row = rentals.findById(id)
  return row && { name: row.state, begin: Math.max(0, row.since) }
}
