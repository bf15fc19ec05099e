import { draw } from '../../data/profiles/distribution.ts'
import type { Micros } from '../../kernel/duration.ts'
import { purpose } from '../../kernel/random.ts'
import type { Ledger } from '../account/ledger.ts'
import { assertHandled, type EventOf } from '../events.ts'
import { Part } from '../part.ts'
import type { Environment } from './environment.ts'
import { bitCount, type NodeRow } from './node-row.ts'
import type { Nodes } from './nodes.ts'
import type { Placement } from './placement.ts'
import type { GpuRequest, NodeProvisioner } from './tenants.ts'

const PROVISIONING_DELAY = purpose('node.provisioning')
const SPOT_AWAY = purpose('node.spotAway')

/** What a node autoscaler calls above it. */
export interface NodeAutoscalerPorts {
  /** A new node is there. */
  onNodeAdded(ordinal: number): void
}

/** The parts below that it uses. */
export interface NodeAutoscalerParts {
  readonly environment: Environment
  readonly nodes: Nodes
  readonly placement: Placement
  readonly ledger: Ledger
}

/**
 * Nodes that come when instances wait and go when they stand empty, between `min` and `max` of their group. Below `min`,
 * nodes come though nothing waits. A new node takes minutes (Karpenter 47 s, Cluster Autoscaler 4 min, GPUs allocatable
 * after up to 15 min).
 */
export class NodeAutoscaler extends Part<NodeAutoscalerParts, NodeAutoscalerPorts> implements NodeProvisioner {
  /** Refills groups that have lost nodes, and serves what waits. Call it if a node is gone or nodes can be had again. */
  refill(): void {
    this.provisionFor([])
    this.parts.placement.scheduleRound()
  }

  /** Asks for the nodes that these waiting instances or the `min` of a group lack, as far as none is on its way already. */
  provisionFor(requests: readonly GpuRequest[]): void {
    const { nodes, environment } = this.parts
    const { clock } = this.context
    const counts = nodes.counts()
    let unserved = requests
    for (const [index, { group, spotUnavailableUntil }] of nodes.groups.entries()) {
      const gpusPerNode = group.gpus - bitCount(group.occupied)
      const fittingRequests = unserved.filter(one => one.gpu === group.gpu && one.gpus <= gpusPerNode)
      const { ready, provisioning, unavailable } = counts.get(group)!
      const gpusNeeded = fittingRequests.reduce((sum, one) => sum + one.gpus, 0)
      const nodesNeeded = gpusNeeded === 0 ? 0 : Math.ceil(gpusNeeded / gpusPerNode)
      const isBlocked =
        spotUnavailableUntil > clock.now || environment.isStockedOut(group.gpu) || environment.isZoneDown(group.zone)
      // A node that is broken or cordoned for long must not keep out the one that would serve in its place.
      const nodesPresent = ready + provisioning + (group.isElastic ? 0 : unavailable)
      const nodesLacking = Math.max(nodesNeeded - provisioning, group.min - nodesPresent)
      const nodesToAdd = isBlocked ? 0 : Math.min(nodesLacking, group.max - nodesPresent)
      for (let i = nodesToAdd; i > 0; i--) this.#provisionNode(index)
      // Whom these nodes will serve needs none of another group.
      unserved = withoutServed(unserved, fittingRequests, (provisioning + Math.max(0, nodesToAdd)) * gpusPerNode)
    }
  }

  /** A node has no tenants: above its group's minimum it is given back after a while. */
  onNodeEmptied(ordinal: number): void {
    const row = this.parts.nodes.read(ordinal)
    if (!row.group.isElastic || row.tenants.length > 0 || row.next !== 0 || !this.#isSurplus(row)) return
    this.parts.nodes.writable(ordinal).next = this.context.schedule(
      this.context.profile.timings.emptyNodeKept,
      'node.keptEmpty',
      ordinal,
      this.parts.nodes.useCount(ordinal),
    )
  }

  onEvent(event: EventOf<'nodeAutoscaler'>, subject: number): void {
    switch (event) {
      case 'node.provisioned':
        this.#onProvisioned(subject)
        break
      case 'node.keptEmpty':
        this.#onKeptEmpty(subject)
        break
      case 'pool.spotReturned':
        this.#onSpotReturned(subject)
        break
      default:
        assertHandled(event)
    }
  }

  /** A new node is there. */
  #onProvisioned(ordinal: number): void {
    const row = this.parts.nodes.writable(ordinal)
    row.next = 0
    this.ports.onNodeAdded(ordinal)
    if (this.parts.environment.isZoneDown(row.group.zone)) {
      // It was on its way when its zone went, and comes up with it.
      row.state = 'down'
      row.downWithZone = true
      this.context.record(row, 'node.lost', { zone: row.group.zone })
      return
    }
    row.state = 'ready'
    this.context.record(row, 'node.ready')
    this.parts.nodes.updateFreeGpus(ordinal)
    this.parts.placement.scheduleRound()
    this.onNodeEmptied(ordinal)
  }

  /** A node has been empty for a while: it is given back. */
  #onKeptEmpty(ordinal: number): void {
    const row = this.parts.nodes.writable(ordinal)
    row.next = 0
    if (row.tenants.length === 0 && this.#isSurplus(row)) this.removeNode(ordinal, row)
  }

  /**
   * A spot node is taken back after `notice`: from now until a while after that its pool gets no other. Nodes that are
   * taken back at the same time share the draw.
   */
  onSpotReclaimed(row: Readonly<NodeRow>, notice: Micros): void {
    const { nodes } = this.parts
    const { clock, profile, chance } = this.context
    const { pool } = row.group
    const index = nodes.groups.findIndex(({ group }) => group.pool === pool)
    const { spotUnavailableUntil, spotReturnEvent } = nodes.groups[index]!
    const duration = draw(profile.weather.spotAway, chance, chance.key('pool', pool, clock.now), SPOT_AWAY)
    const until = Math.max(spotUnavailableUntil, clock.now + notice + Math.round(duration))
    if (until === spotUnavailableUntil) return
    this.context.cancel(spotReturnEvent)
    nodes.setSpotUnavailable(pool, until, this.context.scheduleAt(until, 'pool.spotReturned', index))
  }

  #onSpotReturned(groupIndex: number): void {
    const { pool } = this.parts.nodes.groups[groupIndex]!.group
    this.parts.nodes.setSpotUnavailable(pool, 0, 0)
    this.context.record(this.parts.ledger.account, 'pool.spotReturned', { pool })
    this.refill()
  }

  #isSurplus({ group, state }: Readonly<NodeRow>): boolean {
    return state === 'ready' && this.parts.nodes.counts().get(group)!.ready > group.min
  }

  /** The node leaves the fleet. */
  removeNode(ordinal: number, row: NodeRow): void {
    this.context.cancel(row.next)
    row.next = 0
    row.state = 'gone'
    this.context.record(row, 'node.gone')
    this.parts.nodes.remove(ordinal)
  }

  #provisionNode(groupIndex: number): void {
    const ordinal = this.parts.nodes.add(groupIndex)
    const row = this.parts.nodes.writable(ordinal)
    const delay = draw(
      this.context.profile.timings.nodeProvisioning,
      this.context.chance,
      this.context.chance.key('node', row.id),
      PROVISIONING_DELAY,
    )
    this.context.record(row, 'node.provisioning', { pool: row.group.pool })
    const slow = delay * this.parts.environment.state.provisioningFactor
    row.next = this.context.schedule(slow, 'node.provisioned', ordinal, this.parts.nodes.useCount(ordinal))
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
