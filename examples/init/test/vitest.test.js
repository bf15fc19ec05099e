// A first test: a client deploys a model, and time moves until it runs. Put the calls of your client in place of these.
import { expect, test } from 'modelhost-sim/vitest'

test('a deployment runs after its start', async ({ sim }) => {
  const headers = { authorization: `Bearer ${sim.token}`, 'content-type': 'application/json' }
  const body = JSON.stringify({ model_name: 'first', gpu: 'H100-80GB', hub: { repo: 'acme/chat-8b' } })
  const created = await sim.fetch('http://sim/deploy/llm', { method: 'POST', headers, body })
  const { deploy_id } = await created.json()

  await sim.clock.advance('30m')
  const found = await sim.fetch(`http://sim/deploy/${deploy_id}`, { headers })
  expect(await found.json()).toMatchObject({ status: 'running' })
  expect(sim).toHaveReceived('createLlmDeployment', { times: 1 })
})
