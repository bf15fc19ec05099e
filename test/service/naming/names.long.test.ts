/** Names profiles: what is asked in the user's words is answered in them, and is the same world. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { serve } from '../../../src/server/http/server.ts'
import { createClient } from '../../../src/service/client/client.ts'
import { operations } from '../../../src/service/index.ts'
import { type NamesProfile, readNames } from '../../../src/service/naming/names-profile.ts'
import { createExampleRequest } from '../../../src/service/openapi/examples.ts'
import { Snapshot } from '../../../src/simulator/checkpoint/snapshot.ts'
import { createSimulator, type Simulator, type SimulatorOptions } from '../../../src/simulator/simulator.ts'
import { handlers } from '../../../src/workbench/testing/msw.ts'
import { ask, ROWS, WORLDS, type WorldName } from '../../server/request-table.ts'
import { batchFile } from '../../setup/batches.ts'
import { sendTo } from '../../setup/send-to.ts'
import { temporaryFolder } from '../../setup/temporary-folder.ts'
import { namedBody, namedHeaders, namedTarget, neutralNames, neutralText, PROFILE } from './renamed-words.ts'

const onBug = (error: unknown) => {
  throw error
}
const origins = new Map<string, Simulator>()

/** A world of a kind, in neutral words and in the profile's. */
function pair(kind: WorldName = 'usual'): { neutral: Simulator; named: Simulator } {
  const of = (names: NamesProfile | undefined) => {
    const key = `${kind} ${names === undefined}`
    const origin = origins.get(key) ?? createSimulator({ onBug, ...WORLDS[kind], ...(names && { names }) })
    origins.set(key, origin)
    return origin.fork()
  }
  return { neutral: of(undefined), named: of(PROFILE) }
}

async function asNamed(request: Request): Promise<Request> {
  const { pathname, search } = new URL(request.url)
  const isJson = request.headers.get('content-type')?.startsWith('application/json') ?? false
  const body = isJson ? namedBody(await request.text()) : request.body
  const headers = namedHeaders(request.headers)
  return new Request(`http://sim${namedTarget(pathname)}${search}`, {
    ...{ method: request.method, headers },
    ...(body !== null && { body, duplex: 'half' }),
  } as RequestInit)
}

const get = (sim: Simulator, path: string, headers: Record<string, string> = {}) =>
  sim.fetch(`http://sim${path}`, { headers: { authorization: `Bearer ${sim.token}`, ...headers } })

const post = (sim: Simulator, path: string, body: unknown, method = 'POST') => sendTo(sim, `${method} ${path}`, body)

afterEach(() => void vi.restoreAllMocks())

describe('every answer is the neutral answer with other words', () => {
  // Each status of each endpoint once, and every rule of those whose bodies and paths have words in them.
  const WORDY = ['createLlmDeployment', 'createLora', 'getModelSchema', 'listAggregatorModels']
  const cases = ROWS.flatMap(({ operation, cases }) =>
    cases
      .filter((one, i) => WORDY.includes(operation) || cases.findIndex(({ status }) => status === one.status) === i)
      .map(one => ({ operation, ...one })),
  )
  test.each(cases)('$operation, $status: $name', async one => {
    const { neutral, named } = pair(one.world)
    const expected = await ask(one, neutral.token, (path, init) => neutral.fetch(`http://sim${path}`, init))
    const found = await ask(one, named.token, async (path, init) =>
      named.fetch(await asNamed(new Request(`http://sim${path}`, init))),
    )
    expect(neutralNames(found.text)).toEqual([])
    expect({ ...found, text: neutralText(found.text) }).toEqual(expected)
    expect(named.digest).toBe(neutral.digest)
  })

  test.each(Object.keys(operations))('the example of %s', async operation => {
    const { neutral, named } = pair()
    const address = { baseUrl: 'http://sim', token: neutral.token }
    const request = await createExampleRequest(operations, operation, neutral.fetch, address)
    const twin = await createExampleRequest(operations, operation, named.fetch, address)
    const expected = await (await neutral.fetch(request)).text()
    const found = await (await named.fetch(await asNamed(twin))).text()
    expect(neutralNames(found)).toEqual([])
    expect(neutralText(found)).toBe(expected)
    expect(named.digest).toBe(neutral.digest)
  })
})

