import * as z from 'zod'
import type { CatalogModel } from '../../data/records/catalog.ts'
import { isDeprecated } from '../../simulation/deployments/model-lookup.ts'
import type { World } from '../../simulation/world.ts'
import { endpoint } from '../endpoint.ts'
import { maxOutputTokens, modelCreatedAt, tokenPrices } from '../models/model-catalog.ts'
import { ModelTags } from '../records.ts'

const ServedModel = z
  .object({
    id: z.string(),
    object: z.literal('model'),
    created: z.int(),
    owned_by: z.string(),
    root: z.string(),
    parent: z.null(),
    metadata: z
      .object({
        description: z.string(),
        context_length: z.int(),
        max_tokens: z.int(),
        pricing: z.record(z.string(), z.number()).describe('US dollars per million tokens'),
        tags: ModelTags,
      })
      .nullable(),
  })
  .meta({ id: 'ServedModel' })

export const listServedModels = endpoint({
  route: 'GET /v1/models',
  isMirrored: true,
  summary: 'List the models that answer requests',
  provenance: 'neighbour',
  assumptions: [
    'running deployments and adapters of the account, then the current catalog models',
    'created: creation time of the deployment, or of the catalog model as in GET /aggregator/models',
    'owned_by is the owner part of the name; root is the name, and parent is null',
    'metadata is null for a model of the account, and for a catalog model without a context',
  ],
  errorShape: 'compat',
  acceptsKeyHeader: true,
  returns: z.object({ object: z.literal('list'), data: z.array(ServedModel) }).meta({ id: 'ServedModelList' }),
  handle: ({ world }) => {
    const { deployments, clock, store } = world
    const own = deployments
      .list(new Set(['running'] as const))
      .filter(({ type, hasInstances, isParked }) => (hasInstances && !isParked) || type === 'lora')
      .filter(({ model_name }) => !store.models.has(model_name))
      .map(({ model_name, ordinal }) =>
        toServedModel(model_name, clock.unix(deployments.read(ordinal).plan.createdAt), null),
      )
    const catalog = store.models
      .all()
      .filter(model => !isDeprecated(model, world.clock))
      .map(model => toServedModel(model.model_name, modelCreatedAt(world, model), toMetadata(world, model)))
    return { object: 'list' as const, data: [...own, ...catalog] }
  },
})

function toServedModel(id: string, created: number, metadata: z.output<typeof ServedModel>['metadata']) {
  return { id, object: 'model' as const, created, owned_by: id.split('/', 1)[0]!, root: id, parent: null, metadata }
}

function toMetadata(world: World, model: CatalogModel): z.output<typeof ServedModel>['metadata'] {
  const { description, max_tokens, tags } = model
  if (max_tokens === null) return null
  return {
    description,
    context_length: max_tokens,
    max_tokens: maxOutputTokens(world, model) ?? max_tokens,
    pricing: tokenPrices(world, model),
    tags,
  }
}
