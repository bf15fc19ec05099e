/** Names for any field, value, tag and header, further routes of operations, and error shapes. */
import { Ajv2020 } from 'ajv/dist/2020.js'
import { describe, expect, test } from 'vitest'
import { createClient } from '../../../src/service/client/client.ts'
import { operations } from '../../../src/service/index.ts'
import { type NamesProfile, readNames } from '../../../src/service/naming/names-profile.ts'
import { inputShape, outputShape, type SchemaShape } from '../../../src/service/naming/schema-shape.ts'
import { VendorMapping } from '../../../src/service/naming/translation.ts'
import { vocabularyOf } from '../../../src/service/naming/vocabulary.ts'
import { createSimulator, type SimulatorOptions } from '../../../src/simulator/simulator.ts'
import { askTo, sendTo } from '../../setup/send-to.ts'

function world(names: NamesProfile, options: SimulatorOptions = {}) {
  const sim = createSimulator({ seed: 1, names, ...options })
  const send = (request: string, body?: unknown, headers: Record<string, string> = {}) =>
    askTo(sim, request, body, { headers })
  return { sim, send, api: createClient(sim.fetch, { baseUrl: 'http://sim', token: sim.token }) }
}

describe('fields and values', () => {
  test('have one name everywhere, and another one in one record', async () => {
    const { send, api } = world({
      fields: {
        deploy_id: 'id',
        'Deployment.status': 'phase',
        'Deployment.config.gpu': 'accelerator',
        'createLlmDeployment.gpu': 'machine',
        'listDeployments.status': 'phases',
      },
      values: { 'Deployment.status.initializing': 'booting', 'L4-24GB': 'l4' },
    })
    const made = await send('POST /deploy/llm', { model_name: 'chat', machine: 'l4', hub: { repo: 'acme/chat-8b' } })
    expect(made.body).toMatchObject({ phase: 'booting', config: { accelerator: 'l4' }, id: expect.any(String) })
    expect(made.body).not.toHaveProperty('status')
    const listed = await send('GET /deploy/list?phases=stopped')
    expect(listed.body.map(({ phase }: { phase: string }) => phase)).toEqual(['stopped'])
    // The filter takes the words that the records have, and the neutral ones.
    const filtered = await send('GET /deploy/list?phases=booting,%20failed')
    expect(filtered.body.map(({ phase }: { phase: string }) => phase)).toEqual(['failed', 'booting'])
    expect((await send('GET /deploy/list?phases=initializing')).body).toHaveLength(1)
    const invalid = await send('POST /deploy/llm', { model_name: 'chat', machine: 'none' })
    expect(invalid.body.detail[0].loc).toEqual(['body', 'machine'])
    // Other records keep their field.
    expect((await send('GET /v1/batches')).body.data[0]).toHaveProperty('status')
    // The typed client uses the neutral names.
    expect(await api.getDeployment({ deploy_id: made.body.id })).toMatchObject({ status: 'initializing' })
  })

  test('have their names in the OpenAPI document and in the schemas of models', async () => {
    const { send } = world({ fields: { 'Deployment.status': 'phase', model: 'engine', deploy_id: 'id' } })
    const { paths, components } = (await send('GET /openapi.json')).body
    expect(components.schemas.Deployment.properties).toHaveProperty('phase')
    expect(components.schemas.Deployment.required).toContain('phase')
    expect(components.schemas.Batch.properties).toHaveProperty('status')
    expect(paths['/deploy/{id}'].get.parameters[0].name).toBe('id')
    expect(paths['/deploy/{deploy_id}']).toBeUndefined()
    const chat = paths['/v1/chat/completions'].post.requestBody.content['application/json']
    expect(chat.schema.properties).toHaveProperty('engine')
    expect(chat.example).toHaveProperty('engine')
  })

  test('have their names in the schemas of a model, which fit what its endpoint takes and answers', async () => {
    const names = {
      fields: { choices: 'options', max_tokens: 'limit', 'createInference.max_new_tokens': 'longest' },
      values: { user: 'person', stop: 'ended' },
      paths: { compat: 'same' },
    }
    const { send } = world(names)
    const model = 'aurora-labs/aurora-8b-instruct'
    const { body: schemas } = await send(`GET /models/${model}/schema/compat-chat-completions`)
    expect(schemas.schema_in.properties).toHaveProperty('limit')
    expect(schemas.schema_in.properties).not.toHaveProperty('max_tokens')
    const fields: { name: string; parent?: string; allowed?: string[] }[] = schemas.fields_in
    expect(fields.map(({ name }) => name)).toContain('limit')
    expect(fields.find(({ name, parent }) => name === 'role' && parent === 'messages')!.allowed).toContain('person')
    expect(JSON.stringify(schemas)).not.toMatch(/"(choices|max_tokens)"/)
    const ajv = new Ajv2020({ strict: false, validateFormats: false })
    const [fitsIn, fitsOut, fitsEvent] = ['schema_in', 'schema_out', 'schema_stream'].map(key =>
      ajv.compile(schemas[key]),
    )
    const request = { model, messages: [{ role: 'person', content: 'Say choices.' }], limit: 500 }
    expect(fitsIn!(request)).toBe(true)
    const answer = await send(`POST ${schemas.variant.url}`, request)
    expect([answer.status, answer.body.options[0].finish_reason]).toEqual([200, 'ended'])
    expect([fitsOut!(answer.body), fitsOut!.errors]).toEqual([true, null])
    expect(fitsOut!({ ...answer.body, options: undefined })).toBe(false)
    expect(fitsEvent).toBeDefined()
    const { body: native } = await send(`GET /models/${model}/schema/default`)
    expect(native.schema_in.properties).toHaveProperty('longest')
    // Neutral names stay where a client asks for them, and the next answer has the names again.
    const { body: neutral } = await send(`GET /models/${model}/schema/default`, undefined, { 'x-sim-names': 'neutral' })
    expect(neutral.schema_in.properties).toHaveProperty('max_new_tokens')
    const { body: info } = await send(`GET /models/${model}`)
    expect(info.in_schema).toEqual(native.schema_in)
  })

  test('have their names in the events of a stream', async () => {
    const { sim } = world({ fields: { choices: 'options', delta: 'piece' } })
    const response = await sendTo(sim, 'POST /v1/chat/completions', {
      ...{ model: 'aurora-labs/aurora-8b-instruct', stream: true },
      messages: [{ role: 'user', content: 'Say choices.' }],
    })
    const events = (await response.text()).split('\n\n').filter(text => text.startsWith('data: {'))
    expect(events.length).toBeGreaterThan(2)
    for (const event of events) {
      const data = JSON.parse(event.slice('data: '.length))
      expect(data).not.toHaveProperty('choices')
      expect(data.options[0]).toHaveProperty('piece')
    }
  })

  test('are translated in and out without a loss, for every field of every operation', () => {
    const known = [...vocabularyOf(operations).keys()]
    const names = known.map(place => place.slice(place.lastIndexOf('.') + 1))
    const everything = Object.fromEntries(names.map((name, nth) => [name, `zz_${nth}`]))
    const places = Object.fromEntries(known.slice(0, 500).map((place, nth) => [place, `yy_${nth}`]))
    for (const profile of [{ fields: everything }, { fields: places }]) {
      const mapping = new VendorMapping(readNames(profile), operations)
      for (const endpoint of Object.values(operations)) {
        const { body, returns } = mapping.forEndpoint(endpoint as never)
        const samples = [
          ...(endpoint.body === undefined ? [] : [[body!, inputShape(endpoint.body)] as const]),
          [returns, outputShape(endpoint.returns)] as const,
        ]
        for (const [one, shape] of samples) {
          const value = sampleOf(shape)
          expect(one.toInternal(one.toVendor(value))).toEqual(value)
        }
      }
    }
  })
})