describe('the words of a request', () => {
  const LLM = { model_name: 'chat', gpu: 'L4-24GB' }

  test('neutral words are accepted too, and the named words take precedence', async () => {
    const { named } = pair()
    const made = async (body: object) => {
      const { config } = await (await post(named, '/deploy/llm', { ...LLM, ...body })).json()
      return config.weights.repo
    }
    expect(await made({ hub: { repo: 'acme/chat-8b' } })).toBe('acme/chat-8b')
    const both = { qqDepot: { repo: 'acme/chat-70b' }, hub: { repo: 'acme/chat-8b' }, model_name: 'both' }
    expect(await made(both)).toBe('acme/chat-70b')
    expect((await get(named, '/aggregator/models')).status).toBe(200)
    expect((await get(named, '/models/aurora-labs/aurora-8b-instruct/schema/compat-completions')).status).toBe(200)
    const keyed = (headers: Record<string, string>) => named.fetch('http://sim/v1/voices', { headers })
    expect((await keyed({ 'alt-api-key': 'sim_ci_token' })).status).toBe(200)
    expect((await keyed({ 'alt-api-key': 'unknown', 'qq-key': 'sim_ci_token' })).status).toBe(200)
    expect((await keyed({ 'alt-api-key': 'sim_ci_token', 'qq-key': 'unknown' })).status).toBe(401)
  })

  test('texts of the user are unchanged: metadata, messages, tools, files, names', async () => {
    const { named, neutral } = pair()
    const metadata = { hub: 'modelhub', qqDepot: 'aggregator', hub_id: 'x' }
    const batch = {
      input_file_id: 'file_HSCZDQPBeSpnXB5vXxnzQcds',
      endpoint: '/v1/chat/completions',
      completion_window: '24h',
      metadata,
    }
    expect((await (await post(named, '/v1/batches', batch)).json()).metadata).toEqual(metadata)
    const messages = [{ role: 'user', content: 'the qqDepot of the hub', hub: 1, qqDepot: 2 }]
    const tools = [{ name: 't', input_schema: { properties: { qqDepot: {}, hub: { const: 'qq_site' } } } }]
    const count = async (sim: Simulator) =>
      (
        await (
          await post(sim, '/vendor_a/v1/messages/count_tokens', {
            model: 'aurora-labs/aurora-8b-instruct',
            messages,
            tools,
          })
        ).json()
      ).input_tokens
    expect(await count(named)).toBe(await count(neutral))
    const content = '{"hub":1,"qqDepot":"modelhub"}\n'
    const authorization = `Bearer ${named.token}`
    const file = await named.fetch('http://sim/v1/files', {
      method: 'POST',
      headers: { authorization },
      body: batchFile(content, 'hub.jsonl'),
    })
    const { id, filename } = await file.json()
    expect(filename).toBe('hub.jsonl')
    expect(await (await get(named, `/v1/files/${id}/content`)).text()).toBe(content)
    expect((await (await post(named, '/v1/api-tokens', { name: 'hub' })).json()).name).toBe('hub')
    const unknown = await (await get(named, '/v2/hardware?model=acme/hub')).json()
    expect(unknown.error).toBe('no model acme/hub')
    const mine = await (await get(named, '/models/hosted/schema/default')).json()
    expect(mine.error).toBe('no model acme/hosted')
  })

  test('messages, logs, the journal and the trace have the neutral words in every world', async () => {
    const { named, neutral } = pair()
    for (const sim of [named, neutral]) {
      sim.cluster.hub.gate('acme/chat-8b')
      const { deploy_id } = await (await post(sim, '/deploy/llm', { ...LLM, hub: { repo: 'acme/chat-8b' } })).json()
      await sim.clock.advance('10m')
      const { fail_reason } = await (await get(sim, `/deploy/${deploy_id}`)).json()
      expect(fail_reason).toBe('hub repository acme/chat-8b is gated and no token was given (401)')
      const { entries } = await (await get(sim, `/v1/logs/query?deploy_id=${deploy_id}`)).json()
      expect(entries.map(([, text]: [string, string]) => text)).toContain(`ERROR failed: ${fail_reason}`)
    }
    const instance = 'inst_HmSomZNCU5EAVUqwFpxpN9vc'
    await post(named, `/v1/qq-boxes/${instance}`, { name: 'x' }, 'PATCH')
    await get(named, '/models/aurora-labs/aurora-8b-instruct/schema/qqc-completions')
    await post(neutral, `/v1/hosted/${instance}`, { name: 'x' }, 'PATCH')
    await get(neutral, '/models/aurora-labs/aurora-8b-instruct/schema/compat-completions')
    expect(named.journal.entries()).toEqual(neutral.journal.entries())
    expect(named.digest).toBe(neutral.digest)
    expect(await (await get(named, '/v1/qq-boxes/x')).json()).toEqual({ error: 'no hosted instance x' })
  })

  test('a 422 names fields and accepted values by the names of the provider', async () => {
    const names: NamesProfile = {
      fields: { messages: 'turns', 'createLlmDeployment.gpu': 'machine', role: 'who' },
      values: {
        '24h': 'one-day',
        user: 'person',
        'createLlmDeployment.gpu.L4-24GB': 'small',
        '/v1/completions': '/v2/words',
      },
      variants: { 'compat-': 'standard-' },
    }
    const sim = createSimulator({ onBug, names })
    const detailOf = async (response: Response) => (await response.json()).detail
    const model = 'aurora-labs/aurora-8b-instruct'
    const chat = { model, turns: [{ who: 'none', content: 'Hi' }] }
    expect(await detailOf(await post(sim, '/v1/chat/completions', chat))).toEqual([
      {
        loc: ['body', 'turns', '0', 'who'],
        msg: "Input should be 'system', 'person', 'assistant', 'tool' or 'function'",
        type: 'literal_error',
      },
    ])
    const batch = { input_file_id: 'x', endpoint: '/v1/embeddings', completion_window: '24' }
    const [endpoint, window] = await detailOf(await post(sim, '/v1/batches', batch))
    expect(window.msg).toBe("Input should be 'one-day'")
    const expected = { loc: ['body', 'endpoint'], msg: "Input should be '/v1/chat/completions' or '/v2/words'" }
    expect(endpoint).toMatchObject(expected)
    const [gpu] = await detailOf(await post(sim, '/deploy/llm', { model_name: 'x', machine: 'none' }))
    expect(gpu).toMatchObject({ loc: ['body', 'machine'], msg: expect.stringContaining("'small', 'L40S-48GB'") })
    const [variant] = await detailOf(await get(sim, `/models/${model}/schema/standard-none`))
    expect(variant.msg).toContain("'default', 'standard-completions'")
    // A client that asks for neutral names gets them here, too.
    const neutral = await get(sim, `/models/${model}/schema/standard-none`, { 'x-sim-names': 'neutral' })
    expect((await detailOf(neutral))[0].msg).toContain("'default', 'compat-completions'")
  })

  test('a refusal names fields, values and paths by the names of the provider, and nothing that the client chose', async () => {
    const names: NamesProfile = {
      paths: { hosted: 'machines' },
      fields: {
        hub: 'depot',
        repo: 'source',
        model_name: 'title',
        gpu_type: 'card',
        'createLlmDeployment.gpu': 'chip',
      },
      values: { other: 'none-of-these', 'Deployment.status.running': 'up', 'L4-24GB': 'small' },
    }
    const sim = createSimulator({ onBug, names })
    const said = async (response: Promise<Response>) => {
      const { error, detail } = await (await response).json()
      return error ?? detail[0].msg
    }
    const llm = { title: 'acme/hub', chip: 'small' }
    expect(await said(post(sim, '/deploy/llm', llm))).toBe(
      'Value error, no weights for acme/hub: give depot.source or base_model',
    )
    const other = { ...llm, chip: 'none-of-these', depot: { source: 'acme/chat-8b' } }
    expect(await said(post(sim, '/deploy/llm', other))).toMatch(/^chip 'none-of-these' cannot/)
    const more = { card: 'big', requested_limit: 9, reason: '' }
    expect(await said(post(sim, '/v1/me/gpu_limit/request', more))).toMatch(/: card is one of L4-24GB, L40S-48GB, /)
    expect(await said(get(sim, '/deploy/list?status=none'))).toMatch(/: status is a list of initializing, .*, up, /)
  })

  test('a 422 about an unknown field suggests the name of the provider', async () => {
    const sim = createSimulator({ onBug, names: { fields: { 'renameContainer.name': 'label' } } })
    const response = await post(sim, '/v1/containers/x', { lable: 'x' }, 'PATCH')
    expect((await response.json()).detail).toContainEqual({
      loc: ['body', 'lable'],
      msg: "Extra inputs are not permitted: lable. Did you mean 'label'?",
      type: 'extra_forbidden',
    })
  })

  test('the typed client uses neutral words in every world, but its fetch does not', async () => {
    const { named } = pair()
    const api = createClient(named.fetch, { baseUrl: 'http://sim', token: named.token })
    expect(await api.getPaymentChecklist()).toHaveProperty('account_balance', -2500)
    const refusal = await api.renameHosted({ instance_id: 'x', name: 'y' }).catch(error => error)
    expect(refusal.body).toEqual({ error: 'no hosted instance x' })
    const raw = await api.raw(new Request('http://sim/payment/checklist'))
    expect(await raw.json()).toHaveProperty('qqOwed', -2500)
  })

  test('the request of a client is kept as it was sent', async () => {
    const { named } = pair()
    await post(named, '/v1/qq-boxes/x', { name: 'y' }, 'PATCH')
    await post(named, '/deploy/llm', { ...LLM, qqDepot: { repo: 'acme/chat-8b' } })
    const expected = [
      ['renameHosted', '/v1/qq-boxes/x'],
      ['createLlmDeployment', '/deploy/llm'],
    ]
    expect(named.requests.map(({ operation, path }) => [operation, path])).toEqual(expected)
    expect(named.requests[1]!.body).toHaveProperty('qqDepot')
  })

  test('faults are declared in neutral words and change the named words on the wire', async () => {
    const { named } = pair()
    named.faults.add({
      on: 'getPaymentChecklist',
      nth: 1,
      fault: { kind: 'drift', change: 'missingField', field: 'account_balance' },
    })
    named.faults.add({
      on: 'GET /aggregator/models',
      times: 1,
      fault: { kind: 'drift', change: 'absentField', field: 'data[].hub_id' },
    })
    named.faults.add({ on: 'listVoices', token: 'sim_ci_token', times: 1, fault: { kind: 'status', status: 503 } })
    expect(await (await get(named, '/payment/checklist')).json()).not.toHaveProperty('qqOwed')
    const { data } = await (await get(named, '/qq-router/models')).json()
    expect(data.some((one: object) => 'qqDepotKey' in one)).toBe(false)
    expect(data[0]).toHaveProperty('qqExtras')
    const keyed = named.fetch('http://sim/v1/voices', { headers: { 'qq-key': 'sim_ci_token' } })
    expect((await keyed).status).toBe(503)
  })

  test('a snapshot has no names: a simulator that restores it keeps its own', async () => {
    const { named, neutral } = pair()
    const other = createSimulator({ onBug, names: { fields: { account_balance: 'owed' } } })
    for (const taken of [named.snapshot(), Snapshot.from(named.snapshot().toBytes())]) {
      const word = async (sim: Simulator) => Object.keys(await (await get(sim, '/payment/checklist')).json())[0]
      for (const sim of [named, neutral, other]) sim.restore(taken)
      expect(await Promise.all([named, neutral, other].map(word))).toEqual(['qqOwed', 'account_balance', 'owed'])
      const made = [{}, { names: PROFILE }].map(options => createSimulator({ fixtures: taken, ...options }))
      expect(await Promise.all(made.map(word))).toEqual(['account_balance', 'qqOwed'])
      expect(new Set([named, neutral, other, ...made].map(({ digest }) => digest)).size).toBe(1)
    }
  })
})

