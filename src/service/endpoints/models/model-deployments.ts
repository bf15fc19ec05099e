/** Deployments of whole models: the service chooses the hardware, and the task is that of the model. */
import * as z from 'zod'
import {
  type DeploymentType,
  HUB_TASKS,
  MODEL_TASKS,
  type ModelTask,
  OTHER_TASKS,
} from '../../../data/records/enums.ts'
import { GPU_TYPES, type GpuType } from '../../../data/records/gpu-config.ts'
import { formatSuggestion } from '../../../lib/did-you-mean.ts'
import { LIMITS } from '../../../lib/limits.ts'
import type { DeploymentRow, LlmSpec } from '../../../simulation/deployments/deployment-row.ts'
import { repositoryExists } from '../../../simulation/fleet/known-repositories.ts'
import {
  catalogWeights,
  hubRefusal,
  type ModelWeights,
  memoryShortage,
  repositoryWeights,
} from '../../../simulation/fleet/weights.ts'
import type { World } from '../../../simulation/world.ts'
import { isOffered, requireFunds, requireGpuQuota } from '../../admission.ts'
import { neighbour } from '../../endpoint.ts'
import { text } from '../../fields.ts'
import { FUNDS_REFUSAL, GPU_QUOTA_REFUSAL, qualifyModelName, requireCurrentModel } from '../../lookups.ts'
import { DeployId } from '../../records.ts'
import { refuse, refuseInput } from '../../refusals.ts'

const INSTANCE_GPU_COUNTS = [1, 2, 4, 8] as const

const DEPLOYMENT_ASSUMPTIONS = [
  'type is llm for text-generation, tts for text-to-speech, else legacy',
  'hardware of a catalog model: the cheapest of its dedicated hardware, else the cheapest GPUs that hold its weights',
  'one instance with at most 96 requests at once; PUT /deploy/{deploy_id} changes the number of instances',
  'lifecycle, GPU limit and price are those of POST /deploy/llm',
  'the deployment of a catalog model answers to deploy_id:<id>; by its name, the catalog model answers on shared capacity',
] as const

const DEPLOYMENT_REFUSALS = {
  ...FUNDS_REFUSAL,
  403: `${GPU_QUOTA_REFUSAL[403]}: the GPUs of one instance plus the GPUs held and requested`,
  409: 'a live deployment has this name',
  423: 'a gated repository: the request cannot carry a token of the hub',
  429: 'the world holds 100,000 deployments',
} as const

export const deployModel = neighbour({
  route: 'POST /v1/deploy',
  summary: 'Deploy a model as it is: language, embeddings, images, speech or any other task',
  roles: ['create deployment'],
  assumptions: [
    ...DEPLOYMENT_ASSUMPTIONS,
    'provider cnt (default) or provider: a model of the catalog or of the account; hub: a repository, as POST /deploy/hub',
    'version: a version of the model, or a revision of the repository; default: the newest, or main',
    'a model of the account is deployed with the hardware and weights of its last deployment of that version',
  ],
  refusals: {
    ...DEPLOYMENT_REFUSALS,
    400: 'no node of the fleet can have GPUs that hold the model',
    404: 'unknown or deprecated model, unknown version, or an adapter',
  },
  acceptsKeyHeader: true,
  body: z.object({
    provider: z.enum(['hub', 'provider', 'cnt']).default('cnt'),
    model_name: text({ min: 1 }),
    version: text().nullish(),
  }),
  returns: DeployId,
  example: { body: { model_name: 'larkspur-audio/lark-tts-1' } },
  handle: ({ body: { provider, model_name, version }, world }) => {
    requireFunds(world)
    const isCatalogModel = world.store.models.has(model_name)
    if (provider === 'hub' && !isCatalogModel) {
      return createDeployment(world, findRepository(world, model_name, 'text-generation', version || 'main'))
    }
    return createDeployment(
      world,
      isCatalogModel ? findCatalogModel(world, model_name, version) : findOwnModel(world, model_name, version),
    )
  },
})

export const deployHubModel = neighbour({
  route: 'POST /deploy/hub',
  summary: 'Deploy a repository of the model hub',
  roles: ['create deployment'],
  assumptions: [
    ...DEPLOYMENT_ASSUMPTIONS,
    'model_name of the deployment is that of the repository',
    `task: ${MODEL_TASKS.join(', ')}; default: text-generation`,
    `a model with another task of the hub is served as custom: ${OTHER_TASKS.join(', ')}`,
    'a repository with the name of a catalog model is deployed as that model, with its own task',
  ],
  refusals: {
    ...DEPLOYMENT_REFUSALS,
    400: 'unknown task, or no node of the fleet can have GPUs that hold the model',
    404: 'unknown repository, or a deprecated catalog model',
  },
  acceptsKeyHeader: true,
  body: z.object({ model_name: text({ min: 1 }), task: text().nullish() }),
  returns: DeployId,
  example: { body: { model_name: 'acme/chat-8b' } },
  handle: ({ body: { model_name, task }, world }) => {
    const modelTask = parseTask(task)
    requireFunds(world)
    return createDeployment(
      world,
      world.store.models.has(model_name)
        ? findCatalogModel(world, model_name, undefined)
        : findRepository(world, model_name, modelTask, 'main'),
    )
  },
})

/** A model to deploy: what is known of it, and the hardware that it may run on, if that is not any. */
interface DeployableModel {
  readonly spec: Pick<
    LlmSpec,
    'model_name' | 'weights' | 'base_model' | 'container_image' | 'extra_args' | 'version'
  > & {
    readonly task: ModelTask
    readonly type: DeploymentType
  }
  readonly weights: ModelWeights
  readonly hardware: readonly Hardware[]
}

