import type { Fields } from '../kernel/journal.ts'
import type { GpuType } from '../store/records.ts'
import type { Conditions, RepositoryState } from './conditions.ts'
import type { EventName } from './events.ts'
import type { NodeRow } from './nodes.ts'
import { rentalOf } from './rental-row.ts'
import type { World } from './world.ts'
import { XIDS } from './xid.ts'

/**
 * What breaks and what is put right: the effects behind the verbs. Each records what happened to the thing it happened
 * to, once, and nothing when it was so already.
 */
export class Hardware {
  readonly #world: World

  constructor(world: World) {
    this.#world = world
  }

  crash(ordinal: number, kind: string): void {
    const row = this.#world.nodes.own(ordinal)
    if (row.state === 'down' || row.state === 'provisioning') return
    this.#goDown(ordinal, row, kind, `node ${row.id} crashed`)
  }

  /**
   * Back in service; a machine that was down is a fresh one, so its caches are empty and its GPUs sound. One that is up
   * gets other GPUs for those that need service, and what runs on the rest goes on.
   */
  repair(ordinal: number): void {
    const row = this.#world.nodes.own(ordinal)
    if (row.state !== 'down') {
      if (row.needService === 0) return
      row.broken &= ~row.needService
      row.needService = 0
      this.#world.command(row, 'node.repaired')
      this.#back(ordinal)
      return
    }
    // A sound machine in a zone that is away comes back with the zone.
    const away = this.#world.conditions.isZoneDown(row.group.zone)
    row.state = away ? 'down' : 'ready'
    row.downWithZone = away
    row.broken = 0
    row.needService = 0
    this.#world.nodes.setSlowdown(ordinal, 1)
    row.images = []
    row.weights = []
    row.diskFull = false
    this.#world.command(row, 'node.repaired')
    if (!away) this.#back(ordinal)
  }

  cordon(ordinal: number): void {
    const row = this.#world.nodes.own(ordinal)
    if (row.state !== 'ready') return
    row.state = 'cordoned'
    this.#world.command(row, 'node.cordoned')
    this.#world.nodes.recount(ordinal)
    // Another node may have to come in its place.
    this.#world.placement.wake()
  }

  uncordon(ordinal: number): void {
    const row = this.#world.nodes.own(ordinal)
    if (row.state !== 'cordoned') return
    row.state = 'ready'
    this.#endDrain(row)
    this.#world.command(row, 'node.uncordoned')
    this.#back(ordinal)
  }

  /** Cordons a node and moves what runs on it elsewhere; what is still there at the deadline is cut off. */
  drain(ordinal: number): void {
    const world = this.#world
    const row = world.nodes.own(ordinal)
    if (row.state !== 'ready' && row.state !== 'cordoned') return
    row.state = 'cordoned'
    world.command(row, 'node.drained')
    world.nodes.recount(ordinal)
    this.#tellTenants(row, 'node.drained', { node: row.id })
    this.#moveAway(row)
    world.placement.wake()
    // A second drain of one node does not move the deadline of the first.
    if (row.drainEnds === 0 && row.tenants.length > 0) {
      const { drainDeadline } = world.profile.timings
      row.drainEnds = world.plan(drainDeadline, 'node.drainDeadline', ordinal, world.nodes.useOf(ordinal))
    }
  }

  setDisk(ordinal: number, full: boolean): void {
    const row = this.#world.nodes.own(ordinal)
    if (row.diskFull === full) return
    row.diskFull = full
    this.#world.command(row, full ? 'disk.filled' : 'disk.freed')
    if (full) {
      this.#world.instances.lose(
        row.tenants.filter(one => one >= 0 && this.#world.instances.read(one).ownRate > 0),
        `no space left on ${row.id}`,
      )
    } else this.#world.placement.wake()
  }