describe('the description of a world', () => {
  test('the document has the named paths, fields and values, and the neutral document is available', async () => {
    const { named, neutral } = pair()
    const text = await (await get(named, '/openapi.json')).text()
    const document = JSON.parse(text)
    expect(
      Object.keys(document.paths).filter(path => /^\/(?:v1\/hosted|v1\/compat|aggregator|vendor_a)\b/.test(path)),
    ).toEqual([])
    expect(neutralNames(text)).toEqual([])
    expect(text.match(/"(?:hub_id|account_balance|modelhub_url)"/g)).toBeNull()
    const { schemas } = document.components
    for (const [, id] of text.matchAll(/"#\/components\/schemas\/(\w+)"/g)) expect(schemas).toHaveProperty(id!)
    const plain = await (await get(neutral, '/openapi.json')).text()
    expect(await (await get(named, '/openapi.json', { 'x-sim-names': 'neutral' })).text()).toBe(plain)
    const { schema, example } = document.paths['/deploy/llm'].post.requestBody.content['application/json']
    expect(schema.properties.qqDepot.anyOf[0].required).toEqual(['repo'])
    expect(example.qqDepot).toEqual({ repo: 'acme/chat-8b' })
    expect(document.paths['/v1/qq-boxes/{instance_id}'].patch.operationId).toBe('renameHosted')
    expect(document.components.securitySchemes['alt-api-key'].name).toBe('qq-key')
    expect(Object.keys(document.paths)).toHaveLength(Object.keys(JSON.parse(plain).paths).length)
  })

  test('MSW has a handler for each path of an endpoint', () => {
    const { named } = pair()
    const paths = handlers(named, { baseUrl: 'http://sim', perEndpoint: true }).map(({ info }) => String(info.path))
    expect(paths.filter(path => path.includes('qq-boxes')).length).toBe(
      paths.filter(path => path.includes('hosted')).length,
    )
    expect(paths.some(path => path.includes('qq-boxes'))).toBe(true)
  })
})

