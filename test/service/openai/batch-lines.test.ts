/** Sends equal bodies as requests and as batch lines, and compares answers and refusals. */
import type OpenAI from 'openai'
import { expect, test } from 'vitest'
import { createChatCompletion } from '../../../src/service/openai/chat.ts'
import { createCompletion } from '../../../src/service/openai/completions.ts'
import { countTokens, loadTokenizer } from '../../../src/service/openai/tokenizer.ts'
import { Snapshot } from '../../../src/simulator/checkpoint/snapshot.ts'
import { batchLine, rowsOf, startBatch } from '../../setup/batches.ts'
import { HELLO, type OpenaiWorld, openaiWorld } from './openai-world.ts'

await loadTokenizer()

const MODEL = 'acme/chat'
const CHAT = '/v1/chat/completions'
const TEXT = '/v1/completions'
const SCHEMA = {
  type: 'object',
  properties: { city: { type: 'string', minLength: 1 }, people: { type: 'integer', minimum: 1 } },
  required: ['city', 'people'],
  additionalProperties: false,
}
const TOOLS = [
  { type: 'function', function: { name: 'get_weather', parameters: SCHEMA } },
  { type: 'function', function: { name: 'read_clock' } },
]
const user = (content: unknown) => [{ role: 'user', content }]
const chat = (more: object) => ({ model: MODEL, messages: HELLO, ...more })
const text = (more: object) => ({ model: MODEL, prompt: 'Once upon a time', ...more })

const ANSWERED: Record<string, readonly [endpoint: string, body: object]> = {
  words: [CHAT, chat({})],
  'words of a message whose fields stand in another order': [
    CHAT,
    chat({ messages: [{ content: 'Tell me about lakes.', name: 'me', role: 'user' }] }),
  ],
  'words in parts': [
    CHAT,
    chat({
      messages: user([
        { type: 'text', text: 'Tell me ' },
        { type: 'text', text: 'more' },
      ]),
    }),
  ],
  'words that are cut': [CHAT, chat({ max_tokens: 5 })],
  'words that max_completion_tokens cuts': [CHAT, chat({ max_tokens: 9, max_completion_tokens: 4 })],
  n: [CHAT, chat({ n: 3 })],
  stop: [CHAT, chat({ stop: ['a'] })],
  'stop, which it does not say': [CHAT, chat({ stop: 'Zanzibar' })],
  'n, stop and json_object': [CHAT, chat({ n: 2, stop: ['a'], response_format: { type: 'json_object' } })],
  json_object: [CHAT, chat({ response_format: { type: 'json_object' } })],
  json_schema: [CHAT, chat({ response_format: { type: 'json_schema', json_schema: { name: 'it', schema: SCHEMA } } })],
  regex: [CHAT, chat({ response_format: { type: 'regex', regex: '[A-Z]{3}-\\d{4}' } })],
  'regex of a text': [TEXT, text({ response_format: { type: 'regex', regex: 'yes|no' } })],
  'tools, by choice': [CHAT, chat({ messages: user('How is the weather?'), tools: TOOLS })],
  'tools, required': [CHAT, chat({ tools: TOOLS, tool_choice: 'required' })],
  'a tool by name': [CHAT, chat({ tools: TOOLS, tool_choice: { type: 'function', function: { name: 'read_clock' } } })],
  'no tool': [CHAT, chat({ tools: TOOLS, tool_choice: 'none' })],
  'what changes nothing': [CHAT, chat({ temperature: 0.3, top_p: 0.5, seed: 4, user: 'u', logprobs: false })],
  logprobs: [CHAT, chat({ logprobs: true, top_logprobs: 2 })],
  'logprobs of a text with echo': [TEXT, text({ logprobs: 2, echo: true })],
  'max_tokens 0': [CHAT, chat({ max_tokens: 0 })],
  'a scripted text': [CHAT, chat({ messages: user('Say rain twice') })],
  'a scripted text, n times and cut': [CHAT, chat({ messages: user('Say rain twice'), n: 2, max_tokens: 2 })],
  'scripted json': [CHAT, chat({ messages: user('Say a list') })],
  'a scripted tool call': [CHAT, chat({ messages: user('Say a booking') })],
  'a service tier': [CHAT, chat({ service_tier: 'flex' })],
  'a text': [TEXT, text({})],
  'a text with a service tier': [TEXT, text({ service_tier: 'priority', n: 2 })],
  'a text that is cut': [TEXT, text({ max_tokens: 3 })],
  'one of one text': [TEXT, text({ prompt: ['Once upon a time'] })],
  'texts, some of each': [TEXT, text({ prompt: ['a', 'b'], n: 2 })],
  echo: [TEXT, text({ echo: true })],
  'echo of texts': [TEXT, text({ prompt: ['a', 'b'], echo: true, max_tokens: 4 })],
  'a text up to a stop': [TEXT, text({ stop: ['a', 'e'] })],
  'a text that is scripted': [TEXT, text({ prompt: 'Say rain', echo: true })],
}

