import { describe, expect, test } from 'vitest'
import { service } from './service-world.ts'

const llm = (change: object = {}) => ({ model_name: 'acme/new', gpu: 'H100-80GB', ...change })
const lora = (base_model: string) => ({
  base_model,
  lora_name: 'tone',
  source: { type: 'modelhub', modelhub_url: 'https://modelhub.example/acme/tone-8b' },
  private: true,
})

describe('a base that is not a language model', () => {
  const { models } = service().world.store
  const others = models.all().filter(({ type, deprecated }) => type !== 'text-generation' && deprecated === null)
  const byTask = new Map(others.map(model => [model.type, model.model_name]))

  test.each([...byTask])('%s is refused at POST /deploy/llm and as the base of an adapter', async (task, name) => {
    const { ask } = service()
    const refusal = (field: string) => [400, { error: `${field} ${name} does ${task}: it is not a language model` }]
    const asked = async (request: string, body: object) => {
      const answer = await ask(request, body)
      return [answer.status, answer.body]
    }
    expect(await asked('POST /deploy/llm', llm({ base_model: name }))).toEqual(refusal('base_model'))
    expect(await asked('POST /deploy/llm', llm({ hub: { repo: name } }))).toEqual(refusal('hub.repo'))
    expect(await asked('POST /v1/lora/create', lora(name))).toEqual(refusal('base_model'))
  })

  test('covers speech, images, transcription and embeddings', () => {
    expect([...byTask.keys()]).toEqual(
      expect.arrayContaining(['embeddings', 'automatic-speech-recognition', 'text-to-speech', 'text-to-image']),
    )
  })
})

test('a deprecated model is refused with 404 as a base, as it is for a chat', async () => {
  const { ask, world } = service()
  const { model_name } = world.store.models
    .all()
    .find(({ deprecated, type }) => deprecated !== null && type === 'text-generation')!
  const refusal = { status: 404, body: { error: `no base_model ${model_name}` } }
  expect(await ask('POST /deploy/llm', llm({ base_model: model_name }))).toMatchObject(refusal)
  expect(await ask('POST /v1/lora/create', lora(model_name))).toMatchObject(refusal)
  const messages = [{ role: 'user', content: 'Hi' }]
  expect((await ask('POST /v1/chat/completions', { model: model_name, messages })).status).toBe(404)
})

describe('null', () => {
  const noHub = { hub: null, base_model: 'aurora-labs/aurora-8b-instruct', container_image: null, extra_args: null }

  test('in POST /deploy/llm means the same as a missing field', async () => {
    const created = async (body: object) => {
      const { status, body: record } = await service('two-nodes').ask('POST /deploy/llm', body)
      return [status, record.config, record.settings]
    }
    const bare = { repo: 'acme/chat-8b' }
    expect(await created(llm({ hub: { ...bare, revision: null, token: null }, settings: null }))).toEqual(
      await created(llm({ hub: bare })),
    )
    expect(await created(llm(noHub))).toEqual(await created(llm({ base_model: noHub.base_model })))
  })

  test('in private of PATCH /v1/lora/{lora_name} keeps the value, but POST refuses it', async () => {
    const { ask } = service()
    const path = '/v1/lora/assistant-support-tone'
    const before = (await ask(`GET ${path}`)).body.private
    const patched = await ask(`PATCH ${path}`, { private: null, description: 'Kind.' })
    expect([patched.status, patched.body.private, patched.body.description]).toEqual([200, before, 'Kind.'])
    const { status, body } = await ask('POST /v1/lora/create', { ...lora('acme/assistant'), private: null })
    expect([status, body.detail[0].loc]).toEqual([422, ['body', 'private']])
  })
})
