import type { Tape } from '../kernel/tape.ts'
import type { World } from './world.ts'

/**
 * Instances that wait for GPUs. Whoever waits is served in rounds: one round an instant, in the order of waiting since,
 * then of ids, so that the order in which clients asked within one instant does not decide who gets which node.
 */
export class Placement {
  readonly #world: World
  /** Instances by ordinal. Shared with forks until one side changes it. */
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

  /** Puts an instance in the queue and asks for a round at this instant. */
  enqueue(instance: number): void {
    this.#own().add(instance)
    this.wake()
  }

  /** Takes an instance out of the queue. */
  leave(instance: number): void {
    if (this.#waiting.has(instance)) this.#own().delete(instance)
  }

  /** Capacity may have come: a round at this instant, if anybody waits. */
  wake(): void {
    if (this.#waiting.size === 0 || this.#world.agenda.timeOf(this.#round) <= this.#world.clock.now) return
    this.#world.cancel(this.#round)
    this.#round = this.#world.plan(0, 'placement.round')
  }

  round(): void {
    this.#round = 0
    const { instances } = this.#world
    const order = [...this.#waiting]
    if (order.length > 1) {
      order.sort((one, other) => {
        const [a, b] = [instances.read(one), instances.read(other)]
        return a.since - b.since || (a.id < b.id ? -1 : 1)
      })
    }
    this.#waiting = new Set(order.filter(one => !instances.place(one)))
    this.#isShared = false
    if (this.#waiting.size === 0) return
    const { deployments, provisioning } = this.#world
    provisioning.demand(
      Array.from(this.#waiting, one => {
        const { gpu, numGpus } = deployments.read(instances.read(one).deployment)
        return { gpu, gpus: numGpus }
      }),
    )
  }

  #own(): Set<number> {
    if (this.#isShared) this.#waiting = new Set(this.#waiting)
    this.#isShared = false
    return this.#waiting
  }
}
