import type { InstanceRow } from './instances.ts'
import type { World } from './world.ts'

/**
 * Weights on their way to nodes. Each download has a rate of its own, drawn; the downloads of a node share its
 * bandwidth; the hub may be slow or down. Whenever one of that changes, what has come is counted and the end is planned
 * anew, so nothing ticks.
 */
export class Downloads {
  readonly #world: World

  constructor(world: World) {
    this.#world = world
  }

  /** Begins a download of `bytes` at most at `rate` bytes/s. */
  begin(ordinal: number, bytes: number, rate: number): void {
    const row = this.#world.instances.own(ordinal)
    row.bytesLeft = bytes
    row.ownRate = rate
    row.rate = 0
    row.rateSince = this.#world.clock.now
    this.paceNode(row.node)
  }

  /** A download ended or was given up: the others on its node go faster. */
  end(row: InstanceRow): void {
    row.bytesLeft = 0
    row.ownRate = 0
    row.rate = 0
    this.paceNode(row.node)
  }

  /** The hub has changed: every download goes on at another rate. */
  paceAll(): void {
    const nodes = new Set<number>()
    for (const [, row] of this.#world.instances.entries()) if (row.ownRate > 0) nodes.add(row.node)
    for (const node of [...nodes].sort((a, b) => a - b)) this.paceNode(node)
  }

  paceNode(node: number): void {
    const world = this.#world
    const { conditions, instances, nodes, clock } = world
    const active = nodes.read(node).tenants.filter(one => one >= 0 && instances.read(one).ownRate > 0)
    if (active.length === 0) return
    const { nodeBandwidth, hubTimeout } = world.profile.timings
    const share = nodeBandwidth / active.length
    for (const ordinal of active) {
      const row = instances.own(ordinal)
      row.bytesLeft = Math.max(0, row.bytesLeft - (row.rate * (clock.now - row.rateSince)) / 1e6)
      row.rateSince = clock.now
      const stalled = conditions.hubDown
      const wasStalled = row.rate === 0 && row.next !== 0
      row.rate = stalled ? 0 : Math.min(row.ownRate * conditions.hubShare, share)
      // A stalled download keeps the moment at which it gives up; several outages at once are one.
      if (stalled && wasStalled) continue
      world.cancel(row.next)
      row.next = stalled
        ? instances.plan(ordinal, hubTimeout, 'instance.downloadTimedOut')
        : instances.plan(ordinal, (row.bytesLeft / row.rate) * 1e6, 'instance.weightsPulled')
    }
  }
}
