import type { GpuType } from '../../data/records/gpu-config.ts'
import type { EntryFields } from '../../kernel/journal.ts'
import type { Ledger } from '../account/ledger.ts'
import type { Autoscaler } from '../deployments/autoscaler.ts'
import type { Deployments } from '../deployments/deployments.ts'
import type { Instances } from '../deployments/instances.ts'
import { assertHandled, type EventOf } from '../events.ts'
import type { Downloads } from '../fleet/downloads.ts'
import type { Environment, RepositoryState } from '../fleet/environment.ts'
import type { NodeAutoscaler } from '../fleet/node-autoscaler.ts'
import { type NodeRow, recordGpuError, repairGpus } from '../fleet/node-row.ts'
import type { Nodes } from '../fleet/nodes.ts'
import type { Placement } from '../fleet/placement.ts'
import { toRentalOrdinal } from '../fleet/tenants.ts'
import { XIDS } from '../fleet/xid.ts'
import type { JournalKindName } from '../journal-kinds.ts'
import { Part } from '../part.ts'
import type { DeploymentLogs } from '../recording/deployment-logs.ts'
import type { Loss } from '../recording/instance-timeline.ts'
import type { Rentals } from '../rentals/rentals.ts'

/** The parts below that it uses. */
export interface OperationEffectsParts {
  readonly environment: Environment
  readonly nodes: Nodes
  readonly nodeAutoscaler: NodeAutoscaler
  readonly placement: Placement
  readonly downloads: Downloads
  readonly instances: Instances
  readonly deployments: Deployments
  readonly autoscaler: Autoscaler
  readonly rentals: Rentals
  readonly ledger: Ledger
  readonly deploymentLogs: DeploymentLogs
}

/**
 * What breaks and what is put right: the effects behind the verbs. Each records what happened to the thing it happened
 * to, once, and nothing when it was so already.
 */
export class OperationEffects extends Part<OperationEffectsParts> {
  crash(ordinal: number, kind: JournalKindName): void {
    const row = this.parts.nodes.writable(ordinal)
    if (row.state === 'down' || row.state === 'provisioning') return
    this.#takeDown(ordinal, row, kind, { cause: 'node_crash', reason: `node ${row.id} crashed` })
    this.parts.nodeAutoscaler.refill()
  }

  /**
   * Back in service; a machine that was down is a fresh one, so its caches are empty and its GPUs sound. One that is up
   * gets other GPUs for those that need service, and what runs on the rest goes on.
   */
  repair(ordinal: number): void {
    const row = this.parts.nodes.writable(ordinal)
    if (row.state !== 'down') {
      if (row.needService === 0) return
      repairGpus(row, row.needService)
      this.context.recordCommand(row, 'node.repaired')
      this.#returnToService(ordinal)
      return
    }
    // A sound machine in a zone that is away comes back with the zone.
    const isZoneDown = this.parts.environment.isZoneDown(row.group.zone)
    row.state = isZoneDown ? 'down' : 'ready'
    row.downWithZone = isZoneDown
    repairGpus(row, -1)
    this.parts.nodes.setSlowdown(ordinal, 1)
    row.images = []
    row.pulls = []
    row.weights = []
    row.compiled = []
    row.diskFull = false
    this.context.recordCommand(row, 'node.repaired')
    if (!isZoneDown) this.#returnToService(ordinal)
  }

  cordon(ordinal: number): void {
    const row = this.parts.nodes.writable(ordinal)
    if (row.state !== 'ready') return
    row.state = 'cordoned'
    this.context.recordCommand(row, 'node.cordoned')
    this.parts.nodes.updateFreeGpus(ordinal)
    // Another node may have to come in its place.
    this.parts.nodeAutoscaler.refill()
  }

