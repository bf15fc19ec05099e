import type { Archive } from '../../kernel/archive.ts'
import { Part } from '../part.ts'
import type { NodeProvisioner, Tenants } from './tenants.ts'

/** The parts below that it uses. */
export interface PlacementParts {
  readonly tenants: Tenants
}

/**
 * Tenants that wait for GPUs: instances of deployments, hosted instances and containers alike. A waiting tenant is served
 * in rounds: one round an instant, in the order of waiting since, then of ids, so that the order in which clients asked
 * within one instant does not decide who gets which node.
 */
export class Placement extends Part<PlacementParts, NodeProvisioner> {
  /** Tenants by ordinal, rentals below zero. Shared with forks until one side changes it. */
  #queue = new Set<number>()
  #isShared = false
  #roundEvent = 0
  /** The tenant whose placement threw in the last round. */
  #failedTenant: number | undefined

  archive(archive: Archive): void {
    this.#queue = archive.value(this.#queue)
    this.#isShared = true
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

  /** Schedules a round now if an instance waits. Call it when there may be new capacity. */
  scheduleRound(): void {
    if (this.#queue.size === 0 || this.context.agenda.timeOf(this.#roundEvent) <= this.context.clock.now) return
    this.context.cancel(this.#roundEvent)
    this.#roundEvent = this.context.schedule(0, 'placement.round')
  }

  onEvent(_: 'placement.round'): void {
    this.#roundEvent = 0
    const { tenants } = this.parts
    const order = [...this.#queue]
    if (order.length > 1) {
      order.sort((one, other) => {
        const [a, b] = [tenants.read(one), tenants.read(other)]
        return a.since - b.since || (a.id < b.id ? -1 : 1)
      })
    }
    const waiting: number[] = []
    let triedCount = 0
    try {
      for (const tenant of order) {
        this.#failedTenant = tenant
        triedCount++
        this.context.beginConsequence()
        if (!tenants.place(tenant)) waiting.push(tenant)
      }
      this.#failedTenant = undefined
    } finally {
      this.#keepWaiting(waiting, order, triedCount)
    }
    if (this.#queue.size === 0) return
    this.ports.provisionFor(Array.from(this.#queue, tenant => tenants.gpuRequestOf(tenant)))
  }

  /** Sets the queue to the tenants that wait after a round: those without room, and those that were not tried. */
  #keepWaiting(waiting: readonly number[], order: readonly number[], triedCount: number): void {
    // Most rounds place all. A queue of its own is emptied, because a new set takes four times as long.
    if (!this.#isShared && waiting.length === 0 && triedCount === order.length) this.#queue.clear()
    else this.#queue = new Set([...waiting, ...order.slice(triedCount)])
    this.#isShared = false
  }

  /** Returns the tenant whose placement threw in the last round. It no longer waits. */
  takeFailedTenant(): number | undefined {
    const tenant = this.#failedTenant
    this.#failedTenant = undefined
    return tenant
  }

  #writableQueue(): Set<number> {
    if (this.#isShared) this.#queue = new Set(this.#queue)
    this.#isShared = false
    return this.#queue
  }
}
