/** Checks of every request for GPUs, in the order of their refusals. */

import type { GpuType } from '../data/records/gpu-config.ts'
import { LIMITS } from '../lib/limits.ts'
import { countsAgainstQuota, type RentalKind } from '../simulation/rentals/rental-row.ts'
import type { World } from '../simulation/world.ts'
import { refuse, refuseOverLimit } from './refusals.ts'

/** 402: nothing new starts on an account that has no funds or is suspended. */
export function requireFunds({ ledger }: World): void {
  const { suspensionReason: suspended } = ledger
  if (suspended === undefined) return
  if (suspended === 'balance') refuse(402, 'no funds: add some with POST /payment/funds')
  const isLimit = suspended === 'limit-reached' && !ledger.suspension.isImposed
  const remedy = isLimit ? 'raise the spending limit with POST /payment/config' : 'funds do not end that'
  refuse(402, `the account is suspended (${suspended}): ${remedy}`)
}

/** 400: a node of the fleet must be able to have the GPUs. The profile can let the request wait instead. */
export function requireFleetGpus(world: World, gpu: GpuType, requestedGpus: number): void {
  if (gpu === 'other' || isOffered(world, gpu, requestedGpus)) return
  const maxGpus = world.nodes.maxGpusPerNode(gpu)
  refuse(
    400,
    maxGpus === 0
      ? `${gpu} is not offered: no node has GPUs of that type; GET /deploy/llm/gpu_availability lists those that are`
      : `${requestedGpus}x${gpu} is not offered: a node has at most ${maxGpus} GPUs of that type`,
  )
}

/** Returns whether a node of the fleet can have these GPUs. The profile can let a request for missing GPUs wait instead. */
export function isOffered({ nodes, profile }: World, gpu: GpuType, requestedGpus: number): boolean {
  if (gpu === 'other') return false
  return profile.policies.unknownGpuTypes === 'wait' || nodes.maxGpusPerNode(gpu) >= requestedGpus
}

/** 403: what is asked for must fit beside what the account holds or has asked for. */
export function requireGpuQuota(world: World, gpu: GpuType, requestedGpus: number): void {
  if (requestedGpus === 0 || gpu === 'other') return
  const limit = world.gpuQuotas.get(gpu)
  if (limit === null) return
  const held = world.gpuQuotas.held(gpu)
  if (held + requestedGpus > limit) {
    refuseOverLimit(
      403,
      `over the GPU limit: this asks for ${requestedGpus} ${gpu}, ${held} ${held === 1 ? 'is' : 'are'} held or asked for, and the ` +
        `limit is ${limit}; ` +
        'ask for more with POST /v1/me/gpu_limit/request',
    )
  }
}

/** 429: an account has so many active containers, or so many hosted instances that are not deleted. */
export function requireRentalRoom({ rentals, profile }: World, kind: RentalKind): void {
  const isHosted = kind === 'hosted'
  const { length: count } = rentals.list(kind, isHosted ? state => state !== 'deleted' : countsAgainstQuota)
  if (count < profile.limits[isHosted ? 'hostedAtOnce' : 'containersAtOnce']) return
  const what = isHosted ? 'hosted instances' : 'containers'
  refuse(429, `too many ${what}: ${count} exist, which is the limit; delete one first`, { 'retry-after': '60' })
}

/** 429: a world holds so many rentals, the deleted included. */
export function requireRentalCapacity({ rentals }: World): void {
  if (rentals.count < LIMITS.rentals) return
  refuse(429, `this world holds ${LIMITS.rentals} hosted instances and containers, which is its limit`, {
    'retry-after': '3600',
  })
}
