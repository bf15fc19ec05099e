import * as z from 'zod'
import type { GpuType } from '../../data/records/gpu-config.ts'
import type { World } from '../../simulation/world.ts'
import { documented } from '../endpoint.ts'
import { qualifyModelName } from '../model-names.ts'
import { findGpus } from '../models/own-models.ts'
import { HardwareRecord } from '../records.ts'
import { refuse } from '../refusals.ts'

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
