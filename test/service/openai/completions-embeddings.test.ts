/** Completions, embeddings, mirrored paths and scripted answers. */

import { decode, encode } from 'gpt-tokenizer/encoding/o200k_base'
import type OpenAI from 'openai'
import { describe, expect, test } from 'vitest'
import { running } from '../../server/http/running-server.ts'
import { clientOf, HELLO, openaiWorld } from './openai-world.ts'

const PROMPT = { model: 'acme/chat', prompt: 'Once upon a time' }
const dot = (a: readonly number[], b: readonly number[]) => a.reduce((sum, value, i) => sum + value * b[i]!, 0)
const EMBED = { model: 'cedarline/cedar-embed-base' }

test('a completion is equal whole and streamed, for each prompt and n', async () => {
  const { client } = openaiWorld()
  const ask = { model: 'acme/chat', prompt: ['Once', 'Upon'], n: 2, max_tokens: 12 }
  const whole = await client.completions.create(ask)
  expect(whole).toMatchObject({
    object: 'text_completion',
    choices: [0, 1, 2, 3].map(index => ({ index, logprobs: null })),
  })
  expect(whole.usage!.prompt_tokens).toBe(encode('Once').length + encode('Upon').length)
  expect(new Set(whole.choices.map(({ text }) => text)).size).toBe(4)
  const pieces = ['', '', '', '']
  let usage: OpenAI.CompletionUsage | null | undefined
  const stream = await client.completions.create({ ...ask, stream: true, stream_options: { include_usage: true } })
  for await (const chunk of stream) {
    for (const { index, text } of chunk.choices) pieces[index] += text
    usage = chunk.usage
  }
  expect(pieces).toEqual(whole.choices.map(({ text }) => text))
  expect(usage).toEqual(whole.usage)
  const uncut = await client.completions.create({ ...ask, max_tokens: null })
  expect(uncut.choices.map(({ text }) => decode(encode(text).slice(0, 12)))).toEqual(pieces)
  const echoed = await client.completions.create({ ...PROMPT, echo: true })
  expect(echoed.choices[0]!.text.startsWith('Once upon a time')).toBe(true)
})

test('a completion of tokens equals that of their text and counts the sent tokens', async () => {
  const { client, ask } = openaiWorld()
  const { choices: texts } = await client.completions.create({ ...PROMPT, echo: true })
  const tokens = encode(PROMPT.prompt)
  const one = await client.completions.create({ ...PROMPT, prompt: tokens, echo: true })
  expect(one.choices).toEqual(texts)
  expect(one.usage!.prompt_tokens).toBe(tokens.length)
  const two = await client.completions.create({ ...PROMPT, prompt: [tokens, [1, 2, 3]] })
  expect(two.choices).toHaveLength(2)
  expect(two.usage!.prompt_tokens).toBe(tokens.length + 3)
  for (const prompt of [
    [3, 999_999],
    [[3], [200_018]],
  ]) {
    const { status, body } = await ask('/v1/completions', { model: 'acme/chat', prompt })
    expect([status, body.detail[0].loc, body.detail[0].msg]).toEqual([
      422,
      ['body', 'prompt'],
      expect.stringMatching(/(999999|200018) is not a token of o200k_base/),
    ])
  }
  expect((await ask('/v1/completions', { model: 'acme/chat', prompt: [] })).status).toBe(422)
  expect((await ask('/v1/completions', { model: 'acme/chat', prompt: [-1] })).status).toBe(422)
  expect((await ask('/v1/completions', { model: 'acme/chat', prompt: ['a', 1] })).status).toBe(422)
})

