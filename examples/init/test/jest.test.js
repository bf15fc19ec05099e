/** @jest-environment node */
// A first test: a client deploys a model, and time moves until it runs. Put the calls of your client in place of these.
// It needs a server: npx modelhost-sim exec -- npx jest
const { MODELHOST_SIM_URL: url, MODELHOST_SIM_TOKEN: token } = process.env
const testWithServer = url === undefined ? test.skip : test

testWithServer('a deployment runs after its start', async () => {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  const post = (path, body) => fetch(url + path, { method: 'POST', headers, body: JSON.stringify(body) })
  const model = { model_name: 'first', gpu: 'H100-80GB', hub: { repo: 'acme/chat-8b' } }
  const { deploy_id } = await (await post('/deploy/llm', model)).json()

  await post('/_sim/clock/until', { get: `/deploy/${deploy_id}`, where: { status: 'running' }, within: '1h' })
  const found = await fetch(`${url}/deploy/${deploy_id}`, { headers })
  expect(await found.json()).toMatchObject({ status: 'running' })
})
