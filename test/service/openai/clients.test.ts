/** Programs from the documentation of the openai package, with another base URL. */
import OpenAI, { toFile } from 'openai'
import { zodResponseFormat } from 'openai/helpers/zod'
import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { createSimulator, type Simulator } from '../../../src/simulator/simulator.ts'
import { handlers } from '../../../src/workbench/testing/msw.ts'
import { openTransports } from '../../server/transports.ts'
import { rowsOf } from '../../setup/batches.ts'
import { HELLO } from './openai-world.ts'

const PACED = 'https://paced.example.test'
const deployments = [{ model_name: 'acme/chat', max_batch_size: 4 }]

const world = { fixtures: 'two-nodes', seed: 1, check: true, with: { deployments } } as const
// With this clock, each poll of a batch advances it.
const sim = createSimulator({ ...world, clock: 'on-poll' })
const paced = createSimulator({ ...world, inferencePace: 'clock' })
const at = openTransports(sim, { base: 'https://api.openai.example.test', others: handlers(paced, { baseUrl: PACED }) })
beforeEach(() => {
  sim.reset()
  paced.reset()
})

const inferenceKinds = ({ journal }: Simulator) =>
  journal
    .entries()
    .map(({ kind }) => kind)
    .filter(kind => kind.startsWith('inference.'))

describe.each(['server', 'MSW'] as const)('through %s', transport => {
  let client: OpenAI
  beforeAll(() => {
    const { fetch, url } = at(transport)
    client = new OpenAI({ baseURL: `${url}/v1`, apiKey: sim.token, fetch })
  })

  test('a batch is uploaded, created, polled and read', { tags: 'slow' }, async () => {
    const lines = Array.from({ length: 20 }, (_, n) => ({
      custom_id: `request-${n}`,
      method: 'POST',
      url: '/v1/chat/completions',
      body: { model: 'acme/chat', messages: [{ role: 'user', content: `What is ${n}?` }], max_tokens: 20 },
    }))
    const jsonl = lines.map(line => JSON.stringify(line)).join('\n')
    const file = await client.files.create({ file: await toFile(Buffer.from(jsonl), 'in.jsonl'), purpose: 'batch' })
    let batch = await client.batches.create({
      input_file_id: file.id,
      endpoint: '/v1/chat/completions',
      completion_window: '24h',
    })
    const seen = new Set([batch.status])
    for (let polls = 0; !batch.completed_at && polls < 200; polls++) {
      batch = await client.batches.retrieve(batch.id)
      seen.add(batch.status)
    }
    expect([...seen]).toEqual(['validating', 'in_progress', 'finalizing', 'completed'])
    expect(batch.request_counts).toEqual({ total: 20, completed: 20, failed: 0 })
    const output = await (await client.files.content(batch.output_file_id!)).text()
    const results = rowsOf<{ custom_id: string; response: { body: OpenAI.ChatCompletion } }>(output)
    expect(results.map(({ custom_id }) => custom_id).sort()).toEqual(lines.map(({ custom_id }) => custom_id).sort())
    for (const { response } of results) expect(response.body.choices[0]!.message.content).toMatch(/\w/)
  })

  test('a chat is streamed with usage last', { tags: 'slow' }, async () => {
    const whole = await client.chat.completions.create({ model: 'acme/chat', messages: HELLO })
    const stream = await client.chat.completions.create({
      ...{ model: 'acme/chat', messages: HELLO, stream: true },
      stream_options: { include_usage: true },
    })
    let text = ''
    let usage: OpenAI.CompletionUsage | null | undefined
    for await (const chunk of stream) {
      text += chunk.choices[0]?.delta?.content ?? ''
      usage = chunk.usage
    }
    expect(text).toBe(whole.choices[0]!.message.content)
    expect(usage).toEqual(whole.usage)
  })

  test('the tool runner ends with an answer', { tags: 'slow' }, async () => {
    const asked: unknown[] = []
    const runner = client.chat.completions.runTools({
      model: 'acme/chat',
      messages: [{ role: 'user', content: 'How is the weather in Paris?' }],
      stream: true,
      tools: [
        {
          type: 'function',
          function: {
            name: 'get_weather',
            description: 'The weather of a city',
            parse: JSON.parse,
            function: (given: unknown) => asked.push(given) && 'sunny',
            parameters: { type: 'object', properties: { city: { enum: ['Paris', 'Rome'] } }, required: ['city'] },
          },
        },
      ],
    })
    expect(await runner.finalContent()).toMatch(/\w/)
    expect(asked).toEqual([{ city: expect.stringMatching(/^(?:Paris|Rome)$/) }])
  })

  test('an answer is parsed with its schema', async () => {
    const Event = z.object({ name: z.string(), day: z.iso.date(), participants: z.array(z.string()) })
    const answer = await client.chat.completions.parse({
      model: 'acme/chat',
      messages: [{ role: 'user', content: 'Alice and Bob are going to a science fair on Friday.' }],
      response_format: zodResponseFormat(Event, 'event'),
    })
    expect(Event.parse(answer.choices[0]!.message.parsed)).toEqual(
      JSON.parse(answer.choices[0]!.message.content!) as unknown,
    )
  })

  test('embeddings are equal as base64 and as numbers, and models are listed', async () => {
    const ask = { model: 'cedarline/cedar-embed-base', input: ['a river', 'a road'], dimensions: 64 }
    // The package requests base64 by default and decodes it.
    const packed = await client.embeddings.create(ask)
    const plain = await client.embeddings.create({ ...ask, encoding_format: 'float' })
    const raw = await client.embeddings.create({ ...ask, encoding_format: 'base64' })
    for (const [n, { embedding }] of plain.data.entries()) {
      expect(packed.data[n]!.embedding).toEqual([...Float32Array.from(embedding)])
      const bytes = Buffer.from(raw.data[n]!.embedding as unknown as string, 'base64')
      expect([...new Float32Array(new Uint8Array(bytes).buffer)]).toEqual(packed.data[n]!.embedding)
    }
    const listed: string[] = []
    for await (const { id } of client.models.list()) listed.push(id)
    expect(listed[0]).toBe('acme/chat')
    expect(listed).toContain('cedarline/cedar-embed-base')
  })

  test('a client that aborts a stream releases its place', async () => {
    const stream = await client.chat.completions.create({ model: 'acme/chat', messages: HELLO, stream: true })
    for await (const chunk of stream) if (chunk.choices[0]?.delta.content) break
    await expect.poll(() => sim.world.inferenceRequests.inFlightCount, { interval: 1 }).toBe(0)
  })
})

