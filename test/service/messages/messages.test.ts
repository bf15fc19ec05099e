/** Answers to messages: their content, their price, their errors, and how they are served. */
import { describe, expect, test } from 'vitest'
import type { MessageAnswer } from '../../../src/service/messages/message-schema.ts'
import { createSimulator, type Simulator, type SimulatorOptions } from '../../../src/simulator/simulator.ts'
import { askTo } from '../../setup/send-to.ts'
import { CATALOG } from '../../simulation/batch-world.ts'
import { HELLO, type OpenaiWorld, openaiWorld } from '../openai/openai-world.ts'
import { parseMessageEvents, readMessage } from './message-stream.ts'

const PATH = '/vendor_a/v1/messages'
const ASK = { model: 'acme/chat', max_tokens: 500, messages: HELLO }
const WEATHER = {
  name: 'get_weather',
  description: 'The weather of a city',
  input_schema: { type: 'object', properties: { city: { enum: ['Paris', 'Rome'] } }, required: ['city'] },
}
const SEARCH = {
  name: 'search',
  input_schema: { type: 'object', properties: { q: { const: 'all' } }, required: ['q'] },
}
const WEATHER_QUESTION = { role: 'user', content: 'How is the weather?' }

/** Sends a body and returns the message that answers it. */
async function answer({ ask }: OpenaiWorld, body: object): Promise<MessageAnswer> {
  const { status, body: message } = await ask(PATH, { ...ASK, ...body })
  expect(status, JSON.stringify(message)).toBe(200)
  return message
}

/** Returns what a refusal says, as in `404 not_found_error: model does not exist: acme/nope`. */
async function refusal({ ask }: OpenaiWorld, body: object): Promise<string> {
  const { status, body: refused } = await ask(PATH, { ...ASK, ...body })
  expect(refused).toEqual({ type: 'error', error: { type: expect.any(String), message: expect.any(String) } })
  return `${status} ${refused.error.type}: ${refused.error.message}`
}

function send(sim: Simulator, body: object, init: RequestInit = {}): Promise<Response> {
  return sim.fetch(`http://sim${PATH}`, {
    method: 'POST',
    headers: { 'x-api-key': sim.token },
    body: JSON.stringify({ ...ASK, ...body }),
    ...init,
  })
}

const paced = (options: SimulatorOptions = {}) => openaiWorld({ inferencePace: 'clock', ...options })

describe('an answer to messages', () => {
  test('has the words, the tokens and the price of the chat with the same messages', async () => {
    const charged = ({ sim }: OpenaiWorld) =>
      sim.ledger.entries().flatMap(({ kind, microcents }) => (kind === 'tokens' ? [microcents] : []))
    const [one, other] = [openaiWorld({ with: {} }), openaiWorld({ with: {} })]
    const conversation = [...HELLO, { role: 'assistant' as const, content: 'Yes?' }, ...HELLO]
    const message = await answer(one, { model: CATALOG, messages: conversation, system: 'Be brief.' })
    const chat = await other.client.chat.completions.create({
      model: CATALOG,
      messages: [{ role: 'system', content: 'Be brief.' }, ...conversation],
    })
    expect(message).toEqual({
      id: expect.stringMatching(/^msg_\w{24}$/),
      type: 'message',
      role: 'assistant',
      model: CATALOG,
      content: [{ type: 'text', text: chat.choices[0]!.message.content }],
      stop_reason: 'end_turn',
      stop_sequence: null,
      usage: {
        input_tokens: chat.usage!.prompt_tokens,
        output_tokens: chat.usage!.completion_tokens,
        cache_creation_input_tokens: 0,
        cache_read_input_tokens: 0,
      },
    })
    expect(charged(one)).toHaveLength(1)
    expect(charged(one)).toEqual(charged(other))
  })

  test('is the same when a text or the system prompt is a single block', async () => {
    const one = openaiWorld()
    const texts = await answer(one, { system: 'Be brief.' })
    const blocks = await answer(one, {
      system: [{ type: 'text', text: 'Be brief.', cache_control: { type: 'ephemeral' } }],
      messages: [{ role: 'user', content: [{ type: 'text', text: HELLO[0]!.content }] }],
    })
    expect({ ...blocks, id: '' }).toEqual({ ...texts, id: '' })
  })

  test('names the reason of its end', async () => {
    const one = openaiWorld()
    const { content } = await answer(one, {})
    const words = (content[0] as { text: string }).text.split(' ')
    const cut = await answer(one, { max_tokens: 2 })
    expect(cut).toMatchObject({ content: [{ text: words.slice(0, 2).join(' ') }], stop_reason: 'max_tokens' })
    expect(cut.usage.output_tokens).toBe(2)
    const stopped = await answer(one, { stop_sequences: ['never', ` ${words[4]}`, ` ${words[3]}`] })
    expect(stopped).toMatchObject({
      content: [{ text: words.slice(0, 3).join(' ') }],
      stop_reason: 'stop_sequence',
      stop_sequence: ` ${words[3]}`,
    })
    const empty = await answer(one, { stop_sequences: [words[0]] })
    expect(empty).toMatchObject({ content: [], stop_reason: 'stop_sequence', usage: { output_tokens: 0 } })
  })

  test('may have no max_tokens, and then ends at the end of the context', async () => {
    const one = openaiWorld()
    const { stop_reason } = await answer(one, { max_tokens: null })
    expect(stop_reason).toBe('end_turn')
    const context = one.sim.world.deployments.read(0).weights.context!
    const messages = [{ role: 'user', content: 'a '.repeat(context - 20) }]
    const { usage, stop_reason: reason } = await answer(one, { max_tokens: null, messages })
    expect([usage.input_tokens + usage.output_tokens, reason]).toEqual([context, 'max_tokens'])
  })
})

