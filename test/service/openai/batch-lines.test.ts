/** Sends equal bodies as requests and as batch lines, and compares answers and refusals. */
import type OpenAI from 'openai'
import { expect, test } from 'vitest'
import { createChatCompletion } from '../../../src/service/openai/chat.ts'
import { createCompletion } from '../../../src/service/openai/completions.ts'
import { countTokens, loadTokenizer } from '../../../src/service/openai/tokenizer.ts'
import { Snapshot } from '../../../src/simulator/snapshot/snapshot.ts'
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
  'a text': [TEXT, text({})],
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
async function batched({ sim, client }: OpenaiWorld, endpoint: string, bodies: Record<string, object>) {
  const lines = Object.entries(bodies).map(([custom_id, body]) => ({ custom_id, method: 'POST', url: endpoint, body }))
  const content = lines.map(line => JSON.stringify(line)).join('\n')
  const file = await client.files.create({ purpose: 'batch', file: new File([content], 'in.jsonl') })
  const { id } = await client.batches.create({
    input_file_id: file.id,
    endpoint: endpoint as '/v1/completions',
    completion_window: '24h',
  })
  await sim.clock.advance('1h')
  return { id, ...(await filesOf(client, id)) }
}

async function filesOf(client: OpenAI, id: string) {
  const batch = await client.batches.retrieve(id)
  const read = async (file: string) =>
    (await (await client.files.content(file)).text())
      .split('\n')
      .filter(line => line !== '')
      .map(line => JSON.parse(line) as Line)
  return { batch, output: await read(batch.output_file_id!), errors: await read(batch.error_file_id!) }
}

const asked = (table: typeof ANSWERED, endpoint: string) =>
  Object.fromEntries(
    Object.entries(table).flatMap(([name, [where, body]]) => (where === endpoint ? [[name, body]] : [])),
  )

test.each([CHAT, TEXT])('%s: lines and requests have equal answers', async endpoint => {
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
    expect(body, custom_id).toEqual(expected)
    expect(response.status_code).toBe(live.status)
    expect(id).toMatch(endpoint === CHAT ? /^chatcmpl-/ : /^cmpl-/)
    expect(created).toBeGreaterThan(0)
    expect(Object.keys(response.body)).toEqual(Object.keys(live.body))
    declared.parse(response.body)
  }
})

test('a line with stream has the whole answer', async () => {
  const one = here()
  const { output } = await batched(one, CHAT, { a: chat({}), b: chat({ stream: true }) })
  expect(output[1]!.response.body.choices).toEqual(output[0]!.response.body.choices)
})

test.each([CHAT, TEXT])('%s: a line is refused with the message of the same request', async endpoint => {
  const bodies = asked(REFUSED, endpoint)
  const one = here()
  const { output, errors, batch } = await batched(one, endpoint, {
    good: endpoint === CHAT ? chat({}) : text({}),
    ...bodies,
  })
  expect(output.map(({ custom_id }) => custom_id)).toEqual(['good'])
  expect(batch).toMatchObject({ status: 'completed', errors: null })
  expect(batch.request_counts).toMatchObject({ completed: 1, failed: Object.keys(bodies).length })
  expect(errors.map(({ custom_id }) => custom_id)).toEqual(Object.keys(bodies))
  for (const { custom_id, response, error } of errors) {
    const { status, body } = await one.ask(endpoint, bodies[custom_id])
    expect(status, custom_id).toBeGreaterThanOrEqual(400)
    const { detail = body.error?.message } = body
    const words = Array.isArray(detail)
      ? detail.map(({ loc, msg }: { loc: string[]; msg: string }) => `${loc.join('.')}: ${msg}`).join('; ')
      : (detail.error ?? detail)
    const code = status === 429 ? 'rate_limit_exceeded' : 'invalid_request'
    expect({ custom_id, response, error }).toEqual({ custom_id, response: null, error: { code, message: words } })
  }
})

test('a strict world refuses unknown fields in lines', async () => {
  const body = chat({ temprature: 1 })
  const one = here(true)
  const { errors } = await batched(one, CHAT, { a: body, b: chat({}) })
  const { status, body: refused } = await one.ask(CHAT, body)
  expect(status).toBe(422)
  expect(errors.map(({ error }) => error.message)).toEqual([`body.temprature: ${refused.detail[0].msg}`])
})

