/** Needs `npm install --save-dev testcontainers vitest`, an engine for containers, and the files of Dockerfile. */
import { GenericContainer, type StartedTestContainer, Wait } from 'testcontainers'
import { afterAll, beforeAll, expect, test } from 'vitest'

const CONTROL_TOKEN = 'of-this-test'
let simulator: StartedTestContainer
let url: string
beforeAll(async () => {
  const image = await GenericContainer.fromDockerfile(import.meta.dirname).build()
  simulator = await image
    .withExposedPorts(4010)
    .withEnvironment({ MODELHOST_SIM_CONTROL_TOKEN: CONTROL_TOKEN })
    .withCommand(['--clock', 'manual', '--fixtures', 'empty'])
    .withWaitStrategy(Wait.forHttp('/_sim/health', 4010))
    .start()
  url = `http://${simulator.getHost()}:${simulator.getMappedPort(4010)}`
}, 300_000)
afterAll(() => simulator.stop())

test('a deployment runs after ten minutes of the simulator', async () => {
  const headers = { authorization: 'Bearer sim_empty_token', 'content-type': 'application/json' }
  const body = JSON.stringify({ model_name: 'acme/chat', gpu: 'H100-80GB', hub: { repo: 'acme/chat-8b' } })
  expect((await fetch(`${url}/deploy/llm`, { method: 'POST', headers, body })).status).toBe(200)
  const control = { 'x-sim-control-token': CONTROL_TOKEN, 'content-type': 'application/json' }
  await fetch(`${url}/_sim/clock/advance`, { method: 'POST', headers: control, body: '{"by":"10m"}' })
  const list = await (await fetch(`${url}/deploy/list`, { headers })).json()
  expect(list).toMatchObject([{ model_name: 'acme/chat', status: 'running' }])
})