  uncordon(ordinal: number): void {
    const row = this.parts.nodes.writable(ordinal)
    if (row.state !== 'cordoned') return
    row.state = 'ready'
    this.#cancelDrainDeadline(row)
    this.context.recordCommand(row, 'node.uncordoned')
    // A preemption goes on, because only its end would be planned.
    if (row.next === 0) this.parts.instances.keep(row.tenants.filter(one => one >= 0))
    this.#returnToService(ordinal)
  }

  /** Cordons a node and moves what runs on it elsewhere; what is still there at the deadline is cut off. */
  drain(ordinal: number): void {
    const row = this.parts.nodes.writable(ordinal)
    if (row.state !== 'ready' && row.state !== 'cordoned') return
    row.state = 'cordoned'
    this.context.recordCommand(row, 'node.drained')
    this.parts.nodes.updateFreeGpus(ordinal)
    this.#logForTenants(row, 'node.drained', { node: row.id })
    const { drainDeadline } = this.context.profile.timings
    this.#evacuate(row, drainDeadline)
    this.parts.nodeAutoscaler.refill()
    // A second drain of one node does not move the deadline of the first.
    if (row.drainEvent === 0 && row.tenants.length > 0) {
      row.drainEvent = this.context.schedule(
        drainDeadline,
        'node.drainDeadline',
        ordinal,
        this.parts.nodes.useCount(ordinal),
      )
    }
  }

  setDisk(ordinal: number, full: boolean): void {
    const row = this.parts.nodes.writable(ordinal)
    if (row.diskFull === full) return
    row.diskFull = full
    this.context.recordCommand(row, full ? 'disk.filled' : 'disk.freed')
    if (full) {
      this.parts.instances.lose(
        row.tenants.filter(one => one >= 0 && this.parts.instances.read(one).ownRate > 0),
        { cause: 'disk', reason: `no space left on ${row.id}` },
      )
    } else this.parts.placement.scheduleRound()
  }

  /** An XID error: the instance on the GPU is lost; a GPU that needs a reset or service takes none until it had that. */
  failGpu(ordinal: number, gpu: number, xid: number): void {
    const row = this.parts.nodes.writable(ordinal)
    const { title, action } = XIDS[xid]!
    const bit = 1 << gpu
    if (row.state === 'down' || row.broken & bit) return
    if (action !== 'restart') row.broken |= bit
    if (action === 'service') row.needService |= bit
    recordGpuError(row, gpu, xid)
    this.context.recordCommand(row, 'gpu.failed', { gpu, xid, action })
    this.parts.nodes.updateFreeGpus(ordinal)
    const loss: Loss = { cause: 'gpu', reason: `GPU ${gpu} of ${row.id}: XID ${xid}, ${title}` }
    const instancesOnGpu = row.tenants.filter(one => one >= 0 && (this.parts.instances.read(one).gpus & bit) !== 0)
    // Where only the program is to be started again, its end is a crash of the engine.
    if (action !== 'restart') this.parts.instances.lose(instancesOnGpu, loss)
    else for (const one of instancesOnGpu) this.parts.instances.crash(one, loss)
    const rentalsOnGpu = row.tenants
      .map(toRentalOrdinal)
      .filter(one => one >= 0 && (this.parts.rentals.read(one).gpus & bit) !== 0)
    // A program that is to be started again is its user's own: the machine goes on.
    if (action !== 'restart') this.parts.rentals.lose(rentalsOnGpu, loss)
  }

  /** False for a GPU that needs service, which a reset does not mend. */
  resetGpu(ordinal: number, gpu: number): boolean {
    const { broken, needService } = this.parts.nodes.read(ordinal)
    const bit = 1 << gpu
    if (needService & bit) return false
    if (!(broken & bit)) return true
    const row = this.parts.nodes.writable(ordinal)
    repairGpus(row, bit)
    this.context.recordCommand(row, 'gpu.reset', { gpu })
    this.#returnToService(ordinal)
    return true
  }