const REFUSED: Record<string, readonly [endpoint: string, body: object]> = {
  'no messages': [CHAT, { model: MODEL }],
  'empty messages': [CHAT, chat({ messages: [] })],
  'an unknown role': [CHAT, chat({ messages: [{ role: 'wizard', content: 'hi' }] })],
  'two things at once': [CHAT, chat({ temperature: 9, n: 0 })],
  'top_logprobs without logprobs': [CHAT, chat({ top_logprobs: 2 })],
  'no tools': [CHAT, chat({ tools: [] })],
  'a choice without tools': [CHAT, chat({ tool_choice: 'required' })],
  'a tool that is not there': [
    CHAT,
    chat({ tools: TOOLS, tool_choice: { type: 'function', function: { name: 'fly' } } }),
  ],
  'max_tokens below 0': [CHAT, chat({ max_tokens: -1 })],
  'a schema that nothing fits': [
    CHAT,
    chat({ response_format: { type: 'json_schema', json_schema: { name: 'it', schema: { enum: [] } } } }),
  ],
  'a prompt above the context': [CHAT, chat({ messages: user('river '.repeat(9_000)) })],
  'a scripted error': [CHAT, chat({ messages: user('Say too much') })],
  'no prompt': [TEXT, { model: MODEL }],
  'a prompt of numbers': [TEXT, text({ prompt: 7 })],
  'max_tokens 0 of a text': [TEXT, text({ max_tokens: 0 })],
  'a text above the context': [TEXT, text({ prompt: ['a', 'river '.repeat(9_000)] })],
}

function here(strictRequests = false): OpenaiWorld {
  const one = openaiWorld({ strictRequests })
  const { inference } = one.sim
  inference.add({ contains: 'rain', answer: { text: 'Rain, rain, and more rain.' } })
  inference.add({ contains: 'a list', answer: { json: ['a', 'b'] } })
  inference.add({ contains: 'booking', answer: { toolCall: { name: 'book_table', arguments: { people: 2 } } } })
  inference.add({ contains: 'too much', answer: { error: { status: 429, message: 'too much' } } })
  return one
}

// biome-ignore lint/suspicious/noExplicitAny: a file may hold anything
type Line = { id: string; custom_id: string; response: any; error: any }

/** Runs the bodies as lines of one batch. Returns the lines of the output and of the error file. */
async function batched(one: OpenaiWorld, endpoint: string, bodies: Record<string, object>) {
  const { id } = await createBatch(one, endpoint, bodies)
  await one.sim.clock.advance('1h')
  return { id, ...(await filesOf(one.client, id)) }
}

const createBatch = ({ sim }: Pick<OpenaiWorld, 'sim'>, endpoint: string, bodies: Record<string, object>) =>
  startBatch(
    sim,
    Object.entries(bodies).map(([custom_id, body]) => batchLine(custom_id, body, endpoint)),
  )