describe('the tools of a request', () => {
  test('are called for a question, and the result of a tool is answered with text', async () => {
    const one = openaiWorld()
    const tools = [SEARCH, WEATHER]
    const called = await answer(one, { tools, messages: [WEATHER_QUESTION] })
    expect(called).toMatchObject({
      content: [
        {
          type: 'tool_use',
          id: expect.stringMatching(/^toolu_\w{24}$/),
          name: 'get_weather',
          input: { city: expect.stringMatching(/^(?:Paris|Rome)$/) },
        },
      ],
      stop_reason: 'tool_use',
    })
    const [block] = called.content
    const result = { type: 'tool_result', tool_use_id: (block as { id: string }).id, content: 'Sunny.' }
    const messages: object[] = [
      WEATHER_QUESTION,
      { role: 'assistant', content: called.content },
      { role: 'user', content: [result] },
    ]
    expect((await answer(one, { tools, messages })).content).toMatchObject([{ type: 'text' }])
    // A text beside the result does not make it a question.
    messages[2] = { role: 'user', content: [result, { type: 'text', text: 'Thanks.' }] }
    expect((await answer(one, { tools, messages })).content).toMatchObject([{ type: 'text' }])
    const again = await answer(one, { tools, messages, tool_choice: { type: 'any' } })
    expect(again.stop_reason).toBe('tool_use')
  })

  test('follow tool_choice', async () => {
    const one = openaiWorld()
    const choose = async (tool_choice: object | null) => {
      const { content } = await answer(one, { tools: [SEARCH, WEATHER], messages: [WEATHER_QUESTION], tool_choice })
      return content.map(block => (block.type === 'tool_use' ? block.name : block.type))
    }
    expect(await choose(null)).toEqual(['get_weather'])
    expect(await choose({ type: 'auto', disable_parallel_tool_use: true })).toEqual(['get_weather'])
    expect(await choose({ type: 'none' })).toEqual(['text'])
    expect(await choose({ type: 'tool', name: 'search' })).toEqual(['search'])
  })

  test('get an empty input when max_tokens cuts it, and a stream has its beginning', async () => {
    const one = openaiWorld()
    const body = { tools: [WEATHER], messages: [WEATHER_QUESTION], max_tokens: 4 }
    expect(await answer(one, body)).toMatchObject({
      content: [{ type: 'tool_use', input: {} }],
      stop_reason: 'max_tokens',
    })
    const events = parseMessageEvents(await (await send(one.sim, { ...body, stream: true })).text())
    const pieces = events.flatMap(event => (event.type === 'content_block_delta' ? [event.delta] : []))
    expect(pieces).toEqual([{ type: 'input_json_delta', partial_json: expect.stringMatching(/^\{"city?"?$/) }])
  })
})

describe('thinking', () => {
  test('comes before the same words when it is enabled in any form', async () => {
    const one = openaiWorld()
    const plain = await answer(one, {})
    for (const thinking of [{}, { enabled: true }, { type: 'enabled', budget_tokens: 100_000 }, { type: 'adaptive' }]) {
      const { content, usage } = await answer(one, { thinking })
      expect(content).toEqual([
        { type: 'thinking', thinking: expect.stringMatching(/\w\.$/), signature: expect.stringMatching(/^\w{64}$/) },
        ...plain.content,
      ])
      expect(usage.input_tokens).toBe(plain.usage.input_tokens)
      expect(usage.output_tokens).toBeGreaterThan(plain.usage.output_tokens)
    }
    for (const thinking of [null, { enabled: false }, { type: 'disabled' }])
      expect((await answer(one, { thinking })).content).toEqual(plain.content)
  })

  test('keeps to its budget, and takes its tokens from max_tokens', async () => {
    const one = openaiWorld()
    const text = (message: MessageAnswer, index: number) => {
      const block = message.content[index]
      return block?.type === 'thinking' ? block.thinking : block?.type === 'text' ? block.text : undefined
    }
    const bounded = await answer(one, { thinking: { type: 'enabled', budget_tokens: 3 }, max_tokens: 5 })
    const expected = { 0: { length: 3 }, 1: { length: 2 } }
    expect([text(bounded, 0)!.split(' '), text(bounded, 1)!.split(' ')]).toMatchObject(expected)
    expect(bounded).toMatchObject({ stop_reason: 'max_tokens', usage: { output_tokens: 5 } })
    const thoughts = await answer(one, { thinking: { enabled: true }, max_tokens: 4 })
    expect(thoughts).toMatchObject({
      content: [{ type: 'thinking' }],
      stop_reason: 'max_tokens',
      usage: { output_tokens: 4 },
    })
    const called = await answer(one, {
      thinking: { type: 'enabled', budget_tokens: 3 },
      tools: [WEATHER],
      messages: [WEATHER_QUESTION],
    })
    expect(called.content.map(({ type }) => type)).toEqual(['thinking', 'tool_use'])
  })
})

describe('a scripted answer', () => {
  test('is the content of a message', async () => {
    const one = openaiWorld()
    const { sim } = one
    sim.inference.add({ contains: 'first', answer: { text: 'Sunny, 21 degrees.' } })
    sim.inference.add({ contains: 'second', answer: { json: { degrees: 21 } } })
    sim.inference.add({ contains: 'third', answer: { toolCall: { name: 'open', arguments: { file: 'a' } } } })
    const say = (content: unknown, more: object = {}) => answer(one, { messages: [{ role: 'user', content }], ...more })
    expect(await say('The first.', { thinking: {} })).toMatchObject({
      content: [{ type: 'text', text: 'Sunny, 21 degrees.' }],
      stop_reason: 'end_turn',
    })
    expect(await say([{ type: 'tool_result', tool_use_id: 't', content: 'The second.' }])).toMatchObject({
      content: [{ type: 'text', text: '{"degrees":21}' }],
    })
    expect(await say('The third.')).toMatchObject({
      content: [{ type: 'tool_use', name: 'open', input: { file: 'a' } }],
      stop_reason: 'tool_use',
    })
    expect(sim.requests.map(({ decidedBy }) => decidedBy)).toEqual(['rule', 'rule', 'rule'])
  })

  test('can be an error with the shape of the protocol, or with any body and headers', async () => {
    const one = openaiWorld()
    one.sim.inference.add({ times: 1, answer: { error: { status: 529, message: 'Overloaded' } } })
    expect(await refusal(one, {})).toBe('529 overloaded_error: Overloaded')
    one.sim.inference.add({ answer: { error: { status: 400, body: { odd: 1 }, headers: { 'request-id': 'mine' } } } })
    const { status, body } = await one.ask(PATH, ASK)
    expect([status, body]).toEqual([400, { odd: 1 }])
  })
})

describe('a refusal of messages', () => {
  test('has the error shape of the protocol for each reason', { tags: 'slow' }, async () => {
    const one = openaiWorld({ fixtures: 'default', with: {} })
    const ask = { model: 'acme/assistant' }
    expect(await refusal(one, { model: 'acme/nope' })).toBe('404 not_found_error: model does not exist: acme/nope')
    expect(await refusal(one, { model: 'cedarline/cedar-embed-base' })).toMatch(/^400 invalid_request_error: /)
    const long = { ...ask, messages: [{ role: 'user', content: 'a '.repeat(200_000) }] }
    expect(await refusal(one, long)).toMatch(/^400 invalid_request_error: .*context/)
    const [{ deploy_id }] = (await one.ask('/deploy/list?status=stopped')).body
    expect(await refusal(one, { model: `deploy_id:${deploy_id}` })).toMatch(/^503 overloaded_error: /)
    const unmakeable = { tools: [{ name: 'f', input_schema: { type: 'object', $ref: '#/missing' } }] }
    expect(await refusal(one, { ...ask, ...unmakeable })).toMatch(/^400 invalid_request_error: /)
    one.sim.cluster.account.suspend()
    expect(await refusal(one, ask)).toMatch(/^402 billing_error: /)
    expect(one.sim.requests.map(({ decidedBy }) => decidedBy)).toContain('state')
  })

  test('has the error shape when the token or the media type is refused', async () => {
    const { sim } = openaiWorld({ fixtures: 'default', with: {} })
    const refused = async (init: RequestInit) => {
      const response = await send(sim, {}, init)
      expect(response.headers.get('request-id')).toMatch(/^req_\w{24}$/)
      return [response.status, ((await response.json()) as { error: { type: string } }).error.type]
    }
    expect(await refused({ headers: {} })).toEqual([401, 'authentication_error'])
    expect(await refused({ headers: { 'x-api-key': 'unknown' } })).toEqual([401, 'authentication_error'])
    expect(await refused({ headers: { authorization: 'Bearer sim_office_token' } })).toEqual([403, 'permission_error'])
    const form = { 'x-api-key': sim.token, 'content-type': 'application/x-www-form-urlencoded' }
    expect(await refused({ headers: form })).toEqual([415, 'invalid_request_error'])
  })

  test('says in detail which field is invalid', async () => {
    const { ask } = openaiWorld()
    const detail = async (body: object) => {
      const { status, body: refused } = await ask(PATH, { ...ASK, ...body })
      expect(status).toBe(422)
      return refused.detail.map(({ loc }: { loc: string[] }) => loc.join('.'))
    }
    expect(await detail({ max_tokens: 0, messages: [] })).toEqual(['body.messages', 'body.max_tokens'])
    expect(await detail({ messages: [{ role: 'robot', content: 'a' }] })).toEqual(['body.messages.0.role'])
    expect(await detail({ messages: [{ role: 'user', content: [{ type: 'text' }] }] })).toEqual([
      'body.messages.0.content.0.text',
    ])
    expect(await detail({ system: [{ type: 'text' }] })).toEqual(['body.system.0.text'])
    expect(await detail({ tools: [{ name: 'a' }] })).toEqual(['body.tools.0.input_schema'])
    expect(await detail({ tool_choice: { type: 'any' } })).toEqual(['body.tool_choice'])
    expect(await detail({ tool_choice: { type: 'any' }, tools: [] })).toEqual(['body.tool_choice'])
    expect(await detail({ tool_choice: { type: 'tool', name: 'b' }, tools: [WEATHER] })).toEqual([
      'body.tool_choice.tool.name',
    ])
    expect(await detail({ thinking: { type: 'enabled', budget_tokens: 0 } })).toEqual(['body.thinking.budget_tokens'])
  })

  test('has Retry-After when the model is busy', async () => {
    const one = openaiWorld({ profile: { extends: 'realistic', limits: { requests_in_flight: 1 } } as never })
    const stream = await send(one.sim, { stream: true })
    expect((await send(one.sim, {})).headers.get('retry-after')).toBe('1')
    const says = '429 rate_limit_error: 1 requests to acme/chat are in flight with this token'
    expect(await refusal(one, {})).toBe(says)
    expect(one.sim.requests.at(-1)!.decidedBy).toBe('limit')
    await stream.body!.cancel()
    expect(one.inferenceKinds()).toEqual(['left'])
  })
})

test('a request id is in a header of each answer, and equal worlds give equal ids', async () => {
  const idsOf = async () => {
    const { sim } = openaiWorld()
    const responses = [await send(sim, {}), await send(sim, { stream: true }), await send(sim, { model: 'nope' })]
    responses.push(await send(sim, { messages: [] }))
    await responses[1]!.text()
    return responses.map(({ headers }) => headers.get('request-id'))
  }
  const ids = await idsOf()
  for (const id of ids) expect(id).toMatch(/^req_\w{24}$/)
  expect(new Set(ids).size).toBe(4)
  expect(await idsOf()).toEqual(ids)
})

describe('a stream of messages on the clock', () => {
  test('sends its tokens as time passes', async () => {
    const one = paced()
    const reader = (await send(one.sim, { stream: true, max_tokens: 40 })).body!.pipeThrough(new TextDecoderStream())
    let text = ''
    const done = (async () => {
      for await (const piece of reader) text += piece
    })()
    await one.sim.clock.advance('1ms')
    expect(text).toBe('')
    await one.sim.clock.advance('200ms')
    const received = text.split('text_delta').length - 1
    expect(received).toBeGreaterThan(5)
    expect(received).toBeLessThan(30)
    await one.sim.clock.advance('10s')
    await done
    const message = readMessage(parseMessageEvents(text))
    expect(message.usage.output_tokens).toBe(40)
    expect(one.inferenceKinds()).toEqual(['served'])
  })

  test('ends with an error event when the instance is lost, and a whole answer is 503', async () => {
    const one = paced()
    const [{ deploy_id }] = (await one.ask('/deploy/list')).body
    const stream = (await send(one.sim, { stream: true })).text()
    const whole = send(one.sim, {})
    await one.sim.clock.advance('200ms')
    one.sim.cluster.nodeOf(deploy_id).crash()
    const events = parseMessageEvents(await stream)
    const expected = ['message_start', 'content_block_start', 'ping', 'content_block_delta']
    expect(events.map(({ type }) => type).slice(0, 4)).toEqual(expected)
    const lost = { type: 'error', error: { type: 'overloaded_error', message: expect.stringContaining('lost') } }
    expect(events.at(-1)).toEqual(lost)
    expect(() => readMessage(events)).toThrow()
    const { status, headers } = await whole
    expect([status, headers.get('retry-after'), await (await whole).json()]).toEqual([503, '1', lost])
    expect(one.inferenceKinds()).toEqual(['broken', 'broken'])
  })

  test('ends with an error event when the account is cut off', async () => {
    const { sim } = paced({
      with: {},
      profile: { extends: 'realistic', policies: { suspension_grace: '100ms' } } as never,
    })
    const stream = (await send(sim, { model: CATALOG, stream: true })).text()
    await sim.clock.advance('100ms')
    sim.cluster.account.suspend('overdue-invoices')
    await sim.clock.advance('5m')
    const error = { type: 'billing_error', message: expect.stringContaining('cut off') }
    expect(parseMessageEvents(await stream).at(-1)).toEqual({ type: 'error', error })
  })

  test('arrives slowly, and whole, under the fault slowBody', { tags: 'slow' }, async () => {
    const { sim } = openaiWorld()
    sim.faults.add({ on: 'createMessage', fault: { kind: 'slowBody', bytesPerSecond: 100 } })
    const body = (await send(sim, { stream: true })).body!.pipeThrough(new TextDecoderStream())
    let text = ''
    const done = (async () => {
      for await (const piece of body) text += piece
    })()
    await sim.clock.advance('4s')
    expect(text.length).toBeGreaterThan(100)
    expect(text.length).toBeLessThan(600)
    await sim.clock.advance('1h')
    await done
    expect(readMessage(parseMessageEvents(text)).stop_reason).toBe('end_turn')
  })

  test('releases its place when the client aborts', async () => {
    const one = paced()
    const controller = new AbortController()
    const reader = (await send(one.sim, { stream: true }, { signal: controller.signal })).body!.getReader()
    const [first] = await Promise.all([reader.read(), one.sim.clock.advance('300ms')])
    expect(new TextDecoder().decode(first.value)).toContain('event: message_start')
    controller.abort()
    await expect(reader.read()).rejects.toThrow('abort')
    expect(one.inferenceKinds()).toEqual(['left'])
  })
})

test('messages answer under the path of a names profile', { tags: 'slow' }, async () => {
  const sim = createSimulator({ seed: 1, names: { paths: { vendor_a: 'acme-ai' } } })
  const { status, body } = await askTo(sim, 'POST /acme-ai/v1/messages', { ...ASK, model: 'acme/assistant' })
  expect([status, body.type]).toEqual([200, 'message'])
})
