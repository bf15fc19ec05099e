import * as z from 'zod'
import { ENGINE_CLASS_NAMES } from '../../../data/engine-classes.ts'
import { fieldsOf } from '../../../lib/fields.ts'
import { orNull, rowsOf } from '../../../service/fields.ts'
import { engineView } from '../../../simulation/deployments/instance-speed.ts'
import { bitCount, freeGpus, type NodeRow } from '../../../simulation/fleet/node-row.ts'
import { toRentalOrdinal } from '../../../simulation/fleet/tenants.ts'
import type { World } from '../../../simulation/world.ts'
import { WAIT_CAUSES } from '../../../simulator/explain/waits.ts'
import { control } from '../endpoint.ts'
import { engineUtilisation, RequestsInFlight, servingState } from '../metrics/serving-state.ts'
import { findFleetWaits, UNAVAILABLE_CAUSES } from './fleet-waits.ts'

/** The most waiting deployments that are listed. */
const MAX_WAITING = 200
/** In the list of a node's GPUs. */
const [FREE, OF_OTHERS, BROKEN] = [-1, -2, -3]

const NodeSchema = z.object({
  name: z.string(),
  group: z.int().describe('Index of its group in groups'),
  state: z.enum(['provisioning', 'ready', 'cordoned', 'draining', 'down', 'gone']),
  gpus: z
    .array(z.int())
    .describe('For each GPU: index in the holders of the node; -1 free, -2 of another customer, -3 broken'),
  holders: rowsOf({
    id: z.string().describe('Id of the instance or the container'),
    owner: z.string().describe('Id of the deployment, or of the container'),
    state: z.string(),
  }).describe('Who holds GPUs of it'),
  slowdown: z.number().describe('By which factor it is slower; 1 is full speed'),
  disk_full: z.boolean(),
})
const OwnerSchema = z.object({
  id: z.string(),
  kind: z.enum(['deployment', 'container']),
  name: z.string(),
  status: z.string(),
  utilisation: z.number().nullable().describe('Mean of its ready instances, 0 to 1; null without one'),
  engine: orNull({
    class: z.enum(ENGINE_CLASS_NAMES),
    tokens_per_second: z.number().describe('Of each instance with all the work that it can take'),
    band: z.number().nullable().describe('Share by which published rows differ; null if it is not validated'),
    rows: z.int().describe('Published rows that the band rests on; 0 if only held-out rows, or without a band'),
    places: z.int().describe('Requests that each instance works on at once'),
    limit: z.enum(['memory', 'max_batch_size', 'step tokens']).describe('What limits the places'),
    is_assumed: z.boolean().describe('Whether figures of the model follow from its size only'),
  }).describe('null for a container'),
})

export const getFleet = control({
  route: 'GET /_sim/fleet',
  summary:
    'Return the nodes of the fleet, the state of each GPU and who holds it, the pools without GPUs, and the ' +
    'deployments that wait for GPUs',
  example: { target: '/_sim/fleet' },
  returns: z.object({
    totals: z.object({
      ...fieldsOf(z.int(), 'nodes', 'gpus', 'free', 'held'),
      others: z.int().describe('Of other customers'),
      broken: z.int(),
      unusable: z.int().describe('Broken ones, and those without a holder on a node that takes no instance'),
    }),
    groups: rowsOf({
      pool: z.string(),
      zone: z.string(),
      market: z.enum(['on-demand', 'spot']),
      gpu: z.string(),
      gpus: z.int().describe('GPUs of each node'),
      unavailable: orNull({
        cause: z.enum(UNAVAILABLE_CAUSES),
        since: z.string().nullable().describe('null if the journal does not have its begin'),
        until: z.string().nullable().describe('null if no event ends it'),
      }).describe('Why its GPUs cannot be used; null if they can'),
    }),
    owners: z.array(OwnerSchema),
    nodes: z.array(NodeSchema),
    waiting: rowsOf({
      ...fieldsOf(z.string(), 'id', 'name', 'gpu'),
      gpus: z.int().describe('GPUs of each instance'),
      instances: z.int().describe('Instances without GPUs, requested or not'),
      since: z.string().nullable().describe('null if the journal does not have its begin'),
      cause: z.enum(WAIT_CAUSES),
      sentence: z.string(),
    }).describe('Deployments that wait for GPUs, the longest wait first, at most 200'),
    waiting_count: z.int().describe('How many wait, also those that are not listed'),
  }),
  handle: ({ sim: { world } }) => {
    const { unavailable, waiting } = findFleetWaits(world)
    const toIso = (time: number | undefined) => (time === undefined ? null : world.clock.iso(time))
    const groups = world.nodes.groups.map(({ group }) => group)
    const indexes = new Map(groups.map((group, index) => [group, index]))
    const rows = Array.from(world.nodes.entries(), ([, row]) => row)
    return {
      totals: totalsOf(rows),
      groups: groups.map(({ pool, zone, market, gpu, gpus }, index) => {
        const { cause, since, until } = unavailable[index] ?? {}
        const why = cause === undefined ? null : { cause, since: toIso(since), until: toIso(until) }
        return { pool, zone, market, gpu, gpus, unavailable: why }
      }),
      owners: ownersOf(world),
      nodes: rows.map(row => toNode(world, row, indexes.get(row.group)!)),
      waiting: waiting.slice(0, MAX_WAITING).map(one => ({ ...one, since: toIso(one.since) })),
      waiting_count: waiting.length,
    }
  },
})