/** Runs the bodies as lines of one batch, which fails. */
async function failedBatch({ sim, client }: OpenaiWorld, endpoint: string, bodies: Record<string, object>) {
  const { id } = await createBatch({ sim }, endpoint, bodies)
  await sim.clock.advance('1h')
  const batch = await client.batches.retrieve(id)
  expect(batch.status).toBe('failed')
  return batch
}

async function filesOf(client: OpenAI, id: string) {
  const batch = await client.batches.retrieve(id)
  const read = async (file: string) => rowsOf<Line>(await (await client.files.content(file)).text())
  return { batch, output: await read(batch.output_file_id!), errors: await read(batch.error_file_id!) }
}

const asked = (table: typeof ANSWERED, endpoint: string) =>
  Object.fromEntries(
    Object.entries(table).flatMap(([name, [where, body]]) => (where === endpoint ? [[name, body]] : [])),
  )

test.each([CHAT, TEXT])('%s: lines and requests have equal answers', { tags: 'slow' }, async endpoint => {
  const bodies = asked(ANSWERED, endpoint)
  const one = here()
  const { output, errors, batch } = await batched(one, endpoint, bodies)
  expect(errors).toEqual([])
  expect(batch.request_counts).toEqual({
    total: output.length,
    completed: Object.keys(bodies).length,
    failed: 0,
  })
  const declared = endpoint === CHAT ? createChatCompletion.returns : createCompletion.returns
  for (const { custom_id, response } of output) {
    const live = await one.ask(endpoint, bodies[custom_id])
    const { id, created, ...body } = response.body
    const { id: _, created: __, ...expected } = live.body
    if (endpoint === CHAT) Object.assign(expected.usage, { estimated_cost: 0 })
    expect(body, custom_id).toEqual(expected)
    expect(response.status_code).toBe(live.status)
    expect(id).toMatch(endpoint === CHAT ? /^chatcmpl-/ : /^cmpl-/)
    expect(created).toBeGreaterThan(0)
    expect(Object.keys(response.body)).toEqual(Object.keys(live.body))
    declared.parse(response.body)
  }
})

test('a line with stream fails alone with 500', async () => {
  const { output, errors } = await batched(here(), CHAT, { a: chat({}), b: chat({ stream: true }) })
  expect(output.map(({ custom_id }) => custom_id)).toEqual(['a'])
  expect(errors.map(({ custom_id, response, error }) => ({ custom_id, response, error }))).toEqual([
    {
      custom_id: 'b',
      response: null,
      error: { code: '500', message: 'internal error', param: null, type: 'internal_error' },
    },
  ])
})

test.each([CHAT, TEXT])(
  '%s: a body that the endpoint rejects with 422 fails the whole batch',
  { tags: 'slow' },
  async endpoint => {
    const one = here()
    const good = endpoint === CHAT ? chat({}) : text({})
    let tried = 0
    for (const [name, body] of Object.entries(asked(REFUSED, endpoint))) {
      const { status, body: refused } = await one.ask(endpoint, body)
      if (status !== 422) continue
      tried++
      const { loc, msg } = refused.detail[0]
      const batch = await failedBatch(one, endpoint, { good, bad: body })
      expect(batch, name).toMatchObject({ status: 'failed', request_counts: null, output_file_id: null })
      const [error, ...others] = batch.errors!.data!
      expect(others, name).toEqual([])
      expect(error, name).toMatchObject({ code: 'invalid_line', line: 1, param: `${endpoint}.${loc.join('.')}` })
      expect(error!.message!.startsWith(msg), name).toBe(true)
    }
    expect(tried).toBeGreaterThan(1)
  },
)

