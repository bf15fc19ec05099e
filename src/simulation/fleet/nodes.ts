import type { NodePool } from '../../data/records/fleet.ts'
import { GPU_TYPES, type GpuType } from '../../data/records/gpu-config.ts'
import type { EntryHandle } from '../../kernel/agenda.ts'
import type { Archive } from '../../kernel/archive.ts'
import type { Micros } from '../../kernel/duration.ts'
import { LayeredMap } from '../../kernel/layered-map.ts'
import { type Generation, Row, Table } from '../../kernel/table.ts'
import type { SimulationContext } from '../context.ts'
import { gpuIndex } from '../load/gpu-throughput.ts'
import type { UsageHistory } from '../recording/history.ts'
import type { Environment } from './environment.ts'
import type { NodeProvisionerPort } from './provisioner.ts'
import type { Tenants } from './tenants.ts'
import { repositoryWeights } from './weights.ts'

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
  readonly isElastic: boolean
}

/** The most GPUs of a node. */
const MAX_GPUS = 16

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
  allocated = 0
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
  drainEvent = 0

  constructor(generation: Generation, id: string, group: NodeGroup) {
    super(generation, id)
    this.group = group
  }

  copy(generation: Generation): NodeRow {
    const copy = new NodeRow(generation, this.id, this.group)
    copy.state = this.state
    copy.allocated = this.allocated
    copy.broken = this.broken
    copy.needService = this.needService
    copy.slowdown = this.slowdown
    copy.images = this.images
    copy.weights = this.weights
    copy.diskFull = this.diskFull
    copy.downWithZone = this.downWithZone
    copy.tenants = this.tenants
    copy.next = this.next
    copy.drainEvent = this.drainEvent
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
  readonly nextNumber: number
  /** Until when the spot capacity of its pool is away, and the event of its return. */
  readonly spotUnavailableUntil: Micros
  readonly spotReturnEvent: EntryHandle
}

/** The nodes of a group: those that can serve, those on their way, and those that are cordoned or down. */
export interface GroupCounts {
  readonly ready: number
  readonly provisioning: number
  readonly unavailable: number
}

/** The nodes of one GPU type: what `choose` looks through. */
interface GpuTypeIndex {
  /** Ascending. */
  readonly ordinals: Int32Array
  /** How many GPUs a placement could have on each. */
  readonly free: Uint8Array
  /** How many GPUs of each work. */
  readonly up: Uint8Array
  /** How many nodes have so many free. */
  readonly counts: Int32Array
}

/** The parts below that it uses. */
export interface NodesParts {
  readonly environment: Environment
  readonly history: UsageHistory
  readonly tenants: Tenants
}

/** The nodes and their GPUs: what is free where, by type. */
export class Nodes {
  readonly #context: SimulationContext
  readonly #parts: NodesParts
  #ports!: NodeProvisionerPort
  readonly #table: Table<NodeRow>
  #byType: GpuTypeIndex[]
  readonly #byName: LayeredMap<number>
  /** Replaced, never edited: forks share it. */
  #groups: readonly GroupState[]
  /** How many nodes are slower than they should be. */
  #slowCount: number

