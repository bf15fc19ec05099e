import type { NodePool } from '../../data/records/fleet.ts'
import type { GpuType } from '../../data/records/gpu-config.ts'
import { type Generation, Row } from '../../kernel/row.ts'

/**
 * The state of a node. `provisioning`: not yet available. `ready`: accepts instances. `cordoned`: keeps its instances and
 * accepts no others. `down`: lost its tenants and can be repaired. `gone`: released for good.
 */
export type NodeState = 'provisioning' | 'ready' | 'cordoned' | 'down' | 'gone'

/** The common properties of the nodes of a group. */
export interface NodeGroup {
  readonly pool: string
  readonly zone: string
  readonly market: NodePool['market']
  readonly prefix: string
  readonly gpu: GpuType
  readonly gpus: number
  /** GPUs that other customers hold permanently, as bits. */
  readonly occupied: number
  readonly min: number
  readonly max: number
  /** Whether the number of nodes varies. A group without `min` and `max` only replaces preempted nodes. */
  readonly isElastic: boolean
}

/** Returns the node group of an entry of a pool in a fixture. */
export function toNodeGroup(pool: NodePool, poolGroup: NodePool['nodes'][number]): NodeGroup {
  return {
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
}

/** Weights on a node's disk. */
export interface CachedWeights {
  readonly repo: string
  readonly bytes: number
  /** When an instance last read them. The least recently read are evicted first. */
  readonly usedAt: number
}

/** A container image in a node's image cache. */
export interface CachedImage {
  /** The name in the deployment; '' is the serving image of the provider. */
  readonly image: string
  readonly bytes: number
  /** When an instance last started from it. The least recently used are evicted first. */
  readonly usedAt: number
}

/** A pull of an image to a node, and its end. */
export interface ImagePull {
  readonly image: string
  readonly endsAt: number
}

/** A slowdown that a node had until a time. */
export interface PastSlowdown {
  readonly until: number
  readonly slowdown: number
}

/** An XID error of a GPU of a node. */
export interface GpuError {
  readonly gpu: number
  readonly xid: number
}

const NO_PAST_SLOWDOWNS: readonly PastSlowdown[] = Object.freeze([])
const NO_GPU_ERRORS: readonly GpuError[] = Object.freeze([])

/** Returns the slowdown of a node at a time since which it has had tenants. */
export function slowdownAt({ slowdown, pastSlowdowns }: Readonly<NodeRow>, at: number): number {
  return pastSlowdowns.find(({ until }) => at < until)?.slowdown ?? slowdown
}

/** Keeps an XID error as the newest of its GPU. A repeated error is kept once. */
export function recordGpuError(row: NodeRow, gpu: number, xid: number): void {
  row.gpuErrors = [...row.gpuErrors.filter(error => error.gpu !== gpu || error.xid !== xid), { gpu, xid }]
}

/** Makes GPUs sound again, given as bits, and forgets their XID errors. */
export function repairGpus(row: NodeRow, gpus: number): void {
  row.broken &= ~gpus
  row.needService &= ~gpus
  row.gpuErrors = row.gpuErrors.filter(({ gpu }) => (gpus & (1 << gpu)) === 0)
}

/** A machine with up to 16 GPUs of one type. Sets of GPUs are bits, one per GPU. */
export class NodeRow extends Row {
  declare readonly group: NodeGroup
  state = this.reference<NodeState>('ready')
  /** GPUs that instances and rentals of this account hold, as bits. */
  allocated = this.int32(0)
  /** GPUs that other customers of the cloud hold now, as bits. The weather moves them. */
  heldByOthers = this.int32(0)
  /** Broken GPUs, as bits. */
  broken = this.int32(0)
  /** Broken GPUs that need a repair of the node; a reset has no effect on them. */
  needService = this.int32(0)
  /** The factor by which its GPUs are slower than normal; 1 is full speed. */
  slowdown = this.number(1)
  /** Its slowdowns of the past while it had tenants, oldest first. */
  pastSlowdowns = this.reference<readonly PastSlowdown[]>(NO_PAST_SLOWDOWNS)
  /** The XID errors of its GPUs since their last reset, oldest first. */
  gpuErrors = this.reference<readonly GpuError[]>(NO_GPU_ERRORS)
  images = this.reference<readonly CachedImage[]>([])
  /** Pulls of images by instances. A pull is removed when its image is in the cache. */
  pulls = this.reference<readonly ImagePull[]>([])
  weights = this.reference<readonly CachedWeights[]>([])
  /** When it last booted. Weights that were read since then can be in its page cache. */
  bootedAt = this.number(-1)
  /** Compile caches of engines on its disk, by what they were compiled for. */
  compiled = this.reference<readonly string[]>([])
  diskFull = this.boolean(false)
  /** Whether it went down with its zone and returns with it. */
  downWithZone = this.boolean(false)
  /** Its tenants: ordinals of instances, and negative numbers for rentals (`tenantOf`). */
  tenants = this.reference<readonly number[]>([])
  /** The event that ends its provisioning, preempts it, or releases it after a time without tenants. */
  next = this.number(0)
  /** The event at the end of a drain that stops the remaining tenants. */
  drainEvent = this.number(0)

  constructor(generation: Generation, id: string, initial: Pick<NodeRow, 'group'>) {
    super(generation, id)
    this.group = this.reference(initial.group)
  }
}

/** Returns the number of GPUs that a placement can use. */
export function freeGpus(row: Readonly<NodeRow>): number {
  const unavailable = row.allocated | row.group.occupied | row.heldByOthers | row.broken
  return row.state === 'ready' ? row.group.gpus - bitCount(unavailable) : 0
}

/** Returns the number of working GPUs, held or free, without those of other customers. */
export function workingGpus(row: Readonly<NodeRow>): number {
  return isUp(row) ? row.group.gpus - bitCount(row.group.occupied | row.heldByOthers | row.broken) : 0
}

/** Returns the number of working GPUs that other customers hold. */
export function gpusOfOthers(row: Readonly<NodeRow>): number {
  return isUp(row) ? bitCount((row.group.occupied | row.heldByOthers) & ~row.broken) : 0
}

function isUp({ state }: Readonly<NodeRow>): boolean {
  return state === 'ready' || state === 'cordoned'
}

/** Whether the weights of a repository are on the disk of a node. */
export function hasWeights(row: Readonly<NodeRow>, repo: string): boolean {
  const { weights } = row
  for (let i = 0; i < weights.length; i++) if (weights[i]!.repo === repo) return true
  return false
}

/** Whether weights are in the page cache of a node: those last read since its boot, as far as they fit. */
export function isInPageCache({ weights, bootedAt }: Readonly<NodeRow>, repo: string, capacityBytes: number): boolean {
  let rest = capacityBytes
  for (let i = weights.length - 1; i >= 0; i--) {
    const entry = weights[i]!
    rest -= entry.bytes
    if (rest < 0 || entry.usedAt <= bootedAt) return false
    if (entry.repo === repo) return true
  }
  return false
}

/** Whether an image is in the image cache of a node. */
export function hasImage(row: Readonly<NodeRow>, image: string): boolean {
  const { images } = row
  for (let i = 0; i < images.length; i++) if (images[i]!.image === image) return true
  return false
}

/** Returns the number of bits that are set. */
export function bitCount(bits: number): number {
  let count = 0
  for (let rest = bits; rest !== 0; rest &= rest - 1) count++
  return count
}
