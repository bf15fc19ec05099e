/** Programs of the package of this protocol, with another base URL. */
import VendorClient, { type ClientOptions } from '@anthropic-ai/sdk'
import { beforeEach, describe, expect, test } from 'vitest'
import { createClient } from '../../../src/service/client/client.ts'
import type { FaultRule } from '../../../src/simulator/faults/rules.ts'
import { createSimulator } from '../../../src/simulator/simulator.ts'
import { openTransports, TRANSPORTS, type Transport } from '../../server/transports.ts'

const sim = createSimulator({
  fixtures: 'two-nodes',
  seed: 1,
  check: true,
  with: { deployments: [{ model_name: 'acme/chat', max_batch_size: 4 }] },
})
const at = openTransports(sim, { base: 'https://messages.example.test' })
beforeEach(() => sim.reset())

const ASK = {
  model: 'acme/chat',
  max_tokens: 300,
  messages: [{ role: 'user' as const, content: 'How is the weather in Paris?' }],
}
const WEATHER = {
  name: 'get_weather',
  description: 'The weather of a city',
  input_schema: {
    type: 'object' as const,
    properties: { city: { enum: ['Paris', 'Rome'] } },
    required: ['city'],
  },
}

function clientAt(transport: Transport, options: ClientOptions = {}): VendorClient {
  const { fetch, url } = at(transport)
  return new VendorClient({ baseURL: `${url}/vendor_a`, apiKey: sim.token, fetch, maxRetries: 0, ...options })
}

async function errorOf(asked: Promise<unknown>): Promise<unknown> {
  try {
    return await asked
  } catch (error) {
    const { status, error: body } = error as { status?: number; error?: { error?: { type: string } } }
    return [(error as Error).constructor.name, status, body?.error?.type]
  }
}

