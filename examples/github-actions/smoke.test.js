import assert from 'node:assert/strict'
import { test } from 'node:test'

const { MODELHOST_SIM_URL: url, MODELHOST_SIM_TOKEN: token } = process.env
const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }

async function call(method, path, body) {
  const response = await fetch(url + path, { method, headers, ...(body && { body: JSON.stringify(body) }) })
  assert.ok(response.ok, `${method} ${path}: ${response.status}`)
  return response.json()
}

test('a model that is deployed runs some minutes later', async () => {
  const spec = { model_name: 'acme/chat', gpu: 'H100-80GB', hub: { repo: 'acme/chat-8b' } }
  const { deploy_id } = await call('POST', '/deploy/llm', spec)
  await call('POST', '/_sim/clock/advance', { by: '10m' })
  assert.equal((await call('GET', `/deploy/${deploy_id}`)).status, 'running')
})