  /** An XID error: the instance on the GPU is lost; a GPU that needs a reset or service takes none until it had that. */
  failGpu(ordinal: number, gpu: number, xid: number): void {
    const world = this.#world
    const row = world.nodes.own(ordinal)
    const { title, action } = XIDS[xid]!
    const bit = 1 << gpu
    if (row.state === 'down' || row.broken & bit) return
    if (action !== 'restart') row.broken |= bit
    if (action === 'service') row.needService |= bit
    world.command(row, 'gpu.failed', { gpu, xid, action })
    world.nodes.recount(ordinal)
    const reason = `GPU ${gpu} of ${row.id}: XID ${xid}, ${title}`
    const hit = row.tenants.filter(one => one >= 0 && (world.instances.read(one).gpus & bit) !== 0)
    // Where only the program is to be started again, its end is a crash of the engine.
    if (action !== 'restart') world.instances.lose(hit, reason)
    else for (const one of hit) world.instances.crash(one, reason)
    const rented = row.tenants.map(rentalOf).filter(one => one >= 0 && (world.rentals.read(one).gpus & bit) !== 0)
    // A program that is to be started again is its user's own: the machine goes on.
    if (action !== 'restart') world.rentals.lose(rented, reason)
  }

  /** False for a GPU that needs service, which a reset does not mend. */
  resetGpu(ordinal: number, gpu: number): boolean {
    const { broken, needService } = this.#world.nodes.read(ordinal)
    const bit = 1 << gpu
    if (needService & bit) return false
    if (!(broken & bit)) return true
    const row = this.#world.nodes.own(ordinal)
    row.broken &= ~bit
    this.#world.command(row, 'gpu.reset', { gpu })
    this.#back(ordinal)
    return true
  }

