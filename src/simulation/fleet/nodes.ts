import type { NodePool } from '../../data/records/fleet.ts'
import { GPU_TYPES, type GpuType, gpuIndex } from '../../data/records/gpu-config.ts'
import type { EntryHandle } from '../../kernel/agenda.ts'
import type { Archive } from '../../kernel/archive.ts'
import type { Micros } from '../../kernel/duration.ts'
import { withItem, withoutItem } from '../../lib/lists.ts'
import { IndexedPart } from '../part.ts'
import type { UsageHistory } from '../recording/history.ts'
import type { Environment } from './environment.ts'
import {
  buildGpuTypeIndex,
  chooseFromIndex,
  copyGpuTypeIndex,
  countWorkingGpus,
  type GpuTypeIndex,
  updateGpuTypeIndex,
} from './gpu-type-index.ts'
import { bytesOf, evictToFit, imageOf, repoOf, withUse } from './node-caches.ts'
import { bitCount, freeGpus, type NodeGroup, NodeRow, type NodeState, toNodeGroup } from './node-row.ts'
import type { NodeProvisioner, Tenants } from './tenants.ts'
import { repositoryWeights } from './weights.ts'

/** A node, as seen outside the simulation. */
export interface NodeView {
  readonly name: string
  readonly state: NodeState
  readonly pool: string
  readonly zone: string
  readonly market: NodePool['market']
  readonly gpu: GpuType
  readonly gpus: number
  /** GPUs that an instance can use. */
  readonly free: number
  readonly broken: number
  readonly slowdown: number
}

interface GroupState {
  readonly group: NodeGroup
  /** The number in the name of its next node: the count of all nodes so far. */
  readonly nextNumber: number
  /** The end of a time without spot capacity in its pool, and the event at that end. */
  readonly spotUnavailableUntil: Micros
  readonly spotReturnEvent: EntryHandle
}

/** The nodes of a group by state; cordoned and down ones are unavailable. */
export interface GroupCounts {
  readonly ready: number
  readonly provisioning: number
  readonly unavailable: number
}

/** The lower parts that `Nodes` uses. */
export interface NodesParts {
  readonly environment: Environment
  readonly history: UsageHistory
  readonly tenants: Tenants
}

/** The nodes and their GPUs, with an index of free GPUs by type. */
export class Nodes extends IndexedPart<NodeRow, NodesParts, NodeProvisioner> {
  protected readonly table = this.tableOf(NodeRow)
  readonly #read = (ordinal: number): Readonly<NodeRow> => this.table.read(ordinal)
  #byType: GpuTypeIndex[] = []
  /** The GPU types whose index belongs to this world alone, as bits. Forks share the others. */
  #ownTypes = 0
  /** Replaced, never modified, because forks share it. */
  #groups: readonly GroupState[] = []
  /** The number of slowed nodes. */
  #slowCount = 0

  override archive(archive: Archive): void {
    super.archive(archive)
    this.#byType = archive.own(this.#byType)
    this.#ownTypes = 0
    this.#groups = archive.value(this.#groups)
    this.#slowCount = archive.value(this.#slowCount)
  }

