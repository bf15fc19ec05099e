/** The fleet as a page draws it, and what changed in it since an earlier look. */

import { bitCount, freeGpus, type NodeGroup, type NodeRow } from '../../../simulation/fleet/node-row.ts'
import { toRentalOrdinal } from '../../../simulation/fleet/tenants.ts'
import type { World } from '../../../simulation/world.ts'
import type { Simulator } from '../../../simulator/simulator.ts'
import { FleetWaits, type FleetWaitsView } from './fleet-waits.ts'
import { OwnerLoads } from './owner-loads.ts'

/** In the list of a node's GPUs: a free GPU, one of another customer, and a broken one. */
const GPU_CODES = { free: -1, others: -2, broken: -3 } as const

/** Who holds GPUs: a deployment or a container. */
export interface FleetOwner {
  readonly id: string
  readonly kind: 'deployment' | 'container'
  readonly name: string
  readonly status: string
  /** Mean of its ready instances, 0 to 1, rounded to hundredths. Null: nothing of it is ready, or it is a container. */
  readonly utilisation: number | null
}

/** An instance or a container on a node. */
export interface Holder {
  readonly owner: string
  /** The number of the instance; null for a container. */
  readonly number: number | null
  readonly state: string
}

/** A node with the holder of each of its GPUs. */
export interface FleetNode {
  readonly name: string
  readonly group: NodeGroup
  readonly state: string
  readonly slowdown: number
  readonly isDiskFull: boolean
  /** For each GPU: the index of its holder, or one of `GPU_CODES`. */
  readonly gpus: readonly number[]
  readonly holders: readonly Holder[]
}

export interface FleetTotals {
  readonly nodes: number
  readonly gpus: number
  readonly free: number
  readonly held: number
  readonly others: number
  readonly broken: number
  /** Broken ones, and those without a holder on a node that takes no instance. */
  readonly unusable: number
}

/** What a look at the fleet found. */
export interface FleetView {
  /** The number of this look, for the next one. It grows only if something changed. */
  readonly revision: number
  /** Whether `nodes` and `owners` are all there are. */
  readonly isFull: boolean
  readonly totals: FleetTotals
  readonly groups: readonly NodeGroup[]
  readonly owners: readonly FleetOwner[]
  readonly nodes: readonly FleetNode[]
  /** Names of nodes that are gone since then. */
  readonly removed: readonly string[]
  /** Pools without GPUs, and who waits for GPUs: always all of it. */
  readonly waits: FleetWaitsView
}

/** What is known of a slot of the table of nodes, to find out whether it has changed. */
interface SeenNode {
  readonly use: number
  readonly row: ReturnType<typeof copyNode>
  readonly tenantStates: readonly string[]
  readonly revision: number
}

/** Most names of removed nodes that are remembered. A look from before them gets the whole fleet. */
const MAX_REMOVED = 10_000

/** Compares the fleet with that of the last look. A look at 10,000 GPUs takes about a millisecond. */
export class FleetTracker {
  readonly #sim: Simulator
  #world: World | undefined
  #revision = 0
  /** Looks from before this revision get the whole fleet. */
  #oldest = 1
  #seen: (SeenNode | undefined)[] = []
  #owners = new Map<string, { readonly owner: FleetOwner; readonly revision: number }>()
  #removed: { readonly name: string; readonly revision: number }[] = []
  #waits!: FleetWaits
  #waitsText = ''

  constructor(sim: Simulator) {
    this.#sim = sim
  }

  /** Returns what changed since an earlier look. Default: the whole fleet. */
  look(since?: number): FleetView {
    const { world } = this.#sim
    if (world !== this.#world) this.#begin(world)
    const revision = this.#revision + 1
    const totals = this.#scanNodes(world, revision)
    this.#scanOwners(world, revision)
    const waits = this.#waits.look()
    const waitsText = JSON.stringify(waits)
    if (waitsText !== this.#waitsText) this.#change(revision)
    this.#waitsText = waitsText
    const isFull = since === undefined || since < this.#oldest || since > this.#revision
    const isNew = (thing: { readonly revision: number }) => isFull || thing.revision > since
    const nodes: FleetNode[] = []
    for (let ordinal = 0; ordinal < this.#seen.length; ordinal++) {
      const seen = this.#seen[ordinal]
      if (seen !== undefined && isNew(seen)) nodes.push(toFleetNode(world, world.nodes.read(ordinal)))
    }
    const named = new Set(nodes.flatMap(({ holders }) => holders.map(({ owner }) => owner)))
    return {
      ...{ revision: this.#revision, isFull, totals, groups: world.nodes.groups.map(({ group }) => group), nodes },
      waits,
      owners: [...this.#owners.values()]
        .filter(entry => isNew(entry) || named.has(entry.owner.id))
        .map(({ owner }) => owner),
      removed: isFull ? [] : this.#removed.filter(isNew).map(({ name }) => name),
    }
  }

  /** Forgets the fleet of another world: after a reset or a restore, everything is new. */
  #begin(world: World): void {
    this.#world = world
    this.#waits = new FleetWaits(world)
    this.#waitsText = ''
    this.#seen = []
    this.#owners = new Map()
    this.#removed = []
    this.#oldest = ++this.#revision
  }

  #change(revision: number): number {
    this.#revision = revision
    return revision
  }

  #scanNodes(world: World, revision: number): FleetTotals {
    const totals = { nodes: 0, gpus: 0, free: 0, held: 0, others: 0, broken: 0, unusable: 0 }
    const { nodes } = world
    const isPresent: boolean[] = []
    for (const [ordinal, row] of nodes.entries()) {
      isPresent[ordinal] = true
      const { group, broken, heldByOthers, allocated } = row
      totals.nodes++
      totals.gpus += group.gpus
      totals.free += freeGpus(row)
      totals.held += bitCount(allocated)
      totals.others += bitCount((group.occupied | heldByOthers) & ~broken)
      totals.broken += bitCount(broken)
      if (row.state === 'ready') totals.unusable += bitCount(broken)
      else totals.unusable += group.gpus - bitCount(allocated | ((group.occupied | heldByOthers) & ~broken))
      const seen = this.#seen[ordinal]
      const use = nodes.useCount(ordinal)
      if (seen !== undefined && seen.use === use && isSame(world, seen, row)) continue
      if (seen !== undefined && seen.use !== use) this.#remove(seen.row.id, revision)
      this.#seen[ordinal] = {
        ...{ use, row: copyNode(row), tenantStates: row.tenants.map(tenant => stateOfTenant(world, tenant)) },
        revision: this.#change(revision),
      }
    }
    for (const [ordinal, seen] of this.#seen.entries()) {
      if (seen === undefined || isPresent[ordinal]) continue
      this.#seen[ordinal] = undefined
      this.#remove(seen.row.id, revision)
    }
    return totals
  }

