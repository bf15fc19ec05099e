import * as z from 'zod'
import type { CatalogModel } from '../../../data/records/catalog.ts'
import { type ModelTask, VARIANT_KEYS } from '../../../data/records/enums.ts'
import { SECOND } from '../../../kernel/duration.ts'
import type { World } from '../../../simulation/world.ts'
import { documented, neighbour } from '../../endpoint.ts'
import { qualifyModelName } from '../../lookups.ts'
import { toCatalogJson, toDeploymentCatalogJson, toModelEntry } from '../../models/catalog-json.ts'
import { isDeployable, maxOutputTokens, modelCreatedAt, versionTimes } from '../../models/model-catalog.ts'
import { toFamilyFields } from '../../models/model-families.ts'
import {
  describeEndpoint,
  listServedVariants,
  type ServedVariant,
  type VariantScope,
} from '../../models/model-schemas.ts'
import { findOwnModel, listOwnModels, toOwnModelEntry } from '../../models/own-models.ts'
import {
  DeploymentModelEntry,
  EmptyRecord,
  ModelEntry,
  ModelInfo,
  ModelSchemaRecord,
  ModelVersion,
} from '../../records.ts'
import { refuse } from '../../refusals.ts'
import { JsonText } from '../../results.ts'

export const listModels = documented({
  route: 'GET /models/deployment/list',
  summary: 'List the model catalog',
  roles: ['show deployment', 'show adapter'],
  assumptions: [
    'a bare array: current catalog models (text-generation first), deprecated ones, models of the account',
    'deprecated is Unix seconds; a model with a time in the future is current until then',
    'pricing is by time: that of the cheapest dedicated hardware; with policies.catalog_prices: own of the profile it is the own price of the model, as in GET /models/list',
    'a model of the account has the price of the GPUs of its newest deployment, also of a deleted one; an adapter that of its base',
    'max_tokens of a model of the account: the context of its deployment for text-generation, else null',
    'private of a model of the account: 1; 0 after POST /models/{model_name}/publicity, and for an adapter with private false',
  ],
  acceptsKeyHeader: true,
  returns: z.array(DeploymentModelEntry),
  handle: ({ world }) => {
    const own = listOwnModels(world).map(model => JSON.stringify(toOwnModelEntry(world, model)))
    const isByTime = world.profile.policies.catalogPrices === 'time'
    return JsonText.list([...(isByTime ? toDeploymentCatalogJson : toCatalogJson)(world), ...own])
  },
})

export const listPrivateModels = neighbour({
  route: 'GET /models/private/list',
  summary: 'List the private models of the account',
  roles: ['show deployment', 'show adapter'],
  assumptions: ['a bare array: the models of GET /models/deployment/list with private 1'],
  acceptsKeyHeader: true,
  returns: z.array(ModelEntry),
  handle: ({ world }) =>
    listOwnModels(world)
      .map(model => toOwnModelEntry(world, model))
      .filter(model => model.private === 1),
})

export const listPublicModels = neighbour({
  route: 'GET /models/list',
  summary: 'List the public models, without authentication',
  roles: ['list model'],
  assumptions: [
    'a bare array, in the order of GET /models/deployment/list',
    'of the models of the account, the list has those with private 0',
  ],
  auth: 'none',
  returns: z.array(ModelEntry),
  handle: ({ world }) => {
    const own = listOwnModels(world).map(model => toOwnModelEntry(world, model))
    const open = own.filter(entry => entry.private === 0)
    return JsonText.list([...toCatalogJson(world), ...open.map(entry => JSON.stringify(entry))])
  },
})

