// A first test: a client deploys a model, and time moves until it runs. Put the calls of your client in place of these.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createSimulator } from 'modelhost-sim'

test('a deployment runs after its start', async () => {
  const sim = createSimulator()
  const headers = { authorization: `Bearer ${sim.token}`, 'content-type': 'application/json' }
  const body = JSON.stringify({ model_name: 'first', gpu: 'H100-80GB', hub: { repo: 'acme/chat-8b' } })
  const created = await sim.fetch('http://sim/deploy/llm', { method: 'POST', headers, body })
  const { deploy_id } = await created.json()

  await sim.clock.advance('30m')
  const found = await sim.fetch(`http://sim/deploy/${deploy_id}`, { headers })
  assert.equal((await found.json()).status, 'running')
  sim.verify({ operation: 'createLlmDeployment', exactly: 1 })
})
