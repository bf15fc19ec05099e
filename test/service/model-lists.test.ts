/** The lists of featured, adapted and public models, the families, and what the account says of its models. */
import { describe, expect, test } from 'vitest'
import { createClient } from '../../src/service/client/client.ts'
import { createSimulator } from '../../src/simulator/simulator.ts'
import { issues, refused } from './service-world.ts'

function world() {
  const sim = createSimulator({ seed: 1, check: true })
  const api = createClient(sim.fetch, { baseUrl: 'http://sim', token: sim.token })
  const anonymous = createClient(sim.fetch, { baseUrl: 'http://sim' })
  return { sim, api, anonymous }
}

const names = (models: readonly { model_name: string }[]) => models.map(({ model_name }) => model_name)

test('GET /models/featured lists the current featured models of the catalog', async () => {
  const { sim, anonymous } = world()
  const featured = await anonymous.listFeaturedModels()
  expect(names(featured)).toEqual(
    names(sim.world.store.models.all().filter(model => model.featured && model.deprecated === null)),
  )
  const entries = new Map((await anonymous.listPublicModels()).map(entry => [entry.model_name, entry]))
  for (const entry of featured) expect(entry).toEqual(entries.get(entry.model_name))
  sim.cluster.model.deprecate(featured[0]!.model_name)
  expect(names(await anonymous.listFeaturedModels())).toEqual(names(featured).slice(1))
})

test('GET /models/lora/list lists an adapter as long as it is public', async () => {
  const { api, anonymous } = world()
  expect(await anonymous.listLoraModels()).toEqual([])
  const lora_name = 'assistant-support-tone'
  await api.updateLora({ lora_name, private: false, description: 'Kind.' })
  const [listed] = await anonymous.listLoraModels()
  expect(listed).toMatchObject({ model_name: `acme/${lora_name}`, private: 0, description: 'Kind.' })
  await api.updateModelPublicity({ model_name: lora_name, public: false })
  expect(await anonymous.listLoraModels()).toEqual([])
  expect((await api.getLora({ lora_name })).private).toBe(true)
})

describe('model families', () => {
  test('every catalog model belongs to one, which has the price of each current model once', {
    tags: 'slow',
  }, async () => {
    const { sim, anonymous, api } = world()
    const families = await anonymous.listModelFamilies()
    expect(families).toEqual([...families].sort())
    const priced: string[] = []
    for (const family_name of families) {
      const family = await anonymous.getModelFamily({ family_name })
      expect(family.name).toBe(family_name)
      for (const { ptype, entries } of family.pp_sections_out) {
        for (const entry of entries) {
          const model = await api.getModel({ model_name: entry.model_name })
          expect([model.mf_name, model.mf_title, model.pricing]).toEqual([family_name, family.title, entry.pricing])
          expect(entry.pricing.type).toBe(ptype)
          priced.push(entry.model_name)
        }
      }
      expect(family.featured_models.filter(name => !priced.includes(name))).toEqual([])
    }
    const current = sim.world.store.models.all().filter(({ deprecated }) => deprecated === null)
    expect(priced.sort()).toEqual(names(current).sort())
    expect(await anonymous.getModelFamily({ family_name: 'aurora' })).toMatchObject({
      title: 'Aurora',
      developer: 'aurora-labs',
      featured_models: ['aurora-labs/aurora-8b-instruct', 'aurora-labs/aurora-70b-instruct'],
    })
  })

  test('a fixture names the family of a model', async () => {
    const models = [{ model_name: 'x-labs/y-1b', type: 'text-generation', parameters_b: 1, family: 'zeta' }]
    const sim = createSimulator({ fixtures: 'empty', with: { models } as never })
    const api = createClient(sim.fetch, { baseUrl: 'http://sim', token: sim.token })
    expect(await api.listModelFamilies()).toContain('zeta')
    expect((await api.getModelFamily({ family_name: 'zeta' })).developer).toBe('x-labs')
    const [entry] = (await api.listPublicModels()).filter(({ model_name }) => model_name === 'x-labs/y-1b')
    expect(entry).not.toHaveProperty('family')
  })

  test('an unknown family is refused', async () => {
    const { anonymous } = world()
    expect(await refused(anonymous.getModelFamily({ family_name: 'none' }))).toEqual([404, 'no model family none'])
  })
})

