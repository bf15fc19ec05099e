/** The pools that give no GPU now, and the deployments that wait for GPUs, each since when and why. */

import type { Micros } from '../../../kernel/duration.ts'
import type { Entry } from '../../../kernel/journal.ts'
import { countAlive, isParked, isTerminal } from '../../../simulation/deployments/deployment-row.ts'
import type { World } from '../../../simulation/world.ts'
import { type Wait, waitForGpus, waitOfMissing } from '../../../simulator/explain/waits.ts'

export const UNAVAILABLE_CAUSES = ['stock_out', 'zone_down', 'spot_away'] as const

/**
 * Returns why each node group of the fleet gives no GPUs, and the deployments that wait for GPUs, the longest wait first.
 * `since` is undefined if the journal does not have the begin.
 */
export function findFleetWaits(world: World) {
  const { environment, nodes, clock, deployments, instances } = world
  const causes = nodes.groups.map(({ group: { gpu, zone }, spotUnavailableUntil: until }) => {
    if (environment.isStockedOut(gpu)) return 'stock_out'
    if (environment.isZoneDown(zone)) return 'zone_down'
    return until > clock.now ? 'spot_away' : undefined
  })
  const waits = [...deployments.entries()].flatMap(([, row]) => {
    if (!row.plan.hasInstances || isTerminal(row.status) || isParked(row)) return []
    const missing = Math.max(0, row.desired - countAlive(row))
    if (row.waiting === 0 && missing === 0) return []
    const pending = row.instances.map(ordinal => instances.read(ordinal)).filter(({ state }) => state === 'pending')
    return pending.length + missing > 0 ? [{ row, pending, missing }] : []
  })
  const isQuiet = waits.length === 0 && causes.every(cause => cause === undefined)
  const begins = isQuiet ? new Map<string, Micros>() : readBegins(world)
  // Deployments with equal needs wait for the same, so the nodes are read once for them.
  const known = new Map<string, Wait | undefined>()
  const waitFor = (row: (typeof waits)[number]['row']) => {
    const needs = `${row.gpu} ${row.numGpus}`
    if (!known.has(needs)) known.set(needs, waitForGpus(world, row))
    return known.get(needs)
  }
  return {
    unavailable: nodes.groups.map(({ group, spotUnavailableUntil }, index) => {
      const cause = causes[index]
      if (cause === undefined) return undefined
      const thing = { stock_out: group.gpu, zone_down: group.zone, spot_away: group.pool }[cause]
      const until = cause === 'spot_away' ? spotUnavailableUntil : undefined
      return { cause, since: begins.get(`${cause} ${thing}`), until } as const
    }),
    waiting: waits
      .flatMap(({ row, pending, missing }) => {
        const [oldest] = pending.sort((a, b) => a.since - b.since)
        const wait = oldest === undefined ? waitOfMissing(world, row) : waitFor(row)
        if (wait === undefined) return []
        return {
          ...{ id: row.id, name: row.plan.modelName, gpu: row.gpu, gpus: row.numGpus },
          instances: pending.length + missing,
          since: oldest?.since ?? begins.get(`missing ${row.id}`),
          ...{ cause: wait.cause, sentence: `It waits, because ${wait.clause}.` },
        }
      })
      .sort((a, b) => (a.since ?? 0) - (b.since ?? 0) || (a.id < b.id ? -1 : 1)),
  }
}

const missingOf = ({ subject }: Entry) => `missing ${subject.slice(0, subject.lastIndexOf('-'))}`

/** Returns the key of what begins with an entry of a kind. */
const BEGINS: Readonly<Record<string, (entry: Entry, world: World) => string>> = {
  'pool.stockedOut': ({ fields }) => `stock_out ${fields?.gpu}`,
  'zone.down': ({ fields }) => `zone_down ${fields?.zone}`,
  'node.preemptionNoticed': ({ subject }, { nodes }) => `spot_away ${nodes.poolOf(subject)}`,
  ...{ 'instance.lost': missingOf, 'instance.crashed': missingOf, 'instance.gone': missingOf },
  'deployment.limited': ({ subject }) => `missing ${subject}`,
}
/** Returns the key of what ends with an entry of a kind. */
const ENDS: Readonly<Record<string, (fields: Entry['fields']) => string>> = {
  'pool.restocked': fields => `stock_out ${fields?.gpu}`,
  'zone.up': fields => `zone_down ${fields?.zone}`,
  'pool.spotReturned': fields => `spot_away ${fields?.pool}`,
  'instance.pending': fields => `missing ${fields?.deployment}`,
}

/** Returns when something began that has not ended, by its kind and its thing. */
function readBegins(world: World): ReadonlyMap<string, Micros> {
  const begins = new Map<string, Micros>()
  for (const entry of world.journal.entries()) {
    const begun = BEGINS[entry.kind]?.(entry, world)
    if (begun !== undefined && !begins.has(begun)) begins.set(begun, entry.time)
    const ended = ENDS[entry.kind]?.(entry.fields)
    if (ended !== undefined) begins.delete(ended)
  }
  return begins
}
