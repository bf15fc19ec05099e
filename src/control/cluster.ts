import { z } from 'zod'
import { GPU_TYPES, type GpuType } from '../store/records.ts'
import { attempt, control, OURS, verbOf } from './endpoint.ts'

const Node = z.object({
  name: z.string(),
  state: z.enum(['ready', 'cordoned', 'down']),
  pool: z.string(),
  zone: z.string(),
  gpu: z.enum(GPU_TYPES),
  gpus: z.int(),
  free: z.int(),
})

const Gpu = z.object({ gpu: z.string() })

export const listNodes = control({
  ...OURS,
  route: 'GET /_sim/cluster/nodes',
  summary: 'The nodes of the fleet, and what of each is free',
  returns: z.array(Node),
  handle: ({ sim }) => sim.cluster.nodes(),
})

export const commandNode = control({
  ...OURS,
  route: 'POST /_sim/cluster/nodes/{name}/{verb}',
  summary: 'Let something happen to a node: crash or repair, cordon or uncordon',
  refusals: { 404: 'an unknown node, or a verb that nodes do not have' },
  returns: Node,
  handle: async ({ params: { name, verb }, sim }) => {
    const act = verbOf(verb, ['crash', 'repair', 'cordon', 'uncordon'], 'a node')
    const node = await attempt(() => sim.cluster.node(name), 404)
    node[act]()
    return sim.cluster.nodes().find(other => other.name === name)!
  },
})

export const getNodeOfDeployment = control({
  ...OURS,
  route: 'GET /_sim/cluster/deployments/{deploy_id}/node',
  summary: "The node of a deployment's oldest instance that has one",
  refusals: { 404: 'an unknown deployment', 409: 'no instance of it has been placed' },
  returns: Node,
  handle: async ({ params: { deploy_id }, sim }) => {
    const known = sim.world.deployments.ordinalOf(deploy_id) !== undefined
    const { name } = await attempt(() => sim.cluster.nodeOf(deploy_id), known ? 409 : 404)
    return sim.cluster.nodes().find(node => node.name === name)!
  },
})

export const commandGpu = control({
  ...OURS,
  route: 'POST /_sim/cluster/gpus/{gpu}/{verb}',
  summary: 'Let a GPU type run out of stock, or be back: stockOut or restock',
  refusals: { 404: 'a GPU type without a pool, or a verb that GPUs do not have' },
  returns: Gpu.extend({ stock: z.enum(['in', 'out']) }),
  handle: async ({ params: { gpu, verb }, sim }) => {
    const act = verbOf(verb, ['stockOut', 'restock'], 'a GPU type')
    await attempt(() => sim.cluster[act](gpu as GpuType), 404)
    return { gpu, stock: act === 'stockOut' ? ('out' as const) : ('in' as const) }
  },
})

export const commandCard = control({
  ...OURS,
  route: 'POST /_sim/cluster/card/{verb}',
  summary: "Let the account's card be declined, or accepted: decline or accept",
  refusals: { 404: 'a verb that the card does not have' },
  returns: z.object({ card: z.enum(['declined', 'accepted']) }),
  handle: ({ params: { verb }, sim }) => {
    const act = verbOf(verb, ['decline', 'accept'], 'the card')
    sim.cluster.card[act]()
    return { card: act === 'decline' ? ('declined' as const) : ('accepted' as const) }
  },
})

export const setGpuLimit = control({
  ...OURS,
  route: 'PUT /_sim/cluster/limits/{gpu}',
  summary: "Set the account's limit of a GPU type; null for none",
  refusals: { 400: 'a limit that is no count', 404: 'a GPU type without a pool' },
  body: z.strictObject({ limit: z.number().nullable() }),
  returns: Gpu.extend({ limit: z.int().nullable() }),
  handle: async ({ params: { gpu }, body: { limit }, sim }) => {
    await attempt(() => sim.cluster.limit.set(gpu as GpuType, limit), statusFor(gpu))
    return { gpu, limit }
  },
})

export const setGpuPrice = control({
  ...OURS,
  route: 'PUT /_sim/cluster/prices/{gpu}',
  summary: 'Set the price of a GPU type in cents per hour, from now on',
  refusals: { 400: 'a price that is none', 404: 'a GPU type without a pool' },
  body: z.strictObject({ cents_per_hour: z.number() }),
  returns: Gpu.extend({ cents_per_hour: z.number() }),
  handle: async ({ params: { gpu }, body: { cents_per_hour }, sim }) => {
    await attempt(() => sim.cluster.price.set(gpu as GpuType, cents_per_hour), statusFor(gpu))
    return { gpu, cents_per_hour }
  },
})

/** What a refused setting of a GPU type means: the type does not exist, or the value makes no sense. */
function statusFor(gpu: string): 404 | 400 {
  return (GPU_TYPES as readonly string[]).includes(gpu) ? 400 : 404
}
