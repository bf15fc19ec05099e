import { expect, test } from 'modelhost-sim/vitest'
import { afterEach, beforeEach, vi } from 'vitest'
import { DeployClient } from './client.ts'

const baseUrl = 'https://api.example.test'
const model = { model_name: 'acme/chat', gpu: 'H100-80GB', hub: { repo: 'acme/chat-8b' } }

test.override('simOptions', { fixtures: 'empty', baseUrl })
beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

// The client as it is: it waits with setTimeout, and sim.clock moves the fakes and the world in step.

test('waits until the model runs', async ({ sim }) => {
  const deploying = new DeployClient({ baseUrl, token: sim.token }).deploy(model)
  await sim.clock.advance('30m')

  expect(await deploying).toMatchObject({ status: 'running' })
  expect(sim).toHaveReceived('createLlmDeployment', { times: 1, body: { gpu: 'H100-80GB' } })
})

test('pays nothing for a model that never ran', async ({ sim }) => {
  sim.cluster.stockOut('H100-80GB')
  const gaveUp = expect(new DeployClient({ baseUrl, token: sim.token }).deploy(model)).rejects.toThrow('does not run')
  await sim.clock.advance('1h')

  await gaveUp
  expect(sim).toBeQuiet()
  expect(sim).toHaveCost({ max: 0 })
})
