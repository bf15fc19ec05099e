import { z } from 'zod'
import { DeploymentRecord } from './answers.ts'
import { endpoint, JsonText, refuse } from './endpoint.ts'
import { text } from './fields.ts'
import { BareName, ownName } from './model-names.ts'

export const createLora = endpoint({
  route: 'POST /v1/lora/create',
  summary: 'Deploy a LoRA adapter on a base model',
  provenance: 'documented',
  assumed: [
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
  alt: true,
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
    if (!world.ledger.canSpend()) refuse(402, 'no funds: add some with POST /payment/funds')
    const base_model = ownName(world, body.base_model)
    const deployed = world.deployments.live(base_model)
    const isBase = deployed !== undefined && deployed.type !== 'lora'
    if (!isBase && !world.store.models.has(base_model)) refuse(404, `no base_model ${body.base_model}`)
    const model_name = ownName(world, body.lora_name)
    if (world.deployments.live(model_name) !== undefined) {
      refuse(409, `lora_name ${body.lora_name} is taken: ${model_name} is deployed already`)
    }
    const created = world.deployments.createAdapter({
      model_name,
      base_model,
      modelhub_url: body.source.modelhub_url,
      private: body.private,
      description: body.description ?? '',
    })
    return new JsonText(created.text())
  },
})
