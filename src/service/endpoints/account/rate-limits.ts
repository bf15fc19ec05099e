import * as z from 'zod'
import { neighbour } from '../../endpoint.ts'
import { integer, text } from '../../fields.ts'
import { EmptyRecord } from '../../records.ts'
import { refuse } from '../../refusals.ts'

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
    tpm_rate_limit: integer().nullable().optional(),
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