  setSlowdown(ordinal: number, factor: number): void {
    const world = this.#world
    const row = world.nodes.own(ordinal)
    if (row.slowdown === factor) return
    world.nodes.setSlowdown(ordinal, factor)
    world.command(row, factor === 1 ? 'node.recovered' : 'node.degraded', { factor })
    for (const deployment of this.#deploymentsOn(row)) world.deployments.capacityChanged(deployment)
  }

  /** The spot nodes of a pool are taken back after `notice`: what runs on them moves away as far as there is time. */
  preempt(pool: string, notice: number): void {
    for (const [ordinal, row] of [...this.#world.nodes.entries()]) {
      if (row.group.pool === pool && row.group.market === 'spot') this.preemptNode(ordinal, notice)
    }
  }

  preemptNode(ordinal: number, notice: number): void {
    const world = this.#world
    const row = world.nodes.own(ordinal)
    if (row.state !== 'ready' && row.state !== 'cordoned') return
    row.state = 'cordoned'
    world.command(row, 'node.preemptionNoticed', { notice_seconds: notice / 1e6 })
    world.nodes.recount(ordinal)
    world.cancel(row.next)
    row.next = world.plan(notice, 'node.preempted', ordinal, world.nodes.useOf(ordinal))
    if (row.group.market === 'spot') world.provisioning.spotTaken(row, notice)
    this.#tellTenants(row, 'node.preemptionNoticed', { node: row.id, notice_seconds: notice / 1e6 })
    this.#moveAway(row)
  }

  on(event: EventName, ordinal: number): void {
    const world = this.#world
    if (event === 'node.drainDeadline') {
      const row = world.nodes.own(ordinal)
      row.drainEnds = 0
      this.#loseTenants(row.tenants, `node ${row.id} was drained and its deadline passed`)
      return
    }
    if (event !== 'node.preempted') {
      world.provisioning.on(event, ordinal)
      return
    }
    const row = world.nodes.own(ordinal)
    row.next = 0
    this.#goDown(ordinal, row, 'node.preempted', `node ${row.id} was preempted`)
    world.provisioning.giveBack(ordinal, world.nodes.own(ordinal))
    world.placement.wake()
  }

  zoneDown(zone: string): void {
    const world = this.#world
    world.conditions.setZone(zone, false)
    world.command(world.ledger.account, 'zone.down', { zone })
    const lost: number[] = []
    for (const [ordinal, seen] of [...world.nodes.entries()]) {
      if (seen.group.zone !== zone || (seen.state !== 'ready' && seen.state !== 'cordoned')) continue
      const row = world.nodes.own(ordinal)
      row.state = 'down'
      row.downWithZone = true
      this.#endDrain(row)
      world.happened(row, 'node.lost', { zone })
      world.nodes.recount(ordinal)
      lost.push(...row.tenants)
    }
    this.#loseTenants(lost, `zone ${zone} is down`)
  }

  zoneUp(zone: string): void {
    const world = this.#world
    world.conditions.setZone(zone, true)
    world.command(world.ledger.account, 'zone.up', { zone })
    for (const [ordinal, seen] of [...world.nodes.entries()]) {
      if (seen.group.zone !== zone || !seen.downWithZone) continue
      const row = world.nodes.own(ordinal)
      row.state = 'ready'
      row.downWithZone = false
      world.happened(row, 'node.ready')
      world.nodes.recount(ordinal)
      world.provisioning.emptied(ordinal)
    }
    world.placement.wake()
  }

  setStock(gpu: GpuType, inStock: boolean): void {
    const world = this.#world
    if (!world.conditions.setStock(gpu, inStock)) return
    world.command(world.ledger.account, inStock ? 'pool.restocked' : 'pool.stockedOut', { gpu })
    if (inStock) world.placement.wake()
  }

  setHub(change: Parameters<Conditions['set']>[0], kind: string): void {
    const world = this.#world
    if (!world.conditions.set(change)) return
    world.command(world.ledger.account, kind, change as Record<string, number | boolean>)
    world.downloads.paceAll()
  }

  setRepository(repo: string, state: RepositoryState): void {
    const world = this.#world
    if (!world.conditions.setRepository(repo, state)) return
    world.command(world.ledger.account, 'hub.repositoryChanged', { repo, state })
  }

  setRegistry(down: boolean): void {
    const world = this.#world
    if (!world.conditions.set({ registryDown: down })) return
    world.command(world.ledger.account, down ? 'registry.down' : 'registry.up')
    world.downloads.paceImages()
  }

  setAutoscaler(frozen: boolean): void {
    const world = this.#world
    if (!world.conditions.set({ autoscalerFrozen: frozen })) return
    world.command(world.ledger.account, frozen ? 'autoscaler.frozen' : 'autoscaler.freed')
    if (!frozen) world.autoscaler.catchUp()
  }

  setProvisioning(factor: number): void {
    const world = this.#world
    if (!world.conditions.set({ provisioningFactor: factor })) return
    world.command(world.ledger.account, factor === 1 ? 'provisioning.normal' : 'provisioning.slowed', { factor })
  }

  #goDown(ordinal: number, row: NodeRow, kind: string, reason: string): void {
    const world = this.#world
    row.state = 'down'
    world.cancel(row.next)
    row.next = 0
    this.#endDrain(row)
    world.command(row, kind)
    world.nodes.recount(ordinal)
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
      tenants.map(rentalOf).filter(one => one >= 0),
      reason,
    )
  }

  #endDrain(row: NodeRow): void {
    this.#world.cancel(row.drainEnds)
    row.drainEnds = 0
  }

  #back(ordinal: number): void {
    this.#world.nodes.recount(ordinal)
    this.#world.provisioning.emptied(ordinal)
    this.#world.placement.wake()
  }

  /** What befalls a node stands in the logs of those on it. */
  #tellTenants({ tenants }: Readonly<NodeRow>, kind: string, fields: Fields): void {
    for (const one of tenants) {
      if (one < 0) continue
      const { deployment, nth } = this.#world.instances.read(one)
      this.#world.logs.tell(deployment, nth, kind, fields)
    }
  }

  /** Asks for replacements at once: they start while what leaves still drains. */
  #moveAway(row: Readonly<NodeRow>): void {
    const { instances, deployments } = this.#world
    for (const one of row.tenants) {
      if (one < 0) continue
      const { deployment } = instances.read(one)
      instances.release(one)
      deployments.replenish(deployment)
    }
  }

  #deploymentsOn(row: Readonly<NodeRow>): number[] {
    const { instances } = this.#world
    return [...new Set(row.tenants.filter(one => one >= 0).map(one => instances.read(one).deployment))]
  }
}