describe('worlds of one process', () => {
  const OTHER = {
    paths: { hosted: 'machines' },
    fields: { account_balance: 'owed' },
    headers: { 'alt-api-key': 'x-key' },
  }

  test('and two worlds of a server, distinguished by a header that only one of them has', async () => {
    const server = await serve(createSimulator(), { port: 0 })
    onTestFinished(() => server.close())
    const json = { 'content-type': 'application/json' }
    const world = async (names: unknown) =>
      fetch(`${server.url}/_sim/worlds`, { method: 'POST', headers: json, body: JSON.stringify({ names }) })
    const [one, two] = await Promise.all([PROFILE, OTHER].map(async names => (await world(names)).json()))
    const asked = async (headers: Record<string, string>) =>
      Object.keys(await (await fetch(`${server.url}/payment/checklist`, { headers })).json())[0]
    expect(await asked({ 'qq-key': one.token })).toBe('qqOwed')
    expect(await asked({ 'x-key': two.token })).toBe('owed')
    expect(await asked({ 'alt-api-key': two.token })).toBe('owed')
    expect(await asked({ 'alt-api-key': 'sim_default_token' })).toBe('account_balance')
    const paths = async (base: string) => Object.keys((await (await fetch(`${base}/openapi.json`)).json()).paths)
    expect(await paths(one.base_url)).toContain('/qq-router/models')
    expect(await paths(two.base_url)).toContain('/v1/machines/{instance_id}')
    expect(await paths(server.url)).toContain('/v1/hosted/{instance_id}')
    const refused = await world({ paths: { hostd: 'x' } })
    expect([refused.status, (await refused.json()).error]).toEqual([
      400,
      "Failed to read the names of the world: paths.hostd: unknown word. Did you mean 'hosted'? Rename or remove it.",
    ])
  })
})

