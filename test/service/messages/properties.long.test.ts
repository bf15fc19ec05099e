/** Rules that hold for every body of messages: whole, streamed, counted and repeated. */

import fc from 'fast-check'
import { beforeAll, expect, test } from 'vitest'
import { MessageAnswer } from '../../../src/service/messages/message-schema.ts'
import { loadTokenizer } from '../../../src/service/openai/tokenizer.ts'
import { forAllAsync } from '../../setup/for-all.ts'
import { openaiWorld } from '../openai/openai-world.ts'
import { parseMessageEvents, readMessage } from './message-stream.ts'

const RUNS = Number(process.env.FUZZ_RUNS ?? 15)
const seed = Number(process.env.FUZZ_SEED ?? 7)
const PATH = '/vendor_a/v1/messages'

beforeAll(async () => {
  await loadTokenizer()
})

const words = fc.array(fc.constantFrom('river', 'weather', 'in', 'Paris', '天气', '🙂', '\n'), { maxLength: 8 })
const text = words.map(list => list.join(' '))
const textBlock = text.map(content => ({ type: 'text', text: content }))
const image = fc.constant({ type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'iVBORw0K' } })
const toolUse = fc
  .record({ input: fc.dictionary(fc.constantFrom('city', 'day'), fc.oneof(text, fc.integer())) })
  .map(({ input }) => ({ type: 'tool_use', id: 'toolu_1', name: 'get_weather', input }))
const toolResult = fc
  .oneof(text, fc.array(fc.oneof(textBlock, image), { maxLength: 3 }))
  .map(content => ({ type: 'tool_result', tool_use_id: 'toolu_1', content }))
const thought = fc.constant({ type: 'thinking', thinking: 'Let me see.', signature: 'abc' })
const message = fc.oneof(
  fc.record({
    role: fc.constant('user'),
    content: fc.oneof(text, fc.array(fc.oneof(textBlock, image, toolResult), { maxLength: 4 })),
  }),
  fc.record({
    role: fc.constant('assistant'),
    content: fc.oneof(text, fc.array(fc.oneof(textBlock, toolUse, thought), { maxLength: 4 })),
  }),
)
const tool = fc.record(
  {
    name: fc.constantFrom('get_weather', 'search', 'open_file'),
    description: fc.oneof(text, fc.constant(null)),
    input_schema: fc.constantFrom(
      {},
      { type: 'object', properties: { city: { type: 'string' }, days: { type: 'integer' } }, required: ['city'] },
    ),
  },
  { requiredKeys: ['name', 'input_schema'] },
)
const tools = fc.uniqueArray(tool, { minLength: 1, maxLength: 3, selector: ({ name }) => name })

/** Bodies that are answered. */
const bodies = fc
  .record(
    {
      messages: fc.array(message, { minLength: 1, maxLength: 4 }),
      max_tokens: fc.oneof(fc.integer({ min: 1, max: 12 }), fc.integer({ min: 100, max: 400 })),
      system: fc.oneof(text, fc.array(textBlock, { maxLength: 2 }), fc.constant(null)),
      stop_sequences: fc.array(fc.constantFrom('the', ' a', '.', 'never'), { maxLength: 3 }),
      thinking: fc.constantFrom(
        { type: 'enabled', budget_tokens: 5 },
        { type: 'adaptive' },
        { enabled: true },
        { type: 'disabled' },
      ),
      tools,
      choice: fc.constantFrom('auto', 'any', 'none', 'tool'),
    },
    { requiredKeys: ['messages'] },
  )
  .map(({ choice, ...body }) => {
    if (choice === undefined || body.tools === undefined) return body
    const name = choice === 'tool' ? { name: body.tools[0]!.name } : {}
    return { ...body, tool_choice: { type: choice, ...name } }
  })

async function answersOf(body: object): Promise<{ whole: string; stream: string; counted: unknown }> {
  const { sim } = openaiWorld()
  const post = async (path: string, sent: object) => {
    const response = await sim.fetch(`http://sim${path}`, {
      method: 'POST',
      headers: { 'x-api-key': sim.token },
      body: JSON.stringify({ model: 'acme/chat', ...sent }),
    })
    const answer = await response.text()
    expect(response.status, answer).toBe(200)
    return answer
  }
  const { messages, system, tools: definitions, thinking, tool_choice } = body as Record<string, unknown>
  return {
    whole: await post(PATH, body),
    stream: await post(PATH, { ...body, stream: true }),
    counted: JSON.parse(
      await post(`${PATH}/count_tokens`, { messages, system, tools: definitions, thinking, tool_choice }),
    ),
  }
}

test('every stream has the events of the protocol in their order, and gives the whole message', async () => {
  const seen = new Set<string>()
  await forAllAsync([bodies], { numRuns: 2 * RUNS, seed }, async body => {
    const { whole, stream, counted } = await answersOf(body)
    const answer = MessageAnswer.parse(JSON.parse(whole))
    expect(answer).toEqual(JSON.parse(whole))
    const { stop_reason, stop_sequence, content, usage } = answer
    seen.add(stop_reason!)
    for (const { type } of content) seen.add(type)
    const streamed = readMessage(parseMessageEvents(stream), stop_reason === 'max_tokens')
    expect({ ...streamed, id: '' }).toEqual({ ...answer, id: '' })
    expect(counted).toEqual({ input_tokens: usage.input_tokens })
    if (body.max_tokens !== undefined) expect(usage.output_tokens).toBeLessThanOrEqual(body.max_tokens)
    expect(stop_sequence !== null).toBe(stop_reason === 'stop_sequence')
    if (stop_sequence !== null) expect(body.stop_sequences).toContain(stop_sequence)
    const texts = content.flatMap(block => (block.type === 'text' ? [block.text] : []))
    for (const stop of body.stop_sequences ?? []) expect(texts.join('')).not.toContain(stop)
  })
  // The bodies reach every form of an answer.
  expect([...seen].sort()).toEqual(['end_turn', 'max_tokens', 'stop_sequence', 'tool_use', 'text', 'thinking'].sort())
}, 120_000)

test('equal requests get equal bytes in equal worlds', async () => {
  await forAllAsync([bodies], { numRuns: Math.ceil(RUNS / 2), seed }, async body => {
    expect(await answersOf(body)).toEqual(await answersOf(body))
  })
}, 120_000)

test('a truncated order of events is not a message', async () => {
  const { stream } = await answersOf({ messages: [{ role: 'user', content: 'Hello' }], max_tokens: 3 })
  const events = parseMessageEvents(stream)
  expect(readMessage(events).content).toHaveLength(1)
  // Without any one of its events but the ping and the deltas, the stream breaks the grammar.
  for (const [index, { type }] of events.entries()) {
    if (type === 'ping' || type === 'content_block_delta') continue
    expect(() => readMessage(events.toSpliced(index, 1)), type).toThrow()
  }
})
