import * as z from 'zod'
import { SECOND } from '../../kernel/duration.ts'
import { MICROCENTS_PER_CENT } from '../../simulation/account/money.ts'
import type { Deployment } from '../../simulation/deployments/deployment.ts'
import { type DeploymentStats, deploymentStats, requestsByDeployment } from '../../simulation/reporting/stats.ts'
import type { World } from '../../simulation/world.ts'
import { neighbour } from '../endpoint.ts'
import { recordSchema } from '../fields.ts'
import { parseWindow, timeParam, WINDOW_ASSUMPTIONS } from '../list-params.ts'
import { requireDeployment } from '../lookups.ts'
import { refuse } from '../refusals.ts'

const MILLISECOND = SECOND / 1000

export const getDeploymentStats = neighbour({
  route: 'GET /deploy/{deploy_id}/stats',
  summary: 'Get requests, tokens, times and cost of a deployment in a period',
  assumptions: [
    ...WINDOW_ASSUMPTIONS,
    'requests are those of the load and of clients that ended in the window: served, refused after a wait, or failed',
    'errors: the refused and the failed requests; client requests that are refused at once (402, 404, 429, 503) are not counted',
    'a reference to the catalog counts the requests with its deploy_id; its GPU cost is 0',
    'a client request ends when its answer is complete; the time of its end is rounded to ten seconds',
    'tokens: requests that instances took, times the mean lengths of the load',
    'a time is from the start of a request on an instance to its end, without the wait for a place',
    'total_time: seconds of all requests, summed; avg_time: their mean in ms; avg95_time: the 95th percentile in ms, within 3 %',
    'total_amount is the GPU cost of the window in whole cents, rounded down',
    'before the epoch, the figures follow from the history of the fixture',
  ],
  refusals: { 404: 'unknown deployment', 410: 'the deployment is deleted' },
  query: { from: timeParam(), to: timeParam().default('now') },
  returns: recordSchema('DeploymentStats', {
    requests: z.int(),
    total_time: z.int(),
    total_tokens: z.int(),
    input_tokens: z.int(),
    output_tokens: z.int(),
    total_amount: z.int(),
    avg_time: z.number(),
    avg95_time: z.number(),
    errors: z.int(),
  }),
  example: { target: '/deploy/2cZeTxVFN7tKxCCh/stats?from=now-1d' },
  handle: ({ params: { deploy_id }, query, world }) => {
    const stats = statsOf(world, requireLiveDeployment(world, deploy_id), query)
    return {
      requests: stats.requests,
      total_time: Math.round(stats.workTime / SECOND),
      total_tokens: stats.inputTokens + stats.outputTokens,
      input_tokens: stats.inputTokens,
      output_tokens: stats.outputTokens,
      total_amount: toCents(stats),
      avg_time: stats.meanTime / MILLISECOND,
      avg95_time: stats.p95Time / MILLISECOND,
      errors: stats.errors,
    }
  },
})

