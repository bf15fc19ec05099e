/** Chat completions through the openai package. */

import fc from 'fast-check'
import { decode, encode } from 'gpt-tokenizer/encoding/o200k_base'
import type OpenAI from 'openai'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { batchLine, startBatch } from '../../setup/batches.ts'
import { forAllAsync } from '../../setup/for-all.ts'
import { sendTo } from '../../setup/send-to.ts'
import { HELLO, openaiWorld } from './openai-world.ts'

const WEATHER = {
  type: 'function' as const,
  function: {
    name: 'get_weather',
    parameters: {
      type: 'object',
      properties: { city: { type: 'string', minLength: 1 }, unit: { enum: ['celsius', 'fahrenheit'] } },
      required: ['city', 'unit'],
      additionalProperties: false,
    },
  },
}
const prefix = (text: string, tokens: number) => decode(encode(text).slice(0, tokens))
const CLOCK = { type: 'function' as const, function: { name: 'read_clock' } }

describe('text', () => {
  test('matches the token count of usage and is equal for equal requests and seeds', async () => {
    const { client } = openaiWorld()
    const first = await client.chat.completions.create({ model: 'acme/chat', messages: HELLO })
    const [choice] = first.choices
    expect(first.usage).toEqual({
      prompt_tokens: 3 + 3 + 1 + encode('Tell me about rivers.').length,
      completion_tokens: encode(choice!.message.content!).length,
      total_tokens: first.usage!.prompt_tokens + first.usage!.completion_tokens,
    })
    expect(choice).toMatchObject({ index: 0, finish_reason: 'stop', message: { role: 'assistant' } })
    expect(first).toMatchObject({ object: 'chat.completion', model: 'acme/chat', created: 1767225600 })
    expect(first.id).toMatch(/^chatcmpl-[A-Za-z0-9]{24}$/)

    const again = await client.chat.completions.create({ model: 'acme/chat', messages: HELLO })
    expect(again.choices).toEqual(first.choices)
    expect(again.id).not.toBe(first.id)
    const elsewhere = await openaiWorld().client.chat.completions.create({ model: 'acme/chat', messages: HELLO })
    expect(elsewhere).toEqual(first)
    const other = await openaiWorld({ seed: 2 }).client.chat.completions.create({ model: 'acme/chat', messages: HELLO })
    expect(other.choices).not.toEqual(first.choices)
  })

  test('is equal for all spellings of a model, live and in a batch', { tags: 'slow' }, async () => {
    const { sim, client } = openaiWorld()
    const { deploy_id } = sim.world.deployments.list()[0]!
    const said: unknown[] = []
    for (const model of ['acme/chat', 'chat', `deploy_id:${deploy_id}`]) {
      const answer = await client.chat.completions.create({ model, messages: HELLO })
      expect(answer.model).toBe(model)
      said.push(answer.choices[0]!.message.content)
      const batch = await startBatch(sim, [batchLine('a', { model, messages: HELLO })])
      await sim.clock.advance('1h')
      const { output_file_id } = await client.batches.retrieve(batch.id)
      const output = JSON.parse(await (await client.files.content(output_file_id!)).text())
      said.push(output.response.body.choices[0].message.content)
    }
    expect(new Set(said).size).toBe(1)
  })

  test('is refused when the prompt fills the context (max_tokens of the model)', async () => {
    const { ask } = openaiWorld({ fixtures: 'default', with: {} })
    const { max_tokens } = (await ask('/models/acme/assistant')).body
    expect(max_tokens).toBe(8192)
    const sent = async (tokens: number) => {
      const content = `a${' a'.repeat(tokens - 8)}`
      return ask('/v1/chat/completions', { model: 'acme/assistant', messages: [{ role: 'user', content }] })
    }
    const { body } = await sent(max_tokens - 1)
    const expected = [{ prompt_tokens: max_tokens - 1, completion_tokens: 1, total_tokens: max_tokens }, 'length']
    expect([body.usage, body.choices[0].finish_reason]).toEqual(expected)
    const full = await sent(max_tokens)
    expect([full.status, full.body.error.message]).toEqual([
      400,
      'the prompt has 8192 tokens, and the context of acme/assistant is 8192: there is no room for an answer',
    ])
    expect((await sent(max_tokens + 1)).body.error.message).toBe(
      'the prompt has 8193 tokens, and the context of acme/assistant is 8192',
    )
  })

  test('has n different answers, the first equal to the single answer', async () => {
    const { client } = openaiWorld()
    const alone = await client.chat.completions.create({ model: 'acme/chat', messages: HELLO })
    const three = await client.chat.completions.create({ model: 'acme/chat', messages: HELLO, n: 3 })
    const texts = three.choices.map(({ message }) => message.content)
    expect(texts[0]).toBe(alone.choices[0]!.message.content)
    expect(new Set(texts).size).toBe(3)
    expect(three.usage!.completion_tokens).toBe(texts.reduce((sum, text) => sum + encode(text!).length, 0))
  })

  test('ends at max_tokens or before a stop text', async () => {
    const { client } = openaiWorld()
    const ask = { model: 'acme/chat', messages: HELLO }
    const whole = (await client.chat.completions.create(ask)).choices[0]!.message.content!
    const short = await client.chat.completions.create({ ...ask, max_completion_tokens: 5 })
    expect(short.choices[0]).toMatchObject({ finish_reason: 'length' })
    expect(short.choices[0]!.message.content).toBe(prefix(whole, 5))
    expect(short.usage!.completion_tokens).toBe(5)
    const stop = whole.split(' ')[4]!
    const stopped = await client.chat.completions.create({ ...ask, stop: [stop, 'never said'] })
    const expected = { finish_reason: 'stop', message: { content: whole.slice(0, whole.indexOf(stop)) } }
    expect(stopped.choices[0]).toMatchObject(expected)
    expect(stopped.usage!.completion_tokens).toBe(encode(whole.slice(0, whole.indexOf(stop))).length)
  })

  test('that is cut is the beginning of the full text, for each of n answers, whole and streamed', async () => {
    const { client } = openaiWorld()
    const ask = { model: 'acme/chat', messages: HELLO, n: 4 }
    const uncut = await client.chat.completions.create(ask)
    const texts = uncut.choices.map(({ message }) => message.content!)
    const shortest = Math.min(...texts.map(text => encode(text).length))
    for (let limit = 1; limit < shortest; limit += 7) {
      const cut = await client.chat.completions.create({ ...ask, max_tokens: limit })
      expect(cut.choices.map(({ message }) => message.content)).toEqual(texts.map(text => prefix(text, limit)))
      expect(cut.choices.every(({ finish_reason }) => finish_reason === 'length')).toBe(true)
      expect(cut.usage!.completion_tokens).toBe(4 * limit)
    }
    const streamed = texts.map(() => '')
    for await (const { choices } of await client.chat.completions.create({ ...ask, max_tokens: 5, stream: true })) {
      for (const { index, delta } of choices) streamed[index] += delta.content ?? ''
    }
    expect(streamed).toEqual(texts.map(text => prefix(text, 5)))
  })
})

