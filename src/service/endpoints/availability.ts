/** What to ask before a deployment is created: which GPUs are to be had, and which name is free. */
import * as z from 'zod'
import { formatGpuConfig, GPU_TYPES } from '../../data/records/records.ts'
import { catalogWeights, estimateWeights, memoryShortage } from '../../simulation/fleet/weights.ts'
import type { World } from '../../simulation/world.ts'
import { endpoint, refuse } from '../endpoint.ts'
import { BareName, qualifyModelName } from '../model-names.ts'

const INSTANCE_GPU_COUNTS = [1, 2, 4, 8] as const
const DEFAULT_BATCH_SIZE = 96
/** What is recommended for where no base_model is named. */
const DEFAULT_WEIGHTS = estimateWeights('8b')

export const getGpuAvailability = endpoint({
  route: 'GET /deploy/llm/gpu_availability',
  summary: 'The GPUs that an instance could have, what they cost, and whether they are to be had now',
  provenance: 'neighbour',
  assumptions: [
    'every GPU type that the fleet has nodes of, with 1, 2, 4 and 8 GPUs as far as a node holds them',
    'available: one node has so many free GPUs now, and the limit of the account leaves room for them; nothing is reserved',
    'recommended: the cheapest that is available and holds the weights at max_batch_size 96: those of base_model, or of 8 billion parameters',
    'usd_per_hour is that of one instance',
  ],
  refusals: { 404: 'unknown base_model' },
  query: { base_model: z.string().optional() },
  returns: z.object({
    gpus: z.array(
      z.object({
        gpu_config: z.string().describe('As in 2xA100-80GB'),
        usd_per_hour: z.number(),
        available: z.boolean(),
        recommended: z.boolean(),
      }),
    ),
  }),
  handle: ({ query: { base_model }, world }) => {
    const weights = base_model === undefined ? DEFAULT_WEIGHTS : catalogWeights(requireBaseModel(world, base_model))
    const offers = GPU_TYPES.flatMap(gpu => {
      const maxGpus = world.nodes.maxGpusPerNode(gpu)
      return INSTANCE_GPU_COUNTS.filter(gpus => gpus <= maxGpus).map(gpus => ({
        gpu_config: formatGpuConfig(gpu, gpus),
        usd_per_hour: (world.ledger.priceCentsPerHour(gpu) * gpus) / 100,
        available: world.gpuQuotas.hasRoom(gpu, gpus) && world.nodes.chooseNode(gpu, gpus, '') >= 0,
        fits: memoryShortage(weights, gpu, gpus, DEFAULT_BATCH_SIZE) === undefined,
      }))
    })
    const [best] = offers.filter(one => one.available && one.fits).sort((a, b) => a.usd_per_hour - b.usd_per_hour)
    return {
      gpus: offers.map(one => ({
        gpu_config: one.gpu_config,
        usd_per_hour: one.usd_per_hour,
        available: one.available,
        recommended: one === best,
      })),
    }
  },
})

export const suggestDeploymentName = endpoint({
  route: 'GET /deploy/llm/suggest_name',
  summary: 'A name for a deployment of a model that no live deployment of the account has',
  provenance: 'neighbour',
  assumptions: [
    "the name of the model under the account's owner prefix, with -2, -3 and so on where that is taken",
    'what no model_name may hold becomes a dash',
    'nothing is reserved: asked again it answers the same until somebody takes the name',
  ],
  query: { model_name: z.string().min(1) },
  returns: z.object({ model_name: z.string() }),
  example: { target: '/deploy/llm/suggest_name?model_name=aurora-labs/aurora-8b-instruct' },
  handle: ({ query, world }) => {
    const baseName = toBareName(query.model_name)
    let model_name = qualifyModelName(world, baseName)
    for (let nth = 2; world.deployments.findLive(model_name) !== undefined; nth++)
      model_name = qualifyModelName(world, `${baseName}-${nth}`)
    return { model_name }
  },
})

function requireBaseModel(world: World, base_model: string) {
  return world.store.models.get(base_model) ?? refuse(404, `no base_model ${base_model}`)
}

function toBareName(model_name: string): string {
  const last = model_name.split('/').findLast(part => part !== '') ?? ''
  const clean = last.replaceAll(/[^A-Za-z0-9._-]+/g, '-').replace(/^[^A-Za-z0-9]+/, '')
  return BareName.safeParse(clean).success ? clean : 'model'
}
