import * as z from 'zod'
import { DEPLOYMENT_STATUSES, type DeploymentStatus } from '../../data/records/enums.ts'
import { GPU_TYPES } from '../../data/records/gpu-config.ts'
import { LIMITS } from '../../lib/limits.ts'
import { countAlive, isTerminal } from '../../simulation/deployments/deployment-row.ts'
import { requireFleetGpus, requireFunds, requireGpuQuota } from '../admission.ts'
import { documented, neighbour } from '../endpoint.ts'
import { credential, integer, opaque, text, words } from '../fields.ts'
import {
  FUNDS_REFUSAL,
  GPU_QUOTA_REFUSAL,
  isForeignModelName,
  ModelName,
  qualifyModelName,
  requireCurrentModel,
  requireDeployment,
  requireLanguageModel,
} from '../lookups.ts'
import { DeployId, DeploymentRecord } from '../records.ts'
import { refuse, refuseInput, rejectInput } from '../refusals.ts'
import { JsonText } from '../results.ts'

const ScaleSettings = z
  .object({
    min_instances: integer({ min: 0, max: LIMITS.deploymentInstances }).default(1),
    max_instances: integer({ min: 0, max: LIMITS.deploymentInstances }).default(1),
  })
  .check(({ value, issues }) => {
    if (value.max_instances >= value.min_instances) return
    issues.push({
      code: 'custom',
      path: ['max_instances'],
      message: `max_instances (${value.max_instances}) should not be below min_instances (${value.min_instances})`,
      input: value,
    })
  })

const HubWeights = z.object({ repo: text({ min: 1 }), revision: text().nullish(), token: credential(text()).nullish() })

export const createLlmDeployment = documented({
  route: 'POST /deploy/llm',
  summary: 'Deploy a language model on dedicated GPUs',
  roles: ['create deployment'],
  assumptions: [
    "a model_name without an owner gets the account's owner prefix",
    'weights: hub.repo, else base_model, else the hub repository with the name model_name, else 422 on hub',
    'the task is text-generation',
    'hub.repo is required if hub is present; hub.revision: default main; hub.token: default empty',
    "config.weights.token in answers: '' if the token is empty, else ********",
    'settings.min_instances: 0 to 10,000, default 1; settings.max_instances: 0 to 10,000, default 1, not below min_instances',
    'with max_instances 0 the deployment is parked: it has no instance and costs nothing until a PUT raises the bounds',
    'null means the same as a missing field, where a field may be null',
    'model_name has letters, digits, dot, dash and underscore, and at most one slash',
    'with unknown extra_args the engine exits, is restarted, and the deployment finally fails (policies.unknown_engine_args)',
    'a container_image accepts any extra_args',
  ],
  refusals: {
    ...FUNDS_REFUSAL,
    400: 'an owner prefix of another account, the GPU type "other", GPUs that no node of the fleet can have (policies.unknown_gpu_types), or weights that are not a language model',
    404: 'unknown or deprecated base_model',
    403: `${GPU_QUOTA_REFUSAL[403]}: num_gpus × min_instances plus the GPUs held and requested`,
    409: 'a live deployment has this name',
    429: 'the world holds 100,000 deployments',
  },
  acceptsKeyHeader: true,
  body: z.object({
    model_name: ModelName,
    gpu: z.enum(GPU_TYPES),
    num_gpus: integer({ min: 1, max: 8 }).default(1),
    max_batch_size: integer({ min: 1, max: 256 }).default(96),
    hub: HubWeights.nullish(),
    base_model: text().nullish(),
    container_image: text().nullish(),
    settings: ScaleSettings.nullish(),
    extra_args: opaque(z.array(text())).nullish(),
  }),
  returns: DeploymentRecord,
  example: { body: { model_name: 'acme/search', gpu: 'L4-24GB', hub: { repo: 'acme/chat-8b' } } },
  handle: ({ body, world }) => {
    const { gpu, num_gpus, base_model } = body
    const settings = body.settings ?? { min_instances: 1, max_instances: 1 }
    const model_name = qualifyModelName(world, body.model_name)
    const hubModel = world.store.hub.get(model_name)
    if (body.hub == null && base_model == null && hubModel === undefined) {
      rejectInput(['body', 'hub'], `Value error, no weights for ${model_name}: give hub.repo or base_model`)
    }
    requireFunds(world)
    if (isForeignModelName(world, model_name)) {
      refuse(400, `model_name ${model_name} should start with ${world.store.account.display_name}/`)
    }
    if (gpu === 'other') refuse(400, "gpu 'other' cannot be deployed on: it has no pool and no price")
    requireFleetGpus(world, gpu, num_gpus)
    if (base_model != null) {
      requireLanguageModel('base_model', requireCurrentModel(world, 'base_model', base_model))
    }
    const catalogModel = body.hub == null ? undefined : world.store.models.get(body.hub.repo)
    if (catalogModel !== undefined) requireLanguageModel('hub.repo', catalogModel)
    requireGpuQuota(world, gpu, num_gpus * settings.min_instances)
    if (world.deployments.findLive(model_name) !== undefined) {
      refuse(409, `model_name ${model_name} is deployed already: delete that deployment first`)
    }
    if (world.deployments.count >= LIMITS.deployments) {
      refuse(429, `this world holds ${LIMITS.deployments} deployments, which is its limit`, { 'retry-after': '3600' })
    }
    const source = body.hub ?? (base_model == null ? hubModel : undefined)
    const weights = source && { repo: source.repo, revision: source.revision ?? 'main', token: body.hub?.token ?? '' }
    const created = world.deployments.createLlm({
      model_name,
      gpu,
      num_gpus,
      max_batch_size: body.max_batch_size,
      weights,
      base_model: base_model ?? undefined,
      container_image: body.container_image ?? undefined,
      extra_args: body.extra_args ?? undefined,
      min_instances: settings.min_instances,
      max_instances: settings.max_instances,
    })
    // The text is not kept: the first event of its instances changes it.
    return new JsonText(world.deployments.toText(created.ordinal))
  },
})