test.each([CHAT, TEXT])('%s: any other refusal fails only its line, with the status as its code', async endpoint => {
  const one = here()
  const bodies: Record<string, object> = {}
  const expected: Record<string, object> = {}
  for (const [name, body] of Object.entries(asked(REFUSED, endpoint))) {
    const { status, body: refused } = await one.ask(endpoint, body)
    expect(status, name).toBeGreaterThanOrEqual(400)
    if (status === 422) continue
    const { detail = refused.error } = refused
    const message = detail.message ?? detail.error ?? detail
    bodies[name] = body
    expected[name] = { code: String(status), message, param: null, type: 'invalid_request_error' }
  }
  const { output, errors, batch } = await batched(one, endpoint, {
    good: endpoint === CHAT ? chat({}) : text({}),
    ...bodies,
  })
  expect(output.map(({ custom_id }) => custom_id)).toEqual(['good'])
  expect(batch).toMatchObject({ status: 'completed', errors: null })
  expect(batch.request_counts).toMatchObject({ completed: 1, failed: Object.keys(bodies).length })
  expect(Object.fromEntries(errors.map(({ custom_id, error }) => [custom_id, error]))).toEqual(expected)
  expect(Object.keys(expected)).toContain(endpoint === CHAT ? 'a prompt above the context' : 'a text above the context')
  for (const { response } of errors) expect(response).toBeNull()
})

test('a batch of a strict world fails on an unknown field in a line', async () => {
  const body = chat({ temprature: 1 })
  const one = here(true)
  const { errors } = await failedBatch(one, CHAT, { a: body, b: chat({}) })
  const { status, body: refused } = await one.ask(CHAT, body)
  expect(status).toBe(422)
  expect(errors!.data).toMatchObject([
    { code: 'invalid_line', line: 0, message: refused.detail[0].msg, param: `${CHAT}.body.temprature` },
  ])
})

test('a body that is nested too deeply fails the batch', async () => {
  let deep: unknown = 1
  for (let i = 0; i < 1_000; i++) deep = [deep]
  const { errors } = await failedBatch(here(), CHAT, { a: chat({ metadata: { deep } }), b: chat({}) })
  expect(errors!.data).toMatchObject([
    { line: 0, message: 'JSON decode error: nesting deeper than 64', param: `${CHAT}.body` },
  ])
})

test('a line with 2,000 invalid messages gives one error with a short message', async () => {
  const messages = Array.from({ length: 2_000 }, () => 1)
  const name = 'x'.repeat(100_000)
  const { errors } = await failedBatch(here(), CHAT, {
    a: chat({ messages }),
    b: chat({}),
    c: chat({ tool_choice: { type: 'function', function: { name } } }),
  })
  expect(errors!.data!.map(({ code, line, param }) => [code, line, param])).toEqual([
    ['invalid_line', 0, `${CHAT}.body.messages.0`],
    ['invalid_line', 2, `${CHAT}.body.tool_choice`],
  ])
  expect(Math.max(...errors!.data!.map(({ message }) => message!.length))).toBeLessThanOrEqual(4_100)
})

test('each row has its own ids, and its created is between the start and the end of the batch', async () => {
  const one = here()
  const bodies = Object.fromEntries(Array.from({ length: 40 }, (_, i) => [`line-${i}`, chat({ n: 1 + (i % 3) })]))
  const { id, batch, output } = await batched(one, CHAT, bodies)
  const suffix = id.replace('batch_', '')
  for (const row of output) {
    const position = row.custom_id.slice(5).padStart(6, '0')
    expect(row.id).toBe(`batch_req_${suffix}_${position}`)
    expect(row.response).toMatchObject({ status_code: 200, endpoint: CHAT })
    expect(row.response.request_id).toMatch(/^req_[A-Za-z0-9]{24}$/)
    expect(row.response.body.id).toMatch(/^chatcmpl-[A-Za-z0-9]{24}$/)
    expect(row.response.request_id.slice(4)).not.toBe(row.response.body.id.slice(9))
    expect(row.response.body.created).toBeGreaterThanOrEqual(batch.in_progress_at!)
    expect(row.response.body.created).toBeLessThanOrEqual(batch.finalizing_at!)
  }
  for (const idOf of [(row: Line) => row.response.request_id, (row: Line) => row.response.body.id])
    expect(new Set(output.map(idOf)).size).toBe(40)
  const times = output.map(({ response }) => response.body.created)
  expect(times).toEqual([...times].sort((a, b) => a - b))
  expect(new Set(times).size).toBeGreaterThan(1)
})

