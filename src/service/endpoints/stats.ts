import * as z from 'zod'
import { SECOND } from '../../kernel/duration.ts'
import { MICROCENTS_PER_CENT } from '../../simulation/account/money.ts'
import { deploymentStats } from '../../simulation/reporting/stats.ts'
import { endpoint } from '../endpoint.ts'
import { requireDeployment } from '../lookups.ts'
import { refuse } from '../refusals.ts'
import { parseWindow, timeParam, WINDOW_ASSUMPTIONS } from '../time-params.ts'

const MILLISECOND = SECOND / 1000

export const getDeploymentStats = endpoint({
  route: 'GET /deploy/{deploy_id}/stats',
  summary: 'Get requests, tokens, times and cost of a deployment in a period',
  provenance: 'neighbour',
  assumptions: [
    ...WINDOW_ASSUMPTIONS,
    'requests are those of the load and of clients that ended in the window: served, refused after a wait, or failed',
    'errors: the refused and the failed requests; client requests that are refused at once (402, 404, 429, 503) are not counted',
    'a client request ends when its answer is complete; the time of its end is rounded to ten seconds',
    'tokens: requests that instances took, times the mean lengths of the load',
    'a time is from the start of a request on an instance to its end, without the wait for a place',
    'total_time: seconds of all requests, summed; avg_time: their mean in ms; avg95_time: the 95th percentile in ms, within 3 %',
    'total_amount is the GPU cost of the window in whole cents, rounded down',
    'before the epoch, the figures follow from the history of the fixture',
  ],
  refusals: { 404: 'unknown deployment', 410: 'the deployment is deleted' },
  query: { from: timeParam(), to: timeParam().default('now') },
  returns: z
    .object({
      requests: z.int(),
      total_time: z.int(),
      total_tokens: z.int(),
      input_tokens: z.int(),
      output_tokens: z.int(),
      total_amount: z.int(),
      avg_time: z.number(),
      avg95_time: z.number(),
      errors: z.int(),
    })
    .meta({ id: 'DeploymentStats' }),
  example: { target: '/deploy/2cZeTxVFN7tKxCCh/stats?from=now-1d' },
  handle: ({ params: { deploy_id }, query, world }) => {
    const { ordinal, status } = requireDeployment(world, deploy_id)
    if (status === 'deleted') refuse(410, `deployment ${deploy_id} is deleted`)
    const window = parseWindow(world, query.from, query.to)
    const stats = deploymentStats(world, ordinal, window)
    return {
      requests: stats.requests,
      total_time: Math.round(stats.workTime / SECOND),
      total_tokens: stats.inputTokens + stats.outputTokens,
      input_tokens: stats.inputTokens,
      output_tokens: stats.outputTokens,
      total_amount: Math.floor(stats.microcents / MICROCENTS_PER_CENT),
      avg_time: stats.meanTime / MILLISECOND,
      avg95_time: stats.p95Time / MILLISECOND,
      errors: stats.errors,
    }
  },
})
