import * as z from 'zod'
import { type CatalogModel, type ModelTask, VARIANT_KEYS } from '../../data/records/records.ts'
import { findModelTarget } from '../../simulation/deployments/model-lookup.ts'
import type { AccountModel } from '../../simulation/deployments/model-versions.ts'
import type { World } from '../../simulation/world.ts'
import { endpoint, JsonText, refuse } from '../endpoint.ts'
import { isForeignModelName, qualifyModelName } from '../model-names.ts'
import { findContextLength } from '../openai/request-lifecycle.ts'
import { EmptyRecord, ModelDetail, ModelEntry, ModelSchemaRecord, ModelVersion } from '../records.ts'

export const listModels = endpoint({
  route: 'GET /models/deployment/list',
  summary: 'The model catalog',
  provenance: 'documented',
  assumptions: [
    'a bare array: current models first, text-generation leading, then deprecated ones, then those of the account',
    'deprecated in Unix seconds',
    'max_tokens of a model of the account is the context of what is deployed of it, where that answers with text',
    'models of the account have private: 1, unless they are adapters of which their owner says otherwise',
  ],
  acceptsKeyHeader: true,
  returns: z.array(ModelEntry),
  handle: ({ world }) => {
    const accountModels = world.modelVersions
      .list()
      .filter(model => !isForeignModelName(world, model.model_name))
      .map(model => JSON.stringify(toOwnModelEntry(world, model)))
    return JsonText.list([...toCatalogJson(world.store.models.all()), ...accountModels])
  },
})

export const listPublicModels = endpoint({
  route: 'GET /models/list',
  summary: 'The public models, for whoever asks',
  provenance: 'neighbour',
  assumptions: ['a bare array, in the order of GET /models/deployment/list', 'no model of the account is in it'],
  auth: 'none',
  returns: z.array(ModelEntry),
  handle: ({ world }) => JsonText.list(toCatalogJson(world.store.models.all())),
})

export const getModel = endpoint({
  route: 'GET /models/{model_name}',
  summary: 'One model, of the catalog or of the account',
  provenance: 'neighbour',
  assumptions: ['an entry of GET /models/deployment/list with its newest version'],
  refusals: { 404: 'unknown model' },
  acceptsKeyHeader: true,
  returns: ModelDetail,
  example: { target: '/models/aurora-labs/aurora-8b-instruct' },
  handle: ({ params, world }) => {
    const model_name = qualifyModelName(world, params.model_name)
    const catalogModel = world.store.models.get(model_name)
    if (catalogModel !== undefined) return { ...toModelEntry(catalogModel), version: catalogModel.versions.at(-1)! }
    const accountModel = findOwnModel(world, model_name) ?? refuse(404, `no model ${model_name}`)
    return { ...toOwnModelEntry(world, accountModel), version: accountModel.versions.at(-1)! }
  },
})

export const listModelVersions = endpoint({
  route: 'GET /models/{model_name}/versions',
  summary: "The versions of a model, and which of the account's deployments run each",
  provenance: 'neighbour',
  assumptions: ['a bare array, oldest first', 'deploy_ids leaves out what is deleted'],
  refusals: { 404: 'unknown model' },
  acceptsKeyHeader: true,
  returns: z.array(ModelVersion),
  example: { target: '/models/aurora-labs/aurora-8b-instruct/versions' },
  handle: ({ params, world }) => {
    const model_name = qualifyModelName(world, params.model_name)
    const { versions } =
      world.store.models.get(model_name) ?? findOwnModel(world, model_name) ?? refuse(404, `no model ${model_name}`)
    const deployments = world.deployments.list().filter(deployment => deployment.model_name === model_name)
    return versions.map(version => ({
      version,
      deploy_ids: deployments.filter(one => one.version === version).map(({ deploy_id }) => deploy_id),
    }))
  },
})