export const getDetailedDeploymentStats = neighbour({
  route: 'GET /deploy/{deploy_id}/stats2',
  summary: 'Get the statistics of a deployment by the kind of its task, with times to the first token',
  assumptions: [
    ...WINDOW_ASSUMPTIONS,
    'llm for text-generation, embeddings for embeddings, time for any other task; the other two are null',
    'requests, tokens, cost and errors are those of GET /deploy/{deploy_id}/stats',
    'ttft: from the start of a request on an instance to its first token; tpt: between two tokens; both within 3 %',
    'tpt of embeddings: the time of the requests by input token',
  ],
  refusals: { 404: 'unknown deployment', 410: 'the deployment is deleted' },
  acceptsKeyHeader: true,
  query: { from: timeParam(), to: timeParam().default('now') },
  returns: recordSchema('DetailedDeploymentStats', {
    llm: z
      .object({
        requests: z.int(),
        input_tokens: z.int(),
        output_tokens: z.int(),
        avg_ttft_ms: z.number(),
        avg95_ttft_ms: z.number(),
        avg_tpt_ms: z.number(),
        avg95_tpt_ms: z.number(),
        total_amount_cents: z.int(),
        errors: z.int(),
      })
      .nullable(),
    embeddings: z
      .object({
        requests: z.int(),
        input_tokens: z.int(),
        avg_tpt_ms: z.number(),
        avg95_tpt_ms: z.number(),
        total_amount_cents: z.int(),
        errors: z.int(),
      })
      .nullable(),
    time: z
      .object({
        requests: z.int(),
        total_time_s: z.int(),
        total_amount_cents: z.int(),
        avg_time_ms: z.number(),
        avg95_time_ms: z.number(),
        errors: z.int(),
      })
      .nullable(),
  }),
  example: { target: '/deploy/2cZeTxVFN7tKxCCh/stats2?from=now-1d' },
  handle: ({ params: { deploy_id }, query, world }) => {
    const deployment = requireLiveDeployment(world, deploy_id)
    const stats = statsOf(world, deployment, query)
    const counts = { requests: stats.requests, total_amount_cents: toCents(stats), errors: stats.errors }
    const none = { llm: null, embeddings: null, time: null }
    if (deployment.row.plan.task === 'text-generation') {
      const { firstTokenTime, tokenTime, inputTokens: input_tokens, outputTokens: output_tokens } = stats
      return {
        ...none,
        llm: {
          ...{ ...counts, input_tokens, output_tokens },
          avg_ttft_ms: firstTokenTime.mean / MILLISECOND,
          avg95_ttft_ms: firstTokenTime.p95 / MILLISECOND,
          avg_tpt_ms: tokenTime.mean / MILLISECOND,
          avg95_tpt_ms: tokenTime.p95 / MILLISECOND,
        },
      }
    }
    if (deployment.row.plan.task === 'embeddings') {
      const { inputTokens: input_tokens, workTime, p95Time, requests } = stats
      return {
        ...none,
        embeddings: {
          ...{ ...counts, input_tokens },
          avg_tpt_ms: input_tokens === 0 ? 0 : workTime / input_tokens / MILLISECOND,
          avg95_tpt_ms: input_tokens === 0 ? 0 : (p95Time * requests) / input_tokens / MILLISECOND,
        },
      }
    }
    return {
      ...none,
      time: {
        ...counts,
        total_time_s: Math.round(stats.workTime / SECOND),
        avg_time_ms: stats.meanTime / MILLISECOND,
        avg95_time_ms: stats.p95Time / MILLISECOND,
      },
    }
  },
})

export const getAccountStats = neighbour({
  route: 'GET /deploy/stats',
  summary: 'Get the number of requests to each model of the account in a period',
  assumptions: [
    ...WINDOW_ASSUMPTIONS,
    'a bare array, sorted by model_name, with the models of all deployments that are not deleted',
    'requests: the sum of those in GET /deploy/{deploy_id}/stats, and of deleted deployments with the name',
    'a deleted deployment without requests in the period is left out',
    'an adapter counts its requests, and its base counts them too',
  ],
  acceptsKeyHeader: true,
  query: { from: timeParam(), to: timeParam().default('now') },
  returns: z.array(recordSchema('ModelStats', { model_name: z.string(), requests: z.int() })),
  example: { target: '/deploy/stats?from=now-1d' },
  handle: ({ query, world }) => {
    const sums = new Map<string, number>()
    for (const [ordinal, requests] of requestsByDeployment(world, parseWindow(world, query.from, query.to))) {
      const { plan, status } = world.deployments.read(ordinal)
      if (status === 'deleted' && requests === 0) continue
      sums.set(plan.modelName, (sums.get(plan.modelName) ?? 0) + requests)
    }
    return Array.from(sums, ([model_name, requests]) => ({ model_name, requests })).sort((a, b) =>
      a.model_name < b.model_name ? -1 : 1,
    )
  },
})

/** Returns the deployment. Refuses with 404 if it is unknown, and with 410 if it is deleted. */
function requireLiveDeployment(world: World, deploy_id: string): Deployment {
  const deployment = requireDeployment(world, deploy_id)
  if (deployment.status === 'deleted') refuse(410, `deployment ${deploy_id} is deleted`)
  return deployment
}

function statsOf(world: World, { ordinal }: Deployment, query: { from: string; to: string }): DeploymentStats {
  return deploymentStats(world, ordinal, parseWindow(world, query.from, query.to))
}

/** Returns whole cents, rounded down. */
function toCents({ microcents }: DeploymentStats): number {
  return Math.floor(microcents / MICROCENTS_PER_CENT)
}
