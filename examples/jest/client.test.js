import { afterEach, beforeEach, expect, jest, test } from '@jest/globals'
import { createSimulator } from 'modelhost-sim'
import { matchers } from 'modelhost-sim/matchers'
import { deployClient } from './client.js'

expect.extend(matchers)

const model = { model_name: 'acme/chat', gpu: 'H100-80GB', hub: { repo: 'acme/chat-8b' } }
let sim
let client

beforeEach(() => {
  jest.useFakeTimers({ doNotFake: ['nextTick', 'queueMicrotask'] })
  sim = createSimulator({ fixtures: 'empty' })
  client = deployClient({ url: 'http://sim', token: sim.token, fetch: sim.fetch })
})

afterEach(async () => {
  await sim[Symbol.asyncDispose]()
  jest.useRealTimers()
})

test('waits until the model runs, on its own timers', async () => {
  const deploying = client.deploy(model)
  await sim.clock.advance('1h')

  const { tookMs } = await deploying
  expect(tookMs).toBeGreaterThan(30_000)
  expect(sim).toHaveReceived('createLlmDeployment', { times: 1, body: { gpu: 'H100-80GB' } })
})

test('gives up after an hour by its own clock, and leaves nothing behind', async () => {
  sim.cluster.stockOut('H100-80GB')
  const gaveUp = expect(client.deploy(model)).rejects.toThrow('acme/chat does not run after 60 minutes')
  await sim.clock.advance('2h')

  await gaveUp
  expect(sim).toBeQuiet()
  expect(sim).toHaveCost({ max: 0 })
})

test('a test that fakes nextTick gets an error that says what to do', async () => {
  jest.useFakeTimers()
  await expect(sim.clock.advance('1m')).rejects.toThrow("doNotFake: ['nextTick', 'queueMicrotask']")
})
