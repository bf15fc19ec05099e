import { describe, expect, test } from 'vitest'
import { createClient } from '../../src/service/client/client.ts'
import { createSimulator } from '../../src/simulator/simulator.ts'
import { issues, refused, service } from './service-world.ts'

describe('GET /deploy/llm/gpu_availability', () => {
  function fleet(fixtures = 'empty') {
    const sim = createSimulator({ fixtures })
    const api = createClient(sim.fetch, { baseUrl: 'http://sim', token: sim.token })
    const offers = async (base_model?: string) => {
      const { gpus } = await api.getGpuAvailability({ ...(base_model !== undefined && { base_model }) })
      return Object.fromEntries(gpus.map(one => [one.gpu_config, one]))
    }
    return { sim, api, offers }
  }

  test('follows the free GPUs of single nodes', async () => {
    const { sim, offers } = fleet()
    const before = await offers()
    expect(before['4xH100-80GB']).toMatchObject({ usd_per_hour: 8.8, available: true })
    expect(Object.keys(before)).not.toContain('1xB200-180GB')
    sim.cluster.stockOut('H100-80GB')
    expect((await offers())['1xH100-80GB']!.available).toBe(false)
    sim.cluster.restock('H100-80GB')
    expect(await offers()).toEqual(before)
    for (const { name, gpu } of sim.cluster.nodes()) if (gpu === 'H100-80GB') sim.cluster.node(name).crash()
    expect((await offers())['1xH100-80GB']!.available).toBe(false)
    expect(Object.values(await fleet('full').offers()).some(one => one.available)).toBe(false)
  })

  test('an available configuration is placed; an unavailable one waits or is refused', async () => {
    const { sim, api, offers } = fleet()
    sim.cluster.limit.set('H100-80GB', 3)
    const all = await offers()
    expect([1, 2, 4].map(n => all[`${n}xH100-80GB`]!.available)).toEqual([true, true, false])
    const body = { gpu: 'H100-80GB', hub: { repo: 'acme/chat-8b' } } as const
    await expect(api.createLlmDeployment({ ...body, model_name: 'a', num_gpus: 4 })).rejects.toMatchObject({
      status: 403,
    })
    const made = await api.createLlmDeployment({ ...body, model_name: 'b', num_gpus: 2 })
    // Requested GPUs count against the limit before placement.
    expect((await offers())['2xH100-80GB']!.available).toBe(false)
    await sim.clock.advance('1h')
    expect((await api.getDeployment(made)).status).toBe('running')
    await api.deleteDeployment(made)
    await sim.clock.advance('10m')
    expect(await offers()).toEqual(all)
  })

  test('recommends the cheapest available configuration that holds the weights', async () => {
    const { sim, api, offers } = fleet()
    const recommended = async (base_model?: string) =>
      Object.values(await offers(base_model))
        .filter(one => one.recommended)
        .map(one => one.gpu_config)
    expect(await recommended()).toEqual(['1xL4-24GB'])
    expect(await recommended('aurora-labs/aurora-70b-instruct')).toEqual(['1xA100-80GB'])
    sim.cluster.stockOut('A100-80GB')
    expect(await recommended('aurora-labs/aurora-70b-instruct')).not.toEqual(['1xA100-80GB'])
    sim.cluster.price.set('L4-24GB', 10_000)
    expect(await recommended()).not.toEqual(['1xL4-24GB'])
    expect(await refused(api.getGpuAvailability({ base_model: 'no/such' }))).toEqual([404, 'no base_model no/such'])
    expect(
      await fleet('full')
        .offers()
        .then(all => Object.values(all).some(one => one.recommended)),
    ).toBe(false)
  })
})

describe('GET /deploy/llm/suggest_name', () => {
  test('suggests a free name, and another one after it is taken', async () => {
    const { client } = service('empty')
    const suggest = async (model_name: string) => (await client.suggestDeploymentName({ model_name })).model_name
    const create = (model_name: string) =>
      client.createLlmDeployment({ model_name, gpu: 'H100-80GB', settings: { min_instances: 0 }, hub: { repo: 'a/b' } })
    expect(await suggest('aurora-labs/aurora-8b-instruct')).toBe('acme/aurora-8b-instruct')
    expect(await suggest('aurora-labs/aurora-8b-instruct')).toBe('acme/aurora-8b-instruct')
    const made = await create('acme/aurora-8b-instruct')
    expect(await suggest('aurora-8b-instruct')).toBe('acme/aurora-8b-instruct-2')
    await create('acme/aurora-8b-instruct-2')
    expect(await suggest('aurora-8b-instruct')).toBe('acme/aurora-8b-instruct-3')
    await client.deleteDeployment(made)
    expect(await suggest('aurora-8b-instruct')).toBe('acme/aurora-8b-instruct')
  })

  test('suggests a valid name for every model_name', async () => {
    const { client, ask } = service('empty')
    for (const asked of ['a/b/c', 'ü🦙', '//', '...', '-x-', 'my model', '__proto__', 'x'.repeat(300)]) {
      const { model_name } = await client.suggestDeploymentName({ model_name: asked })
      const made = await client.createLlmDeployment({ model_name, gpu: 'L4-24GB', hub: { repo: 'a/b' } })
      expect(made.model_name).toBe(model_name)
      await client.deleteDeployment(made)
    }
    expect(await issues(client.suggestDeploymentName({} as never))).toEqual(['query/model_name missing'])
    expect((await ask('GET /deploy/llm/suggest_name?model_name=')).status).toBe(422)
  })
})
