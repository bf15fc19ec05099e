import type { Micros } from '../kernel/duration.ts'
import { Layers } from '../kernel/layers.ts'
import { type Generation, Row, Table } from '../kernel/table.ts'
import type { Tape } from '../kernel/tape.ts'
import type { GpuType, HostedSeed, HostedState } from '../store/records.ts'
import type { World } from './world.ts'

/** A rented machine of its own, with storage that only grows. */
export class HostedRow extends Row {
  name: string
  state: HostedState
  readonly gpu: GpuType
  readonly numGpus: number
  readonly createdAt: Micros
  storageGb: number
  /** Storage it will have when the expansion under way is done; 0 when none is. */
  expandingTo = 0
  node = -1
  gpuBits = 0
  meter = -1

  constructor(
    generation: Generation,
    id: string,
    about: { name: string; state: HostedState; gpu: GpuType; numGpus: number; createdAt: Micros; storageGb: number },
  ) {
    super(generation, id)
    this.name = about.name
    this.state = about.state
    this.gpu = about.gpu
    this.numGpus = about.numGpus
    this.createdAt = about.createdAt
    this.storageGb = about.storageGb
  }

  copy(generation: Generation): HostedRow {
    const copy = new HostedRow(generation, this.id, this)
    copy.expandingTo = this.expandingTo
    copy.node = this.node
    copy.gpuBits = this.gpuBits
    copy.meter = this.meter
    return copy.takeHash(this)
  }
}

/** A hosted instance, to read and to change. */
export interface Hosted {
  readonly instance_id: string
  readonly name: string
  readonly state: HostedState
  readonly storage_gb: number
  /** Whether an expansion is under way. */
  readonly expanding: boolean
  rename(name: string): void
  expand(sizeGb: number): void
}

/** The hosted instances of the account: tenants of the fleet, billed while they run. */
export class HostedInstances {
  readonly #world: World
  readonly #table: Table<HostedRow>
  readonly #byId: Layers<number>

  constructor(world: World, from?: { table: Table<HostedRow>; hosted: HostedInstances }) {
    this.#world = world
    this.#table = from?.table ?? new Table(world.generation)
    this.#byId = from ? from.hosted.#byId.fork() : new Layers()
  }

  fork(world: World, theirs: Generation): HostedInstances {
    return new HostedInstances(world, { table: this.#table.fork(theirs, world.generation), hosted: this })
  }

  keep(tape: Tape): void {
    this.#table.keep(tape)
    this.#byId.keep(tape)
  }

  get(instanceId: string): Hosted | undefined {
    const ordinal = this.#byId.get(instanceId)
    if (ordinal === undefined) return undefined
    const row = this.#table.read(ordinal)
    if (row.state === 'deleted') return undefined
    return {
      instance_id: row.id,
      name: row.name,
      state: row.state,
      storage_gb: row.storageGb,
      expanding: row.expandingTo > 0,
      rename: name => this.#rename(ordinal, name),
      expand: sizeGb => this.#expand(ordinal, sizeGb),
    }
  }

  /** Puts a hosted instance of a fixture in; false when it runs and no node has room. */
  settle(seed: HostedSeed): boolean {
    const world = this.#world
    const row = new HostedRow(this.#table.generation, seed.instance_id, {
      name: seed.name,
      state: seed.state,
      gpu: seed.gpu,
      numGpus: seed.num_gpus,
      createdAt: world.clock.fromUnix(seed.created_at),
      storageGb: seed.storage_gb,
    })
    const ordinal = this.#table.add(row)
    this.#byId.set(row.id, ordinal)
    row.meter = world.ledger.openMeter(row.id, 'hosted', row.gpu, row.numGpus)
    world.happened(row, 'hosted.created', { name: row.name, gpu: row.gpu, num_gpus: row.numGpus })
    if (row.state !== 'running') return true
    const node = world.nodes.choose(row.gpu, row.numGpus, '')
    if (node < 0) return false
    row.node = node
    // Its ordinal is kept apart from those of instances by its sign.
    row.gpuBits = world.nodes.take(node, row.numGpus, -1 - ordinal)
    world.limits.hold(row.gpu, row.numGpus)
    world.ledger.setUnits(row.meter, 1)
    return true
  }

  expanded(ordinal: number): void {
    const row = this.#table.own(ordinal)
    row.storageGb = row.expandingTo
    row.expandingTo = 0
    this.#world.happened(row, 'hosted.expanded', { storage_gb: row.storageGb })
    this.#world.seen()
  }

  /** The node of these died. */
  loseOn(node: number): void {
    for (const [ordinal, row] of this.#table.entries()) if (row.node === node) this.#end(ordinal, 'failed')
  }

  /** A GPU of these broke. */
  loseGpu(node: number, bit: number): void {
    for (const [ordinal, row] of this.#table.entries()) {
      if (row.node === node && row.gpuBits & bit) this.#end(ordinal, 'failed')
    }
  }

  /** No funds: what runs stops. */
  stopAll(): void {
    for (const [ordinal, row] of this.#table.entries()) if (row.state === 'running') this.#end(ordinal, 'stopped')
  }

  entries(): Generator<[number, Readonly<HostedRow>]> {
    return this.#table.entries()
  }

  #rename(ordinal: number, name: string): void {
    const row = this.#table.own(ordinal)
    row.name = name
    this.#world.happened(row, 'hosted.renamed', { name })
    this.#world.seen()
  }

  #expand(ordinal: number, sizeGb: number): void {
    const row = this.#table.own(ordinal)
    row.expandingTo = sizeGb
    this.#world.happened(row, 'hosted.expanding', { storage_gb: sizeGb })
    this.#world.plan(this.#world.profile.timings.storageExpansion, 'hosted.expanded', ordinal)
    this.#world.seen()
  }

  #end(ordinal: number, state: 'stopped' | 'failed'): void {
    const world = this.#world
    const row = this.#table.own(ordinal)
    if (row.node >= 0) {
      world.nodes.release(row.node, row.gpuBits, -1 - ordinal)
      world.limits.release(row.gpu, row.numGpus)
      world.ledger.setUnits(row.meter, 0)
    }
    row.node = -1
    row.gpuBits = 0
    row.state = state
    world.happened(row, `hosted.${state}`)
    world.placement.wake()
    world.seen()
  }
}