describe('a stream', () => {
  test('has the same answer token by token, with usage last', async () => {
    const { client, inferenceKinds } = openaiWorld()
    const ask = { model: 'acme/chat', messages: HELLO, n: 2 }
    const whole = await client.chat.completions.create(ask)
    const stream = await client.chat.completions.create({
      ...ask,
      stream: true,
      stream_options: { include_usage: true },
    })
    const chunks: OpenAI.ChatCompletionChunk[] = []
    for await (const chunk of stream) chunks.push(chunk)
    const said = (index: number) =>
      chunks
        .flatMap(({ choices }) => choices)
        .filter(choice => choice.index === index)
        .map(({ delta }) => delta.content ?? '')
    for (const { index, message } of whole.choices) {
      expect(said(index).join('')).toBe(message.content)
      expect(said(index).filter(piece => piece !== '')).toHaveLength(encode(message.content!).length)
    }
    expect(new Set(chunks.map(({ id }) => id)).size).toBe(1)
    expect(chunks.at(-1)).toMatchObject({ choices: [{ index: 1, finish_reason: 'stop' }], usage: whole.usage })
    expect(chunks.slice(0, -1).every(chunk => !('usage' in chunk))).toBe(true)
    expect(chunks.flatMap(({ choices }) => choices.map(one => one.finish_reason)).filter(Boolean)).toEqual([
      'stop',
      'stop',
    ])
    expect(inferenceKinds()).toEqual(['served', 'served'])
  })

  test('has usage beside the finish reason, except with include_usage false, and ends with [DONE]', async () => {
    const { sim } = openaiWorld()
    const send = (more: object) =>
      sendTo(sim, 'POST /v1/chat/completions', {
        model: 'acme/chat',
        messages: HELLO,
        stream: true,
        max_tokens: 3,
        ...more,
      })
    for (const options of [undefined, null, {}, { include_usage: true }, { include_usage: null }]) {
      const chunks = (await (await send({ stream_options: options })).text()).split('\n\n').slice(0, -2)
      const last = JSON.parse(chunks.at(-1)!.slice('data: '.length))
      expect(last.choices[0].finish_reason).toBe('length')
      expect(last.usage).toMatchObject({ completion_tokens: 3 })
      expect(chunks.slice(0, -1).join('')).not.toContain('usage')
    }
    const answer = await send({ stream_options: { include_usage: false } })
    expect(answer.headers.get('content-type')).toBe('text/event-stream; charset=utf-8')
    expect(answer.headers.get('date')).toBe('Thu, 01 Jan 2026 00:00:00 GMT')
    const events = (await answer.text()).split('\n\n')
    expect(events.at(-2)).toBe('data: [DONE]')
    expect(events.join('')).not.toContain('usage')
  })
})