test('a body that is nested too deeply fails only its line', async () => {
  let deep: unknown = 1
  for (let i = 0; i < 1_000; i++) deep = [deep]
  const { errors, output } = await batched(here(), CHAT, { a: chat({ metadata: { deep } }), b: chat({}) })
  expect(errors.map(({ error }) => error.message)).toEqual(['body: JSON decode error: nesting deeper than 64'])
  expect(output).toHaveLength(1)
})

test('a line with 150,000 invalid messages fails only itself, with a short message', async () => {
  const messages = Array.from({ length: 150_000 }, () => 1)
  const name = 'x'.repeat(100_000)
  const bodies = {
    a: chat({ messages }),
    b: chat({}),
    c: chat({ tool_choice: { type: 'function', function: { name } } }),
  }
  const { errors, output, batch } = await batched(here(), CHAT, bodies)
  expect(batch.status).toBe('completed')
  expect(errors.map(({ custom_id, error }) => [custom_id, error.code])).toEqual([
    ['a', 'invalid_request'],
    ['c', 'invalid_request'],
  ])
  expect(errors[0]!.error.message).toMatch(/^body\.messages\.0: Input should be/)
  expect(Math.max(...errors.map(({ error }) => error.message.length))).toBeLessThanOrEqual(4_001)
  expect(output.map(({ custom_id }) => custom_id)).toEqual(['b'])
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
  expect([status, errors!.data!.map(error => error.param)]).toEqual(['failed', [param]])
  expect(errors!.data![0]!.message!.length).toBeLessThan(500)
})

test('the charge matches the usage of the lines', async () => {
  const model = 'aurora-labs/aurora-8b-instruct'
  const { sim, ...one } = here()
  const bodies = Object.fromEntries(
    Object.entries({ ...asked(ANSWERED, CHAT), ...asked(REFUSED, CHAT) }).map(([name, body]) => [
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
  const line = (body: object) => JSON.stringify({ custom_id: 'a', method: 'POST', url: CHAT, body })
  const broken = new File([`${line(chat({}))}\n{`], 'broken.jsonl')
  const failed = await one.client.files.create({ purpose: 'batch', file: broken })
  await one.client.batches.create({ input_file_id: failed.id, endpoint: CHAT, completion_window: '24h' })
  await sim.clock.advance('1h')
  const { id } = await one.client.files.create({ purpose: 'batch', file: new File([line(chat({}))], 'in.jsonl') })
  await one.client.batches.create({ input_file_id: id, endpoint: CHAT, completion_window: '24h' })
  // A fork of the world must not change the counts here.
  sim.world.fork().runTo(sim.world.clock.now + 3_600_000_000)
  expect(sim.inference.list()[0]!.hits).toBe(0)
  const { output } = await batched({ sim, ...one }, CHAT, bodies)
  expect(output.map(({ response }) => response.body.choices[0].message.content === 'Twice.')).toEqual([
    true,
    false,
    false,
  ])
  expect(sim.inference.list()[0]!.hits).toBe(2)
})

test.each(['validating', 'in_progress'] as const)('a snapshot of a batch %s continues exactly', async status => {
  const { sim, client } = here()
  sim.inference.add({ contains: 'rivers', times: 30, answer: { text: 'Often.' } })
  const content = Array.from({ length: 400 }, (_, i) => {
    const body = chat({ n: 1 + (i % 2), ...(i % 3 === 0 && { response_format: { type: 'json_object' } }) })
    return JSON.stringify({ custom_id: `line-${i}`, method: 'POST', url: CHAT, body })
  }).join('\n')
  const file = await client.files.create({ purpose: 'batch', file: new File([content], 'in.jsonl') })
  const { id } = await client.batches.create({ input_file_id: file.id, endpoint: CHAT, completion_window: '24h' })
  await sim.clock.advance(status === 'validating' ? '100ms' : '10s')
  expect((await client.batches.retrieve(id)).status).toBe(status)
  const bytes = sim.snapshot().toBytes()
  const twin = sim.fork()
  const other = openaiWorld({ fixtures: 'empty', with: {} })
  other.sim.restore(Snapshot.from(bytes))
  for (const one of [sim, twin, other.sim]) await one.clock.advance('3h')
  const read = (one: typeof sim) =>
    new TextDecoder().decode(Buffer.concat([...one.world.files.get(`${id}_output`)!.chunks()]))
  expect(read(sim).split('\n')).toHaveLength(401)
  expect(read(twin)).toBe(read(sim))
  expect(read(other.sim)).toBe(read(sim))
  expect([twin.digest, other.sim.digest]).toEqual([sim.digest, sim.digest])
  for (const one of [sim, twin, other.sim]) expect(one.inference.list().at(-1)!.hits).toBe(30)
})