test.each([0, 1, 2])('the order of rows is drawn: seed %i', { tags: 'slow' }, async seed => {
  const bodies = Object.fromEntries(Array.from({ length: 11 }, (_, i) => [`line-${i}`, chat({})]))
  const run = async () => (await batched(openaiWorld({ seed }), CHAT, bodies)).output.map(row => row.custom_id)
  const order = await run()
  expect(order).not.toEqual(Object.keys(bodies))
  expect([...order].sort()).toEqual(Object.keys(bodies).sort())
  expect(await run()).toEqual(order)
})

test('the usage of a chat has its cost in USD, and the sum is the charge', async () => {
  const model = 'aurora-labs/aurora-8b-instruct'
  const { sim, ...one } = here()
  const bodies = Object.fromEntries(Array.from({ length: 30 }, (_, i) => [`line-${i}`, { ...chat({}), model }]))
  const { output } = await batched({ sim, ...one }, CHAT, bodies)
  const sum = output.reduce((total, { response }) => total + response.body.usage.estimated_cost, 0)
  const charged = sim.ledger
    .entries()
    .reduce((all, { kind, microcents }) => all - (kind === 'tokens' ? microcents : 0), 0)
  expect(charged).toBeGreaterThan(0)
  expect(sum * 1e8).toBeCloseTo(charged, -1)
  const own = await batched({ sim, ...one }, CHAT, { a: chat({}) })
  expect(own.output[0]!.response.body.usage.estimated_cost).toBe(0)
})

test.each([
  ['url', 'a url that is nested too deep', '[DEEP]'],
  ['url', 'a very long url', '"LONG"'],
  ['custom_id', 'a very long custom_id twice', '"LONG"'],
  ['body.model', 'a very long model', '"LONG"'],
])('a batch with an invalid %s fails with a short message: %s', async (param, _, value) => {
  const { sim, client } = here()
  const json = value.replace('DEEP', `${'['.repeat(5_000)}${']'.repeat(5_000)}`).replace('LONG', 'x'.repeat(100_000))
  const line = (id: string, more: string) => `{"custom_id":${id},"method":"POST",${more}}`
  const rest = (model: string) => `"url":"${CHAT}","body":{"model":${model},"messages":[]}`
  const lines = {
    url: [line('"a"', `"url":${json},"body":{"model":"x"}`)],
    custom_id: [line(json, rest('"x"')), line(json, rest('"x"'))],
    'body.model': [line('"a"', rest('"x"')), line('"b"', rest(json))],
  }[param]!
  const file = await client.files.create({ purpose: 'batch', file: new File([lines.join('\n')], 'in.jsonl') })
  const { id } = await client.batches.create({ input_file_id: file.id, endpoint: CHAT, completion_window: '24h' })
  await sim.clock.advance('1h')
  const { status, errors } = await client.batches.retrieve(id)
  expect([status, errors!.data!.map(error => error.param)]).toEqual([
    'failed',
    [param === 'url' ? `${CHAT}.url` : param],
  ])
  expect(errors!.data![0]!.message!.length).toBeLessThan(500)
})