test('embeddings are unit vectors, equal for equal texts and similar for texts with common words', async () => {
  const { client, ask } = openaiWorld({ fixtures: 'default', with: {} })
  // The openai package requests base64 by default and decodes it.
  const { data } = await client.embeddings.create({
    ...EMBED,
    input: ['a wide river', 'a wide river', 'the river is wide', 'bread and butter'],
  })
  const [rivers, again, near, far] = data.map(({ embedding }) => embedding)
  expect(dot(rivers!, rivers!)).toBeCloseTo(1, 5)
  expect(again).toEqual(rivers)
  expect(dot(rivers!, near!)).toBeGreaterThan(0.4)
  expect(Math.abs(dot(rivers!, far!))).toBeLessThan(0.2)
  const { body } = await ask('/v1/embeddings', { ...EMBED, input: [[1, 2, 3], [4]] })
  expect(body.usage).toEqual({ prompt_tokens: 4, total_tokens: 4 })
  expect(body.data.map(({ index }: { index: number }) => index)).toEqual([0, 1])
  const wrong = await ask('/v1/embeddings', { model: 'acme/assistant', input: 'a' })
  const expected = [400, 'model acme/assistant does text-generation, not embeddings']
  expect([wrong.status, wrong.body.error.message]).toEqual(expected)
  expect((await ask('/v1/embeddings', { ...EMBED, input: [] })).status).toBe(422)
})

describe('a vector', () => {
  test.each([
    ['cedarline/cedar-embed-small', 384],
    ['cedarline/cedar-embed-base', 768],
    ['aurora-labs/aurora-embed-large', 1024],
    ['quillworks/quill-code-embed', 1536],
  ])('of %s is as long as its tag in the catalog says: %i', async (model, dimensions) => {
    const { sim, client } = openaiWorld({ fixtures: 'default', with: {} })
    expect(sim.world.store.models.get(model)!.tags).toContain(`${dimensions}-dimensions`)
    expect((await client.embeddings.create({ model, input: 'a' })).data[0]!.embedding).toHaveLength(dimensions)
  })

  test('has a length by model size when the model has no such tag', async () => {
    const sizes = [
      ['acme/embed-33m', 384],
      ['acme/embed-110m', 768],
      ['acme/embed-560m', 1024],
      ['acme/embed-1.5b', 1536],
      ['acme/embed-4b', 2560],
      ['acme/embed-8b', 4096],
    ] as const
    const deployments = sizes.map(([model_name]) => ({
      ...{ model_name, task: 'embeddings' as const, gpu: 'L4-24GB' as const, max_batch_size: 8 },
    }))
    const { client } = openaiWorld({
      fixtures: 'default',
      with: { deployments, account: { gpu_limits: { 'L4-24GB': null } } },
    })
    for (const [model, dimensions] of sizes) {
      const { data } = await client.embeddings.create({ model, input: 'a' })
      expect([model, data[0]!.embedding.length]).toEqual([model, dimensions])
    }
  })

  test('with dimensions is the normalized beginning of the full vector', async () => {
    const { client, ask } = openaiWorld({ fixtures: 'default', with: {} })
    const vector = async (more: object = {}) =>
      (await client.embeddings.create({ ...EMBED, input: 'a wide river', encoding_format: 'float', ...more })).data[0]!
        .embedding
    const [whole, short] = [await vector(), await vector({ dimensions: 32 })]
    expect(short).toHaveLength(32)
    expect(dot(short, short)).toBeCloseTo(1, 10)
    const begin = whole.slice(0, 32)
    expect(dot(begin, short) / Math.sqrt(dot(begin, begin))).toBeCloseTo(1, 10)
    expect(await vector({ dimensions: 768 })).toEqual(whole)
    const long = await ask('/v1/embeddings', { ...EMBED, input: 'a', dimensions: 769 })
    const expected = [400, 'a vector of cedarline/cedar-embed-base has 768 numbers, and dimensions asks for 769']
    expect([long.status, long.body.error.message]).toEqual(expected)
    const none = await ask('/v1/embeddings', { ...EMBED, input: 'a', dimensions: 31 })
    expect([none.status, none.body.detail[0]]).toMatchObject([422, { type: 'greater_than_equal' }])
  })
})

