import * as z from 'zod'
import type { HostedPlan } from '../../data/records/machines.ts'
import { toHostedRecord } from '../../simulation/rentals/rental-records.ts'
import type { World } from '../../simulation/world.ts'
import { requireFunds, requireRentalCapacity, requireRentalRoom } from '../admission.ts'
import { documented, neighbour } from '../endpoint.ts'
import { integer, recordSchema, text } from '../fields.ts'
import { deleteRental, FUNDS_REFUSAL, renameRental, requireRental, requireUndeleted } from '../lookups.ts'
import { EmptyRecord, HostedRecord } from '../records.ts'
import { refuse } from '../refusals.ts'

/** The most SSH keys of a new instance. */
const MAX_SSH_KEYS = 100

const InstanceId = recordSchema('InstanceId', { instance_id: z.string() })
const Name = text({ min: 1, max: 64 })

export const createHosted = neighbour({
  route: 'POST /v1/hosted',
  summary: 'Rent a machine without GPUs, by a plan',
  roles: ['create hosted'],
  assumptions: [
    'the fields of the body are inferred from the record: name, plan_id, region, agent_type, version and ssh_key_ids',
    'name need not be unique',
    'plan_id names a plan of the fixture (plans.json); without that file: small, medium, large and xlarge',
    'region: default: the first region of the plan',
    'agent_type has 1 to 64 characters; default: standard; the machine does not act on it',
    'version is returned as sent; default: null',
    'ssh_key_ids: ids of GET /v1/ssh_keys; no answer has them',
    'its storage is the disk of the plan; storage is free',
    'state: creating until the region has a machine, starting while the machine boots, then running',
    'it is billed from running until its machine is released, at the price of its creation',
    'if its region has no machine within 10 minutes (timings.rental_capacity_wait), it fails; fail_reason has the cause',
    'if its machine is lost, it fails or starts on another machine: a policy of the profile says which',
  ],
  refusals: {
    ...FUNDS_REFUSAL,
    404: 'unknown plan or SSH key',
    400: 'the plan does not have that region',
    429: 'the account has the most hosted instances that the profile allows, or the world holds 100,000 hosted instances and containers',
  },
  body: z.object({
    name: Name,
    plan_id: text({ min: 1, max: 64 }),
    region: text({ min: 1, max: 64 }).optional(),
    agent_type: text({ min: 1, max: 64 }).default('standard'),
    version: text({ min: 1, max: 64 }).nullable().default(null),
    ssh_key_ids: z.array(z.string()).max(MAX_SSH_KEYS).default([]),
  }),
  returns: InstanceId,
  example: { body: { name: 'evaluation', plan_id: 'small' } },
  handle: ({ body: { name, plan_id, region, agent_type, version, ssh_key_ids }, world }) => {
    requireFunds(world)
    const plan = requirePlan(world, plan_id)
    if (region !== undefined && !plan.regions.includes(region)) {
      refuse(400, `the plan ${plan_id} has no region ${region}; its regions are ${plan.regions.join(', ')}`)
    }
    for (const id of ssh_key_ids) if (!world.store.sshKeys.has(id)) refuse(404, `no SSH key ${id}`)
    requireRentalRoom(world, 'hosted')
    requireRentalCapacity(world)
    const machine = {
      ...{ planId: plan_id, region: region ?? plan.regions[0]!, centsPerHour: plan.cents_per_hour },
      ...{ agentType: agent_type, version, lastBackup: null },
    }
    const ordinal = world.rentals.create({ kind: 'hosted', name, machine, storageGb: plan.disk_gb })
    return { instance_id: world.rentals.read(ordinal).id }
  },
})

export const listHosted = neighbour({
  route: 'GET /v1/hosted',
  summary: 'List hosted instances',
  roles: ['list hosted'],
  assumptions: ['a bare array, oldest first, without deleted instances'],
  returns: z.array(HostedRecord),
  findPolledResource: () => ({ kind: 'hosted' }),
  handle: ({ world }) =>
    world.rentals.list('hosted', state => state !== 'deleted').map(ordinal => toHostedRecord(world, ordinal)),
})

export const getHosted = neighbour({
  route: 'GET /v1/hosted/{instance_id}',
  summary: 'Get one hosted instance',
  roles: ['read hosted'],
  assumptions: [
    'timestamps are integer Unix seconds: state_ts of its state, stop_ts of its stop, failure or deletion, else null',
    'start_ts is its creation, and when it runs the start of its bill; so its last run costs price_per_hour from start_ts to stop_ts',
    'price_per_hour is in USD, that of the plan at its creation',
    'public_ip is null until it runs, and again when it is stopped; the addresses are of 198.18.0.0/15, which no machine has',
    'ssh_port is 22 and ssh_user ubuntu; no machine answers there',
    'last_backup_ts is that of the fixture, else null',
    'fail_reason is null if it has no cause to give',
    'no field has its storage; GET /_sim/things/{id} of the simulator shows it',
    'a deleted instance is still returned, with its state',
  ],
  refusals: { 404: 'unknown instance' },
  returns: HostedRecord,
  example: { target: '/v1/hosted/inst_HmSomZNCU5EAVUqwFpxpN9vc' },
  findPolledResource: ({ instance_id }) => ({ kind: 'hosted', id: instance_id! }),
  handle: ({ params: { instance_id }, world }) => toHostedRecord(world, requireRental(world, 'hosted', instance_id)),
})

