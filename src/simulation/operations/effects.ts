import type { GpuType } from '../../data/records/records.ts'
import type { EntryFields } from '../../kernel/journal.ts'
import type { EventName } from '../events.ts'
import type { Environment, RepositoryState } from '../fleet/environment.ts'
import type { NodeRow } from '../fleet/nodes.ts'
import { XIDS } from '../fleet/xid.ts'
import { toRentalOrdinal } from '../rentals/rental-row.ts'
import type { World } from '../world.ts'

/**
 * What breaks and what is put right: the effects behind the verbs. Each records what happened to the thing it happened
 * to, once, and nothing when it was so already.
 */
export class OperationEffects {
  readonly #world: World

  constructor(world: World) {
    this.#world = world
  }

  crash(ordinal: number, kind: string): void {
    const row = this.#world.nodes.writable(ordinal)
    if (row.state === 'down' || row.state === 'provisioning') return
    this.#takeDown(ordinal, row, kind, `node ${row.id} crashed`)
  }

  /**
   * Back in service; a machine that was down is a fresh one, so its caches are empty and its GPUs sound. One that is up
   * gets other GPUs for those that need service, and what runs on the rest goes on.
   */
  repair(ordinal: number): void {
    const row = this.#world.nodes.writable(ordinal)
    if (row.state !== 'down') {
      if (row.needService === 0) return
      row.broken &= ~row.needService
      row.needService = 0
      this.#world.recordCommand(row, 'node.repaired')
      this.#returnToService(ordinal)
      return
    }
    // A sound machine in a zone that is away comes back with the zone.
    const isZoneDown = this.#world.environment.isZoneDown(row.group.zone)
    row.state = isZoneDown ? 'down' : 'ready'
    row.downWithZone = isZoneDown
    row.broken = 0
    row.needService = 0
    this.#world.nodes.setSlowdown(ordinal, 1)
    row.images = []
    row.weights = []
    row.diskFull = false
    this.#world.recordCommand(row, 'node.repaired')
    if (!isZoneDown) this.#returnToService(ordinal)
  }

  cordon(ordinal: number): void {
    const row = this.#world.nodes.writable(ordinal)
    if (row.state !== 'ready') return
    row.state = 'cordoned'
    this.#world.recordCommand(row, 'node.cordoned')
    this.#world.nodes.updateFreeGpus(ordinal)
    // Another node may have to come in its place.
    this.#world.placement.scheduleRound()
  }

  uncordon(ordinal: number): void {
    const row = this.#world.nodes.writable(ordinal)
    if (row.state !== 'cordoned') return
    row.state = 'ready'
    this.#cancelDrainDeadline(row)
    this.#world.recordCommand(row, 'node.uncordoned')
    this.#returnToService(ordinal)
  }

  /** Cordons a node and moves what runs on it elsewhere; what is still there at the deadline is cut off. */
  drain(ordinal: number): void {
    const world = this.#world
    const row = world.nodes.writable(ordinal)
    if (row.state !== 'ready' && row.state !== 'cordoned') return
    row.state = 'cordoned'
    world.recordCommand(row, 'node.drained')
    world.nodes.updateFreeGpus(ordinal)
    this.#logForTenants(row, 'node.drained', { node: row.id })
    this.#evacuate(row)
    world.placement.scheduleRound()
    // A second drain of one node does not move the deadline of the first.
    if (row.drainEvent === 0 && row.tenants.length > 0) {
      const { drainDeadline } = world.profile.timings
      row.drainEvent = world.schedule(drainDeadline, 'node.drainDeadline', ordinal, world.nodes.useCount(ordinal))
    }
  }

  setDisk(ordinal: number, full: boolean): void {
    const row = this.#world.nodes.writable(ordinal)
    if (row.diskFull === full) return
    row.diskFull = full
    this.#world.recordCommand(row, full ? 'disk.filled' : 'disk.freed')
    if (full) {
      this.#world.instances.lose(
        row.tenants.filter(one => one >= 0 && this.#world.instances.read(one).ownRate > 0),
        `no space left on ${row.id}`,
      )
    } else this.#world.placement.scheduleRound()
  }

