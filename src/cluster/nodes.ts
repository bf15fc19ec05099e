import { type Generation, Row, Table } from '../kernel/table.ts'
import { GPU_TYPES, type GpuType, type NodePool } from '../store/records.ts'
import { gpuIndex } from './gpus.ts'
import type { World } from './world.ts'

/** What a node can do: `ready` takes instances, `cordoned` keeps those it has, `down` has lost them. */
export type NodeState = 'ready' | 'cordoned' | 'down'

/** A machine with up to 16 GPUs of one type. Which GPUs are taken is a bit a GPU. */
export class NodeRow extends Row {
  state: NodeState = 'ready'
  readonly pool: string
  readonly zone: string
  readonly market: NodePool['market']
  readonly gpu: GpuType
  readonly gpus: number
  /** GPUs that other customers hold for good, as bits. */
  readonly occupied: number
  /** GPUs that instances of this account hold, as bits. */
  taken = 0
  imageCached: boolean
  weightsCached: readonly string[]
  /** Ordinals of the instances on it. */
  instances: readonly number[] = []

  constructor(
    generation: Generation,
    id: string,
    place: { pool: string; zone: string; market: NodePool['market']; gpu: GpuType; gpus: number; occupied: number },
    caches: { image: boolean; weights: readonly string[] },
  ) {
    super(generation, id)
    this.pool = place.pool
    this.zone = place.zone
    this.market = place.market
    this.gpu = place.gpu
    this.gpus = place.gpus
    this.occupied = place.occupied
    this.imageCached = caches.image
    this.weightsCached = caches.weights
  }

  copy(generation: Generation): NodeRow {
    const copy = new NodeRow(generation, this.id, this, { image: this.imageCached, weights: this.weightsCached })
    copy.state = this.state
    copy.taken = this.taken
    copy.instances = this.instances
    return copy.takeHash(this)
  }
}

/** A node as code outside the simulation sees it. */
export interface NodeView {
  readonly name: string
  readonly state: NodeState
  readonly pool: string
  readonly zone: string
  readonly gpu: GpuType
  readonly gpus: number
  readonly free: number
}

/** The nodes and their GPUs: what is free where, by type. */
export class Nodes {
  readonly #world: World
  #table: Table<NodeRow>
  /** By GPU type: ordinals of its nodes and, beside them, how many GPUs a placement could have on each. */
  #byType: { readonly ordinals: Int32Array; readonly free: Uint8Array }[]
  #byName: ReadonlyMap<string, number>
  #stockedOut: number

  constructor(world: World, from?: { table: Table<NodeRow>; nodes: Nodes }) {
    this.#world = world
    if (from) {
      this.#table = from.table
      this.#byType = from.nodes.#byType.map(({ ordinals, free }) => ({ ordinals, free: free.slice() }))
      this.#byName = from.nodes.#byName
      this.#stockedOut = from.nodes.#stockedOut
    } else {
      this.#table = new Table(world.generation)
      this.#byType = []
      this.#byName = new Map()
      this.#stockedOut = 0
    }
  }

