import { createSimulator } from 'modelhost-sim'
import { handlers, listenOptions } from 'modelhost-sim/msw'
import { HttpResponse, http } from 'msw'
import { setupServer } from 'msw/node'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { DeployClient } from './client.ts'

const baseUrl = 'https://api.example.test'
const sim = createSimulator({ fixtures: 'empty', seed: 1 })
const server = setupServer(...handlers(sim, { baseUrl }))

beforeAll(() => server.listen(listenOptions))
beforeEach(() => sim.reset())
afterEach(() => server.resetHandlers())
afterAll(() => server.close())

const model = { model_name: 'acme/chat', gpu: 'H100-80GB', hub: { repo: 'acme/chat-8b' } }
const slept: number[] = []
beforeEach(() => {
  slept.length = 0
})

/** The client sleeps in the simulator's time, which takes none of ours. */
const client = new DeployClient({
  baseUrl,
  token: sim.token,
  async sleep(ms) {
    slept.push(ms)
    await sim.clock.advance(`${ms}ms`)
  },
})

test('deploys a model and waits until it runs', async () => {
  expect(await client.deploy(model)).toMatchObject({ status: 'running', fail_reason: '' })
  expect(slept.length).toBeGreaterThan(1)
})

test('gives up when no GPU comes, and leaves nothing behind', async () => {
  sim.cluster.stockOut('H100-80GB')

  await expect(client.deploy(model)).rejects.toThrow('acme/chat does not run after 30 minutes')

  expect(await client.call('GET', '/deploy/list')).toMatchObject([{ status: 'deleted' }])
})

test('deploys when a GPU comes late', async () => {
  sim.cluster.stockOut('H100-80GB')
  const deploying = client.deploy(model)
  await expect.poll(() => slept.length).toBeGreaterThan(5)
  sim.cluster.restock('H100-80GB')

  expect(await deploying).toMatchObject({ status: 'running' })
})

test('tries again, with longer pauses, when the service is in trouble', async () => {
  let left = 2
  const trouble = () => (left-- > 0 ? HttpResponse.json({ error: 'try again' }, { status: 503 }) : undefined)
  server.use(http.post(`${baseUrl}/deploy/llm`, trouble))

  expect(await client.deploy(model)).toMatchObject({ status: 'running' })

  expect(slept.slice(0, 2)).toEqual([1000, 2000])
})

test('waits as long as the service asks it to', async () => {
  sim.faults.add({ on: 'createLlmDeployment', times: 1, fault: { kind: 'rateLimit', retryAfter: '42s' } })

  expect(await client.deploy(model)).toMatchObject({ status: 'running' })

  expect(slept[0]).toBe(42_000)
})

test('creates one deployment when the answer to its create is lost', async () => {
  sim.faults.add({ on: 'createLlmDeployment', times: 1, fault: { kind: 'reset', effect: 'done' } })

  const { deploy_id } = await client.deploy(model)

  expect(await client.call('GET', '/deploy/list')).toMatchObject([{ deploy_id, status: 'running' }])
})

test('does not repeat a request that is wrong', async () => {
  await expect(client.deploy({ ...model, gpu: 'other' })).rejects.toThrow('POST /deploy/llm: 400')
  expect(slept).toEqual([])
})
