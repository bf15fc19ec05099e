/** Uses each entry of the package but that of vitest, whose own types need those of Node. */
import { createSimulator, endpoint, type FaultRule, recordTable } from 'modelhost-sim'
import { createControlClient } from 'modelhost-sim/client'
import configSchema from 'modelhost-sim/config.schema.json' with { type: 'json' }
import { explore, flow, integers } from 'modelhost-sim/explore'
import knownSchema from 'modelhost-sim/explore.known.schema.json' with { type: 'json' }
import nodesSchema from 'modelhost-sim/fixture/nodes.schema.json' with { type: 'json' }
import { matchers } from 'modelhost-sim/matchers'
import { handlers } from 'modelhost-sim/msw'
import manifest from 'modelhost-sim/package.json' with { type: 'json' }
import { scenario } from 'modelhost-sim/scenario'
import scenarioSchema from 'modelhost-sim/scenario.schema.json' with { type: 'json' }
import { setupWorker } from 'msw/browser'
import * as z from 'zod'

// The package has the types of another copy of zod, and two copies are slow to compare.
const Job = z.object({ id: z.string(), state: z.enum(['queued', 'done']), tags: z.array(z.string()) })
const jobs = recordTable({ kind: 'job', record: Job, key: 'id', status: 'state', ended: ['done'] })
const createJob = endpoint({
  route: 'POST /jobs/{queue}',
  summary: 'Queue a job',
  query: { urgent: z.coerce.boolean().optional() },
  body: z.object({ tags: z.array(z.string()) }),
  returns: Job,
  handle: ({ params, query, body: { tags }, world }) => {
    const id: string = params.queue
    const state: 'queued' | 'done' = query.urgent ? 'done' : 'queued'
    return world.records(jobs).put({ id, state, tags }, { after: '1m', set: { state: 'done' } })
  },
})

const rule: FaultRule = { on: 'listDeployments', nth: 3, fault: { kind: 'status', status: 503 } }
await using sim = createSimulator({ endpoints: { createJob }, fixtures: 'empty', seed: 1, faults: [rule] })
using recording = sim.record()
setupWorker(...handlers(sim, { baseUrl: 'https://api.example.test' }))
const now: string = (await createControlClient(sim).getClock()).now
const counts = flow('counts', { inputs: { most: integers(1, 9) } }, async ({ inputs, fetch, url }) => {
  for (let count: number = inputs.most; count > 0; count--) await fetch(url)
})
export const report = await explore(counts)
export const isQuiet: boolean = matchers.toBeQuiet(sim).pass
export const schemas = [
  knownSchema.$schema,
  configSchema.$schema,
  nodesSchema.$schema,
  scenarioSchema.$schema,
  manifest.version,
  now,
]
export const text: string = recording.text
export default scenario('no GPU comes', { fixtures: 'empty' }, async ({ api, clock, cluster, check }) => {
  cluster.stockOut('H100-80GB')
  const model = { model_name: 'acme/chat', gpu: 'H100-80GB', hub: { repo: 'acme/chat-8b' } } as const
  const { deploy_id } = await api.createLlmDeployment(model)
  await clock.advance('24h')
  check(await api.getDeployment({ deploy_id }), { status: 'initializing', instances: { pending: 1 } })
})
