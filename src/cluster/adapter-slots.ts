import { type DeploymentRow, isOver } from './deployment-row.ts'
import type { InstanceRow, ResidentAdapter } from './instances.ts'
import type { World } from './world.ts'

/**
 * The slots of instances for LoRA adapters. An adapter is loaded where work needs it and stays until another needs its
 * slot: the least recently used one leaves, one in use never does. Whoever finds every slot in use waits for the first
 * that is given up, so nothing polls.
 */
export class AdapterSlots {
  readonly #world: World

  constructor(world: World) {
    this.#world = world
  }

  /** Ready instances of an adapter's base that have it loaded, each counted by its speed: 1 for a sound one. */
  servingShare(adapter: number): number {
    const { deployments, instances, nodes } = this.#world
    let share = 0
    for (const one of deployments.read(deployments.read(adapter).plan.base).instances) {
      const { state, node, adapters } = instances.read(one)
      if (state === 'ready' && adapters.some(each => each.adapter === adapter && each.loading === 0)) {
        share += 1 / nodes.read(node).slowdown
      }
    }
    return share
  }

  /** Work on an adapter begins: every ready instance of its base loads it, and it keeps its slots. */
  hold(adapter: number): void {
    const row = this.#world.deployments.own(adapter)
    if (row.holders++ === 0) row.heldSince = this.#world.clock.now
    this.#count(adapter, 1)
  }

  /** Work on an adapter is over. It stays where it is until another needs the slot. */
  drop(adapter: number): void {
    this.#world.deployments.own(adapter).holders--
    this.#count(adapter, -1)
  }

  /** Gives whoever waits the slots there are: after anything that frees a slot, or makes an adapter want one. */
  serve(base: number): void {
    const { deployments, instances, ledger } = this.#world
    const row = deployments.read(base)
    if (row.adapters.length === 0 || isOver(row.status)) return
    const waiting = row.adapters
      .map(adapter => ({ adapter, row: deployments.read(adapter) }))
      .filter(({ row: { status, holders } }) => status === 'deploying' || (status === 'running' && holders > 0))
    if (waiting.length === 0) return
    waiting.sort((a, b) => wantedSince(a.row) - wantedSince(b.row) || (a.row.id < b.row.id ? -1 : 1))
    const ready = row.instances
      .filter(one => instances.read(one).state === 'ready')
      .sort((a, b) => instances.read(a).nth - instances.read(b).nth)
    for (const { adapter, row: wanting } of waiting) {
      if (wanting.status === 'running') {
        for (const one of ready) this.#load(one, adapter)
      } else if (!row.instances.some(one => this.#has(one, adapter))) {
        // One copy is enough for a start: where there is most room.
        const order = [...ready].sort((a, b) => instances.read(a).adapters.length - instances.read(b).adapters.length)
        const found = order.some(one => this.#load(one, adapter))
        if (!found && ready.length === 0 && !ledger.cutOff) deployments.wake(base)
      }
    }
  }

  /** A load is over: the adapter answers on this instance. */
  loaded(instance: number, adapter: number): void {
    const { deployments, instances, clock, batches, inference } = this.#world
    const row = instances.own(instance)
    row.adapters = row.adapters.map(each =>
      each.adapter === adapter ? { ...each, loading: 0, usedAt: clock.now } : each,
    )
    const owner = deployments.own(adapter)
    this.#world.happened(owner, 'adapter.resident', { instance: row.id })
    if (owner.status === 'deploying') {
      owner.wasReady = true
      deployments.setStatus(adapter, 'running')
    } else batches.capacityChanged(adapter)
    inference.capacityCame(row.deployment)
    this.serve(row.deployment)
  }

  /** An adapter of a fixture runs: it is on the first instance that has a slot left. */
  settle(adapter: number): void {
    const { deployments, instances, clock, profile } = this.#world
    const { base } = deployments.read(adapter).plan
    if (base < 0) return
    for (const one of deployments.read(base).instances) {
      const { state, adapters } = instances.read(one)
      if (state !== 'ready' || adapters.length >= profile.timings.adapterSlots) continue
      const row = instances.own(one)
      row.adapters = [...adapters, { adapter, usedAt: clock.now, users: 0, loading: 0 }]
      this.#world.happened(deployments.own(adapter), 'adapter.resident', { instance: row.id })
      return
    }
  }

  /** An adapter stopped, failed or was deleted: its slots are free. */
  ended(adapter: number): void {
    const { deployments, instances } = this.#world
    const { status, plan } = deployments.read(adapter)
    if (plan.base < 0) return
    for (const one of deployments.read(plan.base).instances) {
      if (this.#has(one, adapter)) this.#keep(instances.own(one), each => each.adapter !== adapter)
    }
    if (status === 'deleted') {
      const base = deployments.own(plan.base)
      base.adapters = base.adapters.filter(other => other !== adapter)
    }
    this.serve(plan.base)
  }

  /** An instance serves no more: loads that are under way on it end. */
  stopLoading(row: InstanceRow): void {
    if (row.adapters.some(each => each.loading !== 0)) this.#keep(row, each => each.loading === 0)
  }

  #count(adapter: number, change: 1 | -1): void {
    const { deployments, instances, clock } = this.#world
    const { base } = deployments.read(adapter).plan
    for (const one of deployments.read(base).instances) {
      if (!this.#has(one, adapter)) continue
      const row = instances.own(one)
      row.adapters = row.adapters.map(each =>
        each.adapter === adapter ? { ...each, users: each.users + change, usedAt: clock.now } : each,
      )
    }
    this.serve(base)
  }

  /** Begins to load an adapter on an instance; false when every slot is in use. */
  #load(instance: number, adapter: number): boolean {
    if (this.#has(instance, adapter)) return true
    const { deployments, instances, clock, profile } = this.#world
    const row = instances.own(instance)
    const { holders, id } = deployments.read(adapter)
    if (row.adapters.length >= profile.timings.adapterSlots) {
      const leaving = this.#leastRecentlyUsed(row.adapters)
      if (leaving === undefined) return false
      this.#keep(row, each => each !== leaving)
      const evicted = deployments.own(leaving.adapter)
      this.#world.happened(evicted, 'adapter.evicted', { instance: row.id, for: id })
    }
    const loading = this.#world.plan(profile.timings.adapterLoad, 'adapter.loadedOnInstance', instance, adapter)
    row.adapters = [...row.adapters, { adapter, usedAt: clock.now, users: holders, loading }]
    return true
  }

  #leastRecentlyUsed(residents: readonly ResidentAdapter[]): ResidentAdapter | undefined {
    const { deployments } = this.#world
    let least: ResidentAdapter | undefined
    for (const each of residents) {
      if (each.users > 0 || each.loading !== 0) continue
      const earlier =
        least === undefined ||
        each.usedAt < least.usedAt ||
        (each.usedAt === least.usedAt && deployments.read(each.adapter).id < deployments.read(least.adapter).id)
      if (earlier) least = each
    }
    return least
  }

  #keep(row: InstanceRow, stays: (resident: ResidentAdapter) => boolean): void {
    for (const each of row.adapters) if (!stays(each)) this.#world.cancel(each.loading)
    row.adapters = row.adapters.filter(stays)
  }

  #has(instance: number, adapter: number): boolean {
    return this.#world.instances.read(instance).adapters.some(each => each.adapter === adapter)
  }
}

function wantedSince(row: Readonly<DeploymentRow>): number {
  return row.status === 'running' ? row.heldSince : row.updatedAt
}
