import type { Micros } from '../../kernel/duration.ts'
import { toRentalOrdinal } from '../rentals/rental-row.ts'
import type { World } from '../world.ts'

/** Something on its way to a node: of a row of its own, whose next event is its end. */
export interface Download {
  readonly node: number
  bytesLeft: number
  /** The rate it could have, 0 when nothing is under way; the rate it has, and since when. */
  ownRate: number
  rate: number
  rateSince: Micros
  next: number
}

/**
 * Weights on their way to nodes, and images of containers. Each download has a rate of its own, drawn; the downloads of
 * a node share its bandwidth; the hub may be slow or down, the registry down. Whenever one of that changes, what has
 * come is counted and the end is planned anew, so nothing ticks.
 */
export class Downloads {
  readonly #world: World

  constructor(world: World) {
    this.#world = world
  }

  /** Begins a download of `bytes` at most at `rate` bytes/s, by a tenant of a node: weights, or an image for a rental. */
  start(tenant: number, bytes: number, rate: number): void {
    const row = this.#writableRow(tenant)
    row.bytesLeft = bytes
    row.ownRate = rate
    row.rate = 0
    row.rateSince = this.#world.clock.now
    this.rescheduleNode(row.node)
  }

  /** A download ended or was given up: the others on its node go faster. */
  end(row: Download): void {
    row.bytesLeft = 0
    row.ownRate = 0
    row.rate = 0
    this.rescheduleNode(row.node)
  }

  /** The hub has changed: every download goes on at another rate. */
  rescheduleAll(): void {
    const nodes = new Set<number>()
    for (const [, row] of this.#world.instances.entries()) if (row.ownRate > 0) nodes.add(row.node)
    this.#rescheduleNodes(nodes)
  }

  /** The registry has changed: images stall, or go on. */
  rescheduleImages(): void {
    const nodes = new Set<number>()
    for (const [, row] of this.#world.rentals.entries()) if (row.ownRate > 0) nodes.add(row.node)
    this.#rescheduleNodes(nodes)
  }

  rescheduleNode(node: number): void {
    const world = this.#world
    const { environment, instances, rentals, nodes, clock } = world
    const active = nodes
      .read(node)
      .tenants.filter(one => (one >= 0 ? instances.read(one) : rentals.read(toRentalOrdinal(one))).ownRate > 0)
    if (active.length === 0) return
    const { nodeBandwidth, hubTimeout } = world.profile.timings
    const share = nodeBandwidth / active.length
    for (const tenant of active) {
      const row = this.#writableRow(tenant)
      row.bytesLeft = Math.max(0, row.bytesLeft - (row.rate * (clock.now - row.rateSince)) / 1e6)
      row.rateSince = clock.now
      const isImage = tenant < 0
      const isStalled = isImage ? environment.registryDown : environment.hubDown
      const wasStalled = row.rate === 0 && row.next !== 0
      row.rate = isStalled ? 0 : Math.min(row.ownRate * (isImage ? 1 : environment.hubShare), share)
      // A stalled download keeps the moment at which it gives up; several outages at once are one.
      if (isStalled && wasStalled) continue
      world.cancel(row.next)
      const delay = isStalled ? hubTimeout : (row.bytesLeft / row.rate) * 1e6
      if (isImage) {
        row.next = world.schedule(
          delay,
          isStalled ? 'rental.pullTimedOut' : 'rental.imagePulled',
          toRentalOrdinal(tenant),
        )
      } else {
        row.next = instances.schedule(tenant, delay, isStalled ? 'instance.downloadTimedOut' : 'instance.weightsPulled')
      }
    }
  }

  #rescheduleNodes(nodes: ReadonlySet<number>): void {
    for (const node of [...nodes].sort((a, b) => a - b)) this.rescheduleNode(node)
  }

  #writableRow(tenant: number): Download {
    return tenant >= 0 ? this.#world.instances.writable(tenant) : this.#world.rentals.writable(toRentalOrdinal(tenant))
  }
}
