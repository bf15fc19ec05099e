import { describe, expect, test } from 'vitest'
import { createSimulator, type SimulatorOptions } from '../../src/simulator/simulator.ts'
import { sendTo } from '../setup/send-to.ts'

/** A world with H100 nodes of eight GPUs and no other type. */
function world(options: SimulatorOptions = {}) {
  const sim = createSimulator({ fixtures: 'two-nodes', check: true, ...options })
  const send = async (method: string, path: string, body?: object) => {
    const response = await sendTo(sim, `${method} ${path}`, body)
    return { status: response.status, body: await response.json() }
  }
  return { sim, send }
}

const deployment = (gpu: string, num_gpus = 1) => ({
  model_name: 'acme/try',
  gpu,
  num_gpus,
  hub: { repo: 'acme/chat-8b' },
})

describe('GPUs that no node can have', () => {
  test('are refused with 400 when a deployment asks for them, and change nothing', async () => {
    const { sim, send } = world()
    const before = sim.digest
    expect(await send('POST', '/deploy/llm', deployment('B300-270GB'))).toMatchObject({ status: 400 })
    expect(sim.digest).toBe(before)
  })

  test('are refused with 400 when a container asks for them', async () => {
    const image = { container_image: 'registry.example/cuda-dev:12.8', cloud_init_user_data: '#cloud-config' }
    const body = { name: 'box', gpu_config: '1xB300-270GB', ...image }
    expect((await world().send('POST', '/v1/containers', body)).status).toBe(400)
  })

  test('are accepted and wait when the profile says so', async () => {
    const { sim, send } = world({ profile: { policies: { unknown_gpu_types: 'wait' } } })
    const { status, body } = await send('POST', '/deploy/llm', deployment('B300-270GB'))
    expect(status).toBe(200)
    await sim.clock.advance('1h')
    expect((await send('GET', `/deploy/${body.deploy_id}`)).body.status).toBe('initializing')
  })

  test('are an active failure without a command that undoes it while a deployment waits for them', async () => {
    const { sim, send } = world({ profile: { policies: { unknown_gpu_types: 'wait' } } })
    const { body } = await send('POST', '/deploy/llm', deployment('B300-270GB', 2))
    await sim.clock.advance('1h')
    const description = `deployment ${body.deploy_id} (acme/try) waits for 2xB300-270GB, which no node can have`
    expect(sim.cluster.activeFailures()).toEqual([{ description }])
    expect(sim.cluster.recoverAll()).toEqual([])
    expect((await send('DELETE', `/deploy/${body.deploy_id}`)).status).toBe(200)
    expect(sim.cluster.activeFailures()).toEqual([])
  })

  test('cannot be out of stock', () => {
    const { sim } = world()
    expect(() => sim.cluster.stockOut('B300-270GB')).toThrow(/no pool has it.*H100-80GB/)
  })
})

test('an outage of the hub costs few events when lost starts are repeated for hours', { tags: 'slow' }, async () => {
  const load = { kind: 'constant' as const, rps: 200, prompt_tokens: 500, output_tokens: 200 }
  const settings = { min_instances: 1, max_instances: 16 }
  const sim = createSimulator({
    fixtures: 'two-nodes',
    profile: 'quick',
    journalLimit: 100_000,
    with: {
      account: { gpu_limits: { 'H100-80GB': null } },
      deployments: [{ model_name: 'acme/busy', gpu: 'H100-80GB', settings, load, status: 'running' }],
    },
  })
  sim.cluster.hub.down()
  await sim.clock.advance('11h')
  const lost = sim.journal.entries().filter(({ kind }) => kind === 'instance.lost').length
  expect(lost).toBeGreaterThan(10)
  expect(lost).toBeLessThan(5000)
})
