import * as z from 'zod'
import { LIMITS } from '../../../lib/limits.ts'
import { neighbour } from '../../endpoint.ts'
import { text } from '../../fields.ts'

export const getRequestCosts = neighbour({
  route: 'POST /v1/request-costs',
  summary: 'Get the costs of requests to models by their ids',
  assumptions: [
    'requestIds are the ids of answers, as chatcmpl-…, and request_id of native inference; in the order of the request, each once',
    'answers of embeddings, images, speech and transcriptions have no id: native inference gives one, with the cost',
    'a request is known when it has ended; the newest 16,384 requests are kept, others are left out',
    'costNanoUsd is rounded down; 0 for a deployment of the account, which is billed by time',
    'invoices are rounded down for each model, not for each request, so sums can differ by less than a nano-dollar each',
  ],
  body: z.object({ requestIds: z.array(text({ max: 256 })).max(LIMITS.requestIds) }),
  returns: z.object({ requests: z.array(z.object({ requestId: z.string(), costNanoUsd: z.int() })) }),
  example: { body: { requestIds: ['chatcmpl-000000000000000000000000'] } },
  handle: ({ body: { requestIds }, world }) => {
    const costs = world.access.requestCosts.find(requestIds)
    const known = [...new Set(requestIds)].filter(id => costs.has(id))
    return { requests: known.map(requestId => ({ requestId, costNanoUsd: costs.get(requestId)! })) }
  },
})