  constructor(context: SimulationContext, parts: NodesParts, origin?: Nodes) {
    this.#context = context
    this.#parts = parts
    this.#table = origin
      ? origin.#table.fork(origin.#context.generation, context.generation)
      : new Table(context.generation)
    this.#byType = origin
      ? origin.#byType.map(type => ({
          ...type,
          free: type.free.slice(),
          up: type.up.slice(),
          counts: type.counts.slice(),
        }))
      : []
    this.#byName = origin ? origin.#byName.fork() : new LayeredMap()
    this.#groups = origin ? origin.#groups : []
    this.#slowCount = origin ? origin.#slowCount : 0
  }

  /** Binds what lies above: the world does it once. */
  connect(ports: NodeProvisionerPort): void {
    this.#ports = ports
  }

  archive(archive: Archive): void {
    this.#table.archive(archive)
    this.#byType = archive.value(this.#byType)
    this.#byName.archive(archive)
    this.#groups = archive.value(this.#groups)
    this.#slowCount = archive.value(this.#slowCount)
  }

  /** Builds the fleet of a fixture. */
  buildFleet(pools: readonly NodePool[]): void {
    const { profile } = this.#context
    const byType: number[][] = GPU_TYPES.map(() => [])
    const groups: GroupState[] = []
    for (const pool of pools) {
      for (const poolGroup of pool.nodes) {
        const group: NodeGroup = {
          pool: pool.name,
          zone: pool.zone,
          market: pool.market,
          prefix: poolGroup.prefix,
          gpu: poolGroup.gpu,
          gpus: poolGroup.gpus_per_node,
          occupied: (1 << poolGroup.occupied) - 1,
          min: poolGroup.min ?? poolGroup.count,
          max: poolGroup.max ?? poolGroup.count,
          isElastic: poolGroup.max !== undefined || poolGroup.min !== undefined,
        }
        const weights = poolGroup.weights_cached.map(repo => ({
          repo,
          bytes: repositoryWeights(this.#context.store.hub.get(repo), repo).bytes,
          usedAt: 0,
        }))
        const images = poolGroup.image_cached ? [{ image: '', bytes: profile.timings.imageBytes, usedAt: 0 }] : []
        for (let i = 0; i < poolGroup.count; i++) {
          const row = new NodeRow(this.#table.generation, `${poolGroup.prefix}-${i}`, group)
          row.images = images
          row.weights = weights
          const ordinal = this.#table.add(row)
          this.#byName.set(row.id, ordinal)
          byType[gpuIndex(poolGroup.gpu)]!.push(ordinal)
        }
        groups.push({ group, nextNumber: poolGroup.count, spotUnavailableUntil: 0, spotReturnEvent: 0 })
      }
    }
    this.#groups = groups
    this.#byType = byType.map(ordinals => this.#buildIndex(ordinals))
    for (const [type, { up }] of this.#byType.entries()) if (up.length > 0) this.#recordCapacity(type)
  }

  get count(): number {
    return this.#table.count
  }

  read(ordinal: number): Readonly<NodeRow> {
    return this.#table.read(ordinal)
  }

  writable(ordinal: number): NodeRow {
    return this.#table.writable(ordinal)
  }

  /** How often a node's slot was used. */
  useCount(ordinal: number): number {
    return this.#table.useCount(ordinal)
  }

  ordinalOf(name: string): number | undefined {
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
  maxGpusPerNode(gpu: GpuType): number {
    return this.#groups.reduce((max, { group }) => (group.gpu === gpu ? Math.max(max, group.gpus) : max), 0)
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
  chooseNode(gpu: GpuType, gpus: number, weights: string): number {
    const type = this.#byType[gpuIndex(gpu)]
    if (!type || this.#parts.environment.isStockedOut(gpu)) return -1
    const spread = this.#context.profile.policies.placement === 'spread'
    for (let step = 0; step <= MAX_GPUS - gpus; step++) {
      const level = spread ? MAX_GPUS - step : gpus + step
      const node = type.counts[level] === 0 ? -1 : this.#chooseAtLevel(type, level, weights)
      if (node >= 0) return node
    }
    return -1
  }

  /** The node among those with so many free GPUs: one that has the weights, then the first that has room for them. */
  #chooseAtLevel({ ordinals, free, counts }: GpuTypeIndex, level: number, weights: string): number {
    let first = -1
    let remaining = counts[level]!
    for (let i = 0; remaining > 0; i++) {
      if (free[i] !== level) continue
      remaining--
      const row = this.#table.read(ordinals[i]!)
      if (weights !== '' && hasWeights(row, weights)) return ordinals[i]!
      if (first < 0 && !row.diskFull) first = ordinals[i]!
    }
    return first
  }

  /** Whether no node is slower than it should be: then every instance counts as one. */
  get areAllFullSpeed(): boolean {
    return this.#slowCount === 0
  }

  setSlowdown(ordinal: number, factor: number): void {
    const row = this.#table.writable(ordinal)
    this.#slowCount += Number(factor !== 1) - Number(row.slowdown !== 1)
    row.slowdown = factor
  }

  /** Takes GPUs of a node for a tenant; returns them as bits. */
  allocate(node: number, gpus: number, tenant: number): number {
    const row = this.#table.writable(node)
    const unavailable = row.allocated | row.group.occupied | row.broken
    let bits = 0
    let missing = gpus
    for (let gpu = 0; gpu < row.group.gpus && missing > 0; gpu++) {
      const bit = 1 << gpu
      if (unavailable & bit) continue
      bits |= bit
      missing--
    }
    if (missing > 0) throw new Error(`Failed to place an instance on ${row.id}: it lacks ${missing} GPUs.`)
    row.allocated |= bits
    row.tenants = [...row.tenants, tenant]
    this.updateFreeGpus(node)
    return bits
  }

  /** Gives GPUs back. */
  release(node: number, bits: number, tenant: number): void {
    const row = this.#table.writable(node)
    row.allocated &= ~bits
    row.tenants = row.tenants.filter(other => other !== tenant)
    this.updateFreeGpus(node)
    if (row.tenants.length > 0) return
    this.#context.cancel(row.drainEvent)
    row.drainEvent = 0
    this.#ports.provisioner.onNodeEmptied(node)
  }

  /** Remembers that an image is on a node now and was used; the least recently used make room, those in use stay. */
  cacheImage(node: number, image: string): void {
    const row = this.#table.writable(node)
    const { clock, profile } = this.#context
    const { tenants } = this.#parts
    const { imageBytes, imageCacheBytes } = profile.timings
    const entries = row.images.filter(tenant => tenant.image !== image)
    entries.push({ image, bytes: imageBytes, usedAt: clock.now })
    const namesInUse = () => new Set(row.tenants.map(tenant => tenants.imageOf(tenant)))
    row.images = this.#evictToFit(
      entries,
      imageCacheBytes,
      ({ image }) => image,
      namesInUse,
      image => {
        this.#context.record(row, 'node.imageEvicted', { image: formatImageName(image) })
      },
    )
  }

  /** Remembers that weights are on a node now and were read; the least recently read make room, those in use stay. */
  cacheWeights(node: number, repo: string, bytes: number): void {
    const row = this.#table.writable(node)
    const { clock, profile } = this.#context
    const { tenants } = this.#parts
    const entries = row.weights.filter(one => one.repo !== repo)
    entries.push({ repo, bytes, usedAt: clock.now })
    const namesInUse = () => new Set(row.tenants.map(tenant => tenants.weightsOf(tenant)))
    row.weights = this.#evictToFit(
      entries,
      profile.timings.weightCacheBytes,
      ({ repo }) => repo,
      namesInUse,
      repo => {
        this.#context.record(row, 'node.weightsEvicted', { repo })
      },
    )
  }

  /** What stays in a cache of `room` bytes to which its last entry was just added. */
  #evictToFit<Entry extends { readonly bytes: number; readonly usedAt: number }>(
    entries: readonly Entry[],
    capacityBytes: number,
    nameOf: (entry: Entry) => string,
    namesInUse: () => ReadonlySet<string | undefined>,
    onEvict: (name: string) => void,
  ): readonly Entry[] {
    let total = entries.reduce((sum, one) => sum + one.bytes, 0)
    if (total <= capacityBytes) return entries
    const inUse = namesInUse()
    const evicted = new Set<Entry>()
    const candidates = entries
      .slice(0, -1)
      .filter(one => !inUse.has(nameOf(one)))
      .sort((a, b) => a.usedAt - b.usedAt || (nameOf(a) < nameOf(b) ? -1 : 1))
    for (const one of candidates) {
      if (total <= capacityBytes) break
      evicted.add(one)
      total -= one.bytes
      onEvict(nameOf(one))
    }
    return entries.filter(one => !evicted.has(one))
  }

  /** Adds a node to a group; it is provisioning. */
  add(groupIndex: number): number {
    const state = this.#groups[groupIndex]!
    const { group, nextNumber } = state
    const row = new NodeRow(this.#table.generation, `${group.prefix}-${nextNumber}`, group)
    row.state = 'provisioning'
    const ordinal = this.#table.add(row)
    this.#byName.set(row.id, ordinal)
    this.#groups = this.#groups.with(groupIndex, { ...state, nextNumber: nextNumber + 1 })
    const type = gpuIndex(group.gpu)
    this.#byType[type] = this.#buildIndex([...this.#byType[type]!.ordinals, ordinal].sort((a, b) => a - b))
    return ordinal
  }

  /** Takes a node out of the fleet for good: its row leaves the table. */
  remove(ordinal: number): void {
    this.setSlowdown(ordinal, 1)
    const row = this.#table.read(ordinal)
    const type = gpuIndex(row.group.gpu)
    this.#byType[type] = this.#buildIndex([...this.#byType[type]!.ordinals].filter(other => other !== ordinal))
    this.#recordCapacity(type)
    this.#byName.delete(row.id)
    this.#table.remove(ordinal)
  }

  /** How many nodes each group has. */
  counts(): ReadonlyMap<NodeGroup, GroupCounts> {
    const counts = new Map(this.#groups.map(({ group }) => [group, { ready: 0, provisioning: 0, unavailable: 0 }]))
    for (const [, { group, state }] of this.#table.entries()) {
      const count = counts.get(group)!
      if (state === 'ready') count.ready++
      else if (state === 'provisioning') count.provisioning++
      else count.unavailable++
    }
    return counts
  }

  /** The spot capacity of a pool is away until `until`. */
  setSpotUnavailable(pool: string, until: Micros, spotReturnEvent: EntryHandle): void {
    this.#groups = this.#groups.map(state =>
      state.group.pool === pool ? { ...state, spotUnavailableUntil: until, spotReturnEvent } : state,
    )
  }

  /** Counts a node's free GPUs anew: after anything that changes what a placement could have. */
  updateFreeGpus(ordinal: number): void {
    const row = this.#table.read(ordinal)
    const type = this.#byType[gpuIndex(row.group.gpu)]!
    const position = positionOf(type.ordinals, ordinal)
    const previousFree = type.free[position]!
    const free = freeGpus(row)
    type.free[position] = free
    type.counts[previousFree] = type.counts[previousFree]! - 1
    type.counts[free] = type.counts[free]! + 1
    const up = workingGpus(row)
    if (type.up[position] === up) return
    type.up[position] = up
    this.#recordCapacity(gpuIndex(row.group.gpu))
  }

  #recordCapacity(type: number): void {
    let sum = 0
    for (const up of this.#byType[type]!.up) sum += up
    this.#parts.history.onCapacityChanged(type, sum)
  }

  #buildIndex(ordinals: readonly number[]): GpuTypeIndex {
    const free = Uint8Array.from(ordinals, ordinal => freeGpus(this.#table.read(ordinal)))
    const counts = new Int32Array(MAX_GPUS + 1)
    for (const level of free) counts[level] = counts[level]! + 1
    const up = Uint8Array.from(ordinals, ordinal => workingGpus(this.#table.read(ordinal)))
    return { ordinals: Int32Array.from(ordinals), free, up, counts }
  }
}

/** GPUs of a node that a placement could have. */
export function freeGpus(row: Readonly<NodeRow>): number {
  return row.state === 'ready' ? row.group.gpus - bitCount(row.allocated | row.group.occupied | row.broken) : 0
}

/** GPUs of a node that work, held or free, less those that other customers hold. */
function workingGpus(row: Readonly<NodeRow>): number {
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
function formatImageName(image: string): string {
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