/** Returns a value with every declared field of a shape. */
function sampleOf(shape: SchemaShape): unknown {
  if (shape.items !== undefined) return [sampleOf(shape.items)]
  if (shape.fields.size > 0)
    return Object.fromEntries([...shape.fields].map(([name, inner]) => [name, sampleOf(inner)]))
  return shape.textRole === undefined ? (shape.allowedWords[0] ?? 7) : 7
}

describe('headers, tags and error shapes', () => {
  test('several headers take the token, and the first one with a token counts', async () => {
    const { sim, send } = world({ headers: { 'alt-api-key': ['key-one', 'key-two'], 'x-api-key': 'key-three' } })
    const status = async (headers: Record<string, string>) =>
      (await send('GET /v1/voices', undefined, { authorization: '', ...headers })).status
    for (const name of ['key-one', 'key-two', 'key-three', 'alt-api-key', 'x-api-key'])
      expect([name, await status({ [name]: sim.token })]).toEqual([name, 200])
    expect(await status({ 'key-one': 'wrong', 'key-two': sim.token })).toBe(401)
    expect(await status({ 'key-four': sim.token })).toBe(401)
    const { components } = (await send('GET /openapi.json')).body
    const schemes = Object.values(components.securitySchemes as Record<string, { name?: string }>)
    expect(schemes.map(({ name }) => name)).toEqual([undefined, 'key-one', 'key-two', 'key-three'])
  })

  test('tags of models have the names of the provider', async () => {
    const { send } = world({ tags: { tools: 'function-calling' } })
    const { tags } = (await send('GET /models/aurora-labs/aurora-8b-instruct')).body
    expect(tags).toContain('function-calling')
    expect(tags).not.toContain('tools')
  })

  test('an operation has the error shape of the profile, also for authentication and faults', async () => {
    const { sim, send } = world({ errors: { getDeployment: 'compat', 'GET /v1/voices/*': 'detail' } })
    const missing = await send('GET /deploy/none')
    expect(missing).toMatchObject({ status: 404, body: { error: { message: 'no deployment none' } } })
    const anonymous = await send('GET /deploy/none', undefined, { authorization: '' })
    expect(anonymous).toMatchObject({ status: 401, body: { error: { message: 'not authenticated' } } })
    expect((await send('GET /v1/voices/none')).body).toEqual({ detail: 'no voice none' })
    expect((await send('GET /model-families/none')).body).toEqual({ error: 'no model family none' })
    sim.faults.add({ on: 'getDeployment', fault: { kind: 'status', status: 500 } })
    expect((await send('GET /deploy/none')).body).toMatchObject({ error: { message: 'Internal Server Error' } })
    const { paths } = (await send('GET /openapi.json')).body
    const schema = paths['/deploy/{deploy_id}'].get.responses['404'].content['application/json'].schema
    expect(schema).toEqual({ $ref: '#/components/schemas/CompatError' })
  })
})

