import * as z from 'zod'
import type { Deployment } from '../../simulation/deployments/deployment.ts'
import type { World } from '../../simulation/world.ts'
import { requireFunds } from '../admission.ts'
import { endpoint, JsonText, refuse } from '../endpoint.ts'
import { text } from '../fields.ts'
import { BareName, qualifyModelName } from '../model-names.ts'
import { DeployId, DeploymentRecord, LoraRecord, LoraStatus } from '../records.ts'

export const createLora = endpoint({
  route: 'POST /v1/lora/create',
  summary: 'Deploy a LoRA adapter on a base model',
  provenance: 'documented',
  assumptions: [
    'model_name of the record is owner/lora_name',
    "the base is the account's live deployment named base_model, else the catalog model",
    'on a stopped base the adapter is created as stopped',
    'lora_name is letters, digits, dot, dash and underscore',
  ],
  refusals: {
    402: 'no funds, or the account is suspended',
    404: 'unknown base_model',
    409: 'a live deployment has the name',
  },
  acceptsKeyHeader: true,
  body: z.object({
    base_model: text(),
    lora_name: BareName,
    source: z.object({ type: z.enum(['modelhub']), modelhub_url: text({ min: 1 }) }),
    private: z.boolean(),
    description: text().nullable().default(''),
  }),
  returns: DeploymentRecord,
  example: {
    body: {
      base_model: 'acme/assistant',
      lora_name: 'formal-tone',
      source: { type: 'modelhub', modelhub_url: 'https://models.example/acme/formal-tone' },
      private: true,
    },
  },
  handle: ({ body, world }) => {
    requireFunds(world)
    const base_model = qualifyModelName(world, body.base_model)
    const baseDeployment = world.deployments.findLive(base_model)
    const isBase = baseDeployment !== undefined && baseDeployment.type !== 'lora'
    if (!isBase && !world.store.models.has(base_model)) refuse(404, `no base_model ${body.base_model}`)
    const model_name = qualifyModelName(world, body.lora_name)
    if (world.deployments.findLive(model_name) !== undefined) {
      refuse(409, `lora_name ${body.lora_name} is taken: ${model_name} is deployed already`)
    }
    const created = world.loraAdapters.create({
      model_name,
      base_model,
      modelhub_url: body.source.modelhub_url,
      private: body.private,
      description: body.description ?? '',
    })
    return new JsonText(created.toJson())
  },
})

export const listLoras = endpoint({
  route: 'GET /v1/user/loras',
  summary: "The account's LoRA adapters",
  provenance: 'neighbour',
  assumptions: ['a bare array, oldest first, without the deleted'],
  returns: z.array(LoraRecord),
  findPolledResource: () => ({ kind: 'adapters' }),
  handle: ({ world }) => listAdapters(world).map(toLoraRecord),
})

export const listLorasOfModel = endpoint({
  route: 'GET /v1/model/{model_name}/loras',
  summary: "The account's LoRA adapters on a base model",
  provenance: 'neighbour',
  assumptions: ['a bare array, oldest first, without the deleted', 'an adapter that lost its base is in it, too'],
  refusals: { 404: 'unknown model' },
  returns: z.array(LoraRecord),
  example: { target: '/v1/model/acme%2Fassistant/loras' },
  handle: ({ params, world }) => {
    const model_name = qualifyModelName(world, params.model_name)
    const modelAdapters = listAdapters(world).filter(({ base_model }) => base_model === model_name)
    const isKnown = world.store.models.has(model_name) || world.modelVersions.get(model_name) !== undefined
    if (modelAdapters.length === 0 && !isKnown) refuse(404, `no model ${model_name}`)
    return modelAdapters.map(toLoraRecord)
  },
})

export const getLora = endpoint({
  route: 'GET /v1/lora/{lora_name}',
  summary: 'One LoRA adapter',
  provenance: 'neighbour',
  assumptions: [
    'its deployment record, with base_model, source, private and description beside it',
    'lora_name is the bare name, or owner/name with its slash percent-encoded',
  ],
  refusals: { 404: 'unknown adapter' },
  returns: LoraRecord,
  findPolledResource: ({ lora_name }) => ({ kind: 'adapters', id: lora_name! }),
  example: { target: '/v1/lora/assistant-support-tone' },
  handle: ({ params, world }) => toLoraRecord(requireAdapter(world, params.lora_name)),
})

export const getLoraStatus = endpoint({
  route: 'GET /v1/lora/{lora_name}/status',
  summary: 'How far a LoRA adapter has come',
  provenance: 'neighbour',
  assumptions: ['the status and instances of its deployment record'],
  refusals: { 404: 'unknown adapter' },
  returns: LoraStatus,
  findPolledResource: ({ lora_name }) => ({ kind: 'adapters', id: lora_name! }),
  example: { target: '/v1/lora/assistant-support-tone/status' },
  handle: ({ params, world }) => {
    const { deploy_id, status, fail_reason, updated_at, instances } = requireAdapter(world, params.lora_name).toRecord()
    return { deploy_id, status, fail_reason, updated_at, instances }
  },
})

export const updateLora = endpoint({
  route: 'PATCH /v1/lora/{lora_name}',
  summary: 'Change who may see a LoRA adapter, and its description',
  provenance: 'neighbour',
  assumptions: [
    'a field that is left out keeps its value; a description of null empties it',
    'the record as it is then',
  ],
  refusals: { 404: 'unknown adapter' },
  body: z.object({ private: z.boolean().optional(), description: text().nullable().optional() }),
  returns: LoraRecord,
  example: { target: '/v1/lora/assistant-support-tone', body: { description: 'Kind and brief.' } },
  handle: ({ params, body, world }) => {
    const adapter = requireAdapter(world, params.lora_name)
    const description = body.description === undefined ? adapter.description : (body.description ?? '')
    adapter.describe(body.private ?? adapter.is_private, description)
    return toLoraRecord(adapter)
  },
})

export const deleteLora = endpoint({
  route: 'DELETE /v1/lora/{lora_name}',
  summary: 'Delete a LoRA adapter and its versions; its slots are free at once',
  provenance: 'neighbour',
  assumptions: [
    'its deployment stays listable under the status deleted, and its name is free',
    'a batch that runs on it stands still until an adapter of the name runs again, or it expires',
  ],
  refusals: { 404: 'unknown adapter' },
  returns: DeployId,
  example: { target: '/v1/lora/assistant-support-tone' },
  handle: ({ params, world }) => {
    const { deploy_id, model_name } = requireAdapter(world, params.lora_name)
    world.deployments.removeModelVersions(model_name, 'ALL')
    return { deploy_id }
  },
})

function listAdapters(world: World): Deployment[] {
  return world.deployments.list().filter(({ type }) => type === 'lora')
}

function requireAdapter(world: World, lora_name: string): Deployment {
  const deployment = world.deployments.findLive(qualifyModelName(world, lora_name))
  return deployment?.type === 'lora' ? deployment : refuse(404, `no LoRA adapter ${lora_name}`)
}

function toLoraRecord(adapter: Deployment): z.input<typeof LoraRecord> {
  const { model_name, base_model, modelhub_url, is_private, description } = adapter
  return {
    ...adapter.toRecord(),
    lora_name: model_name.slice(model_name.indexOf('/') + 1),
    base_model,
    source: { type: 'modelhub', modelhub_url },
    private: is_private,
    description,
  }
}