interface Hardware {
  readonly gpu: GpuType
  readonly num_gpus: number
  readonly max_batch_size?: number
}

function findCatalogModel(world: World, model_name: string, version: string | null | undefined): DeployableModel {
  const model = requireCurrentModel(world, 'model', model_name)
  if (version && !model.versions.includes(version)) refuse(404, `model ${model_name} has no version ${version}`)
  const dedicated = (world.store.hardware.get(model_name)?.hardware ?? []).filter(option => option.type === 'dedicated')
  return {
    spec: {
      ...{ model_name, base_model: model_name, weights: undefined, version: version || undefined },
      ...{ task: model.type, type: typeOfTask(model.type) },
    },
    weights: catalogWeights(model, world.store.hub.get(model_name)),
    hardware: dedicated,
  }
}

/** Returns a model that the account deployed before, with the plan of its last deployment. */
function findOwnModel(world: World, requestedName: string, version: string | null | undefined): DeployableModel {
  const model_name = qualifyModelName(world, requestedName)
  const model = world.modelVersions.get(model_name) ?? refuse(404, `no model ${model_name}`)
  if (model.type === 'lora') refuse(404, `model ${model_name} is an adapter: POST /v1/lora/create deploys it`)
  const chosenVersion = version || model.versions.at(-1)!
  if (!model.versions.includes(chosenVersion)) refuse(404, `model ${model_name} has no version ${version}`)
  let last: Readonly<DeploymentRow> | undefined
  for (const [, row] of world.deployments.entries()) {
    const { modelName, version: deployed, hasInstances, createdAt } = row.plan
    if (modelName !== model_name || deployed !== chosenVersion || !hasInstances) continue
    if (last === undefined || createdAt >= last.plan.createdAt) last = row
  }
  if (last === undefined) refuse(404, `model ${model_name} has no weights: it is a reference to the catalog`)
  const { plan } = last
  const { source, repo, revision, token } = plan.weights
  return {
    spec: {
      ...{ model_name, task: plan.task, type: plan.type, version: chosenVersion },
      ...(source === 'catalog'
        ? { base_model: repo, weights: undefined }
        : { base_model: undefined, weights: { repo, revision, token } }),
      ...{ container_image: plan.containerImage, extra_args: plan.extraArgs },
    },
    weights: plan.weights,
    hardware: [{ gpu: plan.gpu, num_gpus: plan.numGpus, max_batch_size: plan.maxBatchSize }],
  }
}

/** Returns a repository of the hub. Refuses with 404 if it is unknown, and with 423 if it is gated. */
function findRepository(world: World, repo: string, task: ModelTask, revision: string): DeployableModel {
  const { store, environment } = world
  const reference = { repo, revision, token: '' }
  const refusal = hubRefusal(
    store.hub.get(repo),
    repositoryExists(world, repo),
    reference,
    environment.repositoryState(repo),
  )
  if (refusal !== undefined) refuse(refusal.status === 404 ? 404 : 423, refusal.reason)
  return {
    spec: { model_name: repo, weights: reference, base_model: undefined, task, type: typeOfTask(task) },
    weights: repositoryWeights(store.hub.get(repo), repo),
    hardware: [],
  }
}

function createDeployment(world: World, { spec, weights, hardware }: DeployableModel): { deploy_id: string } {
  const { model_name } = spec
  if (world.deployments.findLive(model_name) !== undefined) {
    refuse(409, `model ${model_name} is deployed already: delete that deployment first`)
  }
  const chosen = chooseHardware(world, weights, hardware)
  if (chosen === undefined) refuse(400, `no node of the fleet can have GPUs that hold ${model_name}`)
  requireGpuQuota(world, chosen.gpu, chosen.num_gpus)
  if (world.deployments.count >= LIMITS.deployments) {
    refuse(429, `this world holds ${LIMITS.deployments} deployments, which is its limit`, { 'retry-after': '3600' })
  }
  const { deploy_id } = world.deployments.createLlm({
    ...spec,
    ...{ gpu: chosen.gpu, num_gpus: chosen.num_gpus, max_batch_size: chosen.max_batch_size ?? 96 },
    ...{ min_instances: 1, max_instances: 1 },
  })
  return { deploy_id }
}

/** Returns the cheapest hardware that the fleet can have; if none is listed, the cheapest that holds the weights. */
function chooseHardware(world: World, weights: ModelWeights, listed: readonly Hardware[]): Hardware | undefined {
  const options =
    listed.length > 0
      ? listed
      : GPU_TYPES.flatMap(gpu => INSTANCE_GPU_COUNTS.map(num_gpus => ({ gpu, num_gpus }))).filter(
          ({ gpu, num_gpus }) => gpu !== 'other' && memoryShortage(weights, gpu, num_gpus) === undefined,
        )
  const priceOf = ({ gpu, num_gpus }: Hardware) => world.ledger.meters.priceCentsPerHour(gpu) * num_gpus
  return options
    .filter(({ gpu, num_gpus }) => isOffered(world, gpu, num_gpus))
    .reduce<Hardware | undefined>((best, one) => (best && priceOf(best) <= priceOf(one) ? best : one), undefined)
}

function typeOfTask(task: ModelTask): DeploymentType {
  if (task === 'text-generation') return 'llm'
  return task === 'text-to-speech' ? 'tts' : 'legacy'
}

function parseTask(task: string | null | undefined): ModelTask {
  if (!task) return 'text-generation'
  const known = MODEL_TASKS.find(word => word === task)
  if (known !== undefined) return known
  if (OTHER_TASKS.some(word => word === task)) return 'custom'
  const advice = formatSuggestion(task, HUB_TASKS, `task is one of ${HUB_TASKS.join(', ')}`)
  return refuseInput(400, `unknown task '${task}': ${advice}`)
}
