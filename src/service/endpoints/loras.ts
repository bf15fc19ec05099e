import * as z from 'zod'
import type { Deployment } from '../../simulation/deployments/deployment.ts'
import type { World } from '../../simulation/world.ts'
import { requireFunds } from '../admission.ts'
import { documented, neighbour } from '../endpoint.ts'
import { text } from '../fields.ts'
import {
  BareName,
  FUNDS_REFUSAL,
  isKnownModel,
  qualifyModelName,
  requireCurrentModel,
  requireLanguageModel,
} from '../lookups.ts'
import { DeployId, DeploymentRecord, LoraRecord, LoraStatus } from '../records.ts'
import { refuse } from '../refusals.ts'
import { JsonText } from '../results.ts'

export const createLora = documented({
  route: 'POST /v1/lora/create',
  summary: 'Deploy a LoRA adapter on a base model',
  roles: ['create adapter'],
  assumptions: [
    'model_name of the record is owner/lora_name',
    "the base is the account's live deployment with the name base_model, else the catalog model",
    'if the base is stopped, the adapter is created as stopped',
    'lora_name has letters, digits, dot, dash and underscore',
    'the path of modelhub_url names a repository; one that the fixture does not list fails as in a deployment (policy unknown_repositories)',
  ],
  refusals: {
    ...FUNDS_REFUSAL,
    400: 'base_model is not a language model',
    404: 'unknown or deprecated base_model',
    409: 'a live deployment has this name',
  },
  acceptsKeyHeader: true,
  body: z.object({
    base_model: text(),
    lora_name: BareName,
    source: z.object({ type: z.enum(['modelhub']), modelhub_url: text({ min: 1 }).nullish() }),
    private: z.boolean(),
    description: text().nullable().default(''),
  }),
  returns: DeploymentRecord,
  example: {
    body: {
      base_model: 'acme/assistant',
      lora_name: 'formal-tone',
      source: { type: 'modelhub', modelhub_url: 'https://models.example/acme/formal-tone-70b' },
      private: true,
    },
  },
  handle: ({ body, world }) => {
    requireFunds(world)
    const base_model = qualifyModelName(world, body.base_model)
    const baseDeployment = world.deployments.findLive(base_model)
    if (baseDeployment?.row.plan.type === 'llm') {
      requireLanguageModel('base_model', { model_name: base_model, type: baseDeployment.row.plan.task })
    } else {
      requireLanguageModel('base_model', requireCurrentModel(world, 'base_model', base_model))
    }
    const model_name = qualifyModelName(world, body.lora_name)
    if (world.deployments.findLive(model_name) !== undefined) {
      refuse(409, `lora_name ${body.lora_name} is taken: ${model_name} is deployed already`)
    }
    const created = world.loraAdapters.create({
      model_name,
      base_model,
      modelhub_url: body.source.modelhub_url ?? '',
      private: body.private,
      description: body.description ?? '',
    })
    return new JsonText(world.deployments.toJson(created.ordinal))
  },
})

export const listLoras = neighbour({
  route: 'GET /v1/user/loras',
  summary: 'List the LoRA adapters of the account',
  roles: ['list adapter'],
  assumptions: ['a bare array, oldest first, without deleted adapters'],
  returns: z.array(LoraRecord),
  findPolledResource: () => ({ kind: 'adapters' }),
  handle: ({ world }) => listAdapters(world).map(toLoraRecord),
})

export const listLorasOfModel = neighbour({
  route: 'GET /v1/model/{model_name}/loras',
  summary: 'List the LoRA adapters of the account on a base model',
  roles: ['show adapter'],
  assumptions: ['a bare array, oldest first, without deleted adapters', 'the list has adapters whose base is deleted'],
  refusals: { 404: 'unknown model' },
  returns: z.array(LoraRecord),
  findPolledResource: () => ({ kind: 'adapters' }),
  example: { target: '/v1/model/acme%2Fassistant/loras' },
  handle: ({ params, world }) => {
    const model_name = qualifyModelName(world, params.model_name)
    const modelAdapters = listAdapters(world).filter(({ row }) => row.plan.baseModel === model_name)
    if (modelAdapters.length === 0 && !isKnownModel(world, model_name)) refuse(404, `no model ${model_name}`)
    return modelAdapters.map(toLoraRecord)
  },
})

