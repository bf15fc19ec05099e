import * as z from 'zod'
import { type LogMessage, logMessages } from '../../simulation/reporting/log-messages.ts'
import type { World } from '../../simulation/world.ts'
import { endpoint, refuse } from '../endpoint.ts'
import { queryInteger } from '../fields.ts'
import { MESSAGE_TEXT } from '../records.ts'
import { parseWindow, timeParam, WINDOW_ASSUMPTIONS } from '../time-params.ts'

const LOG_QUERY = {
  deploy_id: z.string(),
  from: timeParam().optional(),
  to: timeParam().default('now'),
  limit: queryInteger({ min: 1, max: 10_000 }).default(100),
}
const LogLines = z.array(z.tuple([z.iso.datetime({ offset: true }), z.string().meta(MESSAGE_TEXT)]))
const LOG_ASSUMPTIONS = [
  ...WINDOW_ASSUMPTIONS,
  'the newest limit lines of the window, from 1 to 10,000, 100 unless given, oldest first; from is the first line kept unless given',
  'a line is a level and what the simulation did; its time is ISO 8601',
  'the newest 65,536 lines of all deployments together are kept; counts of requests, every 5 minutes, are never lost',
]

export const queryDeploymentLogs = endpoint({
  route: 'GET /v1/deployment_logs/query',
  summary: 'The logs of a deployment, pod by pod',
  provenance: 'neighbour',
  assumptions: [
    ...LOG_ASSUMPTIONS,
    'a pod is an instance, <deploy_id>-<number>, or <deploy_id>-controller, which scales it and counts its requests',
  ],
  refusals: { 404: 'unknown deployment' },
  query: LOG_QUERY,
  returns: z.object({ entries: z.record(z.string(), LogLines).describe('Time and line, by pod') }),
  example: { target: '/v1/deployment_logs/query?deploy_id=2cZeTxVFN7tKxCCh&from=now-5h' },
  handle: ({ query, world }) => {
    const entries: Record<string, [string, string][]> = Object.create(null)
    for (const line of readLogLines(world, query)) {
      entries[line.pod] ??= []
      entries[line.pod]!.push([world.clock.iso(line.at), line.text])
    }
    return { entries }
  },
})

export const queryLogs = endpoint({
  route: 'GET /v1/logs/query',
  summary: 'The logs of a deployment, all pods in one',
  provenance: 'neighbour',
  assumptions: LOG_ASSUMPTIONS,
  refusals: { 404: 'unknown deployment' },
  query: LOG_QUERY,
  returns: z.object({ entries: LogLines }),
  example: { target: '/v1/logs/query?deploy_id=2cZeTxVFN7tKxCCh' },
  handle: ({ query, world }) => ({
    entries: readLogLines(world, query).map((line): [string, string] => [world.clock.iso(line.at), line.text]),
  }),
})

interface LogQuery {
  readonly deploy_id: string
  readonly from?: string | undefined
  readonly to: string
  readonly limit: number
}

function readLogLines(world: World, { deploy_id, from, to, limit }: LogQuery): LogMessage[] {
  const deployment = world.deployments.ordinalOf(deploy_id) ?? refuse(404, `no deployment ${deploy_id}`)
  return logMessages(world, deployment, { ...parseWindow(world, from ?? '0', to), limit })
}
