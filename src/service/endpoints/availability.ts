/** Queries before GPUs are used: available GPUs, and a free name for a deployment. */
import * as z from 'zod'
import { neighbour } from '../endpoint.ts'
import { requireCurrentModel } from '../lookups.ts'
import { BareName, qualifyModelName } from '../model-names.ts'
import { GpuAvailability, listGpuOffers } from './gpu-offers.ts'

const AVAILABILITY_ASSUMPTIONS = [
  'every GPU type of the fleet, with 1, 2, 4 and 8 GPUs, up to the GPUs of its largest node',
  'available: one node has that many free GPUs now, and the GPU limit of the account has room for them',
  'nothing is reserved',
  'recommended: the cheapest available configuration that holds the weights',
  'the weights are those of base_model; default: a model of 8 billion parameters',
  'source is ignored',
] as const

const AVAILABILITY_QUERY = {
  source: z.string().default(''),
  base_model: z.string().default(''),
} as const

export const getGpuAvailability = neighbour({
  route: 'GET /deploy/llm/gpu_availability',
  summary: 'List the GPU configurations for an instance, with price and availability',
  assumptions: [...AVAILABILITY_ASSUMPTIONS, 'usd_per_hour is the price of one instance'],
  refusals: { 404: 'unknown or deprecated base_model' },
  query: AVAILABILITY_QUERY,
  returns: GpuAvailability,
  handle: ({ query, world }) => ({ gpus: listGpuOffers(world, query.base_model) }),
})

export const getContainerGpuAvailability = neighbour({
  route: 'GET /v1/containers/gpu_availability',
  summary: 'List the GPU configurations for a container, with price and availability',
  assumptions: [...AVAILABILITY_ASSUMPTIONS, 'usd_per_hour is the price of one container'],
  refusals: { 404: 'unknown or deprecated base_model' },
  query: AVAILABILITY_QUERY,
  returns: GpuAvailability,
  handle: ({ query, world }) => ({ gpus: listGpuOffers(world, query.base_model) }),
})

export const suggestDeploymentName = neighbour({
  route: 'GET /deploy/llm/suggest_name',
  summary: 'Suggest a free name for a deployment of a model',
  assumptions: [
    "the name of the model with the account's owner prefix; if a live deployment has it, -2, -3 and so on are added",
    'characters that model_name does not allow become a dash',
    'nothing is reserved: the suggestion stays the same until a deployment takes the name',
    'a name that is missing in the catalog is allowed',
  ],
  refusals: { 404: 'deprecated model' },
  query: { model_name: z.string().min(1) },
  returns: z.object({ model_name: z.string() }),
  example: { target: '/deploy/llm/suggest_name?model_name=aurora-labs/aurora-8b-instruct' },
  handle: ({ query, world }) => {
    const { model_name: requested } = query
    if (world.store.models.has(requested)) requireCurrentModel(world, 'model', requested)
    const baseName = toBareName(requested)
    let model_name = qualifyModelName(world, baseName)
    for (let nth = 2; world.deployments.findLive(model_name) !== undefined; nth++)
      model_name = qualifyModelName(world, `${baseName}-${nth}`)
    return { model_name }
  },
})

function toBareName(model_name: string): string {
  const last = model_name.split('/').findLast(part => part !== '') ?? ''
  const clean = last.replaceAll(/[^A-Za-z0-9._-]+/g, '-').replace(/^[^A-Za-z0-9]+/, '')
  return BareName.safeParse(clean).success ? clean : 'model'
}
