import * as z from 'zod'
import type { OwnModel } from '../cluster/models.ts'
import { targetOf } from '../cluster/targets.ts'
import type { World } from '../cluster/world.ts'
import { type CatalogModel, type ModelTask, VARIANT_KEYS } from '../store/records.ts'
import { ModelDetail, ModelEntry, ModelSchemaRecord, ModelVersion, Nothing } from './answers.ts'
import { endpoint, JsonText, refuse } from './endpoint.ts'
import { contextOf } from './inference.ts'
import { isForeign, ownName } from './model-names.ts'

export const listModels = endpoint({
  route: 'GET /models/deployment/list',
  summary: 'The model catalog',
  provenance: 'documented',
  assumed: [
    'a bare array: current models first, text-generation leading, then deprecated ones, then those of the account',
    'deprecated in Unix seconds',
    'max_tokens of a model of the account is the context of what is deployed of it, where that answers with text',
    'models of the account have private: 1, unless they are adapters of which their owner says otherwise',
  ],
  alt: true,
  returns: z.array(ModelEntry),
  handle: ({ world }) => {
    const own = world.models
      .listOwn()
      .filter(model => !isForeign(world, model.model_name))
      .map(model => JSON.stringify(ownEntry(world, model)))
    return JsonText.list([...catalogTexts(world.store.models.all()), ...own])
  },
})

export const listPublicModels = endpoint({
  route: 'GET /models/list',
  summary: 'The public models, for whoever asks',
  provenance: 'neighbour',
  assumed: ['a bare array, in the order of GET /models/deployment/list', 'no model of the account is in it'],
  auth: 'none',
  returns: z.array(ModelEntry),
  handle: ({ world }) => JsonText.list(catalogTexts(world.store.models.all())),
})

export const getModel = endpoint({
  route: 'GET /models/{model_name}',
  summary: 'One model, of the catalog or of the account',
  provenance: 'neighbour',
  assumed: ['an entry of GET /models/deployment/list with its newest version'],
  refusals: { 404: 'unknown model' },
  alt: true,
  returns: ModelDetail,
  example: { target: '/models/aurora-labs/aurora-8b-instruct' },
  handle: ({ params, world }) => {
    const model_name = ownName(world, params.model_name)
    const listed = world.store.models.get(model_name)
    if (listed !== undefined) return { ...entryOf(listed), version: listed.versions.at(-1)! }
    const own = ownModel(world, model_name) ?? refuse(404, `no model ${model_name}`)
    return { ...ownEntry(world, own), version: own.versions.at(-1)! }
  },
})

export const listModelVersions = endpoint({
  route: 'GET /models/{model_name}/versions',
  summary: "The versions of a model, and which of the account's deployments run each",
  provenance: 'neighbour',
  assumed: ['a bare array, oldest first', 'deploy_ids leaves out what is deleted'],
  refusals: { 404: 'unknown model' },
  alt: true,
  returns: z.array(ModelVersion),
  example: { target: '/models/aurora-labs/aurora-8b-instruct/versions' },
  handle: ({ params, world }) => {
    const model_name = ownName(world, params.model_name)
    const { versions } =
      world.store.models.get(model_name) ?? ownModel(world, model_name) ?? refuse(404, `no model ${model_name}`)
    const deployed = world.deployments.list().filter(deployment => deployment.model_name === model_name)
    return versions.map(version => ({
      version,
      deploy_ids: deployed.filter(one => one.version === version).map(({ deploy_id }) => deploy_id),
    }))
  },
})

export const getModelSchema = endpoint({
  route: 'GET /models/{model_name}/schema/{variantKey}',
  summary: 'Input and output of a model, as one of its endpoints takes them',
  provenance: 'documented',
  assumed: ['variant.url is the path of the endpoint it describes', 'an empty version counts as absent'],
  refusals: { 404: "unknown model, unknown version, or a variant that the model's type does not offer" },
  alt: true,
  params: { variantKey: z.enum(VARIANT_KEYS) },
  query: { version: z.string().nullable().optional() },
  returns: ModelSchemaRecord,
  example: { target: '/models/aurora-labs/aurora-8b-instruct/schema/default' },
  handle: ({ params: { model_name: asked, variantKey }, query: { version }, world }) => {
    const model_name = ownName(world, asked)
    const model = describedModel(world, model_name) ?? refuse(404, `no model ${model_name}`)
    if (version && !model.versions.includes(version)) refuse(404, `model ${model_name} has no version ${version}`)
    const schema =
      world.store.schema(model.type, variantKey) ??
      refuse(404, `model ${model_name} (${model.type}) has no variant ${variantKey}: ${offered(world, model.type)}`)
    const { type: _, variant, url, ...rest } = schema
    return { variant: { key: variant, url: url.replaceAll('{model_name}', model_name) }, ...rest }
  },
})