  setSlowdown(ordinal: number, factor: number): void {
    const row = this.parts.nodes.writable(ordinal)
    if (row.slowdown === factor) return
    this.parts.nodes.setSlowdown(ordinal, factor)
    this.context.recordCommand(row, factor === 1 ? 'node.recovered' : 'node.degraded', { factor })
    for (const deployment of this.#deploymentsOn(row)) this.parts.deployments.scaling.onCapacityChanged(deployment)
  }

  /** The spot nodes of a pool are taken back after `notice`: what runs on them moves away as far as there is time. */
  preemptPool(pool: string, notice: number): void {
    for (const [ordinal, row] of [...this.parts.nodes.entries()]) {
      if (row.group.pool === pool && row.group.market === 'spot') this.preemptNode(ordinal, notice)
    }
  }

  preemptNode(ordinal: number, notice: number): void {
    const row = this.parts.nodes.writable(ordinal)
    if (row.state !== 'ready' && row.state !== 'cordoned') return
    row.state = 'cordoned'
    this.context.recordCommand(row, 'node.preemptionNoticed', { notice_seconds: notice / 1e6 })
    this.parts.nodes.updateFreeGpus(ordinal)
    this.context.cancel(row.next)
    row.next = this.context.schedule(notice, 'node.preempted', ordinal, this.parts.nodes.useCount(ordinal))
    if (row.group.market === 'spot') this.parts.nodeAutoscaler.onSpotReclaimed(row, notice)
    this.#logForTenants(row, 'node.preemptionNoticed', { node: row.id, notice_seconds: notice / 1e6 })
    this.#evacuate(row, notice)
  }

  onEvent(event: EventOf<'operationEffects'>, node: number): void {
    const row = this.parts.nodes.writable(node)
    switch (event) {
      case 'node.drainDeadline':
        row.drainEvent = 0
        this.#loseTenants(row.tenants, { cause: 'other', reason: `node ${row.id} was drained and its deadline passed` })
        break
      case 'node.preempted':
        row.next = 0
        this.#takeDown(node, row, 'node.preempted', { cause: 'preemption', reason: `node ${row.id} was preempted` })
        this.parts.nodeAutoscaler.removeNode(node, this.parts.nodes.writable(node))
        this.parts.nodeAutoscaler.refill()
        break
      default:
        assertHandled(event)
    }
  }

  takeZoneDown(zone: string): void {
    this.parts.environment.setZone(zone, false)
    this.context.recordCommand(this.parts.ledger.account, 'zone.down', { zone })
    const lostTenants: number[] = []
    for (const [ordinal, current] of [...this.parts.nodes.entries()]) {
      if (current.group.zone !== zone || (current.state !== 'ready' && current.state !== 'cordoned')) continue
      const row = this.parts.nodes.writable(ordinal)
      row.state = 'down'
      row.bootedAt = this.context.clock.now
      row.downWithZone = true
      this.#cancelDrainDeadline(row)
      this.context.record(row, 'node.lost', { zone })
      this.parts.nodes.updateFreeGpus(ordinal)
      lostTenants.push(...row.tenants)
    }
    this.#loseTenants(lostTenants, { cause: 'zone', reason: `zone ${zone} is down` })
  }

  bringZoneUp(zone: string): void {
    this.parts.environment.setZone(zone, true)
    this.context.recordCommand(this.parts.ledger.account, 'zone.up', { zone })
    for (const [ordinal, current] of [...this.parts.nodes.entries()]) {
      if (current.group.zone !== zone || !current.downWithZone) continue
      const row = this.parts.nodes.writable(ordinal)
      row.state = 'ready'
      row.downWithZone = false
      this.context.record(row, 'node.ready')
      this.parts.nodes.updateFreeGpus(ordinal)
      this.parts.nodeAutoscaler.onNodeEmptied(ordinal)
    }
    this.parts.nodeAutoscaler.refill()
  }

  setStock(gpu: GpuType, inStock: boolean): void {
    if (!this.parts.environment.setStock(gpu, inStock)) return
    this.context.recordCommand(this.parts.ledger.account, inStock ? 'pool.restocked' : 'pool.stockedOut', { gpu })
    if (inStock) this.parts.nodeAutoscaler.refill()
  }

  setHub(change: Parameters<Environment['update']>[0], kind: JournalKindName): void {
    if (!this.parts.environment.update(change)) return
    this.context.recordCommand(this.parts.ledger.account, kind, change as Record<string, number | boolean>)
    this.parts.downloads.rescheduleAll()
  }

  setRepository(repo: string, state: RepositoryState): void {
    if (!this.parts.environment.setRepository(repo, state)) return
    this.context.recordCommand(this.parts.ledger.account, 'hub.repositoryChanged', { repo, state })
  }

  setRegistryDown(down: boolean): void {
    if (!this.parts.environment.update({ registryDown: down })) return
    this.context.recordCommand(this.parts.ledger.account, down ? 'registry.down' : 'registry.up')
  }

  setAutoscalerFrozen(frozen: boolean): void {
    if (!this.parts.environment.update({ autoscalerFrozen: frozen })) return
    this.context.recordCommand(this.parts.ledger.account, frozen ? 'autoscaler.frozen' : 'autoscaler.freed')
    if (!frozen) this.parts.autoscaler.evaluateAll()
  }

  setProvisioningFactor(factor: number): void {
    if (!this.parts.environment.update({ provisioningFactor: factor })) return
    this.context.recordCommand(
      this.parts.ledger.account,
      factor === 1 ? 'provisioning.normal' : 'provisioning.slowed',
      { factor },
    )
  }

  #takeDown(ordinal: number, row: NodeRow, kind: JournalKindName, loss: Loss): void {
    row.state = 'down'
    this.context.cancel(row.next)
    row.next = 0
    this.#cancelDrainDeadline(row)
    this.context.recordCommand(row, kind)
    this.parts.nodes.updateFreeGpus(ordinal)
    this.#loseTenants(row.tenants, loss)
  }