export const startHosted = neighbour({
  route: 'POST /v1/hosted/{instance_id}/start',
  summary: 'Start a stopped hosted instance with its storage',
  assumptions: [
    'it waits for a machine of its region; after 10 minutes without (timings.rental_capacity_wait) it is stopped again, and fail_reason has the cause',
    'a failed instance starts only if the profile allows it (policies.failed_may_start)',
  ],
  refusals: {
    404: 'unknown instance',
    400: 'the instance is not stopped',
    ...FUNDS_REFUSAL,
  },
  roles: ['start hosted'],
  returns: InstanceId,
  example: { target: '/v1/hosted/inst_djvv7xQqcTZpad3Hiy2HQWs2/start' },
  handle: ({ params: { instance_id }, world }) => {
    const ordinal = requireRental(world, 'hosted', instance_id)
    const { state } = world.rentals.read(ordinal)
    const mayStart = state === 'failed' && world.profile.policies.failedMayStart
    if (state !== 'stopped' && !mayStart) refuse(400, `hosted instance ${instance_id} is ${state}, not stopped`)
    requireFunds(world)
    world.rentals.start(ordinal)
    return { instance_id }
  },
})

export const stopHosted = neighbour({
  route: 'POST /v1/hosted/{instance_id}/stop',
  summary: 'Stop a hosted instance: its machine is released, its storage stays',
  assumptions: [
    'a running instance is stopping for 30 s (timings.rental_shutdown), and is billed for that time',
    'an instance that does not run yet is stopped at once',
  ],
  roles: ['stop hosted'],
  refusals: { 404: 'unknown instance', 400: 'the instance is stopping, stopped, failed or deleted' },
  returns: InstanceId,
  example: { target: '/v1/hosted/inst_HmSomZNCU5EAVUqwFpxpN9vc/stop' },
  handle: ({ params: { instance_id }, world }) => {
    const ordinal = requireRental(world, 'hosted', instance_id)
    const { state } = world.rentals.read(ordinal)
    if (state === 'stopping' || state === 'stopped' || state === 'failed' || state === 'deleted') {
      refuse(400, `hosted instance ${instance_id} is ${state} already`)
    }
    world.rentals.stop(ordinal)
    return { instance_id }
  },
})

export const deleteHosted = neighbour({
  route: 'DELETE /v1/hosted/{instance_id}',
  summary: 'Delete a hosted instance and its storage',
  assumptions: ['a running instance is stopping first', 'an instance that is stopping ends as deleted'],
  roles: ['delete hosted'],
  refusals: { 404: 'unknown instance', 400: 'the instance is deleted, or its deletion is in progress' },
  returns: InstanceId,
  example: { target: '/v1/hosted/inst_HmSomZNCU5EAVUqwFpxpN9vc' },
  handle: ({ params: { instance_id }, world }) => {
    deleteRental(world, 'hosted', instance_id)
    return { instance_id }
  },
})

export const renameHosted = documented({
  route: 'PATCH /v1/hosted/{instance_id}',
  summary: 'Rename a hosted instance',
  assumptions: ['name is required', 'the length of name counts code points', '200 {}'],
  refusals: { 404: 'unknown instance', 400: 'the instance is deleted' },
  body: z.object({ name: Name }),
  returns: EmptyRecord,
  example: { target: '/v1/hosted/inst_HmSomZNCU5EAVUqwFpxpN9vc', body: { name: 'workbench' } },
  handle: ({ params: { instance_id }, body, world }) => {
    renameRental(world, 'hosted', instance_id, body.name)
    return {}
  },
})

export const expandHostedStorage = documented({
  route: 'POST /v1/hosted/{instance_id}/expand_storage',
  summary: 'Expand the storage of a hosted instance',
  assumptions: [
    'the new size applies after 60 s at the median (timings.storage_expansion), in every state of the instance',
    '200 {}',
  ],
  refusals: {
    404: 'unknown instance',
    409: 'an expansion is in progress',
    400: 'not larger than the current size, or the instance is deleted',
  },
  body: z.object({ new_size_gb: integer({ min: 21, max: 512 }) }),
  returns: EmptyRecord,
  example: { target: '/v1/hosted/inst_HmSomZNCU5EAVUqwFpxpN9vc/expand_storage', body: { new_size_gb: 200 } },
  handle: ({ params: { instance_id }, body: { new_size_gb }, world }) => {
    const ordinal = requireRental(world, 'hosted', instance_id)
    const row = world.rentals.read(ordinal)
    requireUndeleted(row)
    if (row.expansionTargetGb > 0) refuse(409, `storage of ${instance_id} is being expanded already`)
    if (new_size_gb <= row.storageGb) {
      refuse(400, `new_size_gb ${new_size_gb} is not larger than the current ${row.storageGb} GB of ${instance_id}`)
    }
    world.rentals.expand(ordinal, new_size_gb)
    return {}
  },
})

/** Returns the plan. Refuses with 404 if it is unknown, and lists the known ones. */
function requirePlan({ store }: World, plan_id: string): HostedPlan {
  const known = store.plans.all().map(({ id }) => id)
  return store.plans.get(plan_id) ?? refuse(404, `no plan ${plan_id}; plans are ${known.join(', ')}`)
}