describe('under MSW with inferencePace clock', () => {
  const client = () => new OpenAI({ baseURL: `${PACED}/v1`, apiKey: paced.token, fetch: globalThis.fetch })
  const ask = { model: 'acme/chat', messages: HELLO, max_tokens: 40 }

  /** A stream and the chunks received until now. */
  async function reading(signal?: AbortSignal) {
    const stream = await client().chat.completions.create({ ...ask, stream: true }, signal ? { signal } : {})
    const pieces: string[] = []
    const done = (async () => {
      for await (const { choices } of stream) if (choices[0]?.delta.content) pieces.push(choices[0].delta.content)
    })()
    return { stream, pieces, done }
  }

  test('tokens arrive when time is advanced', async () => {
    const { pieces, done } = await reading()
    await paced.clock.advance('1ms')
    expect(pieces).toEqual([])
    await paced.clock.advance('200ms')
    const some = pieces.length
    expect(some).toBeGreaterThan(5)
    expect(some).toBeLessThan(30)
    await paced.clock.advance('10s')
    await done
    expect(pieces).toHaveLength(40)
    expect(inferenceKinds(paced)).toEqual(['inference.served'])
  })

  test.each([
    ['aborts', (stream: { controller: AbortController }) => stream.controller.abort()],
    ['is aborted by its signal', (_: unknown, leave: AbortController) => leave.abort()],
  ])('a client that %s in the middle gives its place back, and the others go on', async (_, leave) => {
    const controller = new AbortController()
    const one = await reading(controller.signal)
    const other = await reading()
    await paced.clock.advance('200ms')
    leave(one.stream, controller)
    await one.done.catch(() => {})
    await expect
      .poll(() => paced.world.inferenceRequests.countsOfDeployment(0), { interval: 1 })
      .toEqual({ running: 1, waiting: 0 })
    await paced.clock.advance('10s')
    await other.done
    expect(other.pieces).toHaveLength(40)
    expect(one.pieces.length).toBeLessThan(30)
    expect(inferenceKinds(paced)).toEqual(['inference.left', 'inference.served'])
  })

  test('a cancelled body releases its place although a copy of it exists', async () => {
    const answer = await fetch(`${PACED}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${paced.token}` },
      body: JSON.stringify({ ...ask, stream: true }),
    })
    const copy = answer.clone()
    const reader = answer.body!.getReader()
    const [first] = await Promise.all([reader.read(), paced.clock.advance('300ms')])
    expect(new TextDecoder().decode(first.value)).toContain('"role":"assistant"')
    await reader.cancel()
    expect(inferenceKinds(paced)).toEqual(['inference.left'])
    expect(await copy.text()).toContain('"role":"assistant"')
  })
})
