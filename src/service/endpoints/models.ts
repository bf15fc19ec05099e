import * as z from 'zod'
import type { CatalogModel } from '../../data/records/catalog.ts'
import { type ModelTask, VARIANT_KEYS } from '../../data/records/enums.ts'
import { findModelTarget } from '../../simulation/deployments/model-lookup.ts'
import type { AccountModel } from '../../simulation/deployments/model-versions.ts'
import type { World } from '../../simulation/world.ts'
import { endpoint } from '../endpoint.ts'
import { isForeignModelName, qualifyModelName } from '../model-names.ts'
import { findContextLength } from '../openai/request-lifecycle.ts'
import { EmptyRecord, ModelDetail, ModelEntry, ModelSchemaRecord, ModelVersion } from '../records.ts'
import { refuse } from '../refusals.ts'
import { JsonText } from '../results.ts'

export const listModels = endpoint({
  route: 'GET /models/deployment/list',
  summary: 'List the model catalog',
  provenance: 'documented',
  assumptions: [
    'a bare array: current catalog models (text-generation first), deprecated ones, models of the account',
    'deprecated is Unix seconds',
    'max_tokens of a model of the account: the context of its deployment for text-generation, else null',
    'private of a model of the account: 0 for an adapter with private false, else 1',
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
  summary: 'List the public models, without authentication',
  provenance: 'neighbour',
  assumptions: ['a bare array, in the order of GET /models/deployment/list', 'the list has no model of the account'],
  auth: 'none',
  returns: z.array(ModelEntry),
  handle: ({ world }) => JsonText.list(toCatalogJson(world.store.models.all())),
})

export const getModel = endpoint({
  route: 'GET /models/{model_name}',
  summary: 'Get one model of the catalog or of the account',
  provenance: 'neighbour',
  assumptions: ['the entry of GET /models/deployment/list, and the newest version'],
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
  summary: "List the versions of a model, with the account's deployments of each",
  provenance: 'neighbour',
  assumptions: ['a bare array, oldest first', 'deploy_ids has no deleted deployments'],
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
      deploy_ids: deployments.filter(deployment => deployment.version === version).map(({ deploy_id }) => deploy_id),
    }))
  },
})

export const getModelSchema = endpoint({
  route: 'GET /models/{model_name}/schema/{variantKey}',
  summary: 'Get the input and output schema of a model for one of its endpoints',
  provenance: 'documented',
  assumptions: ['variant.url is the path of the described endpoint', 'an empty version is ignored'],
  refusals: { 404: 'unknown model, unknown version, or a variant that the type of the model does not have' },
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
  summary: 'Delete one version or all versions of a model of the account',
  provenance: 'documented',
  assumptions: ['the query parameter version is required: a version or ALL', 'its deployments are deleted', '200 {}'],
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

/** Returns the model of the account. A name with another owner is an old reference to the catalog, not such a model. */
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

/** JSON of the entries of each catalog. An entry lives as long as its catalog, which never changes. */
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

/** Returns the catalog entry of a model of the account. Its price is the price of its GPUs. */
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