  /** An XID error: the instance on the GPU is lost; a GPU that needs a reset or service takes none until it had that. */
  failGpu(ordinal: number, gpu: number, xid: number): void {
    const world = this.#world
    const row = world.nodes.writable(ordinal)
    const { title, action } = XIDS[xid]!
    const bit = 1 << gpu
    if (row.state === 'down' || row.broken & bit) return
    if (action !== 'restart') row.broken |= bit
    if (action === 'service') row.needService |= bit
    world.recordCommand(row, 'gpu.failed', { gpu, xid, action })
    world.nodes.updateFreeGpus(ordinal)
    const reason = `GPU ${gpu} of ${row.id}: XID ${xid}, ${title}`
    const instancesOnGpu = row.tenants.filter(one => one >= 0 && (world.instances.read(one).gpus & bit) !== 0)
    // Where only the program is to be started again, its end is a crash of the engine.
    if (action !== 'restart') world.instances.lose(instancesOnGpu, reason)
    else for (const one of instancesOnGpu) world.instances.crash(one, reason)
    const rentalsOnGpu = row.tenants
      .map(toRentalOrdinal)
      .filter(one => one >= 0 && (world.rentals.read(one).gpus & bit) !== 0)
    // A program that is to be started again is its user's own: the machine goes on.
    if (action !== 'restart') world.rentals.lose(rentalsOnGpu, reason)
  }

  /** False for a GPU that needs service, which a reset does not mend. */
  resetGpu(ordinal: number, gpu: number): boolean {
    const { broken, needService } = this.#world.nodes.read(ordinal)
    const bit = 1 << gpu
    if (needService & bit) return false
    if (!(broken & bit)) return true
    const row = this.#world.nodes.writable(ordinal)
    row.broken &= ~bit
    this.#world.recordCommand(row, 'gpu.reset', { gpu })
    this.#returnToService(ordinal)
    return true
  }

