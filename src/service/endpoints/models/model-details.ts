/** What the account says of its models: details, and whether the public lists have them. */
import * as z from 'zod'
import { HUB_TASKS } from '../../../data/records/enums.ts'
import type { Deployment } from '../../../simulation/deployments/deployment.ts'
import type { AccountModel, ModelDetails } from '../../../simulation/deployments/model-versions.ts'
import type { World } from '../../../simulation/world.ts'
import { neighbour } from '../../endpoint.ts'
import { text } from '../../fields.ts'
import { qualifyModelName } from '../../lookups.ts'
import { findOwnModel } from '../../models/own-models.ts'
import { EmptyRecord } from '../../records.ts'
import { refuse } from '../../refusals.ts'

const OWN_MODEL_REFUSALS = { 403: 'a model of the catalog, not of the account', 404: 'unknown model' } as const

const detail = () => text().nullish()

export const updateModelDetails = neighbour({
  route: 'POST /models/{model_name}/meta',
  summary: 'Change the description and other details of a model of the account',
  assumptions: [
    'a missing field keeps its value, and null empties it; reported_type: null means the task of the model',
    'the lists of models have description, cover_img_url and reported_type; GET /models/{model_name} has the others in meta',
    'the description of an adapter is that of PATCH /v1/lora/{lora_name}',
    'a deleted model loses its details',
    'an unknown field is 422',
    '200 {}',
  ],
  refusals: OWN_MODEL_REFUSALS,
  roles: ['update model'],
  acceptsKeyHeader: true,
  body: z.strictObject({
    description: detail(),
    github_url: detail(),
    paper_url: detail(),
    license_url: detail(),
    readme: detail(),
    cover_img_url: detail(),
    reported_type: z.enum(HUB_TASKS).nullish(),
  }),
  returns: EmptyRecord,
  example: { target: '/models/acme/assistant/meta', body: { description: 'Answers questions of customers.' } },
  handle: ({ params, body, world }) => {
    const model = requireOwnModel(world, params.model_name)
    const changes = Object.entries(body).filter(([, value]) => value !== undefined)
    const stated = Object.fromEntries(changes.map(([name, value]) => [name, value ?? '']))
    describeModel(world, model, model.isPublic, { ...model.details, ...stated })
    return {}
  },
})

export const updateModelPublicity = neighbour({
  route: 'POST /models/{model_name}/publicity',
  summary: 'Make a model of the account public or private',
  assumptions: [
    'GET /models/list has a public model of the account, and GET /models/private/list has a private one',
    'public of an adapter is the opposite of its private',
    '200 {}',
  ],
  refusals: OWN_MODEL_REFUSALS,
  roles: ['update model'],
  acceptsKeyHeader: true,
  body: z.object({ public: z.boolean() }),
  returns: EmptyRecord,
  example: { target: '/models/acme/assistant/publicity', body: { public: true } },
  handle: ({ params, body, world }) => {
    const model = requireOwnModel(world, params.model_name)
    describeModel(world, model, body.public, model.details)
    return {}
  },
})

/** Changes the visibility and the details of a model. A live adapter has its visibility and description itself. */
function describeModel(world: World, { model_name }: AccountModel, isPublic: boolean, details: ModelDetails): void {
  const adapter = findLiveAdapter(world, model_name)
  if (adapter !== undefined) world.loraAdapters.update(adapter.ordinal, !isPublic, details.description)
  world.modelVersions.describe(model_name, isPublic, details)
}

/**
 * Returns a model of the account as clients see it. Refuses with 403 if it is one of the catalog, and with 404 if it is
 * unknown.
 */
function requireOwnModel(world: World, requestedName: string): AccountModel {
  const model_name = qualifyModelName(world, requestedName)
  const model = findOwnModel(world, model_name)
  if (model === undefined) {
    if (world.store.models.has(model_name)) refuse(403, `model ${model_name} does not belong to the account`)
    refuse(404, `no model ${model_name}`)
  }
  const adapter = findLiveAdapter(world, model_name)
  if (adapter === undefined) return model
  const details = { ...model.details, description: adapter.row.description }
  return { ...model, isPublic: !adapter.row.isPrivate, details }
}

function findLiveAdapter(world: World, model_name: string): Deployment | undefined {
  const deployment = world.deployments.findLive(model_name)
  return deployment?.row.plan.type === 'lora' ? deployment : undefined
}
