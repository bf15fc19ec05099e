import type { Archive } from '../../kernel/archive.ts'
import type { Micros } from '../../kernel/duration.ts'
import { toRentalOrdinal } from '../rentals/rental-row.ts'
import type { World } from '../world.ts'

/**
 * Tenants that wait for GPUs: instances of deployments, hosted instances and containers alike. Whoever waits is served
 * in rounds: one round an instant, in the order of waiting since, then of ids, so that the order in which clients asked
 * within one instant does not decide who gets which node.
 */
export class Placement {
  readonly #world: World
  /** Tenants by ordinal, rentals below zero. Shared with forks until one side changes it. */
  #queue: Set<number>
  #isShared: boolean
  #roundEvent = 0

  constructor(world: World, from?: Placement) {
    this.#world = world
    this.#queue = from ? from.#queue : new Set()
    this.#isShared = from !== undefined
    this.#roundEvent = from ? from.#roundEvent : 0
  }

  fork(world: World): Placement {
    this.#isShared = true
    return new Placement(world, this)
  }

  archive(archive: Archive): void {
    this.#queue = archive.value(this.#queue)
    this.#isShared = archive.value(this.#isShared)
    this.#roundEvent = archive.value(this.#roundEvent)
  }

  /** Puts a tenant in the queue and asks for a round at this instant. */
  enqueue(tenant: number): void {
    this.#writableQueue().add(tenant)
    this.scheduleRound()
  }

  /** Takes a tenant out of the queue. */
  dequeue(tenant: number): void {
    if (this.#queue.has(tenant)) this.#writableQueue().delete(tenant)
  }

  /** Capacity may have come: a round at this instant, if anybody waits. */
  scheduleRound(): void {
    if (this.#queue.size === 0 || this.#world.agenda.timeOf(this.#roundEvent) <= this.#world.clock.now) return
    this.#world.cancel(this.#roundEvent)
    this.#roundEvent = this.#world.schedule(0, 'placement.round')
  }

  runRound(): void {
    this.#roundEvent = 0
    const { instances, rentals } = this.#world
    const order = [...this.#queue]
    if (order.length > 1) {
      order.sort((one, other) => {
        const [a, b] = [this.#tenantRow(one), this.#tenantRow(other)]
        return a.since - b.since || (a.id < b.id ? -1 : 1)
      })
    }
    const place = (one: number) => (one >= 0 ? instances.place(one) : rentals.place(toRentalOrdinal(one)))
    this.#queue = new Set(order.filter(one => !place(one)))
    this.#isShared = false
    if (this.#queue.size === 0) return
    this.#world.nodeAutoscaler.provisionFor(Array.from(this.#queue, one => this.#gpuRequest(one)))
  }

  #tenantRow(tenant: number): { readonly id: string; readonly since: Micros } {
    const { instances, rentals } = this.#world
    return tenant >= 0 ? instances.read(tenant) : rentals.read(toRentalOrdinal(tenant))
  }

  #gpuRequest(tenant: number): { readonly gpu: string; readonly gpus: number } {
    const { deployments, instances, rentals } = this.#world
    const { gpu, numGpus } =
      tenant >= 0 ? deployments.read(instances.read(tenant).deployment) : rentals.read(toRentalOrdinal(tenant))
    return { gpu, gpus: numGpus }
  }

  #writableQueue(): Set<number> {
    if (this.#isShared) this.#queue = new Set(this.#queue)
    this.#isShared = false
    return this.#queue
  }
}
