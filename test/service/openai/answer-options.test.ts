/** Options of a request that change its answer: log probabilities, empty answers, default types, service tiers. */
import { decode, encode } from 'gpt-tokenizer/encoding/o200k_base'
import type OpenAI from 'openai'
import { describe, expect, test } from 'vitest'
import { batchLine, startBatch } from '../../setup/batches.ts'
import { HELLO, openaiWorld } from './openai-world.ts'

const CHAT = { model: 'acme/chat', messages: HELLO }
const TEXT = { model: 'acme/chat', prompt: 'Once upon a time' }
const TOOL = { function: { name: 'get_weather', parameters: { type: 'object', properties: {} } } }

describe('log probabilities of a chat', () => {
  test('name each token with its bytes and its likeliest alternatives, equal whole and streamed, for each of n', async () => {
    const { client } = openaiWorld()
    const ask = { ...CHAT, n: 2, max_tokens: 12, logprobs: true, top_logprobs: 3 }
    const whole = await client.chat.completions.create(ask)
    for (const { message, logprobs } of whole.choices) {
      const content = logprobs!.content!
      expect(content.map(({ token }) => token)).toEqual(encode(message.content!).map(token => decode([token])))
      for (const { token, logprob, bytes, top_logprobs } of content) {
        expect(bytes).toEqual([...Buffer.from(token)])
        expect(logprob).toBeLessThanOrEqual(0)
        expect(top_logprobs).toHaveLength(3)
        expect(new Set(top_logprobs.map(one => one.token)).size).toBe(3)
        expect(top_logprobs.find(one => one.token === token)).toEqual({ token, logprob, bytes })
        expect(top_logprobs.map(one => one.logprob)).toEqual(top_logprobs.map(one => one.logprob).sort((a, b) => b - a))
        expect(top_logprobs.reduce((sum, one) => sum + Math.exp(one.logprob), 0)).toBeLessThanOrEqual(1.00001)
      }
    }
    const streamed: OpenAI.ChatCompletionTokenLogprob[][] = [[], []]
    for await (const { choices } of await client.chat.completions.create({ ...ask, stream: true })) {
      for (const { index, delta, logprobs } of choices) {
        const said = logprobs?.content ?? []
        expect(said.map(({ token }) => token).join('')).toBe(delta.content ?? '')
        streamed[index]!.push(...said)
      }
    }
    expect(streamed).toEqual(whole.choices.map(({ logprobs }) => logprobs!.content))
    expect((await openaiWorld().client.chat.completions.create(ask)).choices).toEqual(whole.choices)
    expect((await openaiWorld({ seed: 2 }).client.chat.completions.create(ask)).choices).not.toEqual(whole.choices)
  })

  test('have no alternatives without top_logprobs, leave the text as it is, and are null when they are not asked for', async () => {
    const { client, ask } = openaiWorld()
    const plain = (await client.chat.completions.create(CHAT)).choices[0]!
    const [choice] = (await client.chat.completions.create({ ...CHAT, logprobs: true })).choices
    expect([plain.logprobs, choice!.message]).toEqual([null, plain.message])
    expect(choice!.logprobs!.content!.every(({ top_logprobs }) => top_logprobs.length === 0)).toBe(true)
    const refused = await ask('/v1/chat/completions', { ...CHAT, top_logprobs: 2 })
    expect([refused.status, refused.body.detail[0].loc]).toEqual([422, ['body', 'top_logprobs']])
    const many = await ask('/v1/chat/completions', { ...CHAT, logprobs: true, top_logprobs: 21 })
    expect([many.status, many.body.detail[0].type]).toEqual([422, 'less_than_equal'])
  })

  test('are null beside tool calls', async () => {
    const { client } = openaiWorld()
    const tools = [{ ...TOOL, type: 'function' as const }]
    const { choices } = await client.chat.completions.create({
      ...CHAT,
      logprobs: true,
      tools,
      tool_choice: 'required',
    })
    expect([choices[0]!.finish_reason, choices[0]!.logprobs]).toEqual(['tool_calls', null])
  })

  test('have the tokens of a scripted text, also where a character takes several tokens', async () => {
    const { sim, client } = openaiWorld()
    sim.inference.add({ answer: { text: 'Sunny 🫠, 21 degrees.' } })
    const [choice] = (await client.chat.completions.create({ ...CHAT, logprobs: true })).choices
    expect(choice!.logprobs!.content!.map(({ token }) => token).join('')).toBe('Sunny 🫠, 21 degrees.')
    expect(choice!.logprobs!.content).toHaveLength(encode('Sunny 🫠, 21 degrees.').length)
  })
})