  /** Builds the fleet of a fixture. */
  buildFleet(pools: readonly NodePool[]): void {
    const { profile } = this.context
    const byType: number[][] = GPU_TYPES.map(() => [])
    const groups: GroupState[] = []
    for (const pool of pools) {
      for (const poolGroup of pool.nodes) {
        const group = toNodeGroup(pool, poolGroup)
        const weights = poolGroup.weights_cached.map(repo => ({
          repo,
          bytes: repositoryWeights(this.context.store.hub.get(repo), repo).bytes,
          usedAt: -1,
        }))
        const images = poolGroup.image_cached ? [{ image: '', bytes: profile.timings.imageBytes, usedAt: 0 }] : []
        for (let i = 0; i < poolGroup.count; i++) {
          const row = new NodeRow(this.table.generation, `${poolGroup.prefix}-${i}`, { group })
          row.images = images
          row.weights = weights
          byType[gpuIndex(poolGroup.gpu)]!.push(this.addRow(row))
        }
        groups.push({ group, nextNumber: poolGroup.count, spotUnavailableUntil: 0, spotReturnEvent: 0 })
      }
    }
    this.#groups = groups
    this.#byType = byType.map(ordinals => buildGpuTypeIndex(ordinals, this.#read))
    for (const [type, { up }] of this.#byType.entries()) if (up.length > 0) this.#recordCapacity(type)
  }

  /** Returns how many nodes used a slot so far. */
  useCount(ordinal: number): number {
    return this.table.useCount(ordinal)
  }

  get groups(): readonly GroupState[] {
    return this.#groups
  }

  view(ordinal: number): NodeView {
    const row = this.table.read(ordinal)
    const { id: name, state, slowdown } = row
    const { pool, zone, market, gpu, gpus } = row.group
    const [free, broken] = [freeGpus(row), bitCount(row.broken)]
    return { name, state, pool, zone, market, gpu, gpus, free, broken, slowdown }
  }

  list(): NodeView[] {
    return [...this.table.entries()].map(([ordinal]) => this.view(ordinal))
  }

  /** Returns the GPUs of the largest node of a type; 0 if the fleet has no such node. */
  maxGpusPerNode(gpu: GpuType): number {
    return this.#groups.reduce((max, { group }) => (group.gpu === gpu ? Math.max(max, group.gpus) : max), 0)
  }

  /** Returns the free GPUs of a type over all nodes. */
  free(gpu: GpuType): number {
    let sum = 0
    for (const free of this.#byType[gpuIndex(gpu)]?.free ?? []) sum += free
    return sum
  }

  /**
   * Returns the node for an instance; -1 if no single node has enough free GPUs. The policy `best-fit` prefers the fewest
   * free GPUs that suffice, so large gaps remain. `spread` prefers the most. Among equals, a node with the weights comes
   * first, then the lowest ordinal.
   */
  chooseNode(gpu: GpuType, gpus: number, weights: string): number {
    const type = this.#byType[gpuIndex(gpu)]
    if (!type || this.parts.environment.isStockedOut(gpu)) return -1
    const spread = this.context.profile.policies.placement === 'spread'
    return chooseFromIndex(type, this.#read, gpus, weights, spread)
  }

  /** Whether all nodes have full speed. Then every instance has the same capacity. */
  get areAllFullSpeed(): boolean {
    return this.#slowCount === 0
  }

  setSlowdown(ordinal: number, factor: number): void {
    const row = this.table.writable(ordinal)
    this.#slowCount += Number(factor !== 1) - Number(row.slowdown !== 1)
    const { tenants, slowdown, pastSlowdowns } = row
    const past = { until: this.context.clock.now, slowdown }
    row.pastSlowdowns = tenants.length === 0 ? [] : [...pastSlowdowns, past]
    row.slowdown = factor
  }

  /** Allocates GPUs of a node to a tenant. Returns them as bits. */
  allocate(node: number, gpus: number, tenant: number): number {
    const row = this.table.writable(node)
    const unavailable = row.allocated | row.group.occupied | row.heldByOthers | row.broken
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
    row.tenants = withItem(row.tenants, tenant)
    this.updateFreeGpus(node)
    return bits
  }

  /** Releases GPUs of a tenant. */
  release(node: number, bits: number, tenant: number): void {
    const row = this.table.writable(node)
    row.allocated &= ~bits
    row.tenants = withoutItem(row.tenants, tenant)
    this.updateFreeGpus(node)
    if (row.tenants.length > 0) return
    this.context.cancel(row.drainEvent)
    row.drainEvent = 0
    this.ports.onNodeEmptied(node)
  }

  /** Adds an image to the cache of a node, or marks it as used now. The least recently used images are evicted. */
  cacheImage(node: number, image: string): void {
    const row = this.table.writable(node)
    const { clock, profile } = this.context
    const { imageBytes, imageCacheBytes } = profile.timings
    const entries = withUse(row.images, imageOf, { image, bytes: imageBytes, usedAt: clock.now })
    if (row.pulls.length > 0) row.pulls = row.pulls.filter(pull => pull.image !== image)
    row.images = entries
    if (bytesOf(entries) <= imageCacheBytes) return
    const namesInUse = new Set(row.tenants.map(tenant => this.parts.tenants.imageOf(tenant)))
    row.images = evictToFit(entries, imageCacheBytes, imageOf, namesInUse, image => {
      this.context.record(row, 'node.imageEvicted', { image: image === '' ? 'serving' : image })
    })
  }

  /** Adds weights to the disk of a node, or marks them as read now. The least recently read weights are evicted. */
  cacheWeights(node: number, repo: string, bytes: number): void {
    const row = this.table.writable(node)
    const { clock, profile } = this.context
    const { weightCacheBytes } = profile.timings
    const entries = withUse(row.weights, repoOf, { repo, bytes, usedAt: clock.now })
    row.weights = entries
    if (bytesOf(entries) <= weightCacheBytes) return
    const namesInUse = new Set(row.tenants.map(tenant => this.parts.tenants.weightsOf(tenant)))
    row.weights = evictToFit(entries, weightCacheBytes, repoOf, namesInUse, repo => {
      this.context.record(row, 'node.weightsEvicted', { repo })
    })
  }

  /** Adds a node to a group, in the state `provisioning`. Returns its ordinal. */
  add(groupIndex: number): number {
    const state = this.#groups[groupIndex]!
    const { group, nextNumber } = state
    const row = new NodeRow(this.table.generation, `${group.prefix}-${nextNumber}`, { group })
    row.state = 'provisioning'
    const ordinal = this.addRow(row)
    this.#groups = this.#groups.with(groupIndex, { ...state, nextNumber: nextNumber + 1 })
    const type = gpuIndex(group.gpu)
    const ordinals = [...this.#byType[type]!.ordinals, ordinal].sort((a, b) => a - b)
    this.#setIndex(type, buildGpuTypeIndex(ordinals, this.#read))
    return ordinal
  }

  /** Removes a node and its row. */
  remove(ordinal: number): void {
    this.setSlowdown(ordinal, 1)
    const row = this.table.read(ordinal)
    const type = gpuIndex(row.group.gpu)
    const ordinals = [...this.#byType[type]!.ordinals].filter(other => other !== ordinal)
    this.#setIndex(type, buildGpuTypeIndex(ordinals, this.#read))
    this.#recordCapacity(type)
    this.removeRow(ordinal)
  }

  /** Counts the nodes of each group. */
  counts(): ReadonlyMap<NodeGroup, GroupCounts> {
    const counts = new Map(this.#groups.map(({ group }) => [group, { ready: 0, provisioning: 0, unavailable: 0 }]))
    for (const [, { group, state }] of this.table.entries()) {
      const count = counts.get(group)!
      if (state === 'ready') count.ready++
      else if (state === 'provisioning') count.provisioning++
      else count.unavailable++
    }
    return counts
  }

  /** Returns the pool of a node by its name, also after the node is gone. */
  poolOf(node: string): string | undefined {
    return this.#groups.find(({ group }) => group.prefix === node.slice(0, node.lastIndexOf('-')))?.group.pool
  }

  /** Marks the spot capacity of a pool as unavailable until `until`. */
  setSpotUnavailable(pool: string, until: Micros, spotReturnEvent: EntryHandle): void {
    this.#groups = this.#groups.map(state =>
      state.group.pool === pool ? { ...state, spotUnavailableUntil: until, spotReturnEvent } : state,
    )
  }

  /** Updates the index. To be called after every change to the state, the allocated or the broken GPUs of a node. */
  updateFreeGpus(ordinal: number): void {
    const row = this.table.read(ordinal)
    if (this.#updateIndex(ordinal, row)) this.#recordCapacity(gpuIndex(row.group.gpu))
  }

  /** Lets other customers hold GPUs of nodes, as bits by ordinal. Records the capacity of each type once. */
  holdByOthers(held: ReadonlyMap<number, number>): void {
    const changedTypes = new Set<number>()
    for (const [ordinal, gpus] of held) {
      const row = this.table.writable(ordinal)
      row.heldByOthers = gpus
      if (this.#updateIndex(ordinal, row)) changedTypes.add(gpuIndex(row.group.gpu))
    }
    for (const type of changedTypes) this.#recordCapacity(type)
  }

  /** Returns whether the number of working GPUs changed. */
  #updateIndex(ordinal: number, row: Readonly<NodeRow>): boolean {
    const type = gpuIndex(row.group.gpu)
    if ((this.#ownTypes & (1 << type)) === 0) this.#setIndex(type, copyGpuTypeIndex(this.#byType[type]!))
    return updateGpuTypeIndex(this.#byType[type]!, ordinal, row)
  }

  #setIndex(type: number, index: GpuTypeIndex): void {
    this.#byType[type] = index
    this.#ownTypes |= 1 << type
  }

  #recordCapacity(type: number): void {
    this.parts.history.onCapacityChanged(type, ...countWorkingGpus(this.#byType[type]!, this.#read))
  }
}