  #remove(name: string, revision: number): void {
    this.#removed.push({ name, revision: this.#change(revision) })
    if (this.#removed.length <= MAX_REMOVED) return
    this.#oldest = this.#removed[0]!.revision
    this.#removed.shift()
  }

  #scanOwners(world: World, revision: number): void {
    const present = new Set<string>()
    const loads = new OwnerLoads(world)
    const note = (owner: FleetOwner) => {
      present.add(owner.id)
      const known = this.#owners.get(owner.id)?.owner
      if (known?.status === owner.status && known.utilisation === owner.utilisation && known.name === owner.name) return
      this.#owners.set(owner.id, { owner, revision: this.#change(revision) })
    }
    for (const [ordinal, { id, plan, status, instances }] of world.deployments.entries()) {
      if (instances.length === 0) continue
      note({ id, kind: 'deployment', name: plan.modelName, status, utilisation: loads.utilisationOf(ordinal) })
    }
    for (const [, { id, name, state, node }] of world.rentals.entries()) {
      if (node >= 0) note({ id, kind: 'container', name, status: state, utilisation: null })
    }
    // An owner without GPUs is not part of the fleet; the nodes that it left have changed.
    for (const id of this.#owners.keys()) if (!present.has(id)) this.#owners.delete(id)
  }
}

function copyNode(row: Readonly<NodeRow>) {
  const { id, state, allocated, heldByOthers, broken, slowdown, diskFull, drainEvent, tenants } = row
  return { id, state, allocated, heldByOthers, broken, slowdown, diskFull, isDraining: drainEvent !== 0, tenants }
}

function isSame(world: World, { row: before, tenantStates }: SeenNode, row: Readonly<NodeRow>): boolean {
  return (
    before.state === row.state &&
    before.allocated === row.allocated &&
    before.heldByOthers === row.heldByOthers &&
    before.broken === row.broken &&
    before.slowdown === row.slowdown &&
    before.diskFull === row.diskFull &&
    before.isDraining === (row.drainEvent !== 0) &&
    before.tenants === row.tenants &&
    row.tenants.every((tenant, i) => tenantStates[i] === stateOfTenant(world, tenant))
  )
}

function stateOfTenant({ instances, rentals }: World, tenant: number): string {
  return tenant >= 0 ? instances.read(tenant).state : rentals.read(toRentalOrdinal(tenant)).state
}

function toFleetNode(world: World, row: Readonly<NodeRow>): FleetNode {
  const { group, broken, heldByOthers } = row
  const holders: Holder[] = []
  const gpus = Array.from({ length: group.gpus }, (_, gpu) => {
    const bit = 1 << gpu
    if (broken & bit) return GPU_CODES.broken as number
    return (group.occupied | heldByOthers) & bit ? GPU_CODES.others : GPU_CODES.free
  })
  for (const tenant of row.tenants) {
    const { holder, bits } = toHolder(world, tenant)
    const index = holders.push(holder) - 1
    for (let gpu = 0; gpu < group.gpus; gpu++) if (bits & (1 << gpu) & ~broken) gpus[gpu] = index
  }
  const isDraining = row.state === 'cordoned' && row.drainEvent !== 0
  return {
    ...{ name: row.id, group, state: isDraining ? 'draining' : row.state, slowdown: row.slowdown },
    ...{ isDiskFull: row.diskFull, gpus, holders },
  }
}

function toHolder(world: World, tenant: number): { readonly holder: Holder; readonly bits: number } {
  if (tenant < 0) {
    const { id, state, gpus } = world.rentals.read(toRentalOrdinal(tenant))
    return { holder: { owner: id, number: null, state }, bits: gpus }
  }
  const { deployment, index, state, gpus } = world.instances.read(tenant)
  return { holder: { owner: world.deployments.read(deployment).id, number: index, state }, bits: gpus }
}