test('a world made from a snapshot on a server has the names of the world that keeps the snapshot, or others', async () => {
  const server = await serve(createSimulator({ names: { fields: { account_balance: 'first' } } }), { port: 0 })
  onTestFinished(() => server.close())
  const send = async (path: string, body: unknown) => {
    const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }
    const answer = await fetch(`${path.startsWith('http') ? '' : server.url}${path}`, init)
    return { status: answer.status, body: await answer.json() }
  }
  const word = async ({ base_url, token }: { base_url: string; token: string }) => {
    const headers = { authorization: `Bearer ${token.slice(0, token.lastIndexOf('.'))}` }
    return Object.keys(await (await fetch(`${base_url}/payment/checklist`, { headers })).json())[0]
  }
  const made = async (body: object) => word((await send('/_sim/worlds', body)).body)
  const keeper = (await send('/_sim/worlds', { names: { fields: { account_balance: 'kept' } } })).body
  await send('/_sim/snapshots', { name: 'mine' })
  await send(`${keeper.base_url}/_sim/snapshots`, { name: 'mine' })
  const from = keeper.world
  expect(await made({ snapshot: 'mine' })).toBe('first')
  expect(await made({ snapshot: 'mine', from })).toBe('kept')
  expect(await made({ from })).toBe('kept')
  expect(await made({ snapshot: 'mine', from, names: { fields: { account_balance: 'own' } } })).toBe('own')
  expect(await made({ snapshot: 'mine', from, names: {} })).toBe('account_balance')
  // Carried out of one world and into another.
  const file = await (await fetch(`${keeper.base_url}/_sim/snapshots/mine/export`)).blob()
  const form = new FormData()
  form.set('file', file, 'mine.snapshot')
  expect((await fetch(`${server.url}/_sim/snapshots/brought/import`, { method: 'POST', body: form })).status).toBe(200)
  expect(await made({ snapshot: 'brought' })).toBe('first')
  expect((await send(`${keeper.base_url}/_sim/snapshots/mine/restore`, {})).status).toBe(200)
  expect(await word(keeper)).toBe('kept')
  const refused = await send('/_sim/worlds', { snapshot: 'mine', seed: 7, names: {} })
  expect([refused.status, refused.body.error]).toEqual([
    400,
    'Failed to make a world: a snapshot brings the seed of its world. Leave seed or snapshot out.',
  ])
  const forked = await send('/_sim/worlds', { from, names: {} })
  const expected = [400, 'Failed to make a world: a fork has the names of its origin. Leave names or from out.']
  expect([forked.status, forked.body.error]).toEqual(expected)
})

