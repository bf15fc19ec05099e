import * as z from 'zod'
import { GPU_TYPES, parseGpuConfig } from '../../data/records/records.ts'
import type { World } from '../../simulation/world.ts'
import { requireFunds, requireGpuQuota, requireRentalCapacity } from '../admission.ts'
import { endpoint, refuse } from '../endpoint.ts'
import { text } from '../fields.ts'
import { ContainerRecord } from '../records.ts'

/** Characters of user data that a container takes. */
const MAX_USER_DATA_CHARACTERS = 65_536

const ContainerId = z.object({ container_id: z.string() }).meta({ id: 'ContainerId' })
const Name = text({ min: 1, max: 64 })
const GpuConfig = z
  .string()
  .regex(new RegExp(`^[1-8]x(?:${GPU_TYPES.join('|')})$`))
  .describe('How many GPUs of which type: 2xA100-80GB')

export const createContainer = endpoint({
  route: 'POST /v1/containers',
  summary: 'Rent GPUs and run a container image on them',
  provenance: 'neighbour',
  assumptions: [
    'gpu_config is a number from 1 to 8, an x and a GPU type; names of 1 to 64 characters need not differ',
    'cloud_init_user_data, to 65,536 characters, is taken and neither run nor answered: it may hold secrets',
    'it is creating until a node has its GPUs, then starting while its image is pulled and it boots, then running; billed while running, until its GPUs are given back',
    'it fails without GPUs for 10 minutes (timings.rental_capacity_wait), by an image that names none, by a registry that does not answer, and with its machine; fail_reason says why',
    'there is no address: nothing listens on it',
  ],
  refusals: {
    402: 'no funds, or the account is suspended',
    400: 'GPUs of the type "other"',
    403: 'over the GPU limit of the account',
    429: 'the world holds 100,000 hosted instances and containers',
  },
  body: z.object({
    name: Name,
    gpu_config: GpuConfig,
    container_image: text({ min: 1 }),
    cloud_init_user_data: text({ max: MAX_USER_DATA_CHARACTERS }).nullable().optional(),
  }),
  returns: ContainerId,
  example: {
    body: { name: 'trial', gpu_config: '1xL4-24GB', container_image: 'registry.example/cuda-dev:12.8' },
  },
  handle: ({ body: { name, gpu_config, container_image }, world }) => {
    // The schema has let only words through that name GPUs.
    const { gpu, num_gpus } = parseGpuConfig(gpu_config)!
    requireFunds(world)
    if (gpu === 'other') refuse(400, `gpu_config ${gpu_config} cannot be rented: 'other' has no pool and no price`)
    requireGpuQuota(world, gpu, num_gpus)
    requireRentalCapacity(world)
    return { container_id: world.containers.create({ name, gpu, num_gpus, container_image }).container_id }
  },
})

export const listContainers = endpoint({
  route: 'GET /v1/containers',
  summary: 'List containers',
  provenance: 'neighbour',
  assumptions: [
    'a bare array, oldest first',
    'active: creating, starting, running, shutting_down; inactive: failed, deleted; without a filter: everything but deleted',
  ],
  query: { state: z.enum(['active', 'inactive']).optional() },
  returns: z.array(ContainerRecord),
  findPolledResource: () => ({ kind: 'containers' }),
  handle: ({ query, world }) => world.containers.list(query.state).map(container => container.toRecord()),
})

export const getContainer = endpoint({
  route: 'GET /v1/containers/{container_id}',
  summary: 'One container',
  provenance: 'neighbour',
  assumptions: ['timestamps in Unix seconds', 'a deleted one still answers, with its state'],
  refusals: { 404: 'unknown container' },
  returns: ContainerRecord,
  example: { target: '/v1/containers/{container_id}', prerequisites: ['createContainer'] },
  findPolledResource: ({ container_id }) => ({ kind: 'containers', id: container_id! }),
  handle: ({ params, world }) => requireContainer(world, params.container_id).toRecord(),
})

export const renameContainer = endpoint({
  route: 'PATCH /v1/containers/{container_id}',
  summary: 'Rename a container',
  provenance: 'neighbour',
  assumptions: ['name is all that can change; its length counts code points'],
  refusals: { 404: 'unknown container', 400: 'deleted' },
  body: z.object({ name: Name }),
  returns: ContainerId,
  example: { target: '/v1/containers/{container_id}', body: { name: 'kept' }, prerequisites: ['createContainer'] },
  handle: ({ params: { container_id }, body, world }) => {
    const container = requireContainer(world, container_id)
    if (container.state === 'deleted') refuse(400, `container ${container_id} is deleted`)
    container.rename(body.name)
    return { container_id }
  },
})

export const deleteContainer = endpoint({
  route: 'DELETE /v1/containers/{container_id}',
  summary: 'Shut a container down for good',
  provenance: 'neighbour',
  assumptions: [
    'one that runs is shutting_down for 30 s (timings.rental_shutdown), billed meanwhile; one that does not run yet is deleted at once',
  ],
  refusals: { 404: 'unknown container', 400: 'shutting down or deleted already' },
  returns: ContainerId,
  example: { target: '/v1/containers/{container_id}', prerequisites: ['createContainer'] },
  handle: ({ params: { container_id }, world }) => {
    const container = requireContainer(world, container_id)
    const { state } = container
    if (state === 'deleted') refuse(400, `container ${container_id} is deleted already`)
    if (state === 'shutting_down') refuse(400, `container ${container_id} is shutting down already`)
    container.delete()
    return { container_id }
  },
})

function requireContainer(world: World, container_id: string) {
  return world.containers.get(container_id) ?? refuse(404, `no container ${container_id}`)
}
