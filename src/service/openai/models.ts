import * as z from 'zod'
import type { CatalogModel } from '../../data/records/catalog.ts'
import { isParked } from '../../simulation/deployments/deployment-row.ts'
import { isDeprecated } from '../../simulation/deployments/model-lookup.ts'
import type { World } from '../../simulation/world.ts'
import { neighbour } from '../endpoint.ts'
import { recordSchema } from '../fields.ts'
import { notAuthenticatedError } from '../http/authentication.ts'
import { maxOutputTokens, modelCreatedAt, unitPrices } from '../models/model-catalog.ts'
import { toOwnModelEntry } from '../models/own-models.ts'
import { ModelTags } from '../records.ts'

const ServedModel = recordSchema('ServedModel', {
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
      pricing: z.record(z.string(), z.number()).describe('US dollars: tokens by the million, all else by the unit'),
      tags: ModelTags,
    })
    .nullable(),
})

export const listServedModels = neighbour({
  route: 'GET /v1/models',
  isMirrored: true,
  summary: 'List the models that answer requests',
  roles: ['show deployment', 'show adapter'],
  assumptions: [
    'running deployments and adapters of the account, then the current catalog models',
    'created: creation time of the deployment, or of the catalog model as in GET /aggregator/models',
    'owned_by is the owner part of the name; root is the name, and parent is null',
    'metadata.context_length and max_tokens are 0 for a model without a context',
    'pricing has input_tokens, output_tokens and cache_read_tokens in US dollars per million, else the unit of the price: sec, input_sec, input_chars, image_unit',
    'no token is needed, and a wrong one is 401; policy model_list_token of the profile',
  ],
  auth: 'optional',
  errorShape: 'compat',
  acceptsKeyHeader: true,
  returns: recordSchema('ServedModelList', { object: z.literal('list'), data: z.array(ServedModel) }),
  handle: ({ world, token }) => {
    if (token === undefined && world.profile.policies.modelListToken === 'required') throw notAuthenticatedError()
    const { deployments, clock, store, modelVersions } = world
    const own = deployments
      .list(new Set(['running'] as const))
      .filter(({ row }) => (row.plan.hasInstances && !isParked(row)) || row.plan.type === 'lora')
      .map(({ row }) => row.plan)
      .filter(({ modelName }) => !store.models.has(modelName))
      .map(({ modelName, createdAt }) =>
        toServedModel(
          modelName,
          clock.unix(createdAt),
          toMetadata(world, toOwnModelEntry(world, modelVersions.get(modelName)!)),
        ),
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

function toMetadata(
  world: World,
  model: Pick<CatalogModel, 'model_name' | 'type' | 'description' | 'max_tokens' | 'tags' | 'pricing'>,
): z.output<typeof ServedModel>['metadata'] {
  const { description, tags } = model
  const context = model.max_tokens ?? 0
  return {
    description,
    context_length: context,
    max_tokens: maxOutputTokens(world, model) ?? context,
    pricing: unitPrices(world, model),
    tags: [...tags],
  }
}
