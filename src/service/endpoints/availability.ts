/** Queries before GPUs are used: available GPUs, and a free name for a deployment. */
import * as z from 'zod'
import type { GpuType } from '../../data/records/gpu-config.ts'
import type { World } from '../../simulation/world.ts'
import { documented, neighbour } from '../endpoint.ts'
import { BareName, qualifyModelName, requireCurrentModel } from '../lookups.ts'
import { findGpus } from '../models/own-models.ts'
import { HardwareRecord } from '../records.ts'
import { refuse } from '../refusals.ts'
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

export const getHardware = documented({
  route: 'GET /v2/hardware',
  summary: 'List the hardware of a model, with prices',
  assumptions: [
    'the query parameter is named model, and is required',
    'type can also be dedicated, with pricing.cents_per_minute (cents per hour ÷ 60, unrounded)',
    'a model of the account has the hardware of its newest deployment, also of a deleted one; an adapter that of its base',
  ],
  refusals: { 404: 'unknown model' },
  query: { model: z.string() },
  returns: z.object({ hardware: z.array(HardwareRecord) }),
  example: { target: '/v2/hardware?model=aurora-labs/aurora-8b-instruct' },
  handle: ({ query, world }) => {
    const model_name = qualifyModelName(world, query.model)
    const record = world.store.hardware.get(model_name)
    if (record !== undefined) {
      return {
        hardware: record.hardware.map(hardware =>
          hardware.type === 'serverless'
            ? hardware
            : toDedicatedRecord(world, hardware.id, hardware.name, hardware.gpu, hardware.num_gpus),
        ),
      }
    }
    if (world.modelVersions.get(model_name) === undefined) {
      if (!world.store.models.has(model_name)) refuse(404, `no model ${model_name}`)
      return { hardware: [] }
    }
    const found = findGpus(world, model_name)
    if (found === undefined) return { hardware: [] }
    const { gpu, numGpus: num_gpus } = found
    const name = `${num_gpus} x ${gpu.replace(/-(\d+)GB$/, ' $1 GB')}`
    return { hardware: [toDedicatedRecord(world, `${num_gpus}x${gpu}`, name, gpu, num_gpus)] }
  },
})

function toDedicatedRecord(world: World, id: string, name: string, gpu: GpuType, count: number) {
  const cents_per_minute = (world.ledger.meters.priceCentsPerHour(gpu) * count) / 60
  return { id, name, type: 'dedicated' as const, pricing: { cents_per_minute } }
}
