import type { Micros } from '../kernel/duration.ts'
import { purpose } from '../kernel/random.ts'
import { draw } from '../store/profile-figures.ts'
import type { EventName } from './events.ts'
import { bitCount, type NodeRow } from './nodes.ts'
import type { World } from './world.ts'

const DELAY = purpose('node.provisioning')
const SPOT_AWAY = purpose('node.spotAway')

/** GPUs that a waiting instance needs on one node. */
interface Wanted {
  readonly gpu: string
  readonly gpus: number
}

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
  demand(waiting: readonly Wanted[]): void {
    const { nodes, conditions, clock } = this.#world
    if (waiting.length === 0) return
    const counts = nodes.counts()
    let rest = waiting
    for (const [index, { group, awayUntil }] of nodes.groups.entries()) {
      const room = group.gpus - bitCount(group.occupied)
      const fitting = rest.filter(one => one.gpu === group.gpu && one.gpus <= room)
      if (fitting.length === 0) continue
      const { serving, coming, away } = counts.get(group)!
      const wanted = Math.ceil(fitting.reduce((sum, one) => sum + one.gpus, 0) / room)
      const barred = awayUntil > clock.now || conditions.isStockedOut(group.gpu) || conditions.isZoneDown(group.zone)
      // A node that is broken or cordoned for long must not keep out the one that would serve in its place.
      const present = serving + coming + (group.elastic ? 0 : away)
      const more = barred ? 0 : Math.min(wanted - coming, group.max - present)
      for (let i = more; i > 0; i--) this.#provision(index)
      // Whom these nodes will serve needs none of another group.
      rest = unserved(rest, fitting, (coming + Math.max(0, more)) * room)
    }
  }

  /** A node has no tenants: above its group's minimum it is given back after a while. */
  emptied(ordinal: number): void {
    const world = this.#world
    const seen = world.nodes.read(ordinal)
    if (!seen.group.elastic || seen.tenants.length > 0 || seen.next !== 0 || !this.#isSpare(seen)) return
    world.nodes.own(ordinal).next = world.plan(
      world.profile.timings.emptyNodeKept,
      'node.keptEmpty',
      ordinal,
      world.nodes.useOf(ordinal),
    )
  }

  on(event: EventName, ordinal: number): void {
    const world = this.#world
    const row = world.nodes.own(ordinal)
    row.next = 0
    if (event === 'node.provisioned') {
      world.weather.watch(ordinal)
      if (world.conditions.isZoneDown(row.group.zone)) {
        // It was on its way when its zone went, and comes up with it.
        row.state = 'down'
        row.downWithZone = true
        world.happened(row, 'node.lost', { zone: row.group.zone })
        return
      }
      row.state = 'ready'
      world.happened(row, 'node.ready')
      world.nodes.recount(ordinal)
      world.placement.wake()
      this.emptied(ordinal)
      return
    }
    if (row.tenants.length === 0 && this.#isSpare(row)) this.giveBack(ordinal, row)
  }

  /** A spot node is taken back after `notice`: from now until a while after that its pool gets no other. */
  spotTaken(row: Readonly<NodeRow>, notice: Micros): void {
    const world = this.#world
    const { nodes, clock, profile, chance } = world
    const { pool } = row.group
    const index = nodes.groups.findIndex(({ group }) => group.pool === pool)
    const { awayUntil, returns } = nodes.groups[index]!
    const lasts = draw(profile.weather.spotAway, chance, chance.key('node', row.id), SPOT_AWAY)
    const until = Math.max(awayUntil, clock.now + notice + Math.round(lasts))
    if (until === awayUntil) return
    world.cancel(returns)
    nodes.setAway(pool, until, world.planAt(until, 'pool.spotReturned', index))
  }

  spotReturned(index: number): void {
    const world = this.#world
    const { pool } = world.nodes.groups[index]!.group
    world.nodes.setAway(pool, 0, 0)
    world.happened(world.ledger.account, 'pool.spotReturned', { pool })
    world.placement.wake()
  }

  #isSpare({ group, state }: Readonly<NodeRow>): boolean {
    return state === 'ready' && this.#world.nodes.counts().get(group)!.serving > group.min
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

/** Who still waits once `room` GPUs have come for those that fit there, served in order. */
function unserved(waiting: readonly Wanted[], fitting: readonly Wanted[], room: number): readonly Wanted[] {
  const served = new Set<Wanted>()
  let left = room
  for (const one of fitting) {
    if (one.gpus > left) continue
    left -= one.gpus
    served.add(one)
  }
  return waiting.filter(one => !served.has(one))
}
