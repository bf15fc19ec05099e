/** POST /v1/deploy and POST /deploy/hub: a model is deployed as what it is, on GPUs of the account. */
import { describe, expect, test } from 'vitest'
import { createClient } from '../../src/service/client/client.ts'
import { createSimulator } from '../../src/simulator/simulator.ts'
import { refused } from './service-world.ts'

const EMBEDDINGS = 'aurora-labs/aurora-embed-large'
const SPEECH = 'larkspur-audio/lark-tts-1'
const IMAGES = 'inkfold/canvas-fast'

function world() {
  const sim = createSimulator({ seed: 1, check: true })
  const api = createClient(sim.fetch, { baseUrl: 'http://sim', token: sim.token })
  const deployed = async (deploy: Promise<{ deploy_id: string }>) => {
    const { deploy_id } = await deploy
    return { deploy_id, record: await api.getDeployment({ deploy_id }) }
  }
  return { sim, api, deployed }
}

/** Returns the status of a call that is refused, and the start of its message. */
const refusedWith = async (call: Promise<unknown>) => {
  const [status, message] = await refused(call)
  return `${status} ${message}`
}

describe('POST /v1/deploy', () => {
  test('deploys each catalog model with the type and the task of the model', async () => {
    const { api, deployed } = world()
    const types = new Map<string, string>()
    for (const model_name of [
      EMBEDDINGS,
      SPEECH,
      IMAGES,
      'larkspur-audio/lark-scribe-turbo',
      'harbor-ai/harbor-mini-1b',
    ]) {
      const { record } = await deployed(api.deployModel({ model_name }))
      types.set(record.task, record.type!)
      expect(record).toMatchObject({
        model_name,
        status: 'initializing',
        config: { gpu: 'L4-24GB', num_gpus: 1, weights: { repo: model_name } },
        settings: { min_instances: 1, max_instances: 1 },
      })
    }
    expect(Object.fromEntries(types)).toEqual({
      embeddings: 'legacy',
      'text-to-speech': 'tts',
      'text-to-image': 'legacy',
      'automatic-speech-recognition': 'legacy',
      'text-generation': 'llm',
    })
  })

  test('a deployment passes the statuses of an LLM deployment, holds GPUs and is billed for them', {
    tags: 'slow',
  }, async () => {
    const { sim, api, deployed } = world()
    const { deploy_id } = await deployed(api.deployModel({ model_name: EMBEDDINGS }))
    const statuses = new Set<string>()
    for (let i = 0; i < 600; i++) {
      statuses.add((await api.getDeployment({ deploy_id })).status)
      await sim.clock.advance('1s')
    }
    expect([...statuses]).toEqual(['initializing', 'downloading', 'deploying', 'running'])
    expect((await api.getDeployment({ deploy_id })).instances).toEqual({ running: 1, pending: 0 })
    const from = Date.parse(sim.clock.iso) / 1000
    await sim.clock.advance('2h')
    expect((await api.getRentUsage({ from })).id_to_duration[deploy_id]).toBe(7200)
    expect((await api.getDeploymentStats({ deploy_id, from })).total_amount).toBe(60)
    await api.stopDeployment({ deploy_id })
    await api.startDeployment({ deploy_id })
    await sim.clock.advance('10m')
    await api.updateDeployment({ deploy_id, settings: { max_instances: 2, min_instances: 2 } })
    await sim.clock.advance('10m')
    expect((await api.getDeployment({ deploy_id })).instances).toEqual({ running: 2, pending: 0 })
  })

  test('a deployment answers requests of its task alone, by its id', async () => {
    const { sim, api, deployed } = world()
    const { deploy_id } = await deployed(api.deployModel({ model_name: EMBEDDINGS }))
    const model = `deploy_id:${deploy_id}`
    const embed = () => api.createEmbeddings({ model, input: 'A river in spring.' })
    expect(await refusedWith(embed())).toBe(`503 model ${model} is initializing, not running`)
    await sim.clock.advance('10m')
    const answer = embed()
    await sim.clock.advance('10s')
    expect((await answer).data[0]!.embedding).toHaveLength(1024)
    const messages = [{ role: 'user' as const, content: 'Hello!' }]
    expect(await refusedWith(api.createChatCompletion({ model, messages }))).toBe(
      `400 model ${model} does embeddings, not text-generation`,
    )
    const stats = await api.getDeploymentStats({ deploy_id, from: 'now-1h' })
    expect(stats).toMatchObject({ requests: 1, output_tokens: 0, errors: 0 })
  })

  test('the name of a catalog model means the catalog model, with and without a deployment of it', async () => {
    const { sim, api } = world()
    const model_name = 'harbor-ai/harbor-mini-1b'
    const { deploy_id } = await api.deployModel({ model_name })
    const chat = () => api.createChatCompletion({ model: model_name, messages: [{ role: 'user', content: 'Hello!' }] })
    await chat()
    await sim.clock.advance('10m')
    await chat()
    expect((await api.getDeploymentStats({ deploy_id, from: 'now-1h' })).requests).toBe(0)
    const { data } = await api.listServedModels()
    expect(data.filter(({ id }) => id === model_name)).toHaveLength(1)
  })

  test('version selects a version of a catalog model', async () => {
    const { sim, api, deployed } = world()
    const { versions } = sim.world.store.models.get(EMBEDDINGS)!
    const version = versions[0]!
    const { record } = await deployed(api.deployModel({ model_name: EMBEDDINGS, version }))
    expect(record).toMatchObject({ version, config: { weights: { revision: version } } })
  })

  test('a deleted deployment of the account is deployed again with its hardware and version', async () => {
    const { sim, api, deployed } = world()
    const first = await api.createLlmDeployment({
      ...{ model_name: 'acme/again', gpu: 'L40S-48GB', max_batch_size: 8 },
      hub: { repo: 'acme/chat-8b', revision: 'main' },
    })
    await sim.clock.advance('1h')
    await api.deleteDeployment(first)
    await sim.clock.advance('10m')
    const { deploy_id, record } = await deployed(api.deployModel({ model_name: 'again' }))
    expect(deploy_id).not.toBe(first.deploy_id)
    expect(record).toMatchObject({ version: first.version, type: 'llm', config: first.config! })
    expect((await api.listModelVersions({ model_name: 'again' })).map(({ version }) => version)).toEqual([
      first.version,
    ])
    await sim.clock.advance('10m')
    expect((await api.getDeployment({ deploy_id })).status).toBe('running')
  })

  test('refuses what it cannot deploy', async () => {
    const { sim, api } = world()
    const deploy = (model_name: string, more: object = {}) => refusedWith(api.deployModel({ model_name, ...more }))
    expect(await deploy('no/such')).toBe('404 no model no/such')
    expect(await deploy('northfield/reader-v1')).toBe('404 no model northfield/reader-v1')
    expect(await deploy(EMBEDDINGS, { version: 'x' })).toBe(`404 model ${EMBEDDINGS} has no version x`)
    expect(await deploy('acme/assistant-support-tone')).toMatch(/^404 .* is an adapter/)
    expect(await deploy('cedarline/cedar-embed-base')).toMatch(/^409 .* is deployed already/)
    expect(await deploy('acme/private-70b', { provider: 'hub' })).toMatch(/^423 .* is gated/)
    expect(await deploy('acme/huge-9000b', { provider: 'hub' })).toMatch(/^400 no node of the fleet can have GPUs/)
    sim.cluster.limit.set('L4-24GB', 0)
    expect(await deploy(SPEECH)).toMatch(/^403 over the GPU limit/)
    sim.cluster.account.suspend()
    expect(await deploy(SPEECH)).toMatch(/^402 /)
  })
})