export const listDeployments = documented({
  route: 'GET /deploy/list',
  summary: 'List deployments',
  roles: ['list deployment', 'show adapter'],
  assumptions: [
    'a bare array, oldest first',
    'without status, or with an empty status: all, also failed and deleted ones',
    'spaces around commas are trimmed',
  ],
  refusals: { 400: 'unknown status' },
  acceptsKeyHeader: true,
  query: { status: z.string().meta({ 'x-holds': 'statuses' }).optional() },
  returns: z.array(DeploymentRecord),
  findPolledResource: () => ({ kind: 'deployments' }),
  example: { target: '/deploy/list?status=running,deploying' },
  handle: ({ query, world }) => {
    const requestedStatuses = words(query.status ?? '')
    const unknownStatus = requestedStatuses.find(word => !isStatus(word))
    if (unknownStatus !== undefined) {
      refuseInput(400, `unknown status '${unknownStatus}': status is a list of ${DEPLOYMENT_STATUSES.join(', ')}`)
    }
    const statuses = new Set(
      requestedStatuses.length > 0 ? (requestedStatuses as DeploymentStatus[]) : DEPLOYMENT_STATUSES,
    )
    return JsonText.list(world.deployments.list(statuses).map(({ ordinal }) => world.deployments.toJson(ordinal)))
  },
})

export const getDeployment = neighbour({
  route: 'GET /deploy/{deploy_id}',
  summary: 'Get one deployment',
  roles: ['read deployment', 'show adapter'],
  assumptions: ['a deleted deployment is still returned, with its status'],
  refusals: { 404: 'unknown deployment' },
  acceptsKeyHeader: true,
  returns: DeploymentRecord,
  findPolledResource: ({ deploy_id }) => ({ kind: 'deployments', id: deploy_id! }),
  example: { target: '/deploy/2cZeTxVFN7tKxCCh' },
  handle: ({ params: { deploy_id }, world }) =>
    new JsonText(world.deployments.toJson(requireDeployment(world, deploy_id).ordinal)),
})

export const startDeployment = documented({
  route: 'POST /deploy/{deploy_id}/start',
  summary: 'Start a stopped deployment; the autoscaler starts its instances',
  assumptions: [
    'the next status is initializing',
    'a reference to a catalog model is running at once, on GPUs of the provider',
    'a failed deployment starts only if the profile allows it (policies.failed_may_start); its count of retries is reset',
  ],
  refusals: {
    404: 'unknown deployment',
    400: 'not stopped, or an adapter whose base is missing',
    ...FUNDS_REFUSAL,
    ...GPU_QUOTA_REFUSAL,
  },
  roles: ['start deployment'],
  returns: DeployId,
  example: { target: '/deploy/ZULBVvLkUPftB8Mo/start' },
  handle: ({ params: { deploy_id }, world }) => {
    const deployment = requireDeployment(world, deploy_id)
    const mayStart = deployment.status === 'failed' && world.profile.policies.failedMayStart
    if (deployment.status !== 'stopped' && !mayStart) {
      refuse(400, `deployment ${deploy_id} is ${deployment.status}, not stopped`)
    }
    const blockedReason = world.loraAdapters.blockedReason(deployment.ordinal)
    if (blockedReason !== undefined) refuse(400, `deployment ${deploy_id} cannot start by itself: ${blockedReason}`)
    requireFunds(world)
    // An adapter runs on the GPUs of its base, and a model of the catalog on those of the provider.
    const { plan, gpu, numGpus, minInstances } = deployment.row
    requireGpuQuota(world, gpu, plan.hasInstances ? numGpus * minInstances : 0)
    deployment.start()
    return { deploy_id }
  },
})

