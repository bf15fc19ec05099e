import * as z from 'zod'
import { GPU_TYPES } from '../../data/records/gpu-config.ts'
import type { World } from '../../simulation/world.ts'
import { requireFleetGpus, requireFunds, requireGpuQuota, requireRentalCapacity } from '../admission.ts'
import { endpoint } from '../endpoint.ts'
import { integer, text } from '../fields.ts'
import { FUNDS_REFUSAL, GPU_QUOTA_REFUSAL, RENTAL_CAPACITY_REFUSAL } from '../lookups.ts'
import { EmptyRecord, HostedRecord } from '../records.ts'
import { refuse } from '../refusals.ts'
import { deleteRental, renameRental, requireUndeleted } from '../rental-changes.ts'

const InstanceId = z.object({ instance_id: z.string() }).meta({ id: 'InstanceId' })
const Name = text({ min: 1, max: 64 })

export const createHosted = endpoint({
  route: 'POST /v1/hosted',
  summary: 'Rent a machine with GPUs and storage',
  provenance: 'neighbour',
  assumptions: [
    'the fields are name, gpu, num_gpus and storage_gb',
    'name need not be unique',
    'storage_gb: 20 to 512, default 20; storage is free',
    'state: creating until a node has the GPUs, starting while the machine boots, then running',
    'it is billed from running until its GPUs are released',
    'it fails if no node has the GPUs within 10 minutes (timings.rental_capacity_wait); fail_reason has the cause',
    'if its node is lost, it fails or starts on another node, by a policy of the profile',
    'the instance has no address',
  ],
  refusals: {
    ...FUNDS_REFUSAL,
    400: 'the GPU type "other", or GPUs that no node of the fleet can have (policies.unknown_gpu_types)',
    ...GPU_QUOTA_REFUSAL,
    ...RENTAL_CAPACITY_REFUSAL,
  },
  body: z.object({
    name: Name,
    gpu: z.enum(GPU_TYPES),
    num_gpus: integer({ min: 1, max: 8 }).default(1),
    storage_gb: integer({ min: 20, max: 512 }).default(20),
  }),
  returns: InstanceId,
  example: { body: { name: 'evaluation', gpu: 'L40S-48GB', storage_gb: 100 } },
  handle: ({ body, world }) => {
    requireFunds(world)
    if (body.gpu === 'other') refuse(400, "gpu 'other' cannot be rented: it has no pool and no price")
    requireFleetGpus(world, body.gpu, body.num_gpus)
    requireGpuQuota(world, body.gpu, body.num_gpus)
    requireRentalCapacity(world)
    return { instance_id: world.hostedInstances.create(body).instance_id }
  },
})

export const listHosted = endpoint({
  route: 'GET /v1/hosted',
  summary: 'List hosted instances',
  provenance: 'neighbour',
  assumptions: ['a bare array, oldest first, without deleted instances'],
  returns: z.array(HostedRecord),
  findPolledResource: () => ({ kind: 'hosted' }),
  handle: ({ world }) => world.hostedInstances.list().map(instance => instance.toRecord()),
})

export const getHosted = endpoint({
  route: 'GET /v1/hosted/{instance_id}',
  summary: 'Get one hosted instance',
  provenance: 'neighbour',
  assumptions: [
    'timestamps are Unix seconds',
    'expanding_to_gb is null if no expansion is in progress',
    'a deleted instance is still returned, with its state',
  ],
  refusals: { 404: 'unknown instance' },
  returns: HostedRecord,
  example: { target: '/v1/hosted/inst_HmSomZNCU5EAVUqwFpxpN9vc' },
  findPolledResource: ({ instance_id }) => ({ kind: 'hosted', id: instance_id! }),
  handle: ({ params, world }) => requireHosted(world, params.instance_id).toRecord(),
})

