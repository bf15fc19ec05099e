import type { Ledger } from '../account/ledger.ts'
import type { Nodes } from '../fleet/nodes.ts'
import { Part } from '../part.ts'
import { type DeploymentRow, isTerminal } from './deployment-row.ts'
import type { Deployments } from './deployments.ts'
import type { InstanceRow, ResidentAdapter } from './instance-row.ts'
import type { WorkPorts } from './instance-speed.ts'
import type { Instances } from './instances.ts'

/** The parts below that it uses. */
export interface AdapterSlotsParts {
  readonly deployments: Deployments
  readonly instances: Instances
  readonly nodes: Nodes
  readonly ledger: Ledger
}

/**
 * The slots of instances for LoRA adapters. An adapter is loaded where work needs it and stays until another needs its
 * slot. The least recently used adapter leaves; an adapter in use stays. If every slot is in use, the work waits for the
 * first free slot, without polling.
 */
export class AdapterSlots extends Part<AdapterSlotsParts, WorkPorts> {
  /** Ready instances of an adapter's base that have it loaded, each counted by its speed: 1 for a sound one. */
  effectiveInstances(adapter: number): number {
    const { deployments, instances, nodes } = this.parts
    let effectiveInstances = 0
    for (const instance of deployments.read(deployments.read(adapter).plan.base).instances) {
      const { state, node, adapters } = instances.read(instance)
      if (state === 'ready' && adapters.some(resident => resident.adapter === adapter && resident.loadEvent === 0)) {
        effectiveInstances += 1 / nodes.read(node).slowdown
      }
    }
    return effectiveInstances
  }

  /** Work on an adapter begins: every ready instance of its base loads it, and it keeps its slots. */
  acquire(adapter: number): void {
    const row = this.parts.deployments.writable(adapter)
    if (row.activeUses++ === 0) row.inUseSince = this.context.clock.now
    this.#changeUses(adapter, 1)
  }

  /** Work on an adapter is over. It stays where it is until another needs the slot. */
  release(adapter: number): void {
    this.parts.deployments.writable(adapter).activeUses--
    this.#changeUses(adapter, -1)
  }

