/** The lives of deployments, instances, batches and rentals as a page draws them, and what changed since an earlier look. */

import type { Micros } from '../../../kernel/duration.ts'
import type { Entry } from '../../../kernel/journal.ts'
import type { World } from '../../../simulation/world.ts'
import type { Simulator } from '../../../simulator/simulator.ts'
import { Lifecycle, type LifeKind, MINOR_KINDS } from './lifecycle.ts'
import { PriorStates } from './prior-state.ts'

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
  /** The newest requests that name it. */
  requests: number
  revision: number
}

/** Which lives a look shows. */
export interface LifeFilter {
  readonly kinds: ReadonlySet<string>
  /** Lives that overlap this window. */
  readonly from: Micros
  readonly to: Micros
}

/** What a look found. */
export interface LifeView {
  readonly revision: number
  readonly isFull: boolean
  readonly lives: readonly Life[]
  readonly worldMarks: readonly Entry[]
}

/** Most lives that are kept, if half of them are over. */
const MAX_LIVES = 20_000
/** Most marks of the whole world that are kept. */
const MAX_WORLD_MARKS = 1_000

/** Reads the journal as it grows. A look costs what happened since the last one. */
export class LifecycleTracker {
  readonly #sim: Simulator
  #world: World | undefined
  #revision = 0
  /** Looks from before this revision get everything. */
  #oldest = 1
  #lastEntry = 0
  #lastRequest = 0
  #lives = new Map<string, Life>()
  #worldMarks: { readonly entry: Entry; readonly revision: number }[] = []

  constructor(sim: Simulator) {
    this.#sim = sim
  }

  /** Returns what changed since an earlier look. Default: everything. */
  look(filter: LifeFilter, since?: number): LifeView {
    this.#read()
    const isFull = since === undefined || since < this.#oldest || since > this.#revision
    const isNew = ({ revision }: { readonly revision: number }) => isFull || revision > since
    return {
      ...{ revision: this.#revision, isFull },
      lives: [...this.#lives.values()].filter(life => isNew(life) && isWithin(life, filter)),
      worldMarks: this.#worldMarks.filter(isNew).map(({ entry }) => entry),
    }
  }

  #read(): void {
    const { world, requestLog } = this.#sim
    const { journal } = world
    // After a reset, and if entries were dropped unread, it begins again.
    if (world !== this.#world || journal.dropped > this.#lastEntry) this.#begin(world)
    const entries = journal.entries(this.#lastEntry)
    const { total, dropped } = requestLog
    if (entries.length === 0 && total === this.#lastRequest) return
    this.#revision++
    const prior = new PriorStates(world)
    for (const entry of entries) this.#add(prior, entry)
    this.#lastEntry = journal.last
    this.#forgetOver()
    for (let number = Math.max(dropped, this.#lastRequest) + 1; number <= total; number++) {
      for (const id of requestLog.read(world, number)?.subjects ?? []) {
        const life = this.#lives.get(id)
        if (life === undefined) continue
        life.requests++
        life.revision = this.#revision
      }
    }
    this.#lastRequest = total
  }

  #add(states: PriorStates, entry: Entry): void {
    const { kind, subject } = entry
    if (MINOR_KINDS.test(kind)) return
    const lifeKind = KIND_OF_FAMILY[kind.slice(0, kind.indexOf('.'))]
    if (lifeKind === undefined) {
      if (WORLD_KINDS.test(kind)) this.#worldMarks.push({ entry, revision: this.#revision })
      if (this.#worldMarks.length > 2 * MAX_WORLD_MARKS) this.#worldMarks.splice(0, MAX_WORLD_MARKS)
      return
    }
    let life = this.#lives.get(subject)
    if (life === undefined) {
      life = this.#create(subject, lifeKind)
      const prior = states.of(lifeKind, subject, entry)
      if (prior !== undefined) life.lifecycle.beginIn(prior.name, prior.begin)
    }
    life.lifecycle.add(entry)
    life.revision = this.#revision
    // The replicas of its deployment have changed, too.
    const owner = lifeKind === 'instance' ? this.#lives.get(subject.slice(0, subject.lastIndexOf('-'))) : undefined
    if (owner !== undefined) owner.revision = this.#revision
  }

  /** Forgets the oldest lives that are over, when there are too many. */
  #forgetOver(): void {
    if (this.#lives.size <= MAX_LIVES) return
    for (const [id, { lifecycle }] of this.#lives) {
      if (this.#lives.size <= MAX_LIVES / 2) break
      if (lifecycle.last?.isFinal) this.#lives.delete(id)
    }
    this.#oldest = this.#revision
  }

  #create(id: string, kind: LifeKind): Life {
    const life = { id, kind, lifecycle: new Lifecycle(), requests: 0, revision: this.#revision }
    this.#lives.set(id, life)
    return life
  }

  /** Begins with the things that have no entry in the journal. */
  #begin(world: World): void {
    this.#world = world
    this.#lives = new Map()
    this.#worldMarks = []
    this.#lastEntry = world.journal.dropped
    this.#lastRequest = 0
    this.#oldest = ++this.#revision
    const mentioned = new Set(world.journal.entries().map(({ subject }) => subject))
    const states = new PriorStates(world)
    const tables = [
      ...[['deployment', world.deployments] as const, ['instance', world.instances] as const],
      ...[['batch', world.batches] as const, ['rental', world.rentals] as const],
    ]
    for (const [table, rows] of tables) {
      for (const [, row] of rows.entries()) {
        if (mentioned.has(row.id)) continue
        const kind = table === 'rental' ? world.rentals.read(world.rentals.ordinalOf(row.id)!).kind : table
        const state = states.of(kind, row.id)
        if (state !== undefined) this.#create(row.id, kind).lifecycle.beginIn(state.name, state.begin)
      }
    }
  }
}

function isWithin({ kind, lifecycle }: Life, { kinds, from, to }: LifeFilter): boolean {
  if (kinds.size > 0 && !kinds.has(kind)) return false
  const [first] = lifecycle.items
  const { last } = lifecycle
  if (first === undefined) return false
  const begin = 'mark' in first ? first.mark.time : first.segment.begin
  const end = last?.isFinal ? last.begin : Number.POSITIVE_INFINITY
  return begin <= to && end >= from
}
