import type { EntryHandle } from '../kernel/agenda.ts'
import type { Micros } from '../kernel/duration.ts'
import { Layers } from '../kernel/layers.ts'
import { type Generation, Row, Table } from '../kernel/table.ts'
import type { Tape } from '../kernel/tape.ts'
import { GPU_TYPES, type GpuType, type NodePool } from '../store/records.ts'
import { gpuIndex } from './gpus.ts'
import { rentalOf } from './rental-row.ts'
import type { World } from './world.ts'

/**
 * What a node can do: `ready` takes instances, `cordoned` keeps those it has, `provisioning` is not there yet, `down`
 * has lost what it had and can be repaired, `gone` was given back.
 */
export type NodeState = 'provisioning' | 'ready' | 'cordoned' | 'down' | 'gone'

/** What the nodes of a group have in common. */
export interface NodeGroup {
  readonly pool: string
  readonly zone: string
  readonly market: NodePool['market']
  readonly prefix: string
  readonly gpu: GpuType
  readonly gpus: number
  /** GPUs that other customers hold for good, as bits. */
  readonly occupied: number
  readonly min: number
  readonly max: number
  /** Whether nodes come and go; a group without `min` and `max` only gets back what was taken from it. */
  readonly elastic: boolean
}

/** The most GPUs of a node. */
const MOST_GPUS = 16

/** Weights on a node's disk. */
export interface CachedWeights {
  readonly repo: string
  readonly bytes: number
  /** When an instance read them last: the least recently read go first. */
  readonly usedAt: number
}

/** A container image in a node's image cache. */
export interface CachedImage {
  /** As a deployment names it; '' is the provider's own serving image. */
  readonly image: string
  readonly bytes: number
  /** When an instance started from it last: the least recently used go first. */
  readonly usedAt: number
}

/** A machine with up to 16 GPUs of one type. Which GPUs are taken is a bit a GPU. */
export class NodeRow extends Row {
  readonly group: NodeGroup
  state: NodeState = 'ready'
  /** GPUs that instances and rentals of this account hold, as bits. */
  taken = 0
  /** GPUs that are broken, as bits. */
  broken = 0
  /** Those of them that no reset mends, only a repair of the node. */
  needService = 0
  /** How much slower its GPUs are than they should be; 1 is sound. */
  slowdown = 1
  images: readonly CachedImage[] = []
  weights: readonly CachedWeights[] = []
  diskFull = false
  /** Taken down with its zone: comes back with it. */
  downWithZone = false
  /** What is on it: the ordinals of instances, and below zero rentals (`tenantOf`). */
  tenants: readonly number[] = []
  /** What comes next: provisioned, preempted, or given back for standing empty. */
  next = 0
  /** When what still runs on it is cut off, while it is drained. */
  drainEnds = 0

  constructor(generation: Generation, id: string, group: NodeGroup) {
    super(generation, id)
    this.group = group
  }

  copy(generation: Generation): NodeRow {
    const copy = new NodeRow(generation, this.id, this.group)
    copy.state = this.state
    copy.taken = this.taken
    copy.broken = this.broken
    copy.needService = this.needService
    copy.slowdown = this.slowdown
    copy.images = this.images
    copy.weights = this.weights
    copy.diskFull = this.diskFull
    copy.downWithZone = this.downWithZone
    copy.tenants = this.tenants
    copy.next = this.next
    copy.drainEnds = this.drainEnds
    return copy.takeHash(this)
  }
}

/** A node as code outside the simulation sees it. */
export interface NodeView {
  readonly name: string
  readonly state: NodeState
  readonly pool: string
  readonly zone: string
  readonly market: NodePool['market']
  readonly gpu: GpuType
  readonly gpus: number
  /** GPUs that an instance could have. */
  readonly free: number
  readonly broken: number
  readonly slowdown: number
}

interface GroupState {
  readonly group: NodeGroup
  /** How many it has ever had: the number in the next one's name. */
  readonly named: number
  /** Until when the spot capacity of its pool is away, and the event of its return. */
  readonly awayUntil: Micros
  readonly returns: EntryHandle
}

/** The nodes of a group: those that can serve, those on their way, and those that are cordoned or down. */
export interface GroupCount {
  readonly serving: number
  readonly coming: number
  readonly away: number
}

/** The nodes of one GPU type: what `choose` looks through. */
interface FreeByPosition {
  /** Ascending. */
  readonly ordinals: Int32Array
  /** How many GPUs a placement could have on each. */
  readonly free: Uint8Array
  /** How many GPUs of each work. */
  readonly up: Uint8Array
  /** How many nodes have so many free. */
  readonly counts: Int32Array
}

