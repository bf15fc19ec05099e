import { draw } from '../../data/profiles/figures.ts'
import type { Micros } from '../../kernel/duration.ts'
import { purpose } from '../../kernel/random.ts'
import type { EventName } from '../events.ts'
import type { World } from '../world.ts'
import { bitCount, type NodeRow } from './nodes.ts'

const PROVISIONING_DELAY = purpose('node.provisioning')
const SPOT_AWAY = purpose('node.spotAway')

/** GPUs that a waiting instance needs on one node. */
interface GpuRequest {
  readonly gpu: string
  readonly gpus: number
}

/**
 * Nodes that come when instances wait and go when they stand empty, between `min` and `max` of their group. A new node
 * takes minutes (Karpenter 47 s, Cluster Autoscaler 4 min, GPUs allocatable after up to 15 min).
 */
export class NodeAutoscaler {
  readonly #world: World

  constructor(world: World) {
    this.#world = world
  }

  /** Asks for the nodes that these waiting instances lack, as far as none is on its way already. */
  provisionFor(requests: readonly GpuRequest[]): void {
    const { nodes, environment, clock } = this.#world
    if (requests.length === 0) return
    const counts = nodes.counts()
    let unserved = requests
    for (const [index, { group, spotUnavailableUntil }] of nodes.groups.entries()) {
      const gpusPerNode = group.gpus - bitCount(group.occupied)
      const fittingRequests = unserved.filter(one => one.gpu === group.gpu && one.gpus <= gpusPerNode)
      if (fittingRequests.length === 0) continue
      const { ready, provisioning, unavailable } = counts.get(group)!
      const nodesNeeded = Math.ceil(fittingRequests.reduce((sum, one) => sum + one.gpus, 0) / gpusPerNode)
      const isBlocked =
        spotUnavailableUntil > clock.now || environment.isStockedOut(group.gpu) || environment.isZoneDown(group.zone)
      // A node that is broken or cordoned for long must not keep out the one that would serve in its place.
      const nodesPresent = ready + provisioning + (group.isElastic ? 0 : unavailable)
      const nodesToAdd = isBlocked ? 0 : Math.min(nodesNeeded - provisioning, group.max - nodesPresent)
      for (let i = nodesToAdd; i > 0; i--) this.#provisionNode(index)
      // Whom these nodes will serve needs none of another group.
      unserved = withoutServed(unserved, fittingRequests, (provisioning + Math.max(0, nodesToAdd)) * gpusPerNode)
    }
  }

  /** A node has no tenants: above its group's minimum it is given back after a while. */
  onNodeEmptied(ordinal: number): void {
    const world = this.#world
    const row = world.nodes.read(ordinal)
    if (!row.group.isElastic || row.tenants.length > 0 || row.next !== 0 || !this.#isSurplus(row)) return
    world.nodes.writable(ordinal).next = world.schedule(
      world.profile.timings.emptyNodeKept,
      'node.keptEmpty',
      ordinal,
      world.nodes.useCount(ordinal),
    )
  }

  onEvent(event: EventName, ordinal: number): void {
    const world = this.#world
    const row = world.nodes.writable(ordinal)
    row.next = 0
    if (event === 'node.provisioned') {
      world.weather.addNode(ordinal)
      if (world.environment.isZoneDown(row.group.zone)) {
        // It was on its way when its zone went, and comes up with it.
        row.state = 'down'
        row.downWithZone = true
        world.record(row, 'node.lost', { zone: row.group.zone })
        return
      }
      row.state = 'ready'
      world.record(row, 'node.ready')
      world.nodes.updateFreeGpus(ordinal)
      world.placement.scheduleRound()
      this.onNodeEmptied(ordinal)
      return
    }
    if (row.tenants.length === 0 && this.#isSurplus(row)) this.removeNode(ordinal, row)
  }

  /** A spot node is taken back after `notice`: from now until a while after that its pool gets no other. */
  onSpotReclaimed(row: Readonly<NodeRow>, notice: Micros): void {
    const world = this.#world
    const { nodes, clock, profile, chance } = world
    const { pool } = row.group
    const index = nodes.groups.findIndex(({ group }) => group.pool === pool)
    const { spotUnavailableUntil, spotReturnEvent } = nodes.groups[index]!
    const duration = draw(profile.weather.spotAway, chance, chance.key('node', row.id), SPOT_AWAY)
    const until = Math.max(spotUnavailableUntil, clock.now + notice + Math.round(duration))
    if (until === spotUnavailableUntil) return
    world.cancel(spotReturnEvent)
    nodes.setSpotUnavailable(pool, until, world.scheduleAt(until, 'pool.spotReturned', index))
  }

  onSpotReturned(groupIndex: number): void {
    const world = this.#world
    const { pool } = world.nodes.groups[groupIndex]!.group
    world.nodes.setSpotUnavailable(pool, 0, 0)
    world.record(world.ledger.account, 'pool.spotReturned', { pool })
    world.placement.scheduleRound()
  }

  #isSurplus({ group, state }: Readonly<NodeRow>): boolean {
    return state === 'ready' && this.#world.nodes.counts().get(group)!.ready > group.min
  }

  /** The node leaves the fleet. */
  removeNode(ordinal: number, row: NodeRow): void {
    const world = this.#world
    world.cancel(row.next)
    row.next = 0
    row.state = 'gone'
    world.record(row, 'node.gone')
    world.nodes.remove(ordinal)
  }

  #provisionNode(groupIndex: number): void {
    const world = this.#world
    const ordinal = world.nodes.add(groupIndex)
    const row = world.nodes.writable(ordinal)
    const delay = draw(
      world.profile.timings.nodeProvisioning,
      world.chance,
      world.chance.key('node', row.id),
      PROVISIONING_DELAY,
    )
    world.record(row, 'node.provisioning', { pool: row.group.pool })
    const slow = delay * world.environment.provisioningFactor
    row.next = world.schedule(slow, 'node.provisioned', ordinal, world.nodes.useCount(ordinal))
  }
}

/** Who still waits once `room` GPUs have come for those that fit there, served in order. */
function withoutServed(
  requests: readonly GpuRequest[],
  fittingRequests: readonly GpuRequest[],
  freeGpus: number,
): readonly GpuRequest[] {
  const served = new Set<GpuRequest>()
  let left = freeGpus
  for (const request of fittingRequests) {
    if (request.gpus > left) continue
    left -= request.gpus
    served.add(request)
  }
  return requests.filter(one => !served.has(one))
}
