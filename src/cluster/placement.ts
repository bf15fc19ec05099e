import type { Micros } from '../kernel/duration.ts'
import type { Tape } from '../kernel/tape.ts'
import { rentalOf } from './rental-row.ts'
import type { World } from './world.ts'

/**
 * Tenants that wait for GPUs: instances of deployments, hosted instances and containers alike. Whoever waits is served
 * in rounds: one round an instant, in the order of waiting since, then of ids, so that the order in which clients asked
 * within one instant does not decide who gets which node.
 */
export class Placement {
  readonly #world: World
  /** Tenants by ordinal, rentals below zero. Shared with forks until one side changes it. */
  #waiting: Set<number>
  #isShared: boolean
  #round = 0

  constructor(world: World, from?: Placement) {
    this.#world = world
    this.#waiting = from ? from.#waiting : new Set()
    this.#isShared = from !== undefined
    this.#round = from ? from.#round : 0
  }

  fork(world: World): Placement {
    this.#isShared = true
    return new Placement(world, this)
  }

  keep(tape: Tape): void {
    this.#waiting = tape.value(this.#waiting)
    this.#isShared = tape.value(this.#isShared)
    this.#round = tape.value(this.#round)
  }

  /** Puts a tenant in the queue and asks for a round at this instant. */
  enqueue(tenant: number): void {
    this.#own().add(tenant)
    this.wake()
  }

  /** Takes a tenant out of the queue. */
  leave(tenant: number): void {
    if (this.#waiting.has(tenant)) this.#own().delete(tenant)
  }

  /** Capacity may have come: a round at this instant, if anybody waits. */
  wake(): void {
    if (this.#waiting.size === 0 || this.#world.agenda.timeOf(this.#round) <= this.#world.clock.now) return
    this.#world.cancel(this.#round)
    this.#round = this.#world.plan(0, 'placement.round')
  }

  round(): void {
    this.#round = 0
    const { instances, rentals } = this.#world
    const order = [...this.#waiting]
    if (order.length > 1) {
      order.sort((one, other) => {
        const [a, b] = [this.#row(one), this.#row(other)]
        return a.since - b.since || (a.id < b.id ? -1 : 1)
      })
    }
    const place = (one: number) => (one >= 0 ? instances.place(one) : rentals.place(rentalOf(one)))
    this.#waiting = new Set(order.filter(one => !place(one)))
    this.#isShared = false
    if (this.#waiting.size === 0) return
    this.#world.provisioning.demand(Array.from(this.#waiting, one => this.#wanted(one)))
  }

  #row(tenant: number): { readonly id: string; readonly since: Micros } {
    const { instances, rentals } = this.#world
    return tenant >= 0 ? instances.read(tenant) : rentals.read(rentalOf(tenant))
  }

  #wanted(tenant: number): { readonly gpu: string; readonly gpus: number } {
    const { deployments, instances, rentals } = this.#world
    const { gpu, numGpus } =
      tenant >= 0 ? deployments.read(instances.read(tenant).deployment) : rentals.read(rentalOf(tenant))
    return { gpu, gpus: numGpus }
  }

  #own(): Set<number> {
    if (this.#isShared) this.#waiting = new Set(this.#waiting)
    this.#isShared = false
    return this.#waiting
  }
}