describe('aliases', () => {
  const ALIASES = {
    'GET /catalog/{model_name}': 'getModel',
    'GET /catalog/{model_name}/input': 'getModelSchema?variantKey=default',
    'GET /machines/running': 'listDeployments?status=running',
    'POST /machines': 'createLlmDeployment',
  }

  test('lead to their operations, with parameters of the path and fixed ones', async () => {
    const { sim, send } = world({ aliases: ALIASES })
    const model = 'aurora-labs/aurora-8b-instruct'
    expect(await send(`GET /catalog/${model}`)).toEqual(await send(`GET /models/${model}`))
    expect(await send(`GET /catalog/${model}/input`)).toEqual(await send(`GET /models/${model}/schema/default`))
    const running = await send('GET /machines/running')
    expect(running).toEqual(await send('GET /deploy/list?status=running'))
    const made = await send('POST /machines', { model_name: 'x', gpu: 'L4-24GB', hub: { repo: 'acme/chat-8b' } })
    expect(made.status).toBe(200)
    expect((await send('PUT /machines')).status).toBe(405)
    const requests = sim.journal.entries().filter(({ kind }) => kind === 'request')
    expect(requests[0]).toMatchObject({ fields: { operation: 'getModel' } })
    expect(sim.requests[0]).toMatchObject({ operation: 'getModel', path: `/catalog/${model}` })
  })

  test('are in the OpenAPI document without their fixed parameters', async () => {
    const { send } = world({ aliases: ALIASES })
    const { paths } = (await send('GET /openapi.json')).body
    const { parameters, 'x-alias-of': of } = paths['/catalog/{model_name}/input'].get
    expect(of).toBe('getModelSchema')
    expect(parameters.map(({ name }: { name: string }) => name)).toEqual(['model_name', 'version', 'alt-api-key'])
  })
})

