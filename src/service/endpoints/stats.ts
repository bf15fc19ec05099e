import * as z from 'zod'
import { deploymentStats } from '../../simulation/reporting/stats.ts'
import { endpoint } from '../endpoint.ts'
import { MICROCENTS_PER_USD, requireDeploymentOrdinal } from '../lookups.ts'
import { parseWindow, timeParam, WINDOW_ASSUMPTIONS } from '../time-params.ts'

const throughputFields = {
  concurrency: z.number().describe('Requests in progress'),
  time_to_first_token_seconds: z.number().nullable(),
  tokens_per_second: z.number().describe('Output tokens/s of all instances'),
}

export const getDeploymentStats = endpoint({
  route: 'GET /deploy/{deploy_id}/stats',
  summary: 'Get requests, tokens, utilisation and cost of a deployment in a period',
  provenance: 'neighbour',
  assumptions: [
    ...WINDOW_ASSUMPTIONS,
    'from: default now-5h; to: default now; the answer has both in Unix seconds',
    'requests are those of the load and of clients',
    'waiting_before + arrived = served + refused + failed + left + waiting',
    'a client request counts as waiting until it ends; the time of its end is rounded to ten seconds',
    'served: also if the client left during the answer; left: the client left before an instance took the request; failed: the instance was lost',
    'refused: load requests that found the queue full, and client requests that waited in vain',
    'client requests that are refused at once (402, 404, 429, 503) are not counted',
    'utilisation, and serving at the end of the window, count the load and batches',
    'tokens: requests that instances took, times the mean lengths of the load',
    'cost_usd is the GPU cost of the window in US dollars',
    'series has up to 60 points at whole seconds since the epoch; each covers the time since the previous point',
    'before the epoch, the figures follow from the history of the fixture',
    'a deleted deployment still has its numbers',
  ],
  refusals: { 404: 'unknown deployment' },
  query: { from: timeParam().default('now-5h'), to: timeParam().default('now') },
  returns: z
    .object({
      deploy_id: z.string(),
      from: z.int(),
      to: z.int(),
      requests: z.object({
        waiting_before: z.int(),
        arrived: z.int(),
        served: z.int(),
        refused: z.int(),
        failed: z.int(),
        left: z.int(),
        waiting: z.int(),
      }),
      tokens: z.object({ input: z.int(), output: z.int() }),
      instance_seconds: z.number(),
      utilisation: z.number().nullable(),
      serving: z.object(throughputFields).nullable(),
      cost_usd: z.number(),
      series: z.array(
        z.object({
          time: z.iso.datetime({ offset: true }),
          ready: z.int(),
          pending: z.int(),
          arrival_rate: z.number().describe('Requests/s'),
          served: z.int(),
          refused: z.int(),
          failed: z.int(),
          left: z.int(),
          backlog: z.int(),
          utilisation: z.number().nullable(),
          ...throughputFields,
        }),
      ),
    })
    .meta({ id: 'DeploymentStats' }),
  example: { target: '/deploy/2cZeTxVFN7tKxCCh/stats?from=now-1d' },
  handle: ({ params: { deploy_id }, query, world }) => {
    const deployment = requireDeploymentOrdinal(world, deploy_id)
    const window = parseWindow(world, query.from, query.to)
    const { cost_microcents, series, ...stats } = deploymentStats(world, deployment, window)
    return {
      deploy_id,
      from: world.clock.unix(window.from),
      to: world.clock.unix(window.to),
      ...stats,
      cost_usd: cost_microcents / MICROCENTS_PER_USD,
      series: [...series],
    }
  },
})