describe('log probabilities of a completion', () => {
  test('have offsets into the text, equal whole and streamed, also with echo', async () => {
    const { client } = openaiWorld()
    for (const echo of [false, true]) {
      const ask = { ...TEXT, max_tokens: 8, logprobs: 2, echo }
      const [choice] = (await client.completions.create(ask)).choices
      const { tokens, token_logprobs, top_logprobs, text_offset } = choice!.logprobs!
      expect(tokens!.join('')).toBe(choice!.text)
      expect(text_offset!.map((start, i) => choice!.text.slice(start, start + tokens![i]!.length))).toEqual(tokens)
      expect(token_logprobs![0] === null).toBe(echo)
      for (const [i, token] of tokens!.entries()) {
        if (echo && i === 0) expect(top_logprobs![0]).toBeNull()
        else {
          expect(top_logprobs![i]![token]).toBe(token_logprobs![i])
          expect([2, 3]).toContain(Object.keys(top_logprobs![i]!).length)
        }
      }
      const streamed: Record<string, unknown[]> = { tokens: [], token_logprobs: [], top_logprobs: [], text_offset: [] }
      for await (const { choices } of await client.completions.create({ ...ask, stream: true })) {
        for (const [name, values] of Object.entries(choices[0]?.logprobs ?? {})) streamed[name]!.push(...values)
      }
      expect(streamed).toEqual(choice!.logprobs)
    }
  })

  test('are limited to 5 alternatives', async () => {
    const { ask } = openaiWorld()
    expect((await ask('/v1/completions', { ...TEXT, logprobs: 5 })).status).toBe(200)
    const refused = await ask('/v1/completions', { ...TEXT, logprobs: 6 })
    expect([refused.status, refused.body.detail[0].type]).toEqual([422, 'less_than_equal'])
  })
})

test('a completion names the number of its prompts when there are too many', async () => {
  const { ask } = openaiWorld()
  for (const prompt of [Array(129).fill('Hello'), Array(129).fill([1, 2])]) {
    const { status, body } = await ask('/v1/completions', { ...TEXT, prompt })
    const msg = 'List should have at most 128 items after validation, not 129'
    expect([status, body.detail]).toEqual([422, [{ loc: ['body', 'prompt'], msg, type: 'too_long' }]])
  }
})

describe('max_tokens 0', () => {
  test('of a chat is answered empty and cut, whole and streamed, and the prompt is counted', async () => {
    const { sim, client } = openaiWorld()
    const counted = (await client.chat.completions.create({ ...CHAT, max_tokens: 1 })).usage!.prompt_tokens
    const usage = { prompt_tokens: counted, completion_tokens: 0, total_tokens: counted }
    const whole = await client.chat.completions.create({ ...CHAT, max_tokens: 0 })
    const renamed = await client.chat.completions.create({ ...CHAT, max_completion_tokens: 0 })
    expect(renamed.choices).toEqual(whole.choices)
    expect(whole.choices[0]).toMatchObject({ finish_reason: 'length', message: { content: '' } })
    expect(whole.usage).toEqual(usage)
    const chunks: OpenAI.ChatCompletionChunk[] = []
    for await (const chunk of await client.chat.completions.create({ ...CHAT, max_tokens: 0, stream: true }))
      chunks.push(chunk)
    expect(chunks.map(({ choices }) => choices[0]!.delta.content ?? '').join('')).toBe('')
    expect([chunks.at(-1)!.choices[0]!.finish_reason, chunks.at(-1)!.usage]).toEqual(['length', usage])
    const tools = [{ ...TOOL, type: 'function' as const }]
    const called = await client.chat.completions.create({ ...CHAT, max_tokens: 0, tools, tool_choice: 'required' })
    expect(called.choices[0]).toMatchObject({ finish_reason: 'length', message: { content: '' } })
    sim.inference.add({ answer: { error: { status: 500 } } })
    await expect(client.chat.completions.create({ ...CHAT, max_tokens: 0 })).rejects.toMatchObject({ status: 500 })
  })

  test('of a chat is billed as its prompt, and fits a context without room for an answer', async () => {
    const { sim, client } = openaiWorld({ fixtures: 'default', with: {} })
    const model = 'aurora-labs/aurora-405b-instruct'
    const room = sim.world.store.models.get(model)!.max_tokens!
    const messages = [{ role: 'user' as const, content: `a${' a'.repeat(room - 8)}` }]
    const before = sim.report().money.tokens_microcents
    const { usage } = await client.chat.completions.create({ model, messages, max_tokens: 0 })
    expect(usage).toEqual({ prompt_tokens: room, completion_tokens: 0, total_tokens: room })
    expect(sim.report().money.tokens_microcents).toBeGreaterThan(before)
  })

  test('as best_of of a completion is ignored, as every best_of', async () => {
    const { ask } = openaiWorld()
    const answers = [0, 1, 20].map(best_of => ask('/v1/completions', { ...TEXT, best_of }))
    const choices = (await Promise.all(answers)).map(({ body }) => body.choices[0].text)
    expect(choices).toEqual([choices[0], choices[0], choices[0]])
    expect((await ask('/v1/completions', { ...TEXT, best_of: 21 })).status).toBe(422)
  })

  test('of a completion is 422', async () => {
    const { ask } = openaiWorld()
    const { status, body } = await ask('/v1/completions', { ...TEXT, max_tokens: 0 })
    expect([status, body.detail[0].type]).toEqual([422, 'greater_than_equal'])
  })
})