test('the charge matches the usage of the lines', async () => {
  const model = 'aurora-labs/aurora-8b-instruct'
  const { sim, ...one } = here()
  const bodies = Object.fromEntries(
    Object.entries({ ...asked(ANSWERED, CHAT), streamed: chat({ stream: true }) }).map(([name, body]) => [
      name,
      { ...body, model },
    ]),
  )
  const before = sim.ledger.balance
  const { output } = await batched({ sim, ...one }, CHAT, bodies)
  let prompt = 0
  let answer = 0
  for (const { response } of output) {
    const { usage, choices } = response.body
    prompt += usage.prompt_tokens
    answer += usage.completion_tokens
    let said = 0
    for (const { message } of choices) {
      said += countTokens(message.content ?? '')
      for (const call of message.tool_calls ?? [])
        said += countTokens(call.function.name) + countTokens(call.function.arguments)
    }
    expect(usage.completion_tokens).toBe(said)
  }
  const tokens = sim.ledger.entries().filter(({ kind }) => kind === 'tokens')
  const { hardware } = sim.world.store.hardware.get(model)!
  const serverless = hardware.find(entry => entry.type === 'serverless')
  if (serverless?.type !== 'serverless') throw new Error('no prices')
  const { cents_per_million_input_tokens: input, cents_per_million_output_tokens: said } = serverless.pricing
  const cost = Math.floor((prompt * input + answer * said) * 0.8 + 1e-6)
  expect(tokens.reduce((sum, { microcents }) => sum - microcents, 0)).toBe(cost)
  expect(before - sim.ledger.balance).toBeGreaterThanOrEqual(cost)
})

test('a scripted rule answers lines in order up to its count, and none of a failed file', async () => {
  const { sim, ...one } = openaiWorld()
  sim.inference.add({ contains: 'rivers', times: 2, answer: { text: 'Twice.' } })
  const bodies = { a: chat({}), b: chat({}), c: chat({}) }
  const broken = new File([`${JSON.stringify(batchLine('a', chat({})))}\n{`], 'broken.jsonl')
  const failed = await one.client.files.create({ purpose: 'batch', file: broken })
  await one.client.batches.create({ input_file_id: failed.id, endpoint: CHAT, completion_window: '24h' })
  await sim.clock.advance('1h')
  await startBatch(sim, [batchLine('a', chat({}))])
  // A fork of the world must not change the counts here.
  sim.world.fork().runTo(sim.world.clock.now + 3_600_000_000)
  expect(sim.inference.list()[0]!.hits).toBe(0)
  const { output } = await batched({ sim, ...one }, CHAT, bodies)
  const expected = [true, false, false]
  expect(output.map(({ response }) => response.body.choices[0].message.content === 'Twice.')).toEqual(expected)
  expect(sim.inference.list()[0]!.hits).toBe(2)
})

test.each(['validating', 'in_progress'] as const)(
  'a snapshot of a batch %s continues exactly',
  { tags: 'slow' },
  async status => {
    const { sim, client } = here()
    sim.inference.add({ contains: 'rivers', times: 10, answer: { text: 'Often.' } })
    const lines = Array.from({ length: 40 }, (_, i) => {
      const body = chat({ n: 1 + (i % 2), ...(i % 3 === 0 && { response_format: { type: 'json_object' } }) })
      return batchLine(`line-${i}`, body)
    })
    const { id } = await startBatch(sim, lines)
    await sim.clock.advance(status === 'validating' ? '100ms' : '10s')
    expect((await client.batches.retrieve(id)).status).toBe(status)
    const bytes = sim.snapshot().toBytes()
    const twin = sim.fork()
    const other = openaiWorld({ fixtures: 'empty', with: {} })
    other.sim.restore(Snapshot.from(bytes))
    for (const one of [sim, twin, other.sim]) await one.clock.advance('3h')
    const read = (one: typeof sim) => {
      const { output_file_id } = one.world.batches.get(id)!.toRecord()
      return new TextDecoder().decode(Buffer.concat([...one.world.files.get(output_file_id!)!.chunks()]))
    }
    expect(read(sim).split('\n')).toHaveLength(41)
    expect(read(twin)).toBe(read(sim))
    expect(read(other.sim)).toBe(read(sim))
    expect([twin.digest, other.sim.digest]).toEqual([sim.digest, sim.digest])
    for (const one of [sim, twin, other.sim]) expect(one.inference.list().at(-1)!.hits).toBe(10)
  },
)
