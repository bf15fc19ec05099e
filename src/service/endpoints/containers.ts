import * as z from 'zod'
import { CONTAINER_LIFECYCLE } from '../../data/records/enums.ts'
import { parseGpuConfig } from '../../data/records/gpu-config.ts'
import { toContainerRecord } from '../../simulation/rentals/rental-records.ts'
import { countsAgainstQuota } from '../../simulation/rentals/rental-row.ts'
import { isOffered, requireFunds, requireGpuQuota, requireRentalCapacity, requireRentalRoom } from '../admission.ts'
import { neighbour } from '../endpoint.ts'
import { credential, recordSchema, text } from '../fields.ts'
import { deleteRental, FUNDS_REFUSAL, GPU_QUOTA_REFUSAL, renameRental, requireRental } from '../lookups.ts'
import { ContainerRecord } from '../records.ts'
import { refuse } from '../refusals.ts'
import { isOfferedCount, listGpuOffers } from './gpu-offers.ts'

/** Maximum length of cloud_init_user_data, in characters. */
const MAX_USER_DATA_CHARACTERS = 32_000

const ACTIVE_STATES = CONTAINER_LIFECYCLE.statuses.filter(state => !CONTAINER_LIFECYCLE.terminal.has(state))
const INVALID_GPU_CONFIG = 'Invalid gpu_config'

const ContainerId = recordSchema('ContainerId', { container_id: z.string() })
const Name = text({ min: 1, max: 64 })

export const createContainer = neighbour({
  route: 'POST /v1/containers',
  summary: 'Rent GPUs and run a container image on them',
  roles: ['create container'],
  assumptions: [
    'gpu_config is one of GET /v1/containers/params, as 2xA100-80GB',
    'name has 1 to 64 characters and need not be unique; container_image has the host of its registry, as in registry.example/tool:1; by default, all images of that host exist and no others (hub.images of the fixture, policies.unknown_images)',
    'cloud_init_user_data has 1 to 32,000 characters; it is not run, and no answer has it because it may hold secrets',
    'state: creating until a node has the GPUs, starting while the image is pulled and the container boots, then running',
    'it is billed from running until its GPUs are released',
    'it fails if no node has the GPUs within 10 minutes (timings.rental_capacity_wait), if the image is unknown, if the registry does not answer, or if its node is lost',
    'fail_reason has the cause',
  ],
  refusals: {
    ...FUNDS_REFUSAL,
    400: 'a gpu_config that is not offered: of another form, of a number besides 1, 2, 4 and 8, or of GPUs that no node can have (policies.unknown_gpu_types)',
    ...GPU_QUOTA_REFUSAL,
    429: 'the account has limits.containers_at_once containers, or the world holds 100,000 hosted instances and containers',
  },
  body: z.object({
    name: Name,
    gpu_config: text({ min: 1 }).describe('Number and type of the GPUs, as in 2xA100-80GB'),
    container_image: text({ min: 1 }),
    cloud_init_user_data: credential(text({ min: 1, max: MAX_USER_DATA_CHARACTERS })),
  }),
  returns: ContainerId,
  example: {
    body: {
      name: 'trial',
      gpu_config: '1xL4-24GB',
      container_image: 'registry.example/cuda-dev:12.8',
      cloud_init_user_data: '#cloud-config\npackages: [git]\n',
    },
  },
  handle: ({ body: { name, gpu_config, container_image }, world }) => {
    requireFunds(world)
    const { gpu, num_gpus } = parseGpuConfig(gpu_config) ?? refuse(400, INVALID_GPU_CONFIG)
    if (!isOfferedCount(num_gpus) || !isOffered(world, gpu, num_gpus)) refuse(400, INVALID_GPU_CONFIG)
    requireGpuQuota(world, gpu, num_gpus)
    requireRentalRoom(world, 'container')
    requireRentalCapacity(world)
    const spec = { kind: 'container', name, gpu, numGpus: num_gpus, image: container_image } as const
    return { container_id: world.rentals.read(world.rentals.create(spec)).id }
  },
})

