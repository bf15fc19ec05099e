import { Part } from '../part.ts'
import type { Environment } from './environment.ts'
import type { Nodes } from './nodes.ts'
import type { Download, Tenants } from './tenants.ts'

/** The parts below that it uses. */
export interface DownloadsParts {
  readonly environment: Environment
  readonly nodes: Nodes
  readonly tenants: Tenants
}

/**
 * Weights on their way to nodes. Each download has a rate of its own, drawn; the downloads of a node share its
 * bandwidth; the hub may be slow or down. Whenever one of that changes, what has come is counted and the end is
 * scheduled again, so nothing ticks.
 */
export class Downloads extends Part<DownloadsParts> {
  /** Begins a download of `bytes` at most at `rate` bytes/s, by an instance on a node. */
  start(instance: number, bytes: number, rate: number): void {
    const row = this.parts.tenants.instances.writable(instance)
    row.bytesLeft = bytes
    row.ownRate = rate
    row.rate = 0
    row.rateSince = this.context.clock.now
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
    for (const [, row] of this.parts.tenants.instances.entries()) if (row.ownRate > 0) nodes.add(row.node)
    for (const node of [...nodes].sort((a, b) => a - b)) this.rescheduleNode(node)
  }

  rescheduleNode(node: number): void {
    const { environment, nodes, tenants } = this.parts
    const { instances } = tenants
    const { clock } = this.context
    const ordinals = nodes.read(node).tenants
    let activeCount = 0
    for (const tenant of ordinals) if (tenant >= 0 && instances.read(tenant).ownRate > 0) activeCount++
    if (activeCount === 0) return
    const { nodeBandwidth, hubTimeout } = this.context.profile.timings
    const share = nodeBandwidth / activeCount
    for (const tenant of ordinals) {
      if (tenant < 0 || instances.read(tenant).ownRate <= 0) continue
      const row = instances.writable(tenant)
      row.bytesLeft = Math.max(0, row.bytesLeft - (row.rate * (clock.now - row.rateSince)) / 1e6)
      row.rateSince = clock.now
      const isStalled = environment.state.hubDown
      const wasStalled = row.rate === 0 && row.next !== 0
      row.rate = isStalled ? 0 : Math.min(row.ownRate * environment.state.hubShare, share)
      // A stalled download keeps the moment at which it gives up; several outages at once are one.
      if (isStalled && wasStalled) continue
      const delay = isStalled ? hubTimeout : (row.bytesLeft / row.rate) * 1e6
      const schedule = () => instances.scheduleDownloadEnd(tenant, delay, isStalled)
      if (isStalled || wasStalled) {
        this.context.cancel(row.next)
        row.next = schedule()
      } else row.next = this.context.reschedule(row.next, schedule)
    }
  }
}