export const deleteModel = endpoint({
  route: 'DELETE /models/{model_name}',
  summary: 'Delete a version of a model of the account, or all of them',
  provenance: 'documented',
  assumed: ['the query parameter version, required: a version or ALL', 'its deployments go to deleted', '200 {}'],
  refusals: { 404: 'unknown model or version', 401: 'a model of the catalog, not of the account' },
  query: { version: z.string() },
  returns: Nothing,
  example: { target: '/models/acme/assistant?version=ALL' },
  handle: ({ params, query: { version }, world }) => {
    const model_name = ownName(world, params.model_name)
    const model = ownModel(world, model_name)
    if (model === undefined) {
      if (world.store.models.has(model_name)) refuse(401, `model ${model_name} does not belong to the account`)
      refuse(404, `no model ${model_name}`)
    }
    if (version !== 'ALL' && !model.versions.includes(version)) {
      refuse(404, `model ${model_name} has no version ${version}: name one, or ALL`)
    }
    world.models.remove(model_name, version)
    return {}
  },
})

/** What stands under a foreign name refers to the catalog of the past, and is no model of the account. */
function ownModel(world: World, model_name: string): OwnModel | undefined {
  return isForeign(world, model_name) ? undefined : world.models.own(model_name)
}

function describedModel(world: World, name: string): { type: ModelTask; versions: readonly string[] } | undefined {
  const listed = world.store.models.get(name)
  if (listed !== undefined) return listed
  const own = world.models.own(name)
  return own && { type: own.task, versions: own.versions }
}

function offered(world: World, type: ModelTask): string {
  const variants = world.store.variantsOf(type)
  return variants.length === 0 ? 'it has none' : `it has ${variants.join(', ')}`
}

/** The texts of a catalog, kept as long as the catalog is: a pure function's memory. */
const texts = new WeakMap<readonly CatalogModel[], readonly string[]>()

function catalogTexts(models: readonly CatalogModel[]): readonly string[] {
  let known = texts.get(models)
  if (known === undefined) {
    known = [...models].sort((a, b) => rank(a) - rank(b)).map(model => JSON.stringify(entryOf(model)))
    texts.set(models, known)
  }
  return known
}

function rank(model: CatalogModel): number {
  if (model.deprecated !== null) return 2
  return model.type === 'text-generation' ? 0 : 1
}

function entryOf({ versions: _, parameters_b: __, ...model }: CatalogModel) {
  return { ...model, private: 0 }
}

/** A model of the account is priced as the GPUs it is deployed on. */
function ownEntry(world: World, model: OwnModel) {
  const deployed = world.deployments.live(model.model_name)
  const target = deployed && targetOf(world, model.model_name)
  const isBilled = deployed?.type === 'llm'
  const cents = isBilled ? world.ledger.priceCentsPerHour(deployed.gpu) * deployed.num_gpus : 0
  const hardware = isBilled ? `${deployed.num_gpus}x${deployed.gpu}` : ''
  return {
    model_name: model.model_name,
    type: model.task,
    reported_type: model.task,
    pricing: {
      type: 'time' as const,
      cents_per_sec: cents / 3600,
      short: isBilled ? `$${(cents / 100).toFixed(2)} / hour` : '',
      full: isBilled ? `$${(cents / 100).toFixed(2)} per hour and instance of ${hardware}` : '',
      table: {
        columns: ['hardware', 'USD per hour'],
        rows: isBilled ? [[hardware, (cents / 100).toFixed(2)]] : [],
      },
    },
    description: deployed?.description ?? '',
    cover_img_url: '',
    tags: [],
    max_tokens: target?.task === 'text-generation' ? contextOf(world, target) : null,
    replaced_by: null,
    deprecated: null,
    quantization: null,
    mmlu: null,
    expected: null,
    private: deployed?.is_private === false ? 0 : 1,
    is_partner: false,
  } satisfies z.output<typeof ModelEntry>
}
