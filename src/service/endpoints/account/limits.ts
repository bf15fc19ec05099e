import * as z from 'zod'
import { GPU_TYPES, type GpuType } from '../../../data/records/gpu-config.ts'
import { documented, neighbour } from '../../endpoint.ts'
import { integer, text } from '../../fields.ts'
import { EmptyRecord } from '../../records.ts'
import { refuse } from '../../refusals.ts'

export const requestGpuLimit = documented({
  route: 'POST /v1/me/gpu_limit/request',
  summary: 'Request a higher GPU limit for a GPU type',
  assumptions: [
    '200 {}; the decision follows later',
    'all three fields are required',
    'reason has up to 2,048 characters',
  ],
  refusals: {
    404: 'unknown gpu_type',
    400: 'requested_limit is not above the current limit',
    403: 'a request for this type is pending',
  },
  body: z.object({ gpu_type: text(), requested_limit: integer(), reason: text({ max: 2048 }) }),
  returns: EmptyRecord,
  example: { body: { gpu_type: 'H100-80GB', requested_limit: 8, reason: 'more traffic' } },
  handle: ({ body: { gpu_type, requested_limit, reason }, world }) => {
    if (!isLimitedGpuType(gpu_type))
      refuse(404, `no GPU type '${gpu_type}': gpu_type is one of ${LIMITED_GPU_TYPES.join(', ')}`)
    const limit = world.gpuQuotas.get(gpu_type)
    if (limit === null) refuse(400, `the account has no limit for ${gpu_type}: nothing to raise`)
    if (requested_limit <= limit) {
      refuse(400, `requested_limit ${requested_limit} is not above the present limit of ${limit} for ${gpu_type}`)
    }
    if (world.gpuQuotas.hasPendingRequest(gpu_type)) refuse(403, `a request for more ${gpu_type} is pending already`)
    world.gpuQuotas.fileRequest(gpu_type, requested_limit, reason)
    return {}
  },
})

const CountByGpuType = z.record(z.string(), z.int())

export const getGpuLimits = neighbour({
  route: 'GET /v1/me/gpu_limit',
  summary: 'List the GPU limits of the account, and its pending requests for higher ones',
  assumptions: ['a GPU type without a limit is missing', 'pending_requests is null if no request is pending'],
  returns: z.object({ limits: CountByGpuType, pending_requests: CountByGpuType.nullable() }),
  findPolledResource: () => ({ kind: 'limits' }),
  handle: ({ world }) => {
    const limits: Record<string, number> = {}
    const pending: Record<string, number> = {}
    for (const gpu of GPU_TYPES.filter(isLimitedGpuType)) {
      const limit = world.gpuQuotas.get(gpu)
      const requested = world.gpuQuotas.pendingQuota(gpu)
      if (limit !== null) limits[gpu] = limit
      if (requested !== undefined) pending[gpu] = requested
    }
    return { limits, pending_requests: Object.keys(pending).length > 0 ? pending : null }
  },
})

type LimitedGpuType = Exclude<GpuType, 'other'>
const LIMITED_GPU_TYPES: readonly string[] = GPU_TYPES.filter(type => type !== 'other')

function isLimitedGpuType(type: string): type is LimitedGpuType {
  return LIMITED_GPU_TYPES.includes(type)
}

export const getRateLimits = neighbour({
  route: 'GET /v1/me/rate_limit',
  summary: 'Get the rate limits of the account',
  assumptions: [
    'rate_limit: requests in flight per model and API token; a further request is 429',
    'tpm_rate_limit: tokens of prompts and answers of requests accepted within a minute, per model and API token',
    '-1 means no limit, the default of tpm_rate_limit',
    'a pending request for higher limits is not shown',
  ],
  returns: z.object({ rate_limit: z.int(), tpm_rate_limit: z.int() }),
  findPolledResource: () => ({ kind: 'limits' }),
  handle: ({ world }) => {
    const { requests, tokensPerMinute } = world.access.rateLimits.values
    return { rate_limit: requests, tpm_rate_limit: tokensPerMinute }
  },
})

export const requestRateLimits = neighbour({
  route: 'POST /v1/me/rate_limit/request',
  summary: 'Request higher rate limits',
  assumptions: [
    '200 {}; the decision follows later, by the review and the policy for GPU limits of the profile',
    'tpm_rate_limit missing or null: that limit stays; it is decided together with rate_limit',
    'reason has up to 2,048 characters',
    'an approved request never lowers a limit',
  ],
  refusals: {
    400: 'neither value is above the current limit',
    403: 'a request is pending',
  },
  body: z.object({
    rate_limit: integer(),
    tpm_rate_limit: integer().nullish(),
    reason: text({ max: 2048 }),
  }),
  returns: EmptyRecord,
  example: { body: { rate_limit: 400, reason: 'more traffic' } },
  handle: ({ body: { rate_limit, tpm_rate_limit, reason }, world }) => {
    const { rateLimits } = world.access
    const requested = { requests: rate_limit, tokensPerMinute: tpm_rate_limit ?? -1 }
    if (rateLimits.isPending) refuse(403, 'a request for higher rate limits is pending already')
    if (!rateLimits.wouldRaise(requested)) {
      const { requests, tokensPerMinute } = rateLimits.values
      refuse(400, `neither value is above the present limits: ${requests} requests, ${tokensPerMinute} tokens a minute`)
    }
    rateLimits.fileRequest(requested, reason)
    return {}
  },
})