function totalsOf(rows: readonly Readonly<NodeRow>[]) {
  const totals = { nodes: rows.length, gpus: 0, free: 0, held: 0, others: 0, broken: 0, unusable: 0 }
  for (const row of rows) {
    const { group, broken, heldByOthers, allocated, state } = row
    const others = (group.occupied | heldByOthers) & ~broken
    totals.gpus += group.gpus
    totals.free += freeGpus(row)
    totals.held += bitCount(allocated)
    totals.others += bitCount(others)
    totals.broken += bitCount(broken)
    totals.unusable += state === 'ready' ? bitCount(broken) : group.gpus - bitCount(allocated | others)
  }
  return totals
}

function ownersOf(world: World): z.input<typeof OwnerSchema>[] {
  const inFlight = new RequestsInFlight(world)
  const owners: z.input<typeof OwnerSchema>[] = []
  for (const [ordinal, row] of world.deployments.entries()) {
    const { id, plan, status, instances } = row
    if (instances.length === 0) continue
    const utilisation = utilisationOf(world, ordinal, inFlight)
    owners.push({ id, kind: 'deployment', name: plan.modelName, status, utilisation, engine: engineView(row) })
  }
  for (const [, { id, name, state, node }] of world.rentals.entries()) {
    if (node >= 0) owners.push({ id, kind: 'container', name, status: state, utilisation: null, engine: null })
  }
  return owners
}

/** Returns how busy the ready instances of a deployment are, as the metrics say, rounded to hundredths. */
function utilisationOf(world: World, deployment: number, inFlight: RequestsInFlight): number | null {
  const row = world.deployments.read(deployment)
  if (row.ready === 0) return null
  const state = servingState(world, deployment)
  let sum = 0
  for (const { instance } of state.engines) {
    sum += engineUtilisation(world, row, true, state, inFlight.on(instance).length)
  }
  return Math.round((100 * sum) / state.engines.length) / 100
}

function toNode(world: World, row: Readonly<NodeRow>, groupIndex: number): z.input<typeof NodeSchema> {
  const { group, broken, heldByOthers } = row
  const gpus = Array.from({ length: group.gpus }, (_, gpu) => {
    if (broken & (1 << gpu)) return BROKEN!
    return (group.occupied | heldByOthers) & (1 << gpu) ? OF_OTHERS! : FREE!
  })
  const holders = row.tenants.map((tenant, index) => {
    const { bits, ...holder } = holderOf(world, tenant)
    for (let gpu = 0; gpu < group.gpus; gpu++) if (bits & (1 << gpu) & ~broken) gpus[gpu] = index
    return holder
  })
  const state = row.state === 'cordoned' && row.drainEvent !== 0 ? 'draining' : row.state
  return { name: row.id, group: groupIndex, state, gpus, holders, slowdown: row.slowdown, disk_full: row.diskFull }
}

function holderOf({ rentals, instances, deployments }: World, tenant: number) {
  if (tenant < 0) {
    const { id, state, gpus } = rentals.read(toRentalOrdinal(tenant))
    return { id, owner: id, state, bits: gpus }
  }
  const { id, deployment, state, gpus } = instances.read(tenant)
  return { id, owner: deployments.read(deployment).id, state, bits: gpus }
}