describe('a tool', () => {
  const ask = { model: 'acme/chat', messages: HELLO, tools: [WEATHER, CLOCK] }
  const Arguments = z.strictObject({ city: z.string().min(1), unit: z.enum(['celsius', 'fahrenheit']) })

  test('is called with valid arguments, equal whole and streamed', async () => {
    const { client } = openaiWorld()
    const messages = [{ role: 'user' as const, content: 'How is the weather?' }]
    const whole = await client.chat.completions.create({ ...ask, messages })
    const [call] = whole.choices[0]!.message.tool_calls!
    if (call?.type !== 'function') throw new Error('expected a call')
    expect(call.function.name).toBe('get_weather')
    Arguments.parse(JSON.parse(call.function.arguments))
    expect(whole.choices[0]).toMatchObject({ finish_reason: 'tool_calls', message: { content: null } })
    expect(whole.usage!.completion_tokens).toBe(encode('get_weather').length + encode(call.function.arguments).length)
    const streamed = await client.chat.completions.stream({ ...ask, messages }).finalChatCompletion()
    expect(streamed.choices[0]!.message.tool_calls).toMatchObject([
      { id: call.id, function: { arguments: call.function.arguments } },
    ])
  })

  test('is called by tool_choice, and its result is answered with text', async () => {
    const { client } = openaiWorld()
    const named = { type: 'function' as const, function: { name: 'read_clock' } }
    const chosen = await client.chat.completions.create({ ...ask, tool_choice: named })
    expect(chosen.choices[0]!.message.tool_calls).toMatchObject([{ function: { name: 'read_clock', arguments: '{}' } }])
    const none = await client.chat.completions.create({ ...ask, tool_choice: 'none' })
    expect(none.choices[0]!.finish_reason).toBe('stop')
    const { message } = chosen.choices[0]!
    const result = { role: 'tool' as const, tool_call_id: message.tool_calls![0]!.id, content: '12:00' }
    const after = await client.chat.completions.create({ ...ask, messages: [...HELLO, message, result] })
    expect(after.choices[0]!.message.content).toMatch(/\w/)
  })

  test('is one of allowed_tools', async () => {
    const { client, ask: post } = openaiWorld()
    const messages = [{ role: 'user' as const, content: 'How is the weather?' }]
    const clock = { type: 'function', function: { name: 'read_clock' } }
    const allowed = (mode: 'auto' | 'required', tools: Record<string, unknown>[] = [clock]) => ({
      ...{ type: 'allowed_tools' as const, allowed_tools: { mode, tools } },
    })
    const called = async (more: object) =>
      (await client.chat.completions.create({ ...ask, messages, ...more })).choices[0]!.message.tool_calls?.map(
        call => call.type === 'function' && call.function.name,
      )
    expect(await called({})).toEqual(['get_weather'])
    expect(await called({ tool_choice: allowed('auto') })).toEqual(['read_clock'])
    const answered = [...messages, { role: 'assistant' as const, content: 'Fine.' }]
    expect(await called({ tool_choice: allowed('auto'), messages: answered })).toBeUndefined()
    expect(await called({ tool_choice: allowed('required'), messages: answered })).toEqual(['read_clock'])
    const none = { type: 'function', function: { name: 'nope' } }
    const refused = await post('/v1/chat/completions', { ...ask, tool_choice: allowed('auto', [clock, none]) })
    const expected = [422, ['body', 'tool_choice', 'allowed_tools', 'tools', '1', 'function', 'name']]
    expect([refused.status, refused.body.detail[0].loc]).toEqual(expected)
  })

  test('of type custom is called with a text, equal whole and streamed', async () => {
    const { client, ask: post } = openaiWorld()
    const custom = { type: 'custom' as const, custom: { name: 'run_code' } }
    const body = { model: 'acme/chat', messages: HELLO, tools: [custom, CLOCK], tool_choice: custom }
    const whole = await client.chat.completions.create(body)
    const [call] = whole.choices[0]!.message.tool_calls!
    if (call?.type !== 'custom') throw new Error('expected a call of a custom tool')
    expect(call.custom).toEqual({ name: 'run_code', input: expect.stringMatching(/\w/) })
    expect(whole.choices[0]!.finish_reason).toBe('tool_calls')
    expect(whole.usage!.completion_tokens).toBe(encode('run_code').length + encode(call.custom.input).length)
    let said = ''
    for await (const { choices } of await client.chat.completions.create({ ...body, stream: true })) {
      const piece = choices[0]?.delta.tool_calls?.[0] as { custom?: { input: string } } | undefined
      said += piece?.custom?.input ?? ''
    }
    expect(said).toBe(call.custom.input)
    const { message } = whole.choices[0]!
    const result = { role: 'tool' as const, tool_call_id: call.id, content: 'done' }
    const after = await client.chat.completions.create({
      ...{ model: 'acme/chat', tools: [custom], messages: [...HELLO, message, result] },
    })
    expect(after.choices[0]!.message.content).toMatch(/\w/)
    const grammar = { type: 'grammar', grammar: { definition: 'a', syntax: 'regex' } }
    const tools = [{ type: 'custom', custom: { name: 'run_code', format: grammar } }]
    const refused = await post('/v1/chat/completions', { ...body, tools })
    expect([refused.status, refused.body.error.message]).toEqual([400, expect.stringContaining('run_code')])
  })

  test('ends the tool loop of the openai package', async () => {
    const { client } = openaiWorld()
    const seen: unknown[] = []
    const runTool = {
      ...WEATHER.function,
      parse: JSON.parse,
      function: (given: unknown) => seen.push(given) && 'sunny',
    }
    const runner = client.chat.completions.runTools({
      model: 'acme/chat',
      messages: HELLO,
      tools: [{ type: 'function', function: runTool as never }],
    })
    expect(await runner.finalContent()).toMatch(/\w/)
    expect(seen).toHaveLength(1)
    Arguments.parse(seen[0])
  })
})