describe('invalid names', () => {
  const bad: Record<string, [unknown, RegExp]> = {
    'no object': [7, /it: expected an object, got 7\. Fix that value\./],
    'a section of another kind': [{ fields: 'hub' }, /fields: expected an object, got 'hub'/],
    'a word of another section': [{ values: { hub_id: 'x' } }, /values\.hub_id: unknown word/],
    'two to one': [{ fields: { hub: 'x', hub_id: 'x' } }, /fields\.hub_id: 'x' is already the name of fields\.hub/],
    'two headers in other letters': [{ headers: { 'alt-api-key': 'Authorization' } }, /is a header in use/],
    'a path of two segments': [
      { paths: { hosted: 'a/b' } },
      /paths\.hosted: expected text that is one segment of a path, got 'a\/b'/,
    ],
    'an empty word': [
      { variants: { 'compat-': '' } },
      /variants\.compat-: expected text of small letters, digits and dashes, got ''/,
    ],
    'a field deep within': [
      { fields: { hub_id: 'description' } },
      /'description' is a field beside it in listAggregatorModels/,
    ],
    'a path that another endpoint has': [
      { paths: { hosted: 'files' } },
      /makes \/v1\/hosted\/\{instance_id\} into \/v1\/files\/\{instance_id\}, which is/,
    ],
    'a path that a parameter would take': [
      { paths: { aggregator: 'models' } },
      /makes \/aggregator\/models into \/models\/models, which is \/models\/\{model_name\}/,
    ],
    'the path of the simulator': [{ paths: { aggregator: '_sim' } }, /expected text that is one segment/],
    'a value beside it': [{ variants: { 'altvendor-': 'compat-' } }, /'compat-tts' is a value beside it/],
    'several at once': [
      { fields: { hubb: 'x' }, values: { modelhb: 'x' } },
      /:\n {2}fields\.hubb: .*\n {2}values\.modelhb: /,
    ],
  }
  test.each(Object.entries(bad))('%s', (_, [names, message]) => {
    expect(() => createSimulator({ names } as SimulatorOptions)).toThrow(message)
  })

  test('a file that is not there, or holds no JSON', () => {
    expect(() => readNames('no/such.json')).toThrow("Failed to read the names 'no/such.json': the file is missing")
    expect(() => readNames('README.md')).toThrow(
      /Failed to read the names 'README\.md': line 1, column 1: expected a value/,
    )
    const folder = temporaryFolder()
    const file = join(folder, 'names.json')
    writeFileSync(file, '{"fields":{"hub":"a","hub":"b"}}')
    expect(() => readNames(file)).toThrow(/line 1, column 22: the key "hub" is there twice/)
  })

  test('a missing profile and an empty profile change nothing', async () => {
    const sim = createSimulator({ names: { fields: { hub: 'hub' }, paths: {} } })
    expect(await (await get(sim, '/payment/checklist')).json()).toHaveProperty('account_balance')
  })
})
