import * as z from 'zod'
import { deploymentStats } from '../../simulation/reporting/stats.ts'
import { endpoint, refuse } from '../endpoint.ts'
import { parseWindow, timeParam, WINDOW_ASSUMPTIONS } from '../time-params.ts'

const MICROCENTS_PER_USD = 100_000_000

const throughputFields = {
  concurrency: z.number().describe('Requests in work'),
  time_to_first_token_seconds: z.number().nullable(),
  tokens_per_second: z.number().describe('Output tokens/s of all instances'),
}

export const getDeploymentStats = endpoint({
  route: 'GET /deploy/{deploy_id}/stats',
  summary: 'What a deployment did within a period: requests, tokens, use and cost',
  provenance: 'neighbour',
  assumptions: [
    ...WINDOW_ASSUMPTIONS,
    'from is now-5h unless given, to is now; the answer names the window in Unix seconds',
    'requests are those of the load and of clients; waiting_before + arrived = served + refused + failed + left + waiting',
    'a request of a client is waiting until it is over, to ten seconds: served also when the client left in the middle of the answer, left when it did before an instance took the request on, failed when its instance was lost',
    'refused: of the load, those that found the queue full; of clients, those that waited and were turned away; one that is refused at the door (402, 404, 429, 503 at once) is not counted',
    'utilisation, and serving at the end of the window, are those of the load and of batches',
    'tokens of the requests that instances took on, by the mean lengths of the load; cost is the rent of the window in US dollars',
    'the series has 60 points at most, each a whole number of seconds, with what happened up to it',
    'a deleted deployment still answers',
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
    const deployment = world.deployments.ordinalOf(deploy_id) ?? refuse(404, `no deployment ${deploy_id}`)
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