test('files, batches, models and inference are also served under /v1/compat, with every names profile', {
  tags: 'slow',
}, async () => {
  const { sim, ask } = openaiWorld({ names: { paths: { compat: 'twin' } } })
  for (const mirror of ['compat', 'twin']) {
    const client = clientOf(sim, `http://sim/v1/${mirror}`)
    expect((await client.chat.completions.create({ model: 'acme/chat', messages: HELLO })).choices).toHaveLength(1)
    expect((await client.completions.create(PROMPT)).choices).toHaveLength(1)
    expect((await client.models.list()).data[0]!.id).toBe('acme/chat')
    const file = await client.files.create({ file: new File(['{}'], 'in.jsonl'), purpose: 'batch' })
    expect((await client.files.retrieve(file.id)).id).toBe(file.id)
    const endpoint = '/v1/chat/completions'
    const batch = await client.batches.create({ input_file_id: file.id, endpoint, completion_window: '24h' })
    expect((await client.batches.retrieve(batch.id)).id).toBe(batch.id)
  }
  const { paths } = (await ask('/openapi.json')).body
  expect(paths['/v1/twin/chat/completions'].post['x-mirror-of']).toBe('createChatCompletion')
  const documented = openaiWorld({ documentedOnly: true })
  expect((await documented.ask('/v1/files', {})).status).toBe(422)
  expect((await documented.ask('/v1/compat/files', {})).status).toBe(404)
})

test('a scripted rule answers matching requests until its count is used up', async () => {
  const { sim, client } = openaiWorld()
  const said = async (content: string, model = 'acme/chat') =>
    (await client.chat.completions.create({ model, messages: [{ role: 'user', content }] })).choices[0]!
  sim.inference.add({ contains: 'WEATHER', model: 'acme/chat', answer: { text: 'Sunny, 21 degrees.' } })
  sim.inference.add({ contains: 'list', answer: { json: ['a', 'b'] } })
  const book = sim.inference.add({
    contains: 'book',
    answer: { toolCall: { name: 'book_table', arguments: { people: 2 } } },
  })
  sim.inference.add({
    name: 'once',
    contains: 'luck',
    times: 1,
    answer: { error: { status: 500, message: 'out of luck' } },
  })
  expect((await said('How is the weather?')).message.content).toBe('Sunny, 21 degrees.')
  expect((await said('the list')).message.content).toBe('["a","b"]')
  const booked = await said('book it')
  expect(booked).toMatchObject({
    finish_reason: 'tool_calls',
    message: { tool_calls: [{ function: { name: 'book_table', arguments: '{"people":2}' } }] },
  })
  await expect(said('any luck?')).rejects.toMatchObject({ status: 500, error: { message: 'out of luck' } })
  expect((await said('any luck?')).finish_reason).toBe('stop')
  for (const [error, seconds] of [
    [{ status: 429 }, '1'],
    [{ status: 503, retryAfter: 30 }, '30'],
    [{ status: 500 }, null],
    [{ status: 500, retryAfter: 0 }, '0'],
  ] as const) {
    const rule = sim.inference.add({ contains: 'again', answer: { error } })
    const refused = await said('again').catch(({ status, headers }) => [status, headers.get('retry-after')])
    expect(refused).toEqual([error.status, seconds])
    rule.remove()
  }
  const stream = client.chat.completions.stream({
    model: 'acme/chat',
    messages: [{ role: 'user', content: 'weather?' }],
  })
  expect(await stream.finalContent()).toBe('Sunny, 21 degrees.')
  const cut = await client.completions.create({ model: 'acme/chat', prompt: 'weather', max_tokens: 2 })
  expect(cut).toMatchObject({ choices: [{ finish_reason: 'length' }], usage: { completion_tokens: 2 } })
  expect(sim.inference.list().map(({ name, hits }) => [name, hits])).toEqual([
    ['script-1', 3],
    ['script-2', 1],
    [book.name, 1],
    ['once', 1],
  ])
  expect(sim.fork().inference.list()).toEqual(sim.inference.list())
  sim.inference.remove(book.name)
  expect((await said('book it')).message.tool_calls).toBeUndefined()
  expect(() => sim.inference.remove('onc')).toThrow("Did you mean 'once'?")
  expect(() => sim.inference.add({ name: 'once', answer: { text: 'x' } })).toThrow("there is a rule 'once' already")
  expect(() => sim.inference.add({ answer: { error: { status: 200, message: '' } } })).toThrow(
    'Failed to script an answer: $.answer.error.status: expected at least 400, got 200.',
  )
  expect(() => sim.inference.add({ contains: 3 as never, answer: { text: 'x' } })).toThrow(
    'Failed to script an answer: $.contains: expected a string, got 3.',
  )
  expect(() => sim.inference.add({ answer: {} as never })).toThrow(
    'Failed to script an answer: $.answer: expected an answer, got an object. Give {',
  )
  sim.reset()
  expect(sim.inference.list()).toEqual([])
})

