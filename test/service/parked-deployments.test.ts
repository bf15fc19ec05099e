import { describe, expect, test } from 'vitest'
import { createClient } from '../../src/service/client/client.ts'
import { createSimulator } from '../../src/simulator/simulator.ts'
import { batchLine, startBatch } from '../setup/batches.ts'
import { sendTo } from '../setup/send-to.ts'
import { refused } from './service-world.ts'

const PARKED = { min_instances: 0, max_instances: 0 }
const messages = [{ role: 'user' as const, content: 'Hi' }]

function world(seed: object = {}, profile: object = {}) {
  const deployments = [{ model_name: 'acme/chat', weights: { repo: 'acme/chat-8b' }, ...seed }] as never
  const sim = createSimulator({ fixtures: 'two-nodes', with: { deployments }, check: true, profile: profile as never })
  const api = createClient(sim.fetch, { baseUrl: 'http://sim', token: sim.token })
  const { deploy_id } = sim.world.deployments.list()[0]!
  const ask = async (model: string) => {
    const answer = await sendTo(sim, 'POST /v1/chat/completions', { model, messages, max_tokens: 5 })
    return [answer.status, answer.headers.get('retry-after')]
  }
  const get = () => api.getDeployment({ deploy_id })
  const put = (settings: object) => api.updateDeployment({ deploy_id, settings })
  return { sim, api, deploy_id, ask, get, put }
}

describe('a parked deployment', () => {
  test('keeps its status, has no instance and costs nothing', async () => {
    const { sim, api, deploy_id, get, put } = world()
    await put(PARKED)
    await sim.clock.advance('5m')
    expect(await get()).toMatchObject({ status: 'running', settings: PARKED, instances: { running: 0, pending: 0 } })
    const balance = sim.ledger.balance
    await sim.clock.advance('10h')
    expect(sim.ledger.balance).toBe(balance)
    expect((await get()).status).toBe('running')
    expect(await api.listDeployments({ status: 'running' })).toMatchObject([{ deploy_id }])
  })

  test('is 404 by name and 503 without Retry-After by id, and no request wakes it', async () => {
    const { sim, api, deploy_id, ask, get, put } = world()
    expect(await ask('acme/chat')).toEqual([200, null])
    await put(PARKED)
    expect(await ask('acme/chat')).toEqual([404, null])
    expect(await ask(`deploy_id:${deploy_id}`)).toEqual([503, null])
    expect((await api.listServedModels()).data.map(({ id }) => id)).not.toContain('acme/chat')
    await sim.clock.advance('1h')
    expect((await get()).instances).toEqual({ running: 0, pending: 0 })
  })

  test('runs again after a PUT that raises the bounds', async () => {
    const { sim, ask, get, put } = world()
    await put(PARKED)
    await sim.clock.advance('1h')
    await put({ min_instances: 1, max_instances: 2 })
    expect((await get()).instances).toEqual({ running: 0, pending: 1 })
    await sim.clock.advance('1h')
    expect(await get()).toMatchObject({ status: 'running', instances: { running: 1, pending: 0 } })
    expect(await ask('acme/chat')).toEqual([200, null])
  })

  test('wakes with a request after a PUT that raises only the maximum', async () => {
    const { sim, ask, get, put } = world()
    await put(PARKED)
    await sim.clock.advance('1h')
    await put({ max_instances: 1 })
    expect((await get()).instances).toEqual({ running: 0, pending: 0 })
    const answer = ask('acme/chat')
    await sim.clock.advance('1h')
    expect(await answer).toEqual([200, null])
  })

  test.each(['running', 'stopped'] as const)('keeps its status when idle deployments become %s', async idle_to_zero => {
    const { sim, get, put } = world({}, { policies: { idle_to_zero } })
    await put(PARKED)
    await sim.clock.advance('3h')
    expect((await get()).status).toBe('running')
  })

  test('keeps a load waiting until it has instances again', async () => {
    const load = { kind: 'constant', rps: 2, prompt_tokens: 100, output_tokens: 50 }
    const { sim, get, put } = world({ load })
    await sim.clock.advance('10m')
    await put(PARKED)
    await sim.clock.advance('1h')
    expect(await get()).toMatchObject({ status: 'running', instances: { running: 0, pending: 0 } })
    await put({ min_instances: 0, max_instances: 2 })
    await sim.clock.advance('1h')
    expect((await get()).instances!.running).toBeGreaterThan(0)
  })

  test('is created as such, and starts when its bounds are raised', async () => {
    const { sim, api, ask } = world()
    const hub = { repo: 'acme/chat-8b' }
    const created = await api.createLlmDeployment({ model_name: 'later', gpu: 'H100-80GB', hub, settings: PARKED })
    expect(created).toMatchObject({ status: 'initializing', instances: { running: 0, pending: 0 } })
    await sim.clock.advance('1h')
    expect((await api.getDeployment(created)).status).toBe('initializing')
    expect(await ask('acme/later')).toEqual([404, null])
    await api.updateDeployment({ deploy_id: created.deploy_id, settings: { max_instances: 1 } })
    await sim.clock.advance('1h')
    expect((await api.getDeployment(created)).status).toBe('running')
    const answer = ask('acme/later')
    await sim.clock.advance('1h')
    expect(await answer).toEqual([200, null])
  })

  test('keeps the status in which it was parked while it started', async () => {
    const { sim, api } = world()
    const hub = { repo: 'acme/chat-8b' }
    const { deploy_id } = await api.createLlmDeployment({ model_name: 'new', gpu: 'H100-80GB', hub })
    const status = async () => (await api.getDeployment({ deploy_id })).status
    await sim.clock.until(async () => (await status()) === 'downloading', { within: '1h' })
    await api.updateDeployment({ deploy_id, settings: PARKED })
    await sim.clock.advance('1h')
    expect(await status()).toBe('downloading')
    await api.updateDeployment({ deploy_id, settings: { max_instances: 1 } })
    await sim.clock.advance('1h')
    expect(await status()).toBe('running')
  })

  test.each(['running', 'downloading', 'stopped'] as const)('comes from a fixture as %s', async status => {
    const { sim, get } = world({ status, settings: PARKED })
    await sim.clock.advance('1h')
    expect(await get()).toMatchObject({ status, instances: { running: 0, pending: 0 } })
  })

  test('keeps the lines of a batch waiting until it has instances again', async () => {
    const { sim, api, put } = world()
    const lines = [batchLine('a', { model: 'acme/chat', prompt: 'Hi' }, '/v1/completions')]
    await put(PARKED)
    const batch = await startBatch(sim, lines)
    await sim.clock.advance('2h')
    expect((await api.getBatch({ batch_id: batch.id })).status).toBe('in_progress')
    await put({ max_instances: 1 })
    await sim.clock.advance('2h')
    expect((await api.getBatch({ batch_id: batch.id })).status).toBe('completed')
  })

  test('refuses bounds in which the maximum is lower', async () => {
    const { put } = world()
    expect((await refused(put({ max_instances: 0 })))[0]).toBe(422)
  })
})