export const startHosted = endpoint({
  route: 'POST /v1/hosted/{instance_id}/start',
  summary: 'Start a stopped hosted instance with its storage',
  provenance: 'neighbour',
  assumptions: [
    'it waits for free GPUs; after 10 minutes without (timings.rental_capacity_wait) it is stopped again, and fail_reason has the cause',
    'a failed instance starts only if the profile allows it (policies.failed_may_start)',
  ],
  refusals: {
    404: 'unknown instance',
    400: 'the instance is not stopped',
    ...FUNDS_REFUSAL,
    ...GPU_QUOTA_REFUSAL,
  },
  returns: InstanceId,
  example: { target: '/v1/hosted/inst_djvv7xQqcTZpad3Hiy2HQWs2/start' },
  handle: ({ params: { instance_id }, world }) => {
    const instance = requireHosted(world, instance_id)
    const { state, gpu, num_gpus } = instance
    const mayStart = state === 'failed' && world.profile.policies.failedMayStart
    if (state !== 'stopped' && !mayStart) refuse(400, `hosted instance ${instance_id} is ${state}, not stopped`)
    requireFunds(world)
    requireGpuQuota(world, gpu, num_gpus)
    instance.start()
    return { instance_id }
  },
})

export const stopHosted = endpoint({
  route: 'POST /v1/hosted/{instance_id}/stop',
  summary: 'Stop a hosted instance: its GPUs are released, its storage stays',
  provenance: 'neighbour',
  assumptions: [
    'a running instance is stopping for 30 s (timings.rental_shutdown), and is billed for that time',
    'an instance that does not run yet is stopped at once',
  ],
  refusals: { 404: 'unknown instance', 400: 'the instance is stopping, stopped, failed or deleted' },
  returns: InstanceId,
  example: { target: '/v1/hosted/inst_HmSomZNCU5EAVUqwFpxpN9vc/stop' },
  handle: ({ params: { instance_id }, world }) => {
    const instance = requireHosted(world, instance_id)
    const { state } = instance
    if (state === 'stopping' || state === 'stopped' || state === 'failed' || state === 'deleted') {
      refuse(400, `hosted instance ${instance_id} is ${state} already`)
    }
    instance.stop()
    return { instance_id }
  },
})

export const deleteHosted = endpoint({
  route: 'DELETE /v1/hosted/{instance_id}',
  summary: 'Delete a hosted instance and its storage',
  provenance: 'neighbour',
  assumptions: ['a running instance is stopping first', 'an instance that is stopping ends as deleted'],
  refusals: { 404: 'unknown instance', 400: 'the instance is deleted, or its deletion is in progress' },
  returns: InstanceId,
  example: { target: '/v1/hosted/inst_HmSomZNCU5EAVUqwFpxpN9vc' },
  handle: ({ params: { instance_id }, world }) => {
    deleteRental(requireHosted(world, instance_id))
    return { instance_id }
  },
})

export const renameHosted = endpoint({
  route: 'PATCH /v1/hosted/{instance_id}',
  summary: 'Rename a hosted instance',
  provenance: 'documented',
  assumptions: ['name is required', 'the length of name counts code points', '200 {}'],
  refusals: { 404: 'unknown instance', 400: 'the instance is deleted' },
  body: z.object({ name: Name }),
  returns: EmptyRecord,
  example: { target: '/v1/hosted/inst_HmSomZNCU5EAVUqwFpxpN9vc', body: { name: 'workbench' } },
  handle: ({ params, body, world }) => {
    renameRental(requireHosted(world, params.instance_id), body.name)
    return {}
  },
})

export const expandHostedStorage = endpoint({
  route: 'POST /v1/hosted/{instance_id}/expand_storage',
  summary: 'Expand the storage of a hosted instance',
  provenance: 'documented',
  assumptions: ['the new size applies after 60 s, in every state of the instance', '200 {}'],
  refusals: {
    404: 'unknown instance',
    409: 'an expansion is in progress',
    400: 'not larger than the current size, or the instance is deleted',
  },
  body: z.object({ new_size_gb: integer({ min: 21, max: 512 }) }),
  returns: EmptyRecord,
  example: { target: '/v1/hosted/inst_HmSomZNCU5EAVUqwFpxpN9vc/expand_storage', body: { new_size_gb: 200 } },
  handle: ({ params: { instance_id }, body: { new_size_gb }, world }) => {
    const instance = requireHosted(world, instance_id)
    requireUndeleted(instance)
    if (instance.expanding) refuse(409, `storage of ${instance_id} is being expanded already`)
    if (new_size_gb <= instance.storage_gb) {
      refuse(
        400,
        `new_size_gb ${new_size_gb} is not larger than the current ${instance.storage_gb} GB of ${instance_id}`,
      )
    }
    instance.expand(new_size_gb)
    return {}
  },
})

function requireHosted(world: World, instance_id: string) {
  return world.hostedInstances.get(instance_id) ?? refuse(404, `no hosted instance ${instance_id}`)
}