describe('POST /models/{model_name}/publicity', () => {
  test('moves a model between the public and the private lists', async () => {
    const { api, anonymous } = world()
    const isListed = async () => ({
      public: names(await anonymous.listPublicModels()).includes('acme/assistant'),
      private: names(await api.listPrivateModels()).includes('acme/assistant'),
      record: (await api.getModel({ model_name: 'assistant' })).public,
    })
    expect(await isListed()).toEqual({ public: false, private: true, record: false })
    expect(await api.updateModelPublicity({ model_name: 'assistant', public: true })).toEqual({})
    expect(await isListed()).toEqual({ public: true, private: false, record: true })
    await api.updateModelPublicity({ model_name: 'acme/assistant', public: false })
    expect(await isListed()).toEqual({ public: false, private: true, record: false })
  })

  test('refuses unknown models and those of the catalog', async () => {
    const { api } = world()
    const publish = (model_name: string) => refused(api.updateModelPublicity({ model_name, public: true }))
    expect(await publish('acme/none')).toEqual([404, 'no model acme/none'])
    const catalogModel = 'aurora-labs/aurora-8b-instruct'
    expect(await publish(catalogModel)).toEqual([403, `model ${catalogModel} does not belong to the account`])
    expect(await issues(api.updateModelPublicity({ model_name: 'assistant' } as never))).toEqual([
      'body/public missing',
    ])
  })
})

describe('POST /models/{model_name}/meta', () => {
  const FULL = {
    ...{ description: 'Answers questions.', cover_img_url: 'https://img.example/a.png', readme: '# Assistant' },
    ...{ github_url: 'https://code.example/a', paper_url: 'https://paper.example/a', license_url: 'https://l.example' },
    reported_type: 'question-answering',
  } as const

  test('changes the stated fields alone, and null empties them', async () => {
    const { sim, api } = world()
    const model_name = 'acme/assistant'
    await api.updateModelDetails({ model_name, ...FULL })
    const listed = async () => (await api.listModels()).find(model => model.model_name === model_name)
    const { description, cover_img_url, reported_type, readme, github_url, paper_url, license_url } = FULL
    expect(await listed()).toMatchObject({ description, cover_img_url, reported_type })
    expect(await api.getModel({ model_name })).toMatchObject({
      ...{ description, reported_type, txt_docs: readme },
      meta: { readme, github_url, paper_url, license_url },
    })
    await api.updateModelDetails({ model_name, paper_url: null, readme: null, reported_type: null })
    expect(await api.getModel({ model_name })).toMatchObject({
      ...{ description, reported_type: 'text-generation', txt_docs: description },
      meta: { github_url, license_url },
    })
    const fork = sim.fork()
    const there = createClient(fork.fetch, { baseUrl: 'http://fork', token: fork.token })
    expect(await there.getModel({ model_name })).toEqual(await api.getModel({ model_name }))
    const back = createSimulator({ fixtures: sim.snapshot() })
    const restored = createClient(back.fetch, { baseUrl: 'http://sim', token: back.token })
    expect(await restored.getModel({ model_name })).toEqual(await api.getModel({ model_name }))
  })

  test('the description of an adapter is the same in the record of the adapter', async () => {
    const { api } = world()
    const lora_name = 'assistant-support-tone'
    await api.updateModelDetails({ model_name: lora_name, description: 'Brief.' })
    expect(await api.getLora({ lora_name })).toMatchObject({ description: 'Brief.', private: true })
    await api.updateLora({ lora_name, description: 'Long.' })
    await api.updateModelDetails({ model_name: lora_name, readme: '# Tone' })
    expect(await api.getLora({ lora_name })).toMatchObject({ description: 'Long.' })
  })

  test('a deleted model loses its details', async () => {
    const { api } = world()
    const model_name = 'acme/assistant'
    await api.updateModelDetails({ model_name, description: 'Old.' })
    await api.updateModelPublicity({ model_name, public: true })
    await api.deleteModel({ model_name, version: 'ALL' })
    await api.createLlmDeployment({ model_name, gpu: 'L4-24GB', hub: { repo: 'acme/chat-8b' } })
    expect(await api.getModel({ model_name })).toMatchObject({ description: '', public: false })
  })

  test('refuses unknown models, those of the catalog, and unknown tasks', async () => {
    const { api } = world()
    const describeAs = (model_name: string) => refused(api.updateModelDetails({ model_name, description: 'x' }))
    expect(await describeAs('acme/none')).toEqual([404, 'no model acme/none'])
    expect((await describeAs('aurora-labs/aurora-8b-instruct'))[0]).toBe(403)
    const call = api.updateModelDetails({ model_name: 'assistant', reported_type: 'cooking' as never })
    expect(await issues(call)).toEqual(['body/reported_type literal_error'])
  })

  test('refuses a field that is unknown, and changes nothing', async () => {
    const { sim, api } = world()
    const before = sim.digest
    const call = api.updateModelDetails({ model_name: 'assistant', description: 'x', licence_url: 'y' } as never)
    expect(await issues(call)).toEqual(['body/licence_url extra_forbidden'])
    expect(sim.digest).toBe(before)
  })
})