export const getLora = neighbour({
  route: 'GET /v1/lora/{lora_name}',
  summary: 'Get one LoRA adapter',
  roles: ['read adapter'],
  assumptions: [
    'the deployment record with the fields base_model, source, private and description',
    'lora_name is the name without owner, or owner/name with a percent-encoded slash',
  ],
  refusals: { 404: 'unknown adapter' },
  returns: LoraRecord,
  findPolledResource: ({ lora_name }) => ({ kind: 'adapters', id: lora_name! }),
  example: { target: '/v1/lora/assistant-support-tone' },
  handle: ({ params, world }) => toLoraRecord(requireAdapter(world, params.lora_name)),
})

export const getLoraStatus = neighbour({
  route: 'GET /v1/lora/{lora_name}/status',
  summary: 'Get the status of a LoRA adapter',
  roles: ['show adapter'],
  assumptions: ['status and instances are those of the deployment record'],
  refusals: { 404: 'unknown adapter' },
  returns: LoraStatus,
  findPolledResource: ({ lora_name }) => ({ kind: 'adapters', id: lora_name! }),
  example: { target: '/v1/lora/assistant-support-tone/status' },
  handle: ({ params, world }) => {
    const { deploy_id, status, fail_reason, updated_at, instances } = requireAdapter(world, params.lora_name).toRecord()
    return { deploy_id, status, fail_reason, updated_at, instances }
  },
})

export const updateLora = neighbour({
  route: 'PATCH /v1/lora/{lora_name}',
  summary: 'Change visibility and description of a LoRA adapter',
  assumptions: [
    'a missing field and private: null keep the value; null empties description',
    'the answer is the changed record',
  ],
  roles: ['update adapter'],
  refusals: { 404: 'unknown adapter' },
  body: z.object({ private: z.boolean().nullish(), description: text().nullish() }),
  returns: LoraRecord,
  example: { target: '/v1/lora/assistant-support-tone', body: { description: 'Kind and brief.' } },
  handle: ({ params, body, world }) => {
    const adapter = requireAdapter(world, params.lora_name)
    const description = body.description === undefined ? adapter.row.description : (body.description ?? '')
    world.loraAdapters.update(adapter.ordinal, body.private ?? adapter.row.isPrivate, description)
    return toLoraRecord(adapter)
  },
})

export const deleteLora = neighbour({
  route: 'DELETE /v1/lora/{lora_name}',
  summary: 'Delete a LoRA adapter and its versions',
  assumptions: [
    'GET /deploy/list?status=deleted still lists its deployment',
    'its name and its slots are free at once',
    'a batch on the adapter waits until an adapter with this name runs again, or until the batch expires',
  ],
  roles: ['delete adapter'],
  refusals: { 404: 'unknown adapter' },
  returns: DeployId,
  example: { target: '/v1/lora/assistant-support-tone' },
  handle: ({ params, world }) => {
    const { id: deploy_id, plan } = requireAdapter(world, params.lora_name).row
    world.deployments.removeModelVersions(plan.modelName, 'ALL')
    return { deploy_id }
  },
})

function listAdapters(world: World): Deployment[] {
  return world.deployments.list().filter(({ row }) => row.plan.type === 'lora')
}

function requireAdapter(world: World, lora_name: string): Deployment {
  const deployment = world.deployments.findLive(qualifyModelName(world, lora_name))
  return deployment?.row.plan.type === 'lora' ? deployment : refuse(404, `no LoRA adapter ${lora_name}`)
}

function toLoraRecord(adapter: Deployment): z.input<typeof LoraRecord> {
  const { plan, isPrivate, description } = adapter.row
  return {
    ...adapter.toRecord(),
    lora_name: plan.modelName.slice(plan.modelName.indexOf('/') + 1),
    base_model: plan.baseModel,
    source: { type: 'modelhub', modelhub_url: plan.modelhubUrl },
    private: isPrivate,
    description,
  }
}