describe('JSON', () => {
  test('is valid under its schema or cut at max_tokens', async () => {
    const { client } = openaiWorld()
    const Event = z.strictObject({
      name: z.string(),
      when: z.iso.datetime(),
      attendees: z.array(z.strictObject({ email: z.email(), age: z.int().min(18).max(99) })).min(1),
      place: z.union([z.string(), z.null()]),
      code: z.string().regex(/^[A-Z]{3}-\d{4}$/),
    })
    const schema = z.toJSONSchema(Event, { io: 'input' }) as Record<string, unknown>
    const ask = {
      ...{ model: 'acme/chat', messages: HELLO },
      response_format: { type: 'json_schema' as const, json_schema: { name: 'event', strict: true, schema } },
    }
    const { choices } = await client.chat.completions.create({ ...ask, n: 4 })
    for (const { message } of choices) Event.parse(JSON.parse(message.content!))
    expect(new Set(choices.map(({ message }) => message.content)).size).toBe(4)
    const cut = await client.chat.completions.create({ ...ask, max_tokens: 4 })
    expect(cut.choices[0]!.finish_reason).toBe('length')
    expect(() => JSON.parse(cut.choices[0]!.message.content!)).toThrow()
    const any = await client.chat.completions.create({ ...ask, response_format: { type: 'json_object' } })
    expect(typeof JSON.parse(any.choices[0]!.message.content!)).toBe('object')
  })

  test('is a match of the whole expression when the format is regex, also of a completion', async () => {
    const { ask } = openaiWorld()
    const textOf = async (path: string, response_format: object) => {
      const prompt = path === '/v1/completions' ? { prompt: 'Is it?' } : { messages: HELLO }
      const { status, body } = await ask(path, { model: 'acme/chat', ...prompt, response_format })
      return status === 200 ? (body.choices[0].text ?? body.choices[0].message.content) : [status, body.error.message]
    }
    for (const path of ['/v1/chat/completions', '/v1/completions']) {
      expect(await textOf(path, { type: 'regex', regex: 'yes|no' })).toMatch(/^(?:yes|no)$/)
      expect(await textOf(path, { regex: '[A-Z]{3}-\\d{4}' })).toMatch(/^[A-Z]{3}-\d{4}$/)
      const refusal = (reason: string) => [400, expect.stringMatching(`made for response_format.regex: .*${reason}`)]
      expect(await textOf(path, { type: 'regex', regex: '(a)\\1' })).toEqual(refusal('has references to groups'))
      expect(await textOf(path, { type: 'regex', regex: '(a' })).toEqual(refusal('is not a regular expression'))
    }
  })

  test('is refused by the name of a keyword when the schema has one that is not supported', async () => {
    const { sim, ask } = openaiWorld()
    const before = sim.digest
    const schema = { type: 'object', properties: { list: { type: 'array', contains: { const: 1 } } } }
    const format = { type: 'json_schema', json_schema: { name: 'x', schema } }
    const { status, body } = await ask('/v1/chat/completions', {
      ...{ model: 'acme/chat', messages: HELLO, response_format: format },
    })
    expect([status, body.error.message]).toEqual([
      400,
      'no answer can be made for the schema of response_format: ' +
        '#/properties/list/contains: the keyword contains is not supported',
    ])
    expect(sim.digest).toBe(before)
  })

  test('is finite for a recursive schema', async () => {
    const { client } = openaiWorld()
    const Tree = z.object({
      value: z.number(),
      get children() {
        return z.array(Tree)
      },
    })
    const schema = z.toJSONSchema(Tree) as Record<string, unknown>
    const format = { type: 'json_schema' as const, json_schema: { name: 'tree', schema } }
    const { choices } = await client.chat.completions.create({
      model: 'acme/chat',
      messages: HELLO,
      response_format: format,
      n: 4,
    })
    for (const { message } of choices) Tree.parse(JSON.parse(message.content!))
  })

  test('is valid under every schema of plain parts', { tags: 'slow' }, async () => {
    const { client } = openaiWorld()
    const leaf = fc.oneof(
      fc.constant(z.boolean()),
      fc.constant(z.null()),
      fc.tuple(fc.integer({ min: -50, max: 50 }), fc.nat(50)).map(([low, span]) =>
        z
          .int()
          .min(low)
          .max(low + span),
      ),
      fc.tuple(fc.integer({ min: -50, max: 50 }), fc.nat(50)).map(([low, span]) =>
        z
          .number()
          .gt(low)
          .max(low + span + 0.25),
      ),
      fc.tuple(fc.nat(12), fc.nat(12)).map(([least, span]) =>
        z
          .string()
          .min(least)
          .max(least + span),
      ),
      fc.uniqueArray(fc.string(), { minLength: 1, maxLength: 4 }).map(words => z.enum(words as [string])),
    )
    const { tree } = fc.letrec<{ tree: z.ZodType }>(tie => ({
      tree: fc.oneof(
        { maxDepth: 3 },
        leaf,
        fc.tuple(tie('tree'), fc.nat(2)).map(([item, least]) =>
          z
            .array(item)
            .min(least)
            .max(least + 2),
        ),
        fc
          .dictionary(fc.stringMatching(/^[a-z]{1,6}$/), tie('tree'), { maxKeys: 4 })
          .map(shape => z.strictObject(shape)),
        fc.tuple(tie('tree'), tie('tree')).map(([a, b]) => z.union([a, b])),
      ),
    }))
    await forAllAsync([tree], async shape => {
      const schema = z.toJSONSchema(shape) as Record<string, unknown>
      const format = { type: 'json_schema' as const, json_schema: { name: 'x', schema } }
      const { choices } = await client.chat.completions.create({
        model: 'acme/chat',
        messages: HELLO,
        response_format: format,
      })
      shape.parse(JSON.parse(choices[0]!.message.content!))
    })
  })
})