export const updateDeployment = neighbour({
  route: 'PUT /deploy/{deploy_id}',
  summary: 'Change min_instances and max_instances of a deployment; scaling starts at once',
  assumptions: [
    'a missing field of settings keeps its value',
    'both bounds 0 park the deployment: it keeps its status, has no instance and costs nothing; higher bounds resume it',
    'a stopped or failed deployment uses the new settings when it starts',
  ],
  refusals: {
    404: 'unknown deployment',
    400: 'the deployment is deleted, an adapter, or a reference to the catalog',
    402: `${FUNDS_REFUSAL[402]}; only if a bound is raised and the deployment is not stopped or failed`,
    403: `${GPU_QUOTA_REFUSAL[403]}: num_gpus × the instances that min_instances adds`,
  },
  body: z.object({
    settings: z.object({
      min_instances: integer({ min: 0, max: LIMITS.deploymentInstances }).optional(),
      max_instances: integer({ min: 0, max: LIMITS.deploymentInstances }).optional(),
    }),
  }),
  returns: DeployId,
  example: { target: '/deploy/2cZeTxVFN7tKxCCh', body: { settings: { max_instances: 3 } } },
  handle: ({ params: { deploy_id }, body: { settings }, world }) => {
    const { ordinal, row } = requireDeployment(world, deploy_id)
    const { plan, status, gpu, numGpus, minInstances, maxInstances } = row
    const { min_instances = minInstances, max_instances = maxInstances } = settings
    if (!plan.hasInstances) {
      refuse(400, `deployment ${deploy_id} is of the type ${plan.type}: it has no instances of its own`)
    }
    if (status === 'deleted') refuse(400, `deployment ${deploy_id} is deleted`)
    if (max_instances < min_instances) {
      rejectInput(
        ['body', 'settings', 'max_instances'],
        `Value error, max_instances (${max_instances}) should not be below min_instances (${min_instances})`,
      )
    }
    const isRaised = min_instances > minInstances || max_instances > maxInstances
    if (isRaised && !isTerminal(status)) requireFunds(world)
    const addedInstances = isTerminal(status) ? 0 : Math.max(0, min_instances - countAlive(row))
    requireGpuQuota(world, gpu, numGpus * addedInstances)
    world.deployments.scaling.resize(ordinal, min_instances, max_instances)
    return { deploy_id }
  },
})

export const stopDeployment = neighbour({
  route: 'POST /deploy/{deploy_id}/stop',
  summary: 'Stop a deployment and release its GPUs',
  assumptions: [],
  roles: ['stop deployment'],
  refusals: { 404: 'unknown deployment', 400: 'the deployment is stopped, failed or deleted' },
  returns: DeployId,
  example: { target: '/deploy/2cZeTxVFN7tKxCCh/stop' },
  handle: ({ params: { deploy_id }, world }) => {
    const deployment = requireDeployment(world, deploy_id)
    if (isTerminal(deployment.status)) refuse(400, `deployment ${deploy_id} is ${deployment.status} already`)
    deployment.stop()
    return { deploy_id }
  },
})

export const deleteDeployment = neighbour({
  route: 'DELETE /deploy/{deploy_id}',
  summary: 'Delete a deployment; GET /deploy/list?status=deleted still lists it',
  assumptions: [],
  roles: ['delete deployment'],
  refusals: { 404: 'unknown deployment, or a deleted one' },
  returns: DeployId,
  example: { target: '/deploy/2cZeTxVFN7tKxCCh' },
  handle: ({ params: { deploy_id }, world }) => {
    const deployment = requireDeployment(world, deploy_id)
    if (deployment.status === 'deleted') refuse(404, `deployment ${deploy_id} is deleted already`)
    deployment.delete()
    return { deploy_id }
  },
})

function isStatus(word: string): word is DeploymentStatus {
  return (DEPLOYMENT_STATUSES as readonly string[]).includes(word)
}