test('a stream never splits a character, in tool arguments and in a text without spaces', async () => {
  const { sim, client } = openaiWorld()
  const ask = { model: 'acme/chat', messages: HELLO }
  const given = { note: `ab${'😀'.repeat(40)}` }
  sim.inference.add({ times: 1, answer: { toolCall: { name: 'note', arguments: given } } })
  let said = ''
  for await (const { choices } of await client.chat.completions.create({ ...ask, stream: true })) {
    const piece = choices[0]?.delta.tool_calls?.[0]?.function?.arguments ?? ''
    expect(piece.isWellFormed()).toBe(true)
    said += piece
  }
  expect(JSON.parse(said)).toEqual(given)
  for (const text of [`a${'😀'.repeat(70)}`, `${'中'.repeat(99)}😀${'中'.repeat(150)}`]) {
    sim.inference.add({ times: 2, answer: { text } })
    expect((await client.chat.completions.create(ask)).choices[0]!.message.content).toBe(text)
    expect(await client.chat.completions.stream(ask).finalContent()).toBe(text)
  }
})

test('the handle of a scripted rule counts its hits and removes that rule only', async () => {
  const { sim, client } = openaiWorld()
  const ask = async () => {
    const { choices } = await client.chat.completions.create({ model: 'acme/chat', messages: HELLO })
    return choices[0]!.message.content
  }
  const rule = sim.inference.add({ name: 'hello', answer: { text: 'Hello.' } })
  expect([rule.name, rule.hits, rule.answer]).toEqual(['hello', 0, { text: 'Hello.' }])
  const snapshot = sim.snapshot()
  expect(await ask()).toBe('Hello.')
  expect(rule.hits).toBe(1)
  expect(sim.inference.get('hello')).toMatchObject({ name: 'hello', hits: 1 })
  sim.restore(snapshot)
  expect(rule.hits).toBe(0)
  await ask()
  rule.remove()
  expect([rule.hits, sim.inference.list()]).toEqual([1, []])
  expect(() => sim.inference.get('hello')).toThrow("Failed to find the rule 'hello': unknown name.")
  const other = sim.inference.add({ name: 'hello', answer: { text: 'Hello.' } })
  rule.remove()
  expect(await ask()).toBe('Hello.')
  expect([rule.hits, other.hits]).toEqual([1, 1])
  sim.reset()
  other.remove()
  expect(other.hits).toBe(1)
})

test('the control plane suggests the nearest name when a scripted rule is unknown', async () => {
  const { sim, command } = await running()
  sim.inference.add({ name: 'weather', answer: { text: 'Sunny.' } })
  expect(await command('/_sim/inference/wether', undefined, 'DELETE')).toEqual({
    status: 404,
    body: { error: "Failed to remove the rule 'wether': unknown name. Did you mean 'weather'?" },
  })
  expect((await command('/_sim/inference/weather', undefined, 'DELETE')).status).toBe(200)
  expect(sim.inference.list()).toEqual([])
})