describe('a request', () => {
  test('is rejected when a field is invalid', async () => {
    const { ask } = openaiWorld()
    const issues = async (body: object) => {
      const answer = await ask('/v1/chat/completions', body)
      expect(answer.status).toBe(422)
      return answer.body.detail.map(({ loc, type }: { loc: string[]; type: string }) => `${loc.join('/')} ${type}`)
    }
    expect(await issues({})).toEqual(['body/model missing', 'body/messages missing'])
    expect(await issues({ model: 'acme/chat', messages: [] })).toEqual(['body/messages too_short'])
    const good = { model: 'acme/chat', messages: HELLO }
    const expected = ['body/messages/0/role literal_error', 'body/messages/0/content string_type']
    expect(await issues({ ...good, messages: [{ role: 'poet', content: 1 }] })).toEqual(expected)
    expect(await issues({ ...good, max_tokens: -1, n: 0, temperature: 3, stop: ['a', 'b', 'c', 'd', 'e'] })).toEqual([
      'body/max_tokens greater_than_equal',
      'body/n greater_than_equal',
      'body/stop too_long',
      'body/temperature less_than_equal',
    ])
    expect(await issues({ ...good, n: 5 })).toEqual(['body/n less_than_equal'])
    expect(await issues({ ...good, tools: [] })).toEqual(['body/tools too_short'])
    expect(await issues({ ...good, tool_choice: 'required' })).toEqual(['body/tool_choice value_error'])
    const choice = { type: 'function', function: { name: 'nope' } }
    expect(await issues({ ...good, tools: [WEATHER], tool_choice: choice })).toEqual([
      'body/tool_choice/function/name value_error',
    ])
    expect(await issues({ ...good, response_format: { type: 'yaml' } })).toEqual([
      'body/response_format/type literal_error',
    ])
    const unknown = await ask('/v1/chat/completions', { ...good, response_format: { type: 'yaml' } })
    expect(unknown.body.detail[0].msg).toBe("Input should be 'text', 'json_object', 'json_schema' or 'regex'")
    const tool = await ask('/v1/chat/completions', { ...good, tools: [{ type: 'none', function: { name: 'x' } }] })
    expect(tool.body.detail[0].msg).not.toContain('undefined')
    const nulls = {
      max_tokens: null,
      n: null,
      stop: null,
      stream: null,
      tools: null,
      tool_choice: null,
      response_format: null,
    }
    expect((await ask('/v1/chat/completions', { ...good, ...nulls })).status).toBe(200)
  })

  test('is refused when no model can answer it', async () => {
    const { sim, ask } = openaiWorld({ fixtures: 'default', with: {} })
    const asked = async (model: string, more: object = {}) => {
      const { status, body } = await ask('/v1/chat/completions', { model, messages: HELLO, ...more })
      return [status, body.error?.message]
    }
    const later = async (model: string) => {
      const { status, headers } = await ask('/v1/chat/completions', { model, messages: HELLO })
      return [status, headers.get('retry-after')]
    }
    const before = sim.digest
    const idOf = (name: string) => `deploy_id:${sim.world.deployments.findLive(name)!.deploy_id}`
    const [stopped, deploying] = [idOf('acme/summarizer'), idOf('acme/translator')]
    expect(await asked('acme/unknown')).toEqual([404, 'model does not exist: acme/unknown'])
    expect(await asked('deploy_id:unknown')).toEqual([404, 'model does not exist: deploy_id:unknown'])
    expect(await asked('acme/summarizer')).toEqual([404, 'model does not exist: acme/summarizer'])
    expect(await asked('acme/translator')).toEqual([404, 'model does not exist: acme/translator'])
    expect(await asked(stopped)).toEqual([503, `model ${stopped} is stopped, not running`])
    expect(await asked(deploying)).toEqual([503, `model ${deploying} is deploying, not running`])
    expect(await later(stopped)).toEqual([503, null])
    expect(await later(deploying)).toEqual([503, '10'])
    expect(await later('acme/unknown')).toEqual([404, null])
    expect((await asked('cedarline/cedar-embed-base'))[0]).toBe(400)
    const long = [{ role: 'user', content: 'word '.repeat(40_000) }]
    expect((await asked('aurora-labs/aurora-405b-instruct', { messages: long }))[1]).toMatch(/context of .* is 32768/)
    expect(sim.digest).toBe(before)
    sim.cluster.account.suspend('admin')
    expect((await asked('acme/assistant'))[0]).toBe(402)
  })
})