export const getModel = neighbour({
  route: 'GET /models/{model_name}',
  summary: 'Get one model of the catalog or of the account',
  roles: ['read model'],
  assumptions: [
    'pricing is the own price of the model, as in GET /models/list',
    'version selects a version; default: the newest; an empty version is ignored',
    'schemas lists the variants whose endpoints are served',
    'in_schema, out_schema and in_fields are those of the first variant, or null',
    'import_time of a catalog model: its creation; mask_token and the fields of documents are null',
    'mf_name, mf_title and mf_description of a catalog model: its family, as in GET /model-families/{family_name}',
    'meta of a model of the account: the urls and the readme of POST /models/{model_name}/meta; txt_docs: the readme',
    'curl_inv and out_example are empty for a model without such an endpoint; cmdline_inv and out_docs are empty',
  ],
  refusals: { 404: 'unknown model or version' },
  acceptsKeyHeader: true,
  query: { version: z.string().nullish() },
  returns: ModelInfo,
  example: { target: '/models/aurora-labs/aurora-8b-instruct' },
  handle: ({ params, query, world, findEndpoint, outputNames }) => {
    const model_name = qualifyModelName(world, params.model_name)
    const catalogModel = world.store.models.get(model_name)
    const accountModel = catalogModel === undefined ? findOwnModel(world, model_name) : undefined
    const { versions } = catalogModel ?? accountModel ?? refuse(404, `no model ${model_name}`)
    requireVersion(model_name, versions, query.version)
    const version = query.version || versions.at(-1)!
    if (catalogModel !== undefined) return toCatalogInfo({ world, findEndpoint, outputNames }, catalogModel, version)
    const { cover_img_url: _, private: isPrivate, ...entry } = toOwnModelEntry(world, accountModel!)
    const { github_url, paper_url, license_url, readme } = accountModel!.details
    const stated = Object.entries({ github_url, paper_url, license_url, readme }).filter(([, value]) => value !== '')
    return {
      ...{ ...entry, version, featured: false, owner: true, public: isPrivate === 0, is_custom_deployable: false },
      ...describeInvocation({ world, findEndpoint, outputNames }, model_name, accountModel!.task, entry.description),
      meta: Object.fromEntries(stated),
      txt_docs: readme || entry.description,
      import_time: null,
      max_output_tokens: entry.max_tokens,
    }
  },
})

export const listModelVersions = neighbour({
  route: 'GET /models/{model_name}/versions',
  summary: "List the versions of a model, with the account's deployments of each",
  assumptions: [
    'a bare array, oldest first',
    'uploaded_at of a catalog model: the first version with the model, the others a month apart',
    'uploaded_at of a model of the account: creation time of the first deployment of the version',
    'deploy_ids has no deleted deployments',
  ],
  refusals: { 404: 'unknown model' },
  acceptsKeyHeader: true,
  returns: z.array(ModelVersion),
  example: { target: '/models/aurora-labs/aurora-8b-instruct/versions' },
  handle: ({ params, world }) => {
    const model_name = qualifyModelName(world, params.model_name)
    const catalogModel = world.store.models.get(model_name)
    const { versions } = catalogModel ?? findOwnModel(world, model_name) ?? refuse(404, `no model ${model_name}`)
    const rows = [...world.deployments.entries()].map(([, row]) => row).filter(row => row.plan.modelName === model_name)
    const times = catalogModel && versionTimes(world, catalogModel)
    return versions.map((version, index) => {
      const served = rows.filter(({ plan }) => plan.version === version)
      const firstAt = Math.min(...served.map(({ plan }) => plan.createdAt))
      const ownAt = Number.isFinite(firstAt) ? firstAt : 0
      return {
        model_name,
        version,
        uploaded_at: world.clock.iso(times ? (times[index]! - world.clock.unix(0)) * SECOND : ownAt),
        deploy_ids: served.filter(({ status }) => status !== 'deleted').map(({ id }) => id),
      }
    })
  },
})

export const getModelSchema = documented({
  route: 'GET /models/{model_name}/schema/{variantKey}',
  summary: 'Get the input and output schema of a model for one of its endpoints',
  assumptions: [
    'variant.url is the path of the described endpoint',
    'the schemas follow from the declaration of that endpoint: schema_in is its body, schema_stream an event of its stream',
    'schema_in is missing for an endpoint without a body; fields_in also has the parameters of the path',
    'default is the variant of native inference, whose schemas depend on the type of the model',
    'an empty version is ignored',
  ],
  refusals: { 404: 'unknown model, unknown version, or a variant whose endpoint the type of the model does not have' },
  acceptsKeyHeader: true,
  params: { variantKey: z.enum(VARIANT_KEYS) },
  query: { version: z.string().nullish() },
  returns: ModelSchemaRecord,
  example: { target: '/models/aurora-labs/aurora-8b-instruct/schema/default' },
  handle: ({
    params: { model_name: requestedName, variantKey },
    query: { version },
    world,
    findEndpoint,
    outputNames,
  }) => {
    const model_name = qualifyModelName(world, requestedName)
    const model = findModel(world, model_name) ?? refuse(404, `no model ${model_name}`)
    requireVersion(model_name, model.versions, version)
    const variants = listServedVariants({ world, findEndpoint }, model.type, model_name)
    const {
      key,
      url,
      endpoint: described,
    } = variants.find(variant => variant.key === variantKey) ??
    refuse(404, `model ${model_name} (${model.type}) has no variant ${variantKey}: ${formatKeys(variants)}`)
    return { variant: { key, url }, ...describeEndpoint(described, model.type, outputNames) }
  },
})

