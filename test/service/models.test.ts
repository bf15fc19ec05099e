import { describe, expect, test } from 'vitest'
import { loadFixture } from '../../src/data/fixtures/load.ts'
import { countTokens, loadTokenizer } from '../../src/service/openai/tokenizer.ts'
import { createSimulator } from '../../src/simulator/simulator.ts'
import { sendTo } from '../setup/send-to.ts'
import { issues, refused, service } from './service-world.ts'

const MODEL = 'aurora-labs/aurora-8b-instruct'

describe('the catalog', () => {
  test('lists current models (text-generation first), deprecated ones, models of the account', async () => {
    const { client } = service()
    const models = await client.listModels()
    const rank = models.map(model => {
      if (model.private === 1) return 3
      if (model.deprecated != null) return 2
      return model.type === 'text-generation' ? 0 : 1
    })
    expect(rank).toEqual([...rank].sort())
    expect(new Set(rank)).toEqual(new Set([0, 1, 2, 3]))
    expect(new Set(models.map(model => model.model_name)).size).toBe(models.length)
  })

  test('has entries with the fields of the interface document only', async () => {
    const { client } = service()
    const entry = (await client.listModels()).find(model => model.model_name === MODEL)!
    const fields =
      'cover_img_url deprecated description expected is_partner max_tokens mmlu model_name pricing private ' +
      'quantization replaced_by reported_type tags type'
    expect(Object.keys(entry).sort().join(' ')).toBe(fields)
    expect(entry.private).toBe(0)
    expect(entry.pricing.type).toBe('time')
  })

  test('has the model of a deployment with the price of its GPUs', async () => {
    const { client } = service('empty')
    await client.createLlmDeployment({ model_name: 'chat', gpu: 'H100-80GB', num_gpus: 2, hub: { repo: 'a/b' } })
    const own = (await client.listModels()).at(-1)!
    expect(own).toMatchObject({ model_name: 'acme/chat', type: 'text-generation', private: 1 })
    expect(own.pricing.cents_per_sec).toBe((2 * 220) / 3600)
  })
})