export const getContainerParams = neighbour({
  route: 'GET /v1/containers/params',
  summary: 'List the values that POST /v1/containers takes',
  assumptions: [
    'the fields are inferred: gpu_configs, container_images and max_containers',
    'gpu_configs: those of GET /v1/containers/gpu_availability, whether they are available or not',
    'container_images: the images that the fixture lists by their full name; other images can exist too',
    'max_containers: how many containers the account may have at once (limits.containers_at_once)',
  ],
  returns: z.object({
    gpu_configs: z.array(z.string()),
    container_images: z.array(z.string()),
    max_containers: z.int(),
  }),
  handle: ({ world }) => ({
    gpu_configs: listGpuOffers(world, '').map(({ gpu_config }) => gpu_config),
    container_images: world.store.images.filter(image => !image.endsWith('*')),
    max_containers: world.profile.limits.containersAtOnce,
  }),
})

export const listContainers = neighbour({
  route: 'GET /v1/containers',
  summary: 'List containers',
  roles: ['list container'],
  assumptions: [
    'a bare array, oldest first',
    `active: ${ACTIVE_STATES.join(', ')}; inactive: ${[...CONTAINER_LIFECYCLE.terminal].join(', ')}; default: active`,
  ],
  query: { state: z.enum(['active', 'inactive']).default('active') },
  returns: z.array(ContainerRecord),
  findPolledResource: () => ({ kind: 'containers' }),
  handle: ({ query, world }) =>
    world.rentals
      .list('container', state => countsAgainstQuota(state) === (query.state === 'active'))
      .map(ordinal => toContainerRecord(world, ordinal)),
})

export const getContainer = neighbour({
  route: 'GET /v1/containers/{container_id}',
  summary: 'Get one container',
  roles: ['read container'],
  assumptions: [
    'timestamps are integer Unix seconds: state_ts of its state, stop_ts of its failure or deletion',
    'start_ts is its creation, and when it runs the start of its bill; so its cost is price_per_hour from start_ts to stop_ts',
    'a container that ended before it ran costs nothing',
    'ip is null until it runs, and again when it has ended; the addresses are of 198.18.0.0/15, which no machine has',
    'price_per_hour is in USD, for all its GPUs',
    'stop_ts is null until it has ended, fail_reason if it has no cause to give',
    'a deleted container is still returned, with its state',
  ],
  refusals: { 404: 'unknown container' },
  returns: ContainerRecord,
  example: { target: '/v1/containers/{container_id}', prerequisites: ['createContainer'] },
  findPolledResource: ({ container_id }) => ({ kind: 'containers', id: container_id! }),
  handle: ({ params: { container_id }, world }) =>
    toContainerRecord(world, requireRental(world, 'container', container_id)),
})

export const renameContainer = neighbour({
  route: 'PATCH /v1/containers/{container_id}',
  summary: 'Rename a container',
  assumptions: ['only name can change: another field is 422', 'the length of name counts code points'],
  refusals: { 404: 'unknown container', 400: 'the container is deleted' },
  body: z.strictObject({ name: Name }),
  returns: ContainerId,
  example: { target: '/v1/containers/{container_id}', body: { name: 'kept' }, prerequisites: ['createContainer'] },
  handle: ({ params: { container_id }, body, world }) => {
    renameRental(world, 'container', container_id, body.name)
    return { container_id }
  },
})

export const deleteContainer = neighbour({
  route: 'DELETE /v1/containers/{container_id}',
  summary: 'Shut down and delete a container',
  assumptions: [
    'a running container is shutting_down for 30 s (timings.rental_shutdown), and is billed for that time',
    'a container that does not run yet is deleted at once',
  ],
  roles: ['delete container'],
  refusals: { 404: 'unknown container', 400: 'the container is shutting down or deleted' },
  returns: ContainerId,
  example: { target: '/v1/containers/{container_id}', prerequisites: ['createContainer'] },
  handle: ({ params: { container_id }, world }) => {
    deleteRental(world, 'container', container_id)
    return { container_id }
  },
})