export const deleteModel = documented({
  route: 'DELETE /models/{model_name}',
  summary: 'Delete one version or all versions of a model of the account',
  assumptions: ['the query parameter version is required: a version or ALL', 'its deployments are deleted', '200 {}'],
  roles: ['delete model'],
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

function findModel(world: World, name: string): { type: ModelTask; versions: readonly string[] } | undefined {
  const catalogModel = world.store.models.get(name)
  if (catalogModel !== undefined) return catalogModel
  const accountModel = world.modelVersions.get(name)
  return accountModel && { type: accountModel.task, versions: accountModel.versions }
}

/** Refuses with 404 if the model does not have the requested version. An empty version is ignored. */
function requireVersion(model_name: string, versions: readonly string[], requested: string | null | undefined): void {
  if (requested && !versions.includes(requested)) refuse(404, `model ${model_name} has no version ${requested}`)
}

function formatKeys(variants: readonly ServedVariant[]): string {
  return variants.length === 0 ? 'it has none' : `it has ${variants.map(({ key }) => key).join(', ')}`
}

function toCatalogInfo(scope: VariantScope, model: CatalogModel, version: string) {
  const { world } = scope
  const { cover_img_url: _, private: __, ...entry } = toModelEntry(model)
  return {
    ...{ ...entry, version, featured: model.featured, owner: false, public: true },
    ...describeInvocation(scope, model.model_name, model.type, model.description),
    ...toFamilyFields(model),
    import_time: world.clock.iso((modelCreatedAt(world, model) - world.clock.unix(0)) * SECOND),
    max_output_tokens: maxOutputTokens(world, model),
    is_custom_deployable: isDeployable(world, model),
  }
}

/** An example of a request and of its answer. */
interface InvocationExample {
  readonly path: string
  readonly input: unknown
  readonly output: unknown
}

/** Requests to the endpoints of a task, and what they answer. */
const INVOCATIONS: Readonly<Partial<Record<ModelTask, InvocationExample>>> = {
  'text-generation': {
    path: '/v1/chat/completions',
    input: { messages: [{ role: 'user', content: 'Hello!' }] },
    output: { choices: [{ index: 0, message: { role: 'assistant', content: 'Hello.' }, finish_reason: 'stop' }] },
  },
  embeddings: {
    path: '/v1/embeddings',
    input: { input: 'A river in spring.' },
    output: { object: 'list', data: [{ object: 'embedding', index: 0, embedding: [0.1, 0.2] }] },
  },
}

/** Returns the example of a request to a model; undefined for a task without one. */
function findInvocation(
  { findEndpoint, outputNames }: VariantScope,
  model_name: string,
  type: ModelTask,
): InvocationExample | undefined {
  const example = INVOCATIONS[type]
  if (example === undefined) return undefined
  const invocation = { ...example, input: { model: model_name, ...(example.input as object) } }
  const endpoint = findEndpoint('POST', example.path)
  if (outputNames === undefined) return invocation
  const { body, returns } = outputNames.forEndpoint(endpoint!)
  return {
    path: outputNames.names.toVendorPath(example.path),
    input: body!.toVendor(invocation.input),
    output: returns.toVendor(example.output),
  }
}

/** Returns the variants and the documentation of a model. */
function describeInvocation(scope: VariantScope, model_name: string, type: ModelTask, description: string) {
  const invocation = findInvocation(scope, model_name, type)
  const variants = listServedVariants(scope, type, model_name)
  const first = variants[0] && describeEndpoint(variants[0].endpoint, type, scope.outputNames)
  return {
    schemas: variants.map(({ key, url }) => ({ key, url })),
    in_schema: first?.schema_in ?? null,
    out_schema: first?.schema_out ?? null,
    in_fields: first?.fields_in ?? null,
    curl_inv:
      invocation === undefined
        ? ''
        : `curl "$BASE_URL${invocation.path}" -H "Authorization: Bearer $API_TOKEN" --json '${JSON.stringify(invocation.input)}'`,
    cmdline_inv: '',
    txt_docs: description,
    out_example: invocation === undefined ? '' : JSON.stringify(invocation.output),
    out_docs: '',
    meta: {},
    mask_token: null,
    doc_blocks: null,
    short_doc_block: null,
    mf_name: null,
    mf_title: null,
    mf_description: null,
  }
}