  setSlowdown(ordinal: number, factor: number): void {
    const world = this.#world
    const row = world.nodes.writable(ordinal)
    if (row.slowdown === factor) return
    world.nodes.setSlowdown(ordinal, factor)
    world.recordCommand(row, factor === 1 ? 'node.recovered' : 'node.degraded', { factor })
    for (const deployment of this.#deploymentsOn(row)) world.deployments.onCapacityChanged(deployment)
  }

  /** The spot nodes of a pool are taken back after `notice`: what runs on them moves away as far as there is time. */
  preemptPool(pool: string, notice: number): void {
    for (const [ordinal, row] of [...this.#world.nodes.entries()]) {
      if (row.group.pool === pool && row.group.market === 'spot') this.preemptNode(ordinal, notice)
    }
  }

  preemptNode(ordinal: number, notice: number): void {
    const world = this.#world
    const row = world.nodes.writable(ordinal)
    if (row.state !== 'ready' && row.state !== 'cordoned') return
    row.state = 'cordoned'
    world.recordCommand(row, 'node.preemptionNoticed', { notice_seconds: notice / 1e6 })
    world.nodes.updateFreeGpus(ordinal)
    world.cancel(row.next)
    row.next = world.schedule(notice, 'node.preempted', ordinal, world.nodes.useCount(ordinal))
    if (row.group.market === 'spot') world.nodeAutoscaler.onSpotReclaimed(row, notice)
    this.#logForTenants(row, 'node.preemptionNoticed', { node: row.id, notice_seconds: notice / 1e6 })
    this.#evacuate(row)
  }

  onEvent(event: EventName, ordinal: number): void {
    const world = this.#world
    if (event === 'node.drainDeadline') {
      const row = world.nodes.writable(ordinal)
      row.drainEvent = 0
      this.#loseTenants(row.tenants, `node ${row.id} was drained and its deadline passed`)
      return
    }
    if (event !== 'node.preempted') {
      world.nodeAutoscaler.onEvent(event, ordinal)
      return
    }
    const row = world.nodes.writable(ordinal)
    row.next = 0
    this.#takeDown(ordinal, row, 'node.preempted', `node ${row.id} was preempted`)
    world.nodeAutoscaler.removeNode(ordinal, world.nodes.writable(ordinal))
    world.placement.scheduleRound()
  }

  takeZoneDown(zone: string): void {
    const world = this.#world
    world.environment.setZone(zone, false)
    world.recordCommand(world.ledger.account, 'zone.down', { zone })
    const lostTenants: number[] = []
    for (const [ordinal, current] of [...world.nodes.entries()]) {
      if (current.group.zone !== zone || (current.state !== 'ready' && current.state !== 'cordoned')) continue
      const row = world.nodes.writable(ordinal)
      row.state = 'down'
      row.downWithZone = true
      this.#cancelDrainDeadline(row)
      world.record(row, 'node.lost', { zone })
      world.nodes.updateFreeGpus(ordinal)
      lostTenants.push(...row.tenants)
    }
    this.#loseTenants(lostTenants, `zone ${zone} is down`)
  }

  bringZoneUp(zone: string): void {
    const world = this.#world
    world.environment.setZone(zone, true)
    world.recordCommand(world.ledger.account, 'zone.up', { zone })
    for (const [ordinal, current] of [...world.nodes.entries()]) {
      if (current.group.zone !== zone || !current.downWithZone) continue
      const row = world.nodes.writable(ordinal)
      row.state = 'ready'
      row.downWithZone = false
      world.record(row, 'node.ready')
      world.nodes.updateFreeGpus(ordinal)
      world.nodeAutoscaler.onNodeEmptied(ordinal)
    }
    world.placement.scheduleRound()
  }

  setStock(gpu: GpuType, inStock: boolean): void {
    const world = this.#world
    if (!world.environment.setStock(gpu, inStock)) return
    world.recordCommand(world.ledger.account, inStock ? 'pool.restocked' : 'pool.stockedOut', { gpu })
    if (inStock) world.placement.scheduleRound()
  }

  setHub(change: Parameters<Environment['update']>[0], kind: string): void {
    const world = this.#world
    if (!world.environment.update(change)) return
    world.recordCommand(world.ledger.account, kind, change as Record<string, number | boolean>)
    world.downloads.rescheduleAll()
  }

  setRepository(repo: string, state: RepositoryState): void {
    const world = this.#world
    if (!world.environment.setRepository(repo, state)) return
    world.recordCommand(world.ledger.account, 'hub.repositoryChanged', { repo, state })
  }

  setRegistryDown(down: boolean): void {
    const world = this.#world
    if (!world.environment.update({ registryDown: down })) return
    world.recordCommand(world.ledger.account, down ? 'registry.down' : 'registry.up')
    world.downloads.rescheduleImages()
  }

  setAutoscalerFrozen(frozen: boolean): void {
    const world = this.#world
    if (!world.environment.update({ autoscalerFrozen: frozen })) return
    world.recordCommand(world.ledger.account, frozen ? 'autoscaler.frozen' : 'autoscaler.freed')
    if (!frozen) world.autoscaler.evaluateAll()
  }

  setProvisioningFactor(factor: number): void {
    const world = this.#world
    if (!world.environment.update({ provisioningFactor: factor })) return
    world.recordCommand(world.ledger.account, factor === 1 ? 'provisioning.normal' : 'provisioning.slowed', { factor })
  }

  #takeDown(ordinal: number, row: NodeRow, kind: string, reason: string): void {
    const world = this.#world
    row.state = 'down'
    world.cancel(row.next)
    row.next = 0
    this.#cancelDrainDeadline(row)
    world.recordCommand(row, kind)
    world.nodes.updateFreeGpus(ordinal)
    this.#loseTenants(row.tenants, reason)
  }

  /** Whatever ran on what is gone is lost. */
  #loseTenants(tenants: readonly number[], reason: string): void {
    const { instances, rentals } = this.#world
    instances.lose(
      tenants.filter(one => one >= 0),
      reason,
    )
    rentals.lose(
      tenants.map(toRentalOrdinal).filter(one => one >= 0),
      reason,
    )
  }

  #cancelDrainDeadline(row: NodeRow): void {
    this.#world.cancel(row.drainEvent)
    row.drainEvent = 0
  }

  #returnToService(ordinal: number): void {
    this.#world.nodes.updateFreeGpus(ordinal)
    this.#world.nodeAutoscaler.onNodeEmptied(ordinal)
    this.#world.placement.scheduleRound()
  }

  /** What befalls a node stands in the logs of those on it. */
  #logForTenants({ tenants }: Readonly<NodeRow>, kind: string, fields: EntryFields): void {
    for (const tenant of tenants) {
      if (tenant < 0) continue
      const { deployment, index: nth } = this.#world.instances.read(tenant)
      this.#world.deploymentLogs.append(deployment, nth, kind, fields)
    }
  }

  /** Asks for replacements at once: they start while what leaves still drains. */
  #evacuate(row: Readonly<NodeRow>): void {
    const { instances, deployments } = this.#world
    for (const tenant of row.tenants) {
      if (tenant < 0) continue
      const { deployment } = instances.read(tenant)
      instances.release(tenant)
      deployments.replenish(deployment)
    }
  }

  #deploymentsOn(row: Readonly<NodeRow>): number[] {
    const { instances } = this.#world
    return [...new Set(row.tenants.filter(one => one >= 0).map(one => instances.read(one).deployment))]
  }
}
