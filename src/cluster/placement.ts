import type { World } from './world.ts'

interface Waiting {
  readonly instance: number
  readonly use: number
}

/**
 * Instances that wait for GPUs. Whoever waits is served in rounds: one round an instant, in the order of waiting since,
 * then of ids, so that the order in which clients asked within one instant does not decide who gets which node.
 */
export class Placement {
  readonly #world: World
  #waiting: readonly Waiting[]
  #round = 0

  constructor(world: World, from?: Placement) {
    this.#world = world
    this.#waiting = from ? from.#waiting : []
    this.#round = from ? from.#round : 0
  }

  fork(world: World): Placement {
    return new Placement(world, this)
  }

  /** Puts an instance in the queue and asks for a round at this instant. */
  enqueue(instance: number, use: number): void {
    this.#waiting = [...this.#waiting, { instance, use }]
    this.wake()
  }

  /** Takes an instance out of the queue. */
  leave(instance: number): void {
    if (this.#waiting.some(one => one.instance === instance)) {
      this.#waiting = this.#waiting.filter(one => one.instance !== instance)
    }
  }

  /** Capacity may have come: a round at this instant, if anybody waits. */
  wake(): void {
    if (this.#waiting.length === 0 || this.#world.agenda.timeOf(this.#round) <= this.#world.clock.now) return
    this.#world.cancel(this.#round)
    this.#round = this.#world.plan(0, 'placement.round')
  }

  round(): void {
    this.#round = 0
    const { instances } = this.#world
    const order = this.#waiting
      .map(one => ({ one, row: instances.read(one.instance) }))
      .sort((a, b) => a.row.since - b.row.since || (a.row.id < b.row.id ? -1 : 1))
    this.#waiting = order.filter(({ one }) => !instances.place(one.instance)).map(({ one }) => one)
    if (this.#waiting.length === 0) return
    const { deployments, provisioning } = this.#world
    provisioning.demand(
      this.#waiting.map(one => {
        const { gpu, numGpus } = deployments.read(instances.read(one.instance).deployment)
        return { gpu, gpus: numGpus }
      }),
    )
  }
}