test('the name of a tool may be any text', async () => {
  const { ask } = openaiWorld()
  const name = 'städte, all of them'
  const choice = { tools: [{ function: { name } }], tool_choice: { function: { name } } }
  const { status, body } = await ask('/v1/chat/completions', { ...CHAT, ...choice })
  expect([status, body.choices[0].message.tool_calls[0].function.name]).toEqual([200, name])
})

describe('a type that is left out', () => {
  test('of a tool and of a tool choice is function', async () => {
    const { ask } = openaiWorld()
    const tools = [TOOL, { function: { name: 'read_clock' } }]
    const named = { function: { name: 'read_clock' } }
    const { status, body } = await ask('/v1/chat/completions', { ...CHAT, tools, tool_choice: named })
    expect([status, body.choices[0].message.tool_calls[0]]).toMatchObject([
      200,
      { type: 'function', function: { name: 'read_clock' } },
    ])
    const typed = tools.map(tool => ({ type: 'function', ...tool }))
    const same = await ask('/v1/chat/completions', {
      ...CHAT,
      tools: typed,
      tool_choice: { type: 'function', ...named },
    })
    expect([same.body.choices, same.body.usage]).toEqual([body.choices, body.usage])
    const unknown = await ask('/v1/chat/completions', { ...CHAT, tools, tool_choice: { function: { name: 'nope' } } })
    expect([unknown.status, unknown.body.detail[0].loc]).toEqual([422, ['body', 'tool_choice', 'function', 'name']])
  })

  test('of a response format follows from its fields', async () => {
    const { ask } = openaiWorld()
    const schema = { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] }
    const json = await ask('/v1/chat/completions', { ...CHAT, response_format: { json_schema: { name: 'a', schema } } })
    expect(JSON.parse(json.body.choices[0].message.content)).toEqual({ n: expect.any(Number) })
    const text = await ask('/v1/chat/completions', { ...CHAT, response_format: {} })
    expect(text.body.choices).toEqual((await ask('/v1/chat/completions', CHAT)).body.choices)
  })
})

test('service_tier is repeated in answers and in every event of a stream, and missing when it is not sent', async () => {
  const { client, ask } = openaiWorld({ fixtures: 'default', with: {} })
  const chat = { ...CHAT, model: 'acme/assistant', max_tokens: 3 }
  expect((await client.chat.completions.create({ ...chat, service_tier: 'priority' })).service_tier).toBe('priority')
  expect('service_tier' in (await client.chat.completions.create(chat))).toBe(false)
  for await (const chunk of await client.chat.completions.create({ ...chat, service_tier: 'default', stream: true }))
    expect(chunk.service_tier).toBe('default')
  const completion = await ask('/v1/completions', { model: 'acme/assistant', prompt: 'a', service_tier: 'priority' })
  expect(completion.body.service_tier).toBe('priority')
  const vectors = await ask('/v1/embeddings', {
    model: 'cedarline/cedar-embed-base',
    input: 'a',
    service_tier: 'priority',
  })
  expect(vectors.body.service_tier).toBe('priority')
  expect((await ask('/v1/chat/completions', { ...chat, service_tier: 'gold' })).status).toBe(422)
})

describe('NAME:VERSION', () => {
  test('is the model, live and in a batch, when the model has the version', { tags: 'slow' }, async () => {
    const { sim, client, ask } = openaiWorld({ fixtures: 'default', with: {} })
    const own = sim.world.deployments.list().find(({ row }) => row.plan.modelName === 'acme/assistant')!
    const catalog = sim.world.store.models.get('aurora-labs/aurora-8b-instruct')!
    for (const [name, version] of [
      ['acme/assistant', own.row.plan.version],
      ['assistant', own.row.plan.version],
      [catalog.model_name, catalog.versions[0]],
    ] as const) {
      const plain = await client.chat.completions.create({ ...CHAT, model: name })
      const versioned = await client.chat.completions.create({ ...CHAT, model: `${name}:${version}` })
      expect([versioned.model, versioned.choices]).toEqual([`${name}:${version}`, plain.choices])
    }
    const model = `${catalog.model_name}:${catalog.versions[0]}`
    const batch = await startBatch(sim, [batchLine('a', { ...CHAT, model })])
    await sim.clock.advance('1d')
    expect((await client.batches.retrieve(batch.id)).request_counts).toEqual({ total: 1, completed: 1, failed: 0 })
    for (const unknown of [`${catalog.model_name}:${'0'.repeat(64)}`, 'acme/assistant:1', 'no/such:1', ':', 'a:'])
      expect([unknown, (await ask('/v1/chat/completions', { ...CHAT, model: unknown })).status]).toEqual([unknown, 404])
  })
})
