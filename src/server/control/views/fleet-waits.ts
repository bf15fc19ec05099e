/** The pools that give no GPU now, and the deployments that wait for GPUs, each since when and why. */

import type { Micros } from '../../../kernel/duration.ts'
import type { Entry } from '../../../kernel/journal.ts'
import { countAlive, type DeploymentRow, isParked, isTerminal } from '../../../simulation/deployments/deployment-row.ts'
import type { World } from '../../../simulation/world.ts'
import { type Wait, type WaitCause, waitForGpus, waitOfMissing } from '../../../simulator/explain/waits.ts'

export const UNAVAILABLE_CAUSES = ['stock_out', 'zone_down', 'spot_away'] as const

/** Why the GPUs of a group of nodes cannot be used. */
export interface Unavailability {
  readonly cause: (typeof UNAVAILABLE_CAUSES)[number]
  /** Undefined if the journal does not have its begin. */
  readonly since: Micros | undefined
  /** Undefined if no event ends it. */
  readonly until: Micros | undefined
}

/** A deployment with instances that have no GPUs, or that were not requested. */
export interface WaitingDeployment {
  readonly id: string
  readonly name: string
  readonly gpu: string
  /** GPUs of each instance. */
  readonly gpus: number
  readonly instances: number
  /** Undefined if the journal does not have the begin of the wait. */
  readonly since: Micros | undefined
  readonly cause: WaitCause
  readonly sentence: string
}

export interface FleetWaitsView {
  /** In the order of the node groups of the fleet; undefined for a group that gives GPUs. */
  readonly unavailable: readonly (Unavailability | undefined)[]
  /** Those that wait the longest come first, at most `MAX_LISTED`. */
  readonly waiting: readonly WaitingDeployment[]
  readonly waitingCount: number
}

/** The most waiting deployments that are listed. */
const MAX_LISTED = 200

/** Reads the begins of waits from the journal of one world, as far as something waits. */
export class FleetWaits {
  readonly #world: World
  #readUpTo = 0
  /** When something began that has not ended: by its kind and its thing. */
  readonly #begins = new Map<string, Micros>()

  constructor(world: World) {
    this.#world = world
  }

  look(): FleetWaitsView {
    const world = this.#world
    const found: { readonly row: Readonly<DeploymentRow>; readonly pending: readonly number[] }[] = []
    for (const [, row] of world.deployments.entries()) {
      if (!row.plan.hasInstances || isTerminal(row.status) || isParked(row)) continue
      const isMissing = countAlive(row) < row.desired
      if (row.waiting === 0 && !isMissing) continue
      const pending = row.instances.filter(ordinal => world.instances.read(ordinal).state === 'pending')
      if (pending.length > 0 || isMissing) found.push({ row, pending })
    }
    const { environment, nodes, clock } = world
    const { groups } = nodes
    const isUnavailable = groups.map(({ group: { gpu, zone }, spotUnavailableUntil: until }) => {
      if (environment.isStockedOut(gpu)) return 'stock_out'
      if (environment.isZoneDown(zone)) return 'zone_down'
      return until > clock.now ? 'spot_away' : undefined
    })
    if (found.length > 0 || isUnavailable.some(cause => cause !== undefined)) this.#readJournal()
    // Deployments with equal needs wait for the same, so the nodes are read once for them.
    const known = new Map<string, Wait>()
    const waiting = found
      .flatMap(({ row, pending }) => this.#describe(row, pending, known) ?? [])
      .sort((a, b) => (a.since ?? 0) - (b.since ?? 0) || (a.id < b.id ? -1 : 1))
    return {
      unavailable: groups.map(({ group, spotUnavailableUntil: until }, index) => {
        const cause = isUnavailable[index]
        if (cause === undefined) return undefined
        const thing = { stock_out: group.gpu, zone_down: group.zone, spot_away: group.pool }[cause]
        return {
          ...{ cause, since: this.#begins.get(`${cause} ${thing}`) },
          until: cause === 'spot_away' ? until : undefined,
        }
      }),
      ...{ waiting: waiting.slice(0, MAX_LISTED), waitingCount: waiting.length },
    }
  }

  #describe(
    row: Readonly<DeploymentRow>,
    pending: readonly number[],
    known: Map<string, Wait>,
  ): WaitingDeployment | undefined {
    const world = this.#world
    const [oldest] = pending.map(ordinal => world.instances.read(ordinal)).sort((a, b) => a.since - b.since)
    const needs = `${row.gpu} ${row.numGpus}`
    const wait = oldest === undefined ? waitOfMissing(world, row) : (known.get(needs) ?? waitForGpus(world, row))
    if (wait === undefined) return undefined
    if (oldest !== undefined) known.set(needs, wait)
    return {
      ...{ id: row.id, name: row.plan.modelName, gpu: row.gpu, gpus: row.numGpus },
      instances: pending.length + Math.max(0, row.desired - countAlive(row)),
      since: oldest === undefined ? this.#begins.get(`missing ${row.id}`) : oldest.since,
      ...{ cause: wait.cause, sentence: `It waits, because ${wait.clause}.` },
    }
  }

  #readJournal(): void {
    const { journal } = this.#world
    for (const entry of journal.entries(this.#readUpTo)) this.#read(entry)
    this.#readUpTo = journal.last
  }

  #read(entry: Entry): void {
    const begun = this.#beginOf(entry)
    if (begun !== undefined && !this.#begins.has(begun)) this.#begins.set(begun, entry.time)
    const ended = endOf(entry)
    if (ended !== undefined) this.#begins.delete(ended)
  }

  /** Returns the key of what begins with an entry. */
  #beginOf({ kind, subject, fields }: Entry): string | undefined {
    switch (kind) {
      case 'pool.stockedOut':
        return `stock_out ${fields?.gpu}`
      case 'zone.down':
        return `zone_down ${fields?.zone}`
      case 'node.preemptionNoticed': {
        const state = this.#world.nodes.groups.find(({ group }) => subject.startsWith(`${group.prefix}-`))
        return `spot_away ${state?.group.pool}`
      }
      case 'instance.lost':
      case 'instance.crashed':
      case 'instance.gone':
        return `missing ${subject.slice(0, subject.lastIndexOf('-'))}`
      case 'deployment.limited':
        return `missing ${subject}`
      default:
        return undefined
    }
  }
}

/** Returns the key of what ends with an entry. */
function endOf({ kind, fields }: Entry): string | undefined {
  switch (kind) {
    case 'pool.restocked':
      return `stock_out ${fields?.gpu}`
    case 'zone.up':
      return `zone_down ${fields?.zone}`
    case 'pool.spotReturned':
      return `spot_away ${fields?.pool}`
    case 'instance.pending':
      return `missing ${fields?.deployment}`
    default:
      return undefined
  }
}
