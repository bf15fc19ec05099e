import * as z from 'zod'
import { endpoint } from '../endpoint.ts'

const ServedModel = z
  .object({ id: z.string(), object: z.literal('model'), created: z.int(), owned_by: z.string() })
  .meta({ id: 'ServedModel' })

export const listServedModels = endpoint({
  route: 'GET /v1/models',
  isMirrored: true,
  summary: 'List the models that answer requests',
  provenance: 'neighbour',
  assumptions: [
    'running deployments and adapters of the account, then the current catalog models',
    'created: creation time of the deployment; for a catalog model the start of the world',
    'owned_by is the owner part of the name',
  ],
  errorShape: 'compat',
  acceptsKeyHeader: true,
  returns: z.object({ object: z.literal('list'), data: z.array(ServedModel) }).meta({ id: 'ServedModelList' }),
  handle: ({ world }) => {
    const { deployments, clock, store } = world
    const own = deployments
      .list(new Set(['running'] as const))
      .filter(({ type }) => type === 'llm' || type === 'lora')
      .map(({ model_name, ordinal }) => ({
        id: model_name,
        created: clock.unix(deployments.read(ordinal).plan.createdAt),
      }))
    const catalog = store.models
      .all()
      .filter(({ deprecated }) => deprecated === null)
      .map(({ model_name }) => ({ id: model_name, created: clock.unix(0) }))
    const data = [...own, ...catalog].map(({ id, created }) => ({
      id,
      object: 'model' as const,
      created,
      owned_by: id.split('/', 1)[0]!,
    }))
    return { object: 'list' as const, data }
  },
})
