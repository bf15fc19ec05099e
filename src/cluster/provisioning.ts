import { purpose } from '../kernel/random.ts'
import { draw } from '../store/profile-figures.ts'
import type { EventName } from './events.ts'
import { bitCount, type NodeRow } from './nodes.ts'
import type { World } from './world.ts'

const DELAY = purpose('node.provisioning')

/**
 * Nodes that come when instances wait and go when they stand empty, between `min` and `max` of their group. A new node
 * takes minutes (Karpenter 47 s, Cluster Autoscaler 4 min, GPUs allocatable after up to 15 min).
 */
export class Provisioning {
  readonly #world: World

  constructor(world: World) {
    this.#world = world
  }

  /** Asks for the nodes that these waiting instances lack, as far as none is on its way already. */
  demand(waiting: readonly { readonly gpu: string; readonly gpus: number }[]): void {
    const { nodes, conditions } = this.#world
    if (waiting.length === 0) return
    for (const [index, { group, alive }] of nodes.groups.entries()) {
      if (alive >= group.max || conditions.isStockedOut(group.gpu)) continue
      const room = group.gpus - bitCount(group.occupied)
      const fitting = waiting.filter(one => one.gpu === group.gpu && one.gpus <= room)
      if (fitting.length === 0) continue
      const wanted = Math.ceil(fitting.reduce((sum, one) => sum + one.gpus, 0) / room)
      let coming = 0
      for (const [, row] of nodes.entries()) if (row.group === group && row.state === 'provisioning') coming++
      for (let i = Math.min(wanted - coming, group.max - alive); i > 0; i--) this.#provision(index)
    }
  }

  /** A node lost its last tenant: above its group's minimum it is given back after a while. */
  emptied(ordinal: number): void {
    const world = this.#world
    const row = world.nodes.own(ordinal)
    const state = world.nodes.groups[world.nodes.groupOf(ordinal)]!
    if (row.state !== 'ready' || state.alive <= state.group.min || row.next !== 0) return
    row.next = world.plan(world.profile.timings.emptyNodeKept, 'node.keptEmpty', ordinal, world.nodes.useOf(ordinal))
  }

  on(event: EventName, ordinal: number): void {
    const world = this.#world
    const row = world.nodes.own(ordinal)
    row.next = 0
    if (event === 'node.provisioned') {
      row.state = 'ready'
      world.happened(row, 'node.ready')
      world.nodes.recount(ordinal)
      world.weather.watch(ordinal)
      world.placement.wake()
      this.emptied(ordinal)
      return
    }
    const state = world.nodes.groups[world.nodes.groupOf(ordinal)]!
    if (row.tenants.length === 0 && row.state === 'ready' && state.alive > state.group.min) this.giveBack(ordinal, row)
  }

  /** The node leaves the fleet. */
  giveBack(ordinal: number, row: NodeRow): void {
    const world = this.#world
    world.cancel(row.next)
    row.next = 0
    row.state = 'gone'
    world.happened(row, 'node.gone')
    world.nodes.remove(ordinal)
  }

  #provision(index: number): void {
    const world = this.#world
    const ordinal = world.nodes.add(index)
    const row = world.nodes.own(ordinal)
    const delay = draw(world.profile.timings.nodeProvisioning, world.chance, world.chance.key('node', row.id), DELAY)
    world.happened(row, 'node.provisioning', { pool: row.group.pool })
    const slow = delay * world.conditions.provisioningFactor
    row.next = world.plan(slow, 'node.provisioned', ordinal, world.nodes.useOf(ordinal))
  }
}