describe.each(TRANSPORTS)('through %s', transport => {
  test('a message is created, streamed and counted', async () => {
    const client = clientAt(transport)
    const { data: whole, response, request_id } = await client.messages.create(ASK).withResponse()
    expect(request_id).toBe(response.headers.get('request-id'))
    expect(whole.content).toEqual([{ type: 'text', text: expect.stringMatching(/\w/) }])
    const { messages, model } = ASK
    expect(await client.messages.countTokens({ model, messages })).toEqual({ input_tokens: whole.usage.input_tokens })
    const texts: string[] = []
    const stream = client.messages.stream(ASK).on('text', text => texts.push(text))
    const { content, usage, stop_reason } = await stream.finalMessage()
    const expected = { content: whole.content, usage: whole.usage, stop_reason: 'end_turn' }
    expect({ content, usage, stop_reason }).toEqual(expected)
    expect(texts.join('')).toBe(await stream.finalText())
  })

  test('a raw stream ends with its stop, and its deltas are the text', async () => {
    let text = ''
    const types: string[] = []
    for await (const event of await clientAt(transport).messages.create({ ...ASK, stream: true })) {
      types.push(event.type)
      if (event.type === 'content_block_delta' && event.delta.type === 'text_delta') text += event.delta.text
    }
    expect(text).toMatch(/\w\.$/)
    const expected = ['message_start', 'content_block_stop', 'message_delta', 'message_stop']
    expect([types[0], ...types.slice(-3)]).toEqual(expected)
  })

  test('a loop of tools ends with a text', async () => {
    const client = clientAt(transport)
    const messages: VendorClient.MessageParam[] = [...ASK.messages]
    const called: unknown[] = []
    let answer: VendorClient.Message = await client.messages
      .stream({ ...ASK, messages, tools: [WEATHER] })
      .finalMessage()
    for (let turns = 0; answer.stop_reason === 'tool_use' && turns < 5; turns++) {
      const results = answer.content.flatMap(block => {
        if (block.type !== 'tool_use') return []
        called.push(block.input)
        return [{ type: 'tool_result' as const, tool_use_id: block.id, content: 'sunny' }]
      })
      messages.push({ role: 'assistant', content: answer.content }, { role: 'user', content: results })
      answer = await client.messages.create({ ...ASK, messages, tools: [WEATHER] })
    }
    expect(called).toEqual([{ city: expect.stringMatching(/^(?:Paris|Rome)$/) }])
    expect(answer.content).toMatchObject([{ type: 'text' }])
  })

  test('the tool runner ends with a text', async () => {
    const called: unknown[] = []
    const runner = clientAt(transport).beta.messages.toolRunner({
      ...ASK,
      tools: [
        {
          ...WEATHER,
          parse: (input: unknown) => input,
          run(input: unknown) {
            called.push(input)
            return Promise.resolve('sunny')
          },
        },
      ],
    })
    expect((await runner).content).toMatchObject([{ type: 'text' }])
    expect(called).toEqual([{ city: expect.stringMatching(/^(?:Paris|Rome)$/) }])
  })

  test('the thinking of a stream is the thinking of the whole message', async () => {
    const client = clientAt(transport)
    const body = { ...ASK, max_tokens: 3000, thinking: { type: 'enabled' as const, budget_tokens: 2000 } }
    const whole = await client.messages.create(body)
    const streamed = await client.messages.stream(body).finalMessage()
    expect(whole.content.map(({ type }) => type)).toEqual(['thinking', 'text'])
    expect(streamed.content).toEqual(whole.content)
  })

  test('errors have the classes of the package', async () => {
    const client = clientAt(transport)
    const expected = ['NotFoundError', 404, 'not_found_error']
    expect(await errorOf(client.messages.create({ ...ASK, model: 'acme/nope' }))).toEqual(expected)
    expect(await errorOf(client.messages.create({ ...ASK, max_tokens: 0 }))).toEqual([
      'UnprocessableEntityError',
      422,
      undefined,
    ])
    expect(await errorOf(clientAt(transport, { apiKey: 'unknown' }).messages.create(ASK))).toEqual([
      'AuthenticationError',
      401,
      'authentication_error',
    ])
    expect(await errorOf(client.messages.stream({ ...ASK, model: 'acme/nope' }).finalMessage())).toEqual([
      'NotFoundError',
      404,
      'not_found_error',
    ])
  })

  test.each<[FaultRule['fault'], unknown]>([
    [{ kind: 'status', status: 529 }, ['OverloadedError', 529, 'overloaded_error']],
    [{ kind: 'status', status: 500 }, ['InternalServerError', 500, 'api_error']],
    [{ kind: 'rateLimit' }, ['RateLimitError', 429, 'rate_limit_error']],
    [{ kind: 'reset' }, ['APIConnectionError', undefined, undefined]],
    [{ kind: 'html' }, ['InternalServerError', 502, undefined]],
  ])('a whole message gets the fault %j', async (fault, seen) => {
    sim.faults.add({ on: 'createMessage', fault })
    expect(await errorOf(clientAt(transport).messages.create(ASK))).toEqual(seen)
    expect(sim.requests.at(-1)!.decidedBy).toBe('fault')
  })

  test('a stream that is cut off rejects', async () => {
    sim.faults.add({ on: 'createMessage', fault: { kind: 'truncated', bytes: 900 } })
    const texts: string[] = []
    const stream = clientAt(transport).messages.stream(ASK)
    stream.on('text', text => texts.push(text))
    await expect(stream.finalMessage()).rejects.toThrow()
    expect(texts.length).toBeGreaterThan(0)
  })

  test('a stream whose events drift has the changed field', async () => {
    sim.faults.add({
      on: 'createMessage',
      fault: { kind: 'drift', change: 'numberAsString', field: 'usage.output_tokens' },
    })
    const usages: unknown[] = []
    for await (const event of await clientAt(transport).messages.create({ ...ASK, stream: true })) {
      if (event.type === 'message_delta') usages.push(event.usage.output_tokens)
    }
    expect(usages).toEqual([expect.any(String)])
  })

  test('the package retries a 429 and a 529', async () => {
    const { token } = await createClient(sim.fetch, { baseUrl: 'http://sim', token: sim.token }).createApiToken({
      name: 'retries',
    })
    const headers = { 'retry-after-ms': '1' }
    const rules = [429, 529].map((status, index) =>
      sim.faults.add({ on: 'createMessage', token, nth: index + 1, fault: { kind: 'status', status, headers } }),
    )
    const { stop_reason } = await clientAt(transport, { apiKey: token, maxRetries: 2 }).messages.create(ASK)
    expect(stop_reason).toBe('end_turn')
    expect(rules.map(({ hits }) => hits)).toEqual([1, 1])
  })
})

test('an instance that is lost breaks a stream with the error of its event', async () => {
  const paced = createSimulator({
    fixtures: 'two-nodes',
    seed: 1,
    inferencePace: 'clock',
    with: { deployments: [{ model_name: 'acme/chat' }] },
  })
  const client = new VendorClient({ baseURL: 'http://sim/vendor_a', apiKey: paced.token, fetch: paced.fetch })
  const [deployment] = await createClient(paced.fetch, { baseUrl: 'http://sim', token: paced.token }).listDeployments()
  const stream = await client.messages.create({ ...ASK, stream: true })
  let text = ''
  const read = (async () => {
    for await (const event of stream) {
      if (event.type === 'content_block_delta' && event.delta.type === 'text_delta') text += event.delta.text
    }
  })().catch((error: unknown) => error)
  await paced.clock.advance('200ms')
  paced.cluster.nodeOf(deployment!.deploy_id).crash()
  expect(await read).toMatchObject({ error: { error: { type: 'overloaded_error' } } })
  expect(text).toMatch(/\w/)
})