describe('schemas', () => {
  const ask = (model_name: string, variantKey: string, version?: string) =>
    service().client.getModelSchema({
      model_name,
      variantKey: variantKey as 'default',
      ...(version !== undefined && { version }),
    })

  test('the schema of a variant has its fields and the path of its endpoint', async () => {
    const schema = await ask(MODEL, 'compat-chat-completions')
    expect(schema.variant.key).toBe('compat-chat-completions')
    expect(schema.variant.url).toMatch(/^\//)
    expect(schema.fields_in.map(field => field.name)).toContain('messages')
    expect((await ask(MODEL, 'default')).variant.url).not.toContain('{')
  })

  test('raw and encoded slashes name the same model, and version is optional', async () => {
    const { ask: send, world } = service()
    const { versions } = world.store.models.get(MODEL)!
    const raw = await send(`GET /models/${MODEL}/schema/default`)
    const encoded = await send(`GET /models/${encodeURIComponent(MODEL)}/schema/default?version=${versions[0]}`)
    expect(raw.status).toBe(200)
    expect(encoded.body).toEqual(raw.body)
    expect((await send(`GET /models/${MODEL}/schema/default?version=`)).status).toBe(200)
  })

  test('a model of the account has a schema, also by its name without owner', async () => {
    const { client } = service()
    expect(await client.getModelSchema({ model_name: 'assistant', variantKey: 'default' })).toEqual(
      await client.getModelSchema({ model_name: 'acme/assistant', variantKey: 'default' }),
    )
  })

  test('unknown models, versions and variants are 404', async () => {
    expect(await refused(ask('no/such', 'default'))).toEqual([404, 'no model no/such'])
    expect((await refused(ask(MODEL, 'default', 'f'.repeat(64))))[0]).toBe(404)
    expect(await refused(ask(MODEL, 'compat-tts'))).toEqual([404, expect.stringContaining('compat-completions')])
    expect(await issues(ask(MODEL, 'nonsense'))).toEqual(['path/variantKey literal_error'])
  })
})

describe('deleting a model', () => {
  test('deletes the deployments of a version', async () => {
    const { client } = service()
    const [assistant] = (await client.listDeployments()).filter(one => one.model_name === 'acme/assistant')
    expect(await client.deleteModel({ model_name: 'assistant', version: assistant!.version })).toEqual({})
    expect((await client.getDeployment(assistant!)).status).toBe('deleted')
    expect((await refused(client.deleteModel({ model_name: 'acme/assistant', version: 'ALL' })))[0]).toBe(404)
    expect((await client.listModels()).map(model => model.model_name)).not.toContain('acme/assistant')
  })

  test('deletes every version with ALL', async () => {
    const { client } = service('empty')
    const llm = { model_name: 'chat', gpu: 'H100-80GB' as const, hub: { repo: 'a/b' } }
    const first = await client.createLlmDeployment(llm)
    await client.deleteDeployment(first)
    await client.createLlmDeployment(llm)
    await client.deleteModel({ model_name: 'acme/chat', version: 'ALL' })
    expect((await client.listDeployments()).map(({ status }) => status)).toEqual(['deleted', 'deleted'])
  })
})

describe('a model of the account', () => {
  test('has one price at every endpoint, also when it is an adapter or its deployment is deleted', async () => {
    const { client } = service()
    const catalog = new Map((await client.listModels()).map(({ model_name, pricing }) => [model_name, pricing]))
    const served = new Map((await client.listServedModels()).data.map(one => [one.id, one.metadata]))
    for (const model of ['acme/assistant', 'acme/assistant-support-tone', 'acme/prototype', 'acme/summarizer']) {
      const { hardware } = await client.getHardware({ model })
      expect(hardware, model).toHaveLength(1)
      const perSecond = (hardware[0]!.pricing as { cents_per_minute: number }).cents_per_minute / 60
      expect(perSecond, model).toBeGreaterThan(0)
      expect((catalog.get(model) as { cents_per_sec: number }).cents_per_sec, model).toBeCloseTo(perSecond, 12)
      const metadata = served.get(model)
      if (metadata != null) expect(metadata.pricing.sec, model).toBeCloseTo(perSecond / 100, 9)
    }
  })

  test('has its own pricing type in the catalog when the policy catalog_prices is own', async () => {
    const get = async (policies: object, path: string) => {
      const sim = createSimulator({ seed: 1, profile: { policies } })
      const answer = await sendTo(sim, `GET ${path}`)
      return (await answer.json()) as { model_name: string; pricing: { type: string } }[]
    }
    const prices = (models: Awaited<ReturnType<typeof get>>) =>
      models.filter(({ model_name }) => !model_name.startsWith('acme/')).map(({ pricing }) => pricing)
    const own = prices(await get({ catalog_prices: 'own' }, '/models/deployment/list'))
    expect(own).toEqual(prices(await get({}, '/models/list')))
    expect(new Set(own.map(({ type }) => type))).toEqual(
      new Set(['tokens', 'input_tokens', 'image_units', 'input_character_length', 'input_length', 'time']),
    )
    const byTime = prices(await get({}, '/models/deployment/list'))
    expect(new Set(byTime.map(({ type }) => type))).toEqual(new Set(['time']))
  })
})

describe('one model', () => {
  test.each(['default', 'two-nodes'])(
    'has equal prices, dates and contexts at every endpoint of %s',
    { tags: 'slow' },
    async fixture => {
      const { client, ask } = service(fixture)
      const entries = (await ask('GET /aggregator/models')).body.data
      const served = new Map((await client.listServedModels()).data.map(one => [one.id, one]))
      const byTime = new Map((await client.listModels()).map(one => [one.model_name, one.pricing]))
      for (const model of await client.listPublicModels()) {
        const { hardware } = await client.getHardware({ model: model.model_name })
        const tokens = hardware.find(one => one.type === 'serverless')!.pricing as Record<string, number>
        const input = tokens.cents_per_million_input_tokens! / 1e6
        if ('cents_per_input_token' in model.pricing) expect(model.pricing.cents_per_input_token).toBeCloseTo(input, 12)
        const dedicated = hardware.flatMap(one => (one.type === 'dedicated' ? [one.pricing.cents_per_minute / 60] : []))
        const time = byTime.get(model.model_name)!
        expect(time.type).toBe('time')
        if (dedicated.length > 0) expect(time.cents_per_sec).toBeCloseTo(Math.min(...dedicated), 12)
        const entry = entries.find(({ id }: { id: string }) => id === model.model_name)
        const callable = served.get(model.model_name)
        expect(callable === undefined).toBe(model.deprecated != null)
        if (callable?.metadata) {
          expect(callable.metadata).toMatchObject({ context_length: model.max_tokens ?? 0, tags: model.tags })
          if (input > 0) expect(callable.metadata.pricing.input_tokens).toBeCloseTo(input * 1e4, 9)
        }
        if (entry === undefined) continue
        expect(Number(entry.pricing.prompt)).toBeCloseTo(input / 100, 15)
        expect([entry.context_length, entry.quantization]).toEqual([model.max_tokens, model.quantization])
        expect(entry.deprecation_date ?? '').toBe(
          model.deprecated == null ? '' : new Date(model.deprecated * 1000).toISOString().slice(0, 10),
        )
        for (const [feature, tag] of [
          ['tools', 'tools'],
          ['json_mode', 'json'],
          ['reasoning', 'reasoning'],
        ]) {
          const expected = [model.model_name, tag, model.tags!.includes(tag!)]
          expect([model.model_name, tag, entry.supported_features.includes(feature)]).toEqual(expected)
        }
        if (callable) expect(callable).toMatchObject({ created: entry.created, root: entry.id, parent: null })
      }
    },
  )

  test('has words as tags that clients filter on', async () => {
    const tags = new Set((await service().client.listPublicModels()).flatMap(model => model.tags!))
    expect([...tags]).toEqual(
      expect.arrayContaining(['compat', 'tools', 'json', 'reasoning', 'multimodal', 'input-audio']),
    )
  })

  test.each([
    { type: 'time', cents_per_sec: 1 },
    { type: 'uptime', cents_per_sec: 1 },
    { type: 'tokens', cents_per_input_token: 3e-6, cents_per_output_token: 6e-6 },
    { type: 'input_tokens', cents_per_input_token: 3e-6 },
    { type: 'input_length', cents_per_input_sec: 0.5 },
    { type: 'input_character_length', cents_per_input_chars: 0.5 },
    { type: 'output_length', cents_per_output_sec: 0.5 },
    { type: 'image_units', cents_per_image_unit: 1, default_width: 512, default_height: 512, default_iterations: 4 },
  ] as const)(
    'has its own price $type of a fixture in its list and its record, and a price by time for deployments',
    async pricing => {
      const base = loadFixture('two-nodes')
      const models = base.models.map(model => (model.model_name === MODEL ? { ...model, pricing } : model))
      const sim = createSimulator({ fixtures: { ...base, models } as never })
      const get = async (path: string) => (await sendTo(sim, `GET ${path}`)).json()
      const find = (list: { model_name: string }[]) => list.find(({ model_name }) => model_name === MODEL)
      expect(find(await get('/models/list'))).toMatchObject({ pricing })
      expect(await get(`/models/${MODEL}`)).toMatchObject({ pricing })
      expect(find(await get('/models/deployment/list'))).toMatchObject({ pricing: { type: 'time' } })
    },
  )

  test('is refused in a fixture when its price of tokens differs from hardware.json', () => {
    const base = loadFixture('two-nodes')
    const pricing = { type: 'tokens', cents_per_input_token: 1, cents_per_output_token: 6e-6 }
    const models = base.models.map(model => (model.model_name === MODEL ? { ...model, pricing } : model))
    expect(() => createSimulator({ fixtures: { ...base, models } as never })).toThrow(
      /pricing\.cents_per_input_token.*expected 0\.000003, the price in hardware\.json, got 1/,
    )
  })
})

describe('hardware', () => {
  test('has prices per token (serverless) or per minute (dedicated), unrounded', async () => {
    const { hardware } = await service().client.getHardware({ model: MODEL })
    expect(hardware[0]).toMatchObject({ type: 'serverless', pricing: { cents_per_million_input_tokens: 3 } })
    const dedicated = hardware.filter(one => one.type === 'dedicated')
    for (const one of dedicated) expect(Object.keys(one).sort()).toEqual(['id', 'name', 'pricing', 'type'])
    const onA100 = dedicated.find(one => one.id === '1xA100-80GB')!
    expect(onA100.pricing).toEqual({ cents_per_minute: 89 / 60 })
  })

  test('of a model of the account is the hardware of its deployment', async () => {
    const { hardware } = await service().client.getHardware({ model: 'assistant' })
    expect(hardware).toEqual([
      {
        id: '2xH100-80GB',
        name: '2 x H100 80 GB',
        type: 'dedicated',
        pricing: { cents_per_minute: (2 * 220) / 60 },
      },
    ])
  })
})

describe('counting tokens', () => {
  const hello = { model: MODEL, messages: [{ role: 'user', content: 'Hello, world!' }] }
  const count = async (change: object = {}) => {
    const { ask } = service()
    const { status, body } = await ask('POST /vendor_a/v1/messages/count_tokens', { ...hello, ...change }, {})
    expect(status).toBe(200)
    return body.input_tokens
  }

  /** Returns what a chat with the same content is billed as its prompt. */
  const billed = async (messages: object[], tools?: object[]) => {
    const chat = { model: MODEL, messages, max_tokens: 0, ...(tools && { tools }) }
    const { status, body } = await service().ask('POST /v1/chat/completions', chat)
    expect(status).toBe(200)
    return body.usage.prompt_tokens
  }
  const user = (content: unknown) => ({ role: 'user', content })
  const words = { type: 'text', text: 'Hello, world!' }

  test('uses o200k_base and needs no token', async () => {
    await loadTokenizer()
    expect(await count()).toBe(3 + 3 + 1 + countTokens('Hello, world!'))
    expect(await count()).toBe(11)
  })

  test('equals what a chat with the same texts, system, tools and tool calls is billed', async () => {
    expect(await count()).toBe(await billed([user('Hello, world!')]))
    expect(await count({ messages: [user([words, words, { type: 'image' }])] })).toBe(
      await billed([user([words, words])]),
    )
    const withSystem = await billed([{ role: 'system', content: 'Be brief.' }, user('Hello, world!')])
    expect(await count({ system: 'Be brief.' })).toBe(withSystem)
    expect(await count({ system: [{ type: 'text', text: 'Be brief.' }] })).toBe(withSystem)
    const parameters = { type: 'object', properties: { city: { type: 'string' } } }
    const tool = { name: 'get_weather', description: 'The weather of a city' }
    const chatTool = { type: 'function', function: { ...tool, parameters } }
    expect(await count({ tools: [{ ...tool, input_schema: parameters }] })).toBe(
      await billed([user('Hello, world!')], [chatTool]),
    )
    const input = { city: 'Rome' }
    const conversation = [
      user('How is the weather?'),
      { role: 'assistant', content: [words, { type: 'tool_use', id: 'a', name: 'get_weather', input }] },
      user([{ type: 'tool_result', tool_use_id: 'a', content: [{ type: 'text', text: 'Sunny.' }] }]),
    ]
    const call = { id: 'a', type: 'function', function: { name: 'get_weather', arguments: JSON.stringify(input) } }
    expect(await count({ messages: conversation })).toBe(
      await billed([
        user('How is the weather?'),
        { role: 'assistant', content: [words], tool_calls: [call] },
        { role: 'tool', tool_call_id: 'a', content: 'Sunny.' },
      ]),
    )
  })

  test('ignores thinking and tool_choice, and takes null for a field that is missing', async () => {
    expect(await count({ thinking: { enabled: true }, tool_choice: { type: 'auto' } })).toBe(11)
    expect(await count({ system: null, tools: null, thinking: null, tool_choice: null })).toBe(11)
    expect(await count({ messages: [] })).toBe(3)
  })

  test('takes every name that a chat takes, and refuses a deprecated model', async () => {
    const { ask, world } = service()
    const status = async (model: string) =>
      (await ask('POST /vendor_a/v1/messages/count_tokens', { ...hello, model }, {})).status
    const [version] = world.store.models.get(MODEL)!.versions
    expect(await status(`${MODEL}:${version}`)).toBe(200)
    expect(await status('assistant')).toBe(200)
    expect(await status('aurora-labs/aurora-v1-7b-chat')).toBe(404)
  })

  test('counts the spelling of a special token as text', async () => {
    expect(await count({ messages: [{ role: 'user', content: '<|endoftext|>' }] })).toBeGreaterThan(1)
  })
})

describe('model, versions and public list', () => {
  test('the public list needs no token and has only public models', async () => {
    const { client, ask } = service()
    const listed = await ask('GET /models/list', undefined, {})
    const names = (models: { model_name: string }[]) => models.map(({ model_name }) => model_name)
    expect(names(listed.body)).toEqual(names((await client.listModels()).filter(model => model.private === 0)))
    expect((await ask('GET /models/list', undefined, { authorization: 'Bearer nonsense' })).status).toBe(200)
    expect((await ask('GET /models/deployment/list', undefined, {})).status).toBe(401)
  })

  test('a catalog model has its own price, its variants and how to call it, of the newest version or the given one', async () => {
    const { client, ask, world } = service()
    const model = await client.getModel({ model_name: MODEL })
    const {
      cover_img_url: _,
      private: __,
      ...entry
    } = (await client.listPublicModels()).find(one => one.model_name === MODEL)!
    expect(model).toMatchObject(entry)
    const { versions } = world.store.models.get(MODEL)!
    expect(model).toMatchObject({
      ...{ featured: true, public: true, owner: false, version: versions.at(-1), is_custom_deployable: true },
      ...{ max_output_tokens: 16_384, max_tokens: 131_072, meta: {}, cmdline_inv: '', out_docs: '' },
    })
    expect(model.pricing).toMatchObject({ type: 'tokens', cents_per_input_token: 3e-6, cents_per_output_token: 6e-6 })
    expect(model.curl_inv).toContain(MODEL)
    expect(JSON.parse(model.out_example)).toHaveProperty('choices')
    expect(model.schemas.map(({ key }) => key)).toContain('compat-chat-completions')
    for (const { url } of model.schemas) expect((await ask(`POST ${url}`, {})).status).toBe(422)
    expect((await client.getModel({ model_name: MODEL, version: versions[0]! })).version).toBe(versions[0])
    expect((await ask(`GET /models/${MODEL}?version=`)).body.version).toBe(versions.at(-1))
    const expected = [404, `model ${MODEL} has no version ${'f'.repeat(64)}`]
    expect(await refused(client.getModel({ model_name: MODEL, version: 'f'.repeat(64) }))).toEqual(expected)
  })

  test('a model of the account is owned and private, and listed as private', async () => {
    const { client } = service()
    const own = await client.getModel({ model_name: 'assistant' })
    expect(own).toMatchObject({ owner: true, public: false, featured: false, is_custom_deployable: false })
    expect(own.pricing.type).toBe('time')
    const listed = await client.listPrivateModels()
    expect(listed).toEqual((await client.listModels()).filter(model => model.private === 1))
    expect(listed.map(({ model_name }) => model_name)).toContain('acme/assistant')
  })

  test('versions of a catalog model have a name and a time, the oldest first', async () => {
    const { client } = service()
    const versions = await client.listModelVersions({ model_name: MODEL })
    const times = versions.map(({ uploaded_at }) => Date.parse(uploaded_at))
    expect(times).toEqual([...times].sort((a, b) => a - b))
    expect(versions[0]).toMatchObject({ model_name: MODEL, uploaded_at: '2025-01-14T00:00:00.000000+00:00' })
  })

  test('a deprecated model is 404 for chats, deployments, adapters and offers', async () => {
    const { ask } = service()
    const base_model = 'aurora-labs/aurora-v1-7b-chat'
    const source = { type: 'modelhub', modelhub_url: 'https://hub.example.test/acme/tone' }
    const messages = [{ role: 'user', content: 'Hello!' }]
    const statuses = [
      await ask('POST /v1/chat/completions', { model: base_model, messages }),
      await ask('POST /deploy/llm', { model_name: 'acme/old', gpu: 'H100-80GB', base_model }),
      await ask('POST /v1/lora/create', { base_model, lora_name: 'tone', source, private: true }),
      await ask(`GET /deploy/llm/gpu_availability?base_model=${base_model}`),
      await ask(`GET /deploy/llm/suggest_name?model_name=${base_model}`),
    ].map(({ status }) => status)
    expect(statuses).toEqual([404, 404, 404, 404, 404])
  })

  test('a literal path is never the name of a model', async () => {
    const { ask } = service()
    for (const path of ['/models/list', '/models/private/list', '/models/deployment/list']) {
      const { status, headers } = await ask(`DELETE ${path}?version=ALL`)
      expect([path, status, headers.get('allow')]).toEqual([path, 405, 'GET, HEAD'])
    }
  })

  test('versions of a model of the account follow its deployments', async () => {
    const { client, ask } = service('empty')
    const body = { model_name: 'chat', gpu: 'H100-80GB', hub: { repo: 'a/b' } } as const
    const first = await client.createLlmDeployment(body)
    await client.deleteDeployment(first)
    const second = await client.createLlmDeployment(body)
    const own = { model_name: 'acme/chat' }
    expect(await client.listModelVersions({ model_name: 'chat' })).toEqual([
      { ...own, version: first.version, uploaded_at: first.created_at, deploy_ids: [] },
      { ...own, version: second.version, uploaded_at: second.created_at, deploy_ids: [second.deploy_id] },
    ])
    expect(await client.getModel({ model_name: 'acme/chat' })).toMatchObject({ version: second.version, public: false })
    expect((await ask('GET /models/acme%2Fchat/versions')).body).toHaveLength(2)
    await client.deleteModel({ model_name: 'chat', version: second.version })
    expect(await client.getModel({ model_name: 'chat' })).toMatchObject({ version: first.version })
    await client.deleteModel({ model_name: 'chat', version: 'ALL' })
    expect(await refused(client.getModel({ model_name: 'chat' }))).toEqual([404, 'no model acme/chat'])
    expect(await refused(client.listModelVersions({ model_name: 'chat' }))).toEqual([404, 'no model acme/chat'])
  })
})
