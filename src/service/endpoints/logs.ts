import * as z from 'zod'
import { DAY } from '../../kernel/duration.ts'
import { type LogMessage, logMessages } from '../../simulation/reporting/log-messages.ts'
import type { World } from '../../simulation/world.ts'
import { neighbour } from '../endpoint.ts'
import { queryInteger } from '../fields.ts'
import { parseWindow, timeParam, WINDOW_ASSUMPTIONS } from '../list-params.ts'
import { requireDeployment } from '../lookups.ts'

/** The longest window of a log query: a month. */
const LONGEST_WINDOW = 31 * DAY

const LOG_QUERY = {
  deploy_id: z.string(),
  pod_name: z.string().optional(),
  from: timeParam().optional(),
  to: timeParam().default('now'),
  limit: queryInteger({ min: 1, max: 10_000 }).default(100),
}
const LogLines = z.array(z.tuple([z.string(), z.string()]))
const LOG_ASSUMPTIONS = [
  ...WINDOW_ASSUMPTIONS,
  'the newest limit lines of the window, oldest first; limit: 1 to 10,000, default 100',
  'from: default 31 days before to; to: default now; both are at most 31 days apart',
  'pod_name: only the lines of this pod; an unknown pod has none',
  'a line has a level and a message; its time is a text of Unix seconds with six decimals',
  'the newest 65,536 lines of all deployments together are kept; the request counts, every 5 minutes, are all kept',
]

const LOG_REFUSALS = { 400: 'from and to are more than 31 days apart', 404: 'unknown deployment' } as const

export const queryDeploymentLogs = neighbour({
  route: 'GET /v1/deployment_logs/query',
  summary: 'Get the logs of a deployment by pod',
  assumptions: [
    ...LOG_ASSUMPTIONS,
    'a pod is an instance (<deploy_id>-<number>) or the controller (<deploy_id>-controller), which scales the deployment and counts its requests',
  ],
  refusals: LOG_REFUSALS,
  query: LOG_QUERY,
  returns: z.object({ entries: z.record(z.string(), LogLines).describe('Pairs of time and line, by pod') }),
  example: { target: '/v1/deployment_logs/query?deploy_id=2cZeTxVFN7tKxCCh&from=now-5h' },
  handle: ({ query, world }) => {
    const entries: Record<string, [string, string][]> = Object.create(null)
    for (const line of readLogLines(world, query)) {
      entries[line.pod] ??= []
      entries[line.pod]!.push([world.clock.unixText(line.at), line.text])
    }
    return { entries }
  },
})

export const queryLogs = neighbour({
  route: 'GET /v1/logs/query',
  summary: 'Get the logs of a deployment, all pods in one list',
  assumptions: LOG_ASSUMPTIONS,
  refusals: LOG_REFUSALS,
  query: LOG_QUERY,
  returns: z.object({ entries: LogLines }),
  example: { target: '/v1/logs/query?deploy_id=2cZeTxVFN7tKxCCh' },
  handle: ({ query, world }) => ({
    entries: readLogLines(world, query).map((line): [string, string] => [world.clock.unixText(line.at), line.text]),
  }),
})

type LogQuery = z.output<z.ZodObject<typeof LOG_QUERY>>

function readLogLines(world: World, { deploy_id, pod_name, from, to, limit }: LogQuery): LogMessage[] {
  const deployment = requireDeployment(world, deploy_id).ordinal
  return logMessages(world, deployment, { ...parseWindow(world, from, to, LONGEST_WINDOW), limit, pod: pod_name })
}