  /** Whatever ran on what is gone is lost. */
  #loseTenants(tenants: readonly number[], loss: Loss): void {
    const { instances, rentals } = this.parts
    instances.lose(
      tenants.filter(one => one >= 0),
      loss,
    )
    rentals.lose(
      tenants.map(toRentalOrdinal).filter(one => one >= 0),
      loss,
    )
  }

  #cancelDrainDeadline(row: NodeRow): void {
    this.context.cancel(row.drainEvent)
    row.drainEvent = 0
  }

  #returnToService(ordinal: number): void {
    this.parts.nodes.updateFreeGpus(ordinal)
    this.parts.nodeAutoscaler.onNodeEmptied(ordinal)
    this.parts.placement.scheduleRound()
  }

  /** Records a change of a node in the logs of its tenants. */
  #logForTenants({ tenants }: Readonly<NodeRow>, kind: string, fields: EntryFields): void {
    for (const tenant of tenants) {
      if (tenant < 0) continue
      const { deployment, index: nth } = this.parts.instances.read(tenant)
      this.parts.deploymentLogs.append(deployment, nth, kind, fields)
    }
  }

  /** Requests replacements at once: they start while the tenants that leave serve until the notice ends. */
  #evacuate(row: Readonly<NodeRow>, notice: number): void {
    const { instances, deployments } = this.parts
    for (const tenant of row.tenants) {
      if (tenant < 0) continue
      const { deployment } = instances.read(tenant)
      instances.retire(tenant, notice)
      deployments.scaling.replenish(deployment)
    }
  }

  #deploymentsOn(row: Readonly<NodeRow>): number[] {
    const { instances } = this.parts
    return [...new Set(row.tenants.filter(one => one >= 0).map(one => instances.read(one).deployment))]
  }
}
