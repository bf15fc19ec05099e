/** Queries before a deployment is created: available GPUs, and a free name. */
import * as z from 'zod'
import { formatGpuConfig, GPU_TYPES } from '../../data/records/gpu-config.ts'
import { catalogWeights, estimateWeights, memoryShortage } from '../../simulation/fleet/weights.ts'
import { endpoint } from '../endpoint.ts'
import { requireCurrentModel } from '../lookups.ts'
import { BareName, qualifyModelName } from '../model-names.ts'

const INSTANCE_GPU_COUNTS = [1, 2, 4, 8] as const
/** Weights of the recommendation if the request has no base_model. */
const DEFAULT_WEIGHTS = estimateWeights('8b')

export const getGpuAvailability = endpoint({
  route: 'GET /deploy/llm/gpu_availability',
  summary: 'List the GPU configurations for an instance, with price and availability',
  provenance: 'neighbour',
  assumptions: [
    'every GPU type of the fleet, with 1, 2, 4 and 8 GPUs, up to the GPUs of its largest node',
    'available: one node has that many free GPUs now, and the GPU limit of the account has room for them',
    'nothing is reserved',
    'recommended: the cheapest available configuration that holds the weights',
    'the weights are those of base_model; default: a model of 8 billion parameters',
    'usd_per_hour is the price of one instance',
  ],
  refusals: { 404: 'unknown or deprecated base_model' },
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
    const weights =
      base_model === undefined
        ? DEFAULT_WEIGHTS
        : catalogWeights(requireCurrentModel(world, 'base_model', base_model), world.store.hub.get(base_model))
    const offers = GPU_TYPES.flatMap(gpu => {
      const maxGpus = world.nodes.maxGpusPerNode(gpu)
      return INSTANCE_GPU_COUNTS.filter(gpus => gpus <= maxGpus).map(gpus => ({
        gpu_config: formatGpuConfig(gpu, gpus),
        usd_per_hour: (world.ledger.priceCentsPerHour(gpu) * gpus) / 100,
        available: world.gpuQuotas.hasRoom(gpu, gpus) && world.nodes.chooseNode(gpu, gpus, '') >= 0,
        fits: memoryShortage(weights, gpu, gpus) === undefined,
      }))
    })
    const [best] = offers.filter(offer => offer.available && offer.fits).sort((a, b) => a.usd_per_hour - b.usd_per_hour)
    return {
      gpus: offers.map(offer => ({
        gpu_config: offer.gpu_config,
        usd_per_hour: offer.usd_per_hour,
        available: offer.available,
        recommended: offer === best,
      })),
    }
  },
})

export const suggestDeploymentName = endpoint({
  route: 'GET /deploy/llm/suggest_name',
  summary: 'Suggest a free name for a deployment of a model',
  provenance: 'neighbour',
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
