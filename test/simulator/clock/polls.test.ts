import { expect, test } from 'vitest'
import { z } from 'zod'
import { operations } from '../../../src/service/index.ts'
import { createSimulator, type Simulator } from '../../../src/simulator/simulator.ts'
import { batchLine, startBatch } from '../../setup/batches.ts'
import { askTo } from '../../setup/send-to.ts'

/** A status of something on its way, or a field about it, in the schema of an answer. */
const UNFINISHED = /"(?:initializing|downloading|deploying|validating|in_progress|creating|starting|pending\w*)"/

/** The operations whose answer can show something unfinished. */
const SHOWING = Object.entries(operations)
  .filter(([, { route, returns }]) => {
    if (!route.startsWith('GET ') || !(returns instanceof z.ZodType)) return false
    return UNFINISHED.test(JSON.stringify(z.toJSONSchema(returns, { unrepresentable: 'any' })))
  })
  .map(([name]) => name)

const CHAT = { model_name: 'acme/chat', weights: { repo: 'acme/chat-8b' } }
const IMAGE = { container_image: 'registry.example/dev:1', cloud_init_user_data: '#cloud-config' }
const SOURCE = { type: 'modelhub', modelhub_url: 'https://modelhub.example/acme/tone-8b' }

const createFrom = (request: string, body: object, id: string) => async (sim: Simulator) =>
  String((await askTo(sim, request, body)).body[id])
const adapter = createFrom(
  'POST /v1/lora/create',
  { base_model: 'chat', lora_name: 'tone', source: SOURCE, private: true },
  'deploy_id',
)
const deployment = createFrom(
  'POST /deploy/llm',
  { model_name: 'other', gpu: 'H100-80GB', hub: { repo: 'acme/chat-8b' } },
  'deploy_id',
)
const hosted = createFrom('POST /v1/hosted', { name: 'bench', plan_id: 'small' }, 'instance_id')
const container = createFrom(
  'POST /v1/containers',
  { name: 'trial', gpu_config: '1xH100-80GB', ...IMAGE },
  'container_id',
)
const batch = async (sim: Simulator) => {
  const messages = [{ role: 'user', content: 'Why?' }]
  return (await startBatch(sim, [batchLine('one', { model: 'acme/chat', messages })])).id
}
const limit = async (sim: Simulator) => {
  await askTo(sim, 'POST /v1/me/gpu_limit/request', { gpu_type: 'H100-80GB', requested_limit: 40, reason: 'more' })
  return ''
}

/** The path of each of these operations, and what begins something that it shows. */
const POLLS: Readonly<Record<string, readonly [path: string, begin: (sim: Simulator) => Promise<string>]>> = {
  getBatch: ['/v1/batches/{id}', batch],
  getContainer: ['/v1/containers/{id}', container],
  getDeployment: ['/deploy/{id}', deployment],
  getGpuLimits: ['/v1/me/gpu_limit', limit],
  getHosted: ['/v1/hosted/{id}', hosted],
  getLora: ['/v1/lora/tone', adapter],
  getLoraStatus: ['/v1/lora/tone/status', adapter],
  listBatches: ['/v1/batches', batch],
  listContainers: ['/v1/containers', container],
  listDeployments: ['/deploy/list', deployment],
  listHosted: ['/v1/hosted', hosted],
  listLoras: ['/v1/user/loras', adapter],
  listLorasOfModel: ['/v1/model/chat/loras', adapter],
}

test('each GET that can show something unfinished is polled below', () => {
  expect(SHOWING.toSorted()).toEqual(Object.keys(POLLS))
})

test.each(Object.entries(POLLS))('a client that polls %s sees a change', async (_, [path, begin]) => {
  const sim = createSimulator({ fixtures: 'two-nodes', with: { deployments: [CHAT] }, clock: 'on-poll' })
  const target = `GET ${path.replace('{id}', await begin(sim))}`
  const seen = new Set<string>()
  for (let poll = 0; poll < 9; poll++) {
    const { status, body } = await askTo(sim, target)
    seen.add(`${status} ${JSON.stringify(body)}`)
  }
  expect([...seen].filter(answer => !answer.startsWith('200'))).toEqual([])
  expect(seen.size).toBeGreaterThan(1)
  expect(sim.clock.elapsed).toBeGreaterThan(0)
})