export const getModelSchema = endpoint({
  route: 'GET /models/{model_name}/schema/{variantKey}',
  summary: 'Input and output of a model, as one of its endpoints takes them',
  provenance: 'documented',
  assumptions: ['variant.url is the path of the endpoint it describes', 'an empty version counts as absent'],
  refusals: { 404: "unknown model, unknown version, or a variant that the model's type does not offer" },
  acceptsKeyHeader: true,
  params: { variantKey: z.enum(VARIANT_KEYS) },
  query: { version: z.string().nullable().optional() },
  returns: ModelSchemaRecord,
  example: { target: '/models/aurora-labs/aurora-8b-instruct/schema/default' },
  handle: ({ params: { model_name: requestedName, variantKey }, query: { version }, world }) => {
    const model_name = qualifyModelName(world, requestedName)
    const model = findModel(world, model_name) ?? refuse(404, `no model ${model_name}`)
    if (version && !model.versions.includes(version)) refuse(404, `model ${model_name} has no version ${version}`)
    const schema =
      world.store.schema(model.type, variantKey) ??
      refuse(
        404,
        `model ${model_name} (${model.type}) has no variant ${variantKey}: ${formatVariants(world, model.type)}`,
      )
    const { type: _, variant, url, ...rest } = schema
    return { variant: { key: variant, url: url.replaceAll('{model_name}', model_name) }, ...rest }
  },
})

export const deleteModel = endpoint({
  route: 'DELETE /models/{model_name}',
  summary: 'Delete a version of a model of the account, or all of them',
  provenance: 'documented',
  assumptions: ['the query parameter version, required: a version or ALL', 'its deployments go to deleted', '200 {}'],
  refusals: { 404: 'unknown model or version', 401: 'a model of the catalog, not of the account' },
  query: { version: z.string() },
  returns: EmptyRecord,
  example: { target: '/models/acme/assistant?version=ALL' },
  handle: ({ params, query: { version }, world }) => {
    const model_name = qualifyModelName(world, params.model_name)
    const model = findOwnModel(world, model_name)
    if (model === undefined) {
      if (world.store.models.has(model_name)) refuse(401, `model ${model_name} does not belong to the account`)
      refuse(404, `no model ${model_name}`)
    }
    if (version !== 'ALL' && !model.versions.includes(version)) {
      refuse(404, `model ${model_name} has no version ${version}: name one, or ALL`)
    }
    world.deployments.removeModelVersions(model_name, version)
    return {}
  },
})

/** What stands under a foreign name refers to the catalog of the past, and is no model of the account. */
function findOwnModel(world: World, model_name: string): AccountModel | undefined {
  return isForeignModelName(world, model_name) ? undefined : world.modelVersions.get(model_name)
}

function findModel(world: World, name: string): { type: ModelTask; versions: readonly string[] } | undefined {
  const catalogModel = world.store.models.get(name)
  if (catalogModel !== undefined) return catalogModel
  const accountModel = world.modelVersions.get(name)
  return accountModel && { type: accountModel.task, versions: accountModel.versions }
}

function formatVariants(world: World, type: ModelTask): string {
  const variants = world.store.variantsOf(type)
  return variants.length === 0 ? 'it has none' : `it has ${variants.join(', ')}`
}

/** The texts of a catalog, kept as long as the catalog is: a pure function's memory. */
const cachedJson = new WeakMap<readonly CatalogModel[], readonly string[]>()

function toCatalogJson(models: readonly CatalogModel[]): readonly string[] {
  let modelJson = cachedJson.get(models)
  if (modelJson === undefined) {
    modelJson = [...models]
      .sort((a, b) => toSortRank(a) - toSortRank(b))
      .map(model => JSON.stringify(toModelEntry(model)))
    cachedJson.set(models, modelJson)
  }
  return modelJson
}

function toSortRank(model: CatalogModel): number {
  if (model.deprecated !== null) return 2
  return model.type === 'text-generation' ? 0 : 1
}

function toModelEntry({ versions: _, parameters_b: __, ...model }: CatalogModel) {
  return { ...model, private: 0 }
}

/** A model of the account is priced as the GPUs it is deployed on. */
function toOwnModelEntry(world: World, model: AccountModel) {
  const deployment = world.deployments.findLive(model.model_name)
  const target = deployment && findModelTarget(world, model.model_name)
  const isBilled = deployment?.type === 'llm'
  const cents = isBilled ? world.ledger.priceCentsPerHour(deployment.gpu) * deployment.num_gpus : 0
  const hardware = isBilled ? `${deployment.num_gpus}x${deployment.gpu}` : ''
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
    description: deployment?.description ?? '',
    cover_img_url: '',
    tags: [],
    max_tokens: target?.task === 'text-generation' ? findContextLength(world, target) : null,
    replaced_by: null,
    deprecated: null,
    quantization: null,
    mmlu: null,
    expected: null,
    private: deployment?.is_private === false ? 0 : 1,
    is_partner: false,
  } satisfies z.output<typeof ModelEntry>
}
