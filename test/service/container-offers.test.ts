/** The queries before a container is created, held against what its creation does. */
import { describe, expect, test } from 'vitest'
import { loadProfile } from '../../src/data/profiles/load.ts'
import { createClient } from '../../src/service/client/client.ts'
import { loadTokenizer } from '../../src/service/openai/tokenizer.ts'
import { createSimulator } from '../../src/simulator/simulator.ts'
import { refused, SECOND, service } from './service-world.ts'

const CRATE = {
  name: 'trial',
  container_image: 'registry.example/cuda-dev:12.8',
  cloud_init_user_data: '#cloud-config',
}

describe('the availability of GPUs for containers', () => {
  test('is that of deployments', async () => {
    for (const fixture of ['default', 'empty', 'full', 'fleet']) {
      const { client } = service(fixture)
      const [forContainers, forDeployments] = [client.getContainerGpuAvailability({}), client.getGpuAvailability({})]
      expect(await forContainers).toEqual(await forDeployments)
    }
  })

  test('says which containers are placed at once', { tags: 'slow' }, async () => {
    const available: boolean[] = []
    for (const fixture of ['default', 'two-nodes', 'full']) {
      const { gpus } = await service(fixture).client.getContainerGpuAvailability({})
      for (const { gpu_config, usd_per_hour, ...offer } of gpus) {
        const { client, world } = service(fixture)
        const made = await client.createContainer({ ...CRATE, gpu_config }).catch(error => error)
        if (made.container_id === undefined) {
          expect(made).toMatchObject({ status: 403 })
          expect(offer.available).toBe(false)
          continue
        }
        await loadTokenizer()
        world.runTo(60 * SECOND)
        const { state, price_per_hour } = await client.getContainer(made)
        expect([gpu_config, price_per_hour]).toEqual([gpu_config, usd_per_hour])
        if (offer.available) expect(state).not.toBe('creating')
        available.push(offer.available)
      }
    }
    expect(new Set(available)).toEqual(new Set([true, false]))
  })

  test('changes with other customers of the fleet', { tags: 'slow' }, async () => {
    const sim = createSimulator({ fixtures: 'empty', weather: 'realistic', seed: 2 })
    const api = createClient(sim.fetch, { baseUrl: 'http://sim', token: sim.token })
    const answers = new Set<string>()
    for (let hour = 0; hour < 48; hour++) {
      answers.add(JSON.stringify(await api.getContainerGpuAvailability({})))
      await sim.clock.advance('1h')
    }
    expect(answers.size).toBeGreaterThan(1)
  })

  test('recommends what holds the weights of base_model', async () => {
    const { client } = service()
    const recommended = async (base_model: string) => {
      const { gpus } = await client.getContainerGpuAvailability({ base_model, source: 'hub' })
      return gpus.find(one => one.recommended)
    }
    expect(await recommended('')).toEqual(await recommended('aurora-labs/aurora-8b-instruct'))
    const large = await recommended('aurora-labs/aurora-70b-instruct')
    expect(large === undefined || large.usd_per_hour > (await recommended(''))!.usd_per_hour).toBe(true)
    const expected = [404, 'no base_model none']
    expect(await refused(client.getContainerGpuAvailability({ base_model: 'none' }))).toEqual(expected)
  })
})

describe('the parameters of containers', () => {
  test('list what a container takes', async () => {
    const { client } = service()
    const params = await client.getContainerParams()
    expect(params.max_containers).toBe(50)
    const { gpus } = await client.getContainerGpuAvailability({})
    expect(params.gpu_configs).toEqual(gpus.map(({ gpu_config }) => gpu_config))
    for (const image of params.container_images) expect(image).toMatch(/^\S+:\S+$/)
    for (const gpu_config of params.gpu_configs) {
      const status = await client.createContainer({ ...CRATE, gpu_config }).then(
        () => 200,
        error => error.status,
      )
      // Every listed configuration is valid. The quota of the account is another question.
      expect([200, 403]).toContain(status)
    }
  })

  test('follow the limits of the profile', async () => {
    const { client } = service('empty', undefined, { profile: loadProfile({ limits: { containers_at_once: 2 } }) })
    expect((await client.getContainerParams()).max_containers).toBe(2)
  })
})

test('the queries never fall into the path of a container', async () => {
  const { ask } = service()
  for (const path of ['/v1/containers/params', '/v1/containers/gpu_availability']) {
    expect((await ask(`GET ${path}`)).body).not.toHaveProperty('state')
    for (const method of ['PATCH', 'DELETE']) {
      const { status } = await ask(`${method} ${path}`, method === 'PATCH' ? { name: 'x' } : undefined)
      expect([404, 405]).toContain(status)
    }
  }
})