describe('POST /deploy/hub', () => {
  test('deploys a repository under its name, with the requested task', async () => {
    const { sim, api, deployed } = world()
    const embedder = await deployed(api.deployHubModel({ model_name: 'acme/embed-1b', task: 'embeddings' }))
    expect(embedder.record).toMatchObject({ model_name: 'acme/embed-1b', task: 'embeddings', type: 'legacy' })
    const tagger = await deployed(api.deployHubModel({ model_name: 'aurora-labs/tags-300m', task: 'fill-mask' }))
    expect(tagger.record).toMatchObject({ task: 'custom', type: 'legacy' })
    const chat = await deployed(api.deployHubModel({ model_name: 'acme/chat-8b' }))
    expect(chat.record).toMatchObject({ task: 'text-generation', type: 'llm', config: { gpu: 'L4-24GB' } })
    await sim.clock.advance('10m')
    const answer = api.createEmbeddings({ model: 'embed-1b', input: 'A river in spring.' })
    await sim.clock.advance('10s')
    expect((await answer).data).toHaveLength(1)
    const listed = (await api.listModels()).map(({ model_name }) => model_name)
    expect(listed).toEqual(expect.arrayContaining(['acme/embed-1b', 'aurora-labs/tags-300m', 'acme/chat-8b']))
    await api.deleteModel({ model_name: 'aurora-labs/tags-300m', version: 'ALL' })
    expect((await api.getDeployment({ deploy_id: tagger.deploy_id })).status).toBe('deleted')
  })

  test('the name of a catalog model deploys that model with its own task', async () => {
    const { api, deployed } = world()
    const { record } = await deployed(api.deployHubModel({ model_name: SPEECH, task: 'text-generation' }))
    expect(record).toMatchObject({ task: 'text-to-speech', type: 'tts' })
  })

  test('refuses unknown, gated and deployed repositories, and unknown tasks', async () => {
    const { sim, api } = world()
    const deploy = (model_name: string, task?: string) => refusedWith(api.deployHubModel({ model_name, task }))
    expect(await deploy('no/such')).toMatch(/^404 hub repository no\/such not found/)
    expect(await deploy('northfield/reader-v1')).toBe('404 no model northfield/reader-v1')
    expect(await deploy('acme/private-70b')).toMatch(/^423 /)
    sim.cluster.hub.gate('acme/chat-8b')
    expect(await deploy('acme/chat-8b')).toMatch(/^423 /)
    expect(await deploy('acme/chat-70b', 'embedings')).toBe("400 unknown task 'embedings': Did you mean 'embeddings'?")
    expect(await deploy('acme/huge-9000b')).toMatch(/^400 no node/)
    await api.deployHubModel({ model_name: 'acme/chat-70b' })
    expect(await deploy('acme/chat-70b')).toMatch(/^409 /)
    sim.cluster.limit.set('L4-24GB', 0)
    expect(await deploy('acme/tiny-1b')).toMatch(/^403 /)
    sim.cluster.account.suspend()
    expect(await deploy('acme/tiny-1b')).toMatch(/^402 /)
  })
})