/** The nodes and their GPUs: what is free where, by type. */
export class Nodes {
  readonly #world: World
  readonly #table: Table<NodeRow>
  #byType: FreeByPosition[]
  readonly #byName: Layers<number>
  /** Replaced, never edited: forks share it. */
  #groups: readonly GroupState[]
  /** How many nodes are slower than they should be. */
  #slow: number

  constructor(world: World, from?: { table: Table<NodeRow>; nodes: Nodes }) {
    this.#world = world
    this.#table = from ? from.table : new Table(world.generation)
    this.#byType = from
      ? from.nodes.#byType.map(type => ({
          ...type,
          free: type.free.slice(),
          up: type.up.slice(),
          counts: type.counts.slice(),
        }))
      : []
    this.#byName = from ? from.nodes.#byName.fork() : new Layers()
    this.#groups = from ? from.nodes.#groups : []
    this.#slow = from ? from.nodes.#slow : 0
  }

  fork(world: World, theirs: Generation): Nodes {
    return new Nodes(world, { table: this.#table.fork(theirs, world.generation), nodes: this })
  }

  keep(tape: Tape): void {
    this.#table.keep(tape)
    this.#byType = tape.value(this.#byType)
    this.#byName.keep(tape)
    this.#groups = tape.value(this.#groups)
    this.#slow = tape.value(this.#slow)
  }

  /** Builds the fleet of a fixture. */
  build(pools: readonly NodePool[]): void {
    const { profile } = this.#world
    const byType: number[][] = GPU_TYPES.map(() => [])
    const groups: GroupState[] = []
    for (const pool of pools) {
      for (const one of pool.nodes) {
        const group: NodeGroup = {
          pool: pool.name,
          zone: pool.zone,
          market: pool.market,
          prefix: one.prefix,
          gpu: one.gpu,
          gpus: one.gpus_per_node,
          occupied: (1 << one.occupied) - 1,
          min: one.min ?? one.count,
          max: one.max ?? one.count,
          elastic: one.max !== undefined || one.min !== undefined,
        }
        const weights = one.weights_cached.map(repo => ({ repo, bytes: this.#world.bytesOf(repo), usedAt: 0 }))
        const images = one.image_cached ? [{ image: '', bytes: profile.timings.imageBytes, usedAt: 0 }] : []
        for (let i = 0; i < one.count; i++) {
          const row = new NodeRow(this.#table.generation, `${one.prefix}-${i}`, group)
          row.images = images
          row.weights = weights
          const ordinal = this.#table.add(row)
          this.#byName.set(row.id, ordinal)
          byType[gpuIndex(one.gpu)]!.push(ordinal)
        }
        groups.push({ group, named: one.count, awayUntil: 0, returns: 0 })
      }
    }
    this.#groups = groups
    this.#byType = byType.map(ordinals => this.#indexOf(ordinals))
    for (const [type, { up }] of this.#byType.entries()) if (up.length > 0) this.#tell(type)
  }

  get count(): number {
    return this.#table.count
  }

  read(ordinal: number): Readonly<NodeRow> {
    return this.#table.read(ordinal)
  }

  own(ordinal: number): NodeRow {
    return this.#table.own(ordinal)
  }

  /** How often a node's slot was used. */
  useOf(ordinal: number): number {
    return this.#table.use(ordinal)
  }

  find(name: string): number | undefined {
    return this.#byName.get(name)
  }

  entries(): Generator<[number, Readonly<NodeRow>]> {
    return this.#table.entries()
  }

  get groups(): readonly GroupState[] {
    return this.#groups
  }

  view(ordinal: number): NodeView {
    const row = this.#table.read(ordinal)
    const { pool, zone, market, gpu, gpus } = row.group
    return {
      name: row.id,
      state: row.state,
      pool,
      zone,
      market,
      gpu,
      gpus,
      free: freeGpus(row),
      broken: bitCount(row.broken),
      slowdown: row.slowdown,
    }
  }

  list(): NodeView[] {
    return [...this.#table.entries()].map(([ordinal]) => this.view(ordinal))
  }

  /** GPUs of the largest node of a type; 0 where the fleet has none. */
  mostGpus(gpu: GpuType): number {
    return this.#groups.reduce((most, { group }) => (group.gpu === gpu ? Math.max(most, group.gpus) : most), 0)
  }

  /** GPUs of a type that an instance could have now, over all its nodes. */
  free(gpu: GpuType): number {
    let sum = 0
    for (const free of this.#byType[gpuIndex(gpu)]?.free ?? []) sum += free
    return sum
  }

  /**
   * The node for an instance. Best fit: the fewest free GPUs that suffice, so that large holes stay large. Spread: the
   * most. Among equals one that has the weights, then the first by position. -1 when no single node has enough.
   */
  choose(gpu: GpuType, gpus: number, weights: string): number {
    const type = this.#byType[gpuIndex(gpu)]
    if (!type || this.#world.conditions.isStockedOut(gpu)) return -1
    const spread = this.#world.profile.policies.placement === 'spread'
    for (let step = 0; step <= MOST_GPUS - gpus; step++) {
      const level = spread ? MOST_GPUS - step : gpus + step
      const node = type.counts[level] === 0 ? -1 : this.#chooseAmong(type, level, weights)
      if (node >= 0) return node
    }
    return -1
  }

  /** The node among those with so many free GPUs: one that has the weights, then the first that has room for them. */
  #chooseAmong({ ordinals, free, counts }: FreeByPosition, level: number, weights: string): number {
    let first = -1
    let unseen = counts[level]!
    for (let i = 0; unseen > 0; i++) {
      if (free[i] !== level) continue
      unseen--
      const row = this.#table.read(ordinals[i]!)
      if (weights !== '' && hasWeights(row, weights)) return ordinals[i]!
      if (first < 0 && !row.diskFull) first = ordinals[i]!
    }
    return first
  }

  /** Whether no node is slower than it should be: then every instance counts as one. */
  get areSound(): boolean {
    return this.#slow === 0
  }

  setSlowdown(ordinal: number, factor: number): void {
    const row = this.#table.own(ordinal)
    this.#slow += Number(factor !== 1) - Number(row.slowdown !== 1)
    row.slowdown = factor
  }

  /** Takes GPUs of a node for a tenant; returns them as bits. */
  take(node: number, gpus: number, tenant: number): number {
    const row = this.#table.own(node)
    const held = row.taken | row.group.occupied | row.broken
    let bits = 0
    let wanted = gpus
    for (let gpu = 0; gpu < row.group.gpus && wanted > 0; gpu++) {
      const bit = 1 << gpu
      if (held & bit) continue
      bits |= bit
      wanted--
    }
    if (wanted > 0) throw new Error(`Failed to place an instance on ${row.id}: it lacks ${wanted} GPUs.`)
    row.taken |= bits
    row.tenants = [...row.tenants, tenant]
    this.recount(node)
    return bits
  }

  /** Gives GPUs back. */
  release(node: number, bits: number, tenant: number): void {
    const row = this.#table.own(node)
    row.taken &= ~bits
    row.tenants = row.tenants.filter(other => other !== tenant)
    this.recount(node)
    if (row.tenants.length > 0) return
    this.#world.cancel(row.drainEnds)
    row.drainEnds = 0
    this.#world.provisioning.emptied(node)
  }

  /** Remembers that an image is on a node now and was used; the least recently used make room, those in use stay. */
  cacheImage(node: number, image: string): void {
    const row = this.#table.own(node)
    const { clock, instances, rentals, profile } = this.#world
    const { imageBytes, imageCacheBytes } = profile.timings
    const kept = row.images.filter(one => one.image !== image)
    kept.push({ image, bytes: imageBytes, usedAt: clock.now })
    const used = () =>
      new Set(row.tenants.map(one => (one >= 0 ? instances.imageOf(one) : rentals.read(rentalOf(one)).plan.image)))
    row.images = this.#fitting(
      kept,
      imageCacheBytes,
      ({ image }) => image,
      used,
      image => {
        this.#world.happened(row, 'node.imageEvicted', { image: imageName(image) })
      },
    )
  }

  /** Remembers that weights are on a node now and were read; the least recently read make room, those in use stay. */
  cacheWeights(node: number, repo: string, bytes: number): void {
    const row = this.#table.own(node)
    const { clock, instances, profile } = this.#world
    const kept = row.weights.filter(one => one.repo !== repo)
    kept.push({ repo, bytes, usedAt: clock.now })
    const used = () => new Set(row.tenants.filter(one => one >= 0).map(one => instances.weightsOf(one)))
    row.weights = this.#fitting(
      kept,
      profile.timings.weightCacheBytes,
      ({ repo }) => repo,
      used,
      repo => {
        this.#world.happened(row, 'node.weightsEvicted', { repo })
      },
    )
  }

  /** What stays in a cache of `room` bytes to which its last entry was just added. */
  #fitting<Entry extends { readonly bytes: number; readonly usedAt: number }>(
    entries: readonly Entry[],
    room: number,
    nameOf: (entry: Entry) => string,
    used: () => ReadonlySet<string>,
    evicted: (name: string) => void,
  ): readonly Entry[] {
    let total = entries.reduce((sum, one) => sum + one.bytes, 0)
    if (total <= room) return entries
    const inUse = used()
    const leaving = new Set<Entry>()
    const oldest = entries
      .slice(0, -1)
      .filter(one => !inUse.has(nameOf(one)))
      .sort((a, b) => a.usedAt - b.usedAt || (nameOf(a) < nameOf(b) ? -1 : 1))
    for (const one of oldest) {
      if (total <= room) break
      leaving.add(one)
      total -= one.bytes
      evicted(nameOf(one))
    }
    return entries.filter(one => !leaving.has(one))
  }

  /** Adds a node to a group; it is provisioning. */
  add(index: number): number {
    const state = this.#groups[index]!
    const { group, named } = state
    const row = new NodeRow(this.#table.generation, `${group.prefix}-${named}`, group)
    row.state = 'provisioning'
    const ordinal = this.#table.add(row)
    this.#byName.set(row.id, ordinal)
    this.#groups = this.#groups.with(index, { ...state, named: named + 1 })
    const type = gpuIndex(group.gpu)
    this.#byType[type] = this.#indexOf([...this.#byType[type]!.ordinals, ordinal].sort((a, b) => a - b))
    return ordinal
  }

  /** Takes a node out of the fleet for good: its row leaves the table. */
  remove(ordinal: number): void {
    this.setSlowdown(ordinal, 1)
    const row = this.#table.read(ordinal)
    const type = gpuIndex(row.group.gpu)
    this.#byType[type] = this.#indexOf([...this.#byType[type]!.ordinals].filter(other => other !== ordinal))
    this.#tell(type)
    this.#byName.delete(row.id)
    this.#table.remove(ordinal)
  }

  /** How many nodes each group has. */
  counts(): ReadonlyMap<NodeGroup, GroupCount> {
    const counts = new Map(this.#groups.map(({ group }) => [group, { serving: 0, coming: 0, away: 0 }]))
    for (const [, { group, state }] of this.#table.entries()) {
      const count = counts.get(group)!
      if (state === 'ready') count.serving++
      else if (state === 'provisioning') count.coming++
      else count.away++
    }
    return counts
  }

  /** The spot capacity of a pool is away until `until`. */
  setAway(pool: string, until: Micros, returns: EntryHandle): void {
    this.#groups = this.#groups.map(state =>
      state.group.pool === pool ? { ...state, awayUntil: until, returns } : state,
    )
  }

  /** Counts a node's free GPUs anew: after anything that changes what a placement could have. */
  recount(ordinal: number): void {
    const row = this.#table.read(ordinal)
    const type = this.#byType[gpuIndex(row.group.gpu)]!
    const position = positionOf(type.ordinals, ordinal)
    const before = type.free[position]!
    const free = freeGpus(row)
    type.free[position] = free
    type.counts[before] = type.counts[before]! - 1
    type.counts[free] = type.counts[free]! + 1
    const up = upGpus(row)
    if (type.up[position] === up) return
    type.up[position] = up
    this.#tell(gpuIndex(row.group.gpu))
  }

  #tell(type: number): void {
    let sum = 0
    for (const up of this.#byType[type]!.up) sum += up
    this.#world.chronicle.capacityChanged(type, sum)
  }

  #indexOf(ordinals: readonly number[]): FreeByPosition {
    const free = Uint8Array.from(ordinals, ordinal => freeGpus(this.#table.read(ordinal)))
    const counts = new Int32Array(MOST_GPUS + 1)
    for (const level of free) counts[level] = counts[level]! + 1
    const up = Uint8Array.from(ordinals, ordinal => upGpus(this.#table.read(ordinal)))
    return { ordinals: Int32Array.from(ordinals), free, up, counts }
  }
}

/** GPUs of a node that a placement could have. */
export function freeGpus(row: Readonly<NodeRow>): number {
  return row.state === 'ready' ? row.group.gpus - bitCount(row.taken | row.group.occupied | row.broken) : 0
}

/** GPUs of a node that work, held or free, less those that other customers hold. */
function upGpus(row: Readonly<NodeRow>): number {
  const isUp = row.state === 'ready' || row.state === 'cordoned'
  return isUp ? row.group.gpus - bitCount(row.group.occupied | row.broken) : 0
}

export function hasWeights(row: Readonly<NodeRow>, repo: string): boolean {
  return row.weights.some(one => one.repo === repo)
}

export function hasImage(row: Readonly<NodeRow>, image: string): boolean {
  return row.images.some(one => one.image === image)
}

/** How the journal calls an image. */
function imageName(image: string): string {
  return image === '' ? 'serving' : image
}

export function bitCount(bits: number): number {
  let count = 0
  for (let rest = bits; rest !== 0; rest &= rest - 1) count++
  return count
}

function positionOf(sorted: Int32Array, value: number): number {
  let low = 0
  let high = sorted.length
  while (low < high) {
    const middle = (low + high) >> 1
    if (sorted[middle]! < value) low = middle + 1
    else high = middle
  }
  return low
}