  /** Assigns the free slots to the pending adapters of a base. Called after a slot is freed or an adapter needs one. */
  assignSlots(base: number): void {
    const { deployments, instances, ledger } = this.parts
    const row = deployments.read(base)
    if (row.adapters.length === 0 || isTerminal(row.status)) return
    const waiting = row.adapters
      .map(adapter => ({ adapter, row: deployments.read(adapter) }))
      .filter(({ row: { status, activeUses } }) => status === 'deploying' || (status === 'running' && activeUses > 0))
    if (waiting.length === 0) return
    waiting.sort((a, b) => waitingSince(a.row) - waitingSince(b.row) || (a.row.id < b.row.id ? -1 : 1))
    const ready = row.instances
      .filter(one => instances.read(one).state === 'ready')
      .sort((a, b) => instances.read(a).index - instances.read(b).index)
    for (const { adapter, row: adapterRow } of waiting) {
      if (adapterRow.status === 'running') {
        for (const one of ready) this.#startLoad(one, adapter)
      } else if (!row.instances.some(one => this.#isResident(one, adapter))) {
        // One copy is enough for a start: where there is most room.
        const order = [...ready].sort((a, b) => instances.read(a).adapters.length - instances.read(b).adapters.length)
        const isAssigned = order.some(one => this.#startLoad(one, adapter))
        if (!isAssigned && ready.length === 0 && !ledger.suspension.isCutOff) deployments.scaling.wake(base)
      }
    }
  }

  /** A load is over: the adapter answers on this instance. */
  onLoaded(instance: number, adapter: number): void {
    const { deployments, instances } = this.parts
    const { clock } = this.context
    const { batches, inferenceRequests } = this.ports
    const row = instances.writable(instance)
    row.adapters = row.adapters.map(each =>
      each.adapter === adapter ? { ...each, loadEvent: 0, usedAt: clock.now } : each,
    )
    const adapterRow = deployments.writable(adapter)
    this.context.record(adapterRow, 'adapter.resident', { instance: row.id })
    if (adapterRow.status === 'deploying') {
      adapterRow.wasReady = true
      deployments.setStatus(adapter, 'running')
    } else batches.onCapacityChanged(adapter)
    inferenceRequests.onCapacityAvailable(row.deployment)
    this.assignSlots(row.deployment)
  }

  /** An adapter of a fixture runs: it is on the first instance that has a slot left. */
  loadFromFixture(adapter: number): void {
    const { deployments, instances } = this.parts
    const { clock, profile } = this.context
    const { base } = deployments.read(adapter).plan
    if (base < 0) return
    for (const instance of deployments.read(base).instances) {
      const { state, adapters } = instances.read(instance)
      if (state !== 'ready' || adapters.length >= profile.timings.adapterSlots) continue
      const row = instances.writable(instance)
      row.adapters = [...adapters, { adapter, usedAt: clock.now, users: 0, loadEvent: 0 }]
      this.context.record(deployments.writable(adapter), 'adapter.resident', { instance: row.id })
      return
    }
  }

  /** An adapter stopped, failed or was deleted: its slots are free. */
  onAdapterEnded(adapter: number): void {
    const { deployments, instances } = this.parts
    const { status, plan } = deployments.read(adapter)
    if (plan.base < 0) return
    for (const instance of deployments.read(plan.base).instances) {
      if (this.#isResident(instance, adapter))
        this.#filterResidents(instances.writable(instance), each => each.adapter !== adapter)
    }
    if (status === 'deleted') {
      const base = deployments.writable(plan.base)
      base.adapters = base.adapters.filter(other => other !== adapter)
    }
    this.assignSlots(plan.base)
  }

  /** An instance serves no more: loads that are under way on it end. */
  cancelLoads(row: InstanceRow): void {
    if (row.adapters.some(each => each.loadEvent !== 0)) this.#filterResidents(row, each => each.loadEvent === 0)
  }

  #changeUses(adapter: number, change: 1 | -1): void {
    const { deployments, instances } = this.parts
    const { clock } = this.context
    const { base } = deployments.read(adapter).plan
    for (const instance of deployments.read(base).instances) {
      if (!this.#isResident(instance, adapter)) continue
      const row = instances.writable(instance)
      row.adapters = row.adapters.map(each =>
        each.adapter === adapter ? { ...each, users: each.users + change, usedAt: clock.now } : each,
      )
    }
    this.assignSlots(base)
  }

  /** Begins to load an adapter on an instance; false when every slot is in use. */
  #startLoad(instance: number, adapter: number): boolean {
    if (this.#isResident(instance, adapter)) return true
    const { deployments, instances } = this.parts
    const { clock, profile } = this.context
    const row = instances.writable(instance)
    const { activeUses, id } = deployments.read(adapter)
    if (row.adapters.length >= profile.timings.adapterSlots) {
      const evictedResident = this.#leastRecentlyUsed(row.adapters)
      if (evictedResident === undefined) return false
      this.#filterResidents(row, each => each !== evictedResident)
      const evictedRow = deployments.writable(evictedResident.adapter)
      this.context.record(evictedRow, 'adapter.evicted', { instance: row.id, for: id })
    }
    const loadEvent = this.context.schedule(profile.timings.adapterLoad, 'adapter.loadedOnInstance', instance, adapter)
    row.adapters = [...row.adapters, { adapter, usedAt: clock.now, users: activeUses, loadEvent }]
    return true
  }

  #leastRecentlyUsed(residents: readonly ResidentAdapter[]): ResidentAdapter | undefined {
    const { deployments } = this.parts
    let least: ResidentAdapter | undefined
    for (const resident of residents) {
      if (resident.users > 0 || resident.loadEvent !== 0) continue
      const isEarlier =
        least === undefined ||
        resident.usedAt < least.usedAt ||
        (resident.usedAt === least.usedAt && deployments.read(resident.adapter).id < deployments.read(least.adapter).id)
      if (isEarlier) least = resident
    }
    return least
  }

  #filterResidents(row: InstanceRow, stays: (resident: ResidentAdapter) => boolean): void {
    for (const each of row.adapters) if (!stays(each)) this.context.cancel(each.loadEvent)
    row.adapters = row.adapters.filter(stays)
  }

  #isResident(instance: number, adapter: number): boolean {
    return this.parts.instances.read(instance).adapters.some(each => each.adapter === adapter)
  }
}

function waitingSince(row: Readonly<DeploymentRow>): number {
  return row.status === 'running' ? row.inUseSince : row.updatedAt
}