  fork(world: World, theirs: Generation): Nodes {
    return new Nodes(world, { table: this.#table.fork(theirs, world.generation), nodes: this })
  }

  /** Builds the fleet of a fixture. */
  build(pools: readonly NodePool[]): void {
    const byType: number[][] = GPU_TYPES.map(() => [])
    const byName = new Map<string, number>()
    for (const pool of pools) {
      for (const group of pool.nodes) {
        for (let i = 0; i < group.count; i++) {
          const name = `${group.prefix}-${i}`
          const place = {
            pool: pool.name,
            zone: pool.zone,
            market: pool.market,
            gpu: group.gpu,
            gpus: group.gpus_per_node,
            occupied: (1 << group.occupied) - 1,
          }
          const caches = { image: group.image_cached, weights: group.weights_cached }
          const ordinal = this.#table.add(new NodeRow(this.#table.generation, name, place, caches))
          byName.set(name, ordinal)
          byType[gpuIndex(group.gpu)]!.push(ordinal)
        }
      }
    }
    this.#byName = byName
    this.#byType = byType.map(ordinals => ({
      ordinals: Int32Array.from(ordinals),
      free: Uint8Array.from(ordinals, ordinal => freeGpus(this.#table.read(ordinal))),
    }))
  }

  get count(): number {
    return this.#table.count
  }

  read(ordinal: number): Readonly<NodeRow> {
    return this.#table.read(ordinal)
  }

  find(name: string): number | undefined {
    return this.#byName.get(name)
  }

  get names(): Iterable<string> {
    return this.#byName.keys()
  }

  view(ordinal: number): NodeView {
    const row = this.#table.read(ordinal)
    return {
      name: row.id,
      state: row.state,
      pool: row.pool,
      zone: row.zone,
      gpu: row.gpu,
      gpus: row.gpus,
      free: freeGpus(row),
    }
  }

  list(): NodeView[] {
    return [...this.#table.entries()].map(([ordinal]) => this.view(ordinal))
  }

  /** GPUs of a type that an instance could have now, over all its nodes. */
  free(gpu: GpuType): number {
    let sum = 0
    for (const free of this.#byType[gpuIndex(gpu)]?.free ?? []) sum += free
    return sum
  }

  /**
   * The node for an instance: best fit, that is the fewest free GPUs that suffice, so that large holes stay large; among
   * equals one that has the weights, then the first by position. -1 when no single node has enough.
   */
  bestFit(gpu: GpuType, gpus: number, weights: string): number {
    const index = gpuIndex(gpu)
    if (this.#stockedOut & (1 << index)) return -1
    const type = this.#byType[index]
    if (!type) return -1
    let best = -1
    let bestFree = 255
    let bestCached = false
    const { ordinals, free } = type
    for (let i = 0; i < free.length; i++) {
      const here = free[i]!
      if (here < gpus || here > bestFree) continue
      const ordinal = ordinals[i]!
      const cached = weights !== '' && this.#table.read(ordinal).weightsCached.includes(weights)
      if (here < bestFree || (cached && !bestCached)) {
        best = ordinal
        bestFree = here
        bestCached = cached
      }
    }
    return best
  }

  /** Takes GPUs of a node for an instance; returns them as bits. */
  take(node: number, gpus: number, instance: number): number {
    const row = this.#table.own(node)
    let bits = 0
    let wanted = gpus
    for (let gpu = 0; gpu < row.gpus && wanted > 0; gpu++) {
      const bit = 1 << gpu
      if ((row.taken | row.occupied) & bit) continue
      bits |= bit
      wanted--
    }
    if (wanted > 0) throw new Error(`Failed to place an instance on ${row.id}: it lacks ${wanted} GPUs.`)
    row.taken |= bits
    row.instances = [...row.instances, instance]
    this.#count(node, row)
    return bits
  }

  /** Gives GPUs back. */
  release(node: number, bits: number, instance: number): void {
    const row = this.#table.own(node)
    row.taken &= ~bits
    row.instances = row.instances.filter(other => other !== instance)
    this.#count(node, row)
  }

  /** Remembers that the image, and the weights of a repository, are on a node now. */
  cacheImage(node: number): void {
    if (!this.#table.read(node).imageCached) this.#table.own(node).imageCached = true
  }

  cacheWeights(node: number, repo: string): void {
    const { weightsCached } = this.#table.read(node)
    if (!weightsCached.includes(repo)) this.#table.own(node).weightsCached = [...weightsCached, repo]
  }

  /** The node dies: every instance on it is lost. */
  crash(ordinal: number): void {
    const row = this.#table.own(ordinal)
    if (row.state === 'down') return
    row.state = 'down'
    this.#world.command(row, 'node.crashed')
    const lost = row.instances
    this.#count(ordinal, row)
    this.#world.instances.lose(
      lost.filter(instance => instance >= 0),
      `node ${row.id} crashed`,
    )
    this.#world.hosted.loseOn(ordinal)
  }

  /** The node is back, its caches empty: a repaired machine is a fresh one. */
  repair(ordinal: number): void {
    const row = this.#table.own(ordinal)
    if (row.state !== 'down') return
    row.state = 'ready'
    row.imageCached = false
    row.weightsCached = []
    this.#world.command(row, 'node.repaired')
    this.#count(ordinal, row)
    this.#world.placement.wake()
  }

  /** The node takes nothing new; what runs on it stays. */
  cordon(ordinal: number): void {
    const row = this.#table.own(ordinal)
    if (row.state !== 'ready') return
    row.state = 'cordoned'
    this.#world.command(row, 'node.cordoned')
    this.#count(ordinal, row)
  }

  uncordon(ordinal: number): void {
    const row = this.#table.own(ordinal)
    if (row.state !== 'cordoned') return
    row.state = 'ready'
    this.#world.command(row, 'node.uncordoned')
    this.#count(ordinal, row)
    this.#world.placement.wake()
  }

  /** From now on no GPU of this type is handed out, until `restock`. */
  stockOut(gpu: GpuType): void {
    const bit = 1 << gpuIndex(gpu)
    if (this.#stockedOut & bit) return
    this.#stockedOut |= bit
    this.#world.command(this.#world.ledger.account, 'pool.stockedOut', { gpu })
  }

  restock(gpu: GpuType): void {
    const bit = 1 << gpuIndex(gpu)
    if (!(this.#stockedOut & bit)) return
    this.#stockedOut &= ~bit
    this.#world.command(this.#world.ledger.account, 'pool.restocked', { gpu })
    this.#world.placement.wake()
  }

  #count(ordinal: number, row: Readonly<NodeRow>): void {
    const type = this.#byType[gpuIndex(row.gpu)]!
    type.free[lowerBound(type.ordinals, ordinal)] = freeGpus(row)
  }
}

/** GPUs of a node that a placement could have. */
export function freeGpus(row: Readonly<NodeRow>): number {
  return row.state === 'ready' ? row.gpus - bitCount(row.taken | row.occupied) : 0
}

export function bitCount(bits: number): number {
  let count = 0
  for (let rest = bits; rest !== 0; rest &= rest - 1) count++
  return count
}

function lowerBound(sorted: Int32Array, value: number): number {
  let low = 0
  let high = sorted.length
  while (low < high) {
    const middle = (low + high) >> 1
    if (sorted[middle]! < value) low = middle + 1
    else high = middle
  }
  return low
}