test('a reference to the catalog answers by its id while it runs, equal to its model by name', async () => {
  const { sim, ask } = openaiWorld({ fixtures: 'default', with: {} })
  const asked = async (model: string) => {
    const { status, body } = await ask('/v1/chat/completions', { model, messages: HELLO })
    return [status, body.error?.message.replace(/^model \S+/, 'model M')]
  }
  const legacy = sim.world.deployments.get('NXbeHeMeJT6BGzJR')!
  const id = `deploy_id:${legacy.deploy_id}`
  expect((await asked(id))[0]).toBe(200)
  legacy.stop()
  expect(await asked(id)).toEqual([503, 'model M is stopped, not running'])
  expect((await asked(legacy.row.plan.modelName))[0]).toBe(200)
  // A reference has no instances of the account before or after.
  expect((await ask(`/deploy/${legacy.deploy_id}/start`, {})).status).toBe(200)
  await sim.clock.advance('1h')
  expect(legacy.toRecord()).toMatchObject({ status: 'running', instances: { running: 0, pending: 0 } })
  expect((await asked(id))[0]).toBe(200)
  legacy.delete()
  expect((await asked(id))[0]).toBe(404)
  expect((await asked(legacy.row.plan.modelName))[0]).toBe(200)
  const voice = sim.world.deployments.get('L7sRPhrSJkt5fPTG')!
  const refusal = [400, 'model M does text-to-speech, not text-generation']
  expect(await asked(`deploy_id:${voice.deploy_id}`)).toEqual(refusal)
  expect(await asked(voice.row.plan.modelName)).toEqual(refusal)
})

test('GET /v1/models lists models, and each text model answers', { tags: 'slow' }, async () => {
  const { client } = openaiWorld({ fixtures: 'default', with: {} })
  const { data } = await client.models.list()
  expect(data[0]).toEqual({
    id: 'acme/assistant',
    object: 'model',
    created: expect.any(Number),
    owned_by: 'acme',
    root: 'acme/assistant',
    parent: null,
    metadata: { context_length: 8192, description: '', max_tokens: 8192, pricing: { sec: 0.00122222222222 }, tags: [] },
  })
  let answered = 0
  for (const { id } of data) {
    const answer = client.chat.completions.create({ model: id, messages: HELLO, max_tokens: 2 })
    answered += await answer.then(
      () => 1,
      error => (error.status === 400 ? 0 : Promise.reject(error)),
    )
  }
  expect(answered).toBeGreaterThan(20)
})
