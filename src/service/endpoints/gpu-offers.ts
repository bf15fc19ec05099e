import * as z from 'zod'
import { formatGpuConfig, GPU_TYPES } from '../../data/records/gpu-config.ts'
import { catalogWeights, estimateWeights, memoryShortage } from '../../simulation/fleet/weights.ts'
import type { World } from '../../simulation/world.ts'
import { recordSchema, rowsOf } from '../fields.ts'
import { requireCurrentModel } from '../lookups.ts'

/** The numbers of GPUs that the service offers on one node. */
const OFFERED_GPU_COUNTS = [1, 2, 4, 8] as const
/** Weights of the recommendation if the request has no base_model. */
const DEFAULT_WEIGHTS = estimateWeights('8b')

/** The GPU configurations of the fleet, as the API sends them. */
export const GpuAvailability = recordSchema('GpuAvailability', {
  gpus: rowsOf({
    gpu_config: z.string().describe('As in 2xA100-80GB'),
    usd_per_hour: z.number(),
    available: z.boolean(),
    recommended: z.boolean(),
  }),
})

/** Whether the service offers this number of GPUs on one node. */
export function isOfferedCount(gpus: number): boolean {
  return OFFERED_GPU_COUNTS.some(offered => offered === gpus)
}

/** Returns the GPU configurations of the fleet. Refuses with 404 if `baseModel` is neither empty nor a current model. */
export function listGpuOffers(world: World, baseModel: string): z.output<typeof GpuAvailability>['gpus'] {
  const weights =
    baseModel === ''
      ? DEFAULT_WEIGHTS
      : catalogWeights(requireCurrentModel(world, 'base_model', baseModel), world.store.hub.get(baseModel))
  const offers = GPU_TYPES.flatMap(gpu => {
    const maxGpus = world.nodes.maxGpusPerNode(gpu)
    return OFFERED_GPU_COUNTS.filter(gpus => gpus <= maxGpus).map(gpus => ({
      gpu_config: formatGpuConfig(gpu, gpus),
      usd_per_hour: (world.ledger.meters.priceCentsPerHour(gpu) * gpus) / 100,
      available: world.gpuQuotas.hasRoom(gpu, gpus) && world.nodes.chooseNode(gpu, gpus, '') >= 0,
      fits: memoryShortage(weights, gpu, gpus) === undefined,
    }))
  })
  const [best] = offers.filter(offer => offer.available && offer.fits).sort((a, b) => a.usd_per_hour - b.usd_per_hour)
  return offers.map(offer => {
    const { gpu_config, usd_per_hour, available } = offer
    return { gpu_config, usd_per_hour, available, recommended: offer === best }
  })
}