describe('unknown and conflicting names', () => {
  test.each<[string, unknown, RegExp]>([
    ['field', { fields: { statsu: 'x' } }, /fields\.statsu: unknown word\. Did you mean 'status'\?/],
    ['place', { fields: { 'Deployment.statsu': 'x' } }, /Did you mean 'Deployment\.status'\?/],
    ['value', { values: { runing: 'x' } }, /values\.runing: unknown word\. Did you mean 'running'\?/],
    [
      'value in a place',
      { values: { 'Deployment.status.runing': 'x' } },
      /Did you mean 'Deployment\.status\.running'\?/,
    ],
    ['list of names', { fields: { status: ['a', 'b'] } }, /fields\.status: expected a string, got an array/],
    ['field beside it', { fields: { 'Deployment.status': 'task' } }, /'task' is a field beside it in/],
    [
      'equal names',
      { fields: { 'Deployment.status': 'x', 'Deployment.task': 'x' } },
      /fields\.Deployment\.(status|task): 'x' is a field beside it in/,
    ],
    ['section', JSON.parse('{"__proto__": {}}'), /__proto__: unknown section\. Remove it\./],
    ['word', JSON.parse('{"fields": {"__proto__": "x"}}'), /fields\.__proto__: unknown word\./],
    ['hidden alias', JSON.parse('{"aliases": {"__proto__": 7}}'), /aliases\.__proto__: unknown word\./],
    ['tag', { tags: { tools: '' } }, /tags\.tools: expected at least 1 character/],
    ['route', { aliases: { 'GET machines': 'listModels' } }, /aliases\.GET machines: invalid route/],
    [
      'operation',
      { aliases: { 'GET /x': 'listModel' } },
      /unknown operation 'listModel'\. Did you mean 'listModels'\?/,
    ],
    ['method', { aliases: { 'GET /x': 'addFunds' } }, /addFunds is a POST/],
    [
      'parameter',
      { aliases: { 'GET /x/{deploy}': 'getDeployment' } },
      /unknown parameter 'deploy'\. Did you mean 'deploy_id'\?/,
    ],
    ['missing parameter', { aliases: { 'GET /x': 'getDeployment' } }, /give the parameter 'deploy_id' once/],
    [
      'taken path',
      { aliases: { 'GET /deploy/mine': 'listModels' } },
      /the path '\/deploy\/mine' leads to \/deploy\/\{deploy_id\} already/,
    ],
    [
      'error shape',
      { errors: { getDeployment: 'smple' } },
      /errors\.getDeployment: expected one of .* Did you mean 'simple'\?/,
    ],
    ['error group', { errors: { getDeploymnt: 'simple' } }, /unknown operation\. Did you mean 'getDeployment'\?/],
  ])('an unknown or taken %s is refused', (_, names, message) => {
    expect(() => createSimulator({ names } as SimulatorOptions)).toThrow(message)
  })
})
