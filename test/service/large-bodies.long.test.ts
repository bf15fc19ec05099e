/** Bodies with very many mistakes: the answer lists the first of them, in time. */
import { expect, test } from 'vitest'
import { loadTokenizer } from '../../src/service/openai/tokenizer.ts'
import { createSimulator } from '../../src/simulator/simulator.ts'
import { running } from '../server/http/running-server.ts'
import { service } from './service-world.ts'

const LLM = { model_name: 'chat', gpu: 'L4-24GB', hub: { repo: 'acme/chat-8b' } }

test('a body with 199,000 errors is answered with 422 and the first hundred', async () => {
  const count = 199_000
  await loadTokenizer()
  const { ask } = service()
  const messages = Array.from({ length: count }, () => 1)
  const { status, body } = await ask('POST /v1/chat/completions', { model: 'acme/assistant', messages })
  expect(status).toBe(422)
  expect(body.detail).toHaveLength(101)
  expect(body.detail[99].loc).toEqual(['body', 'messages', '99'])
  expect(body.detail[100]).toEqual({
    loc: ['body'],
    msg: `Only the first 100 errors are listed; there are ${count - 100} more`,
    type: 'too_many_errors',
  })
})

test('a body with 190,000 errors within one message is answered with 422', async () => {
  await loadTokenizer()
  const { ask } = service()
  const tool_calls = Array.from({ length: 190_000 }, () => 1)
  const { status, body } = await ask('POST /v1/chat/completions', {
    model: 'acme/assistant',
    messages: [{ role: 'assistant', tool_calls }],
  })
  expect(status).toBe(422)
  expect(body.detail).toEqual([
    { loc: ['body'], msg: 'There are more errors than can be listed', type: 'too_many_errors' },
  ])
})

test('a body with 150,000 unknown fields is answered with 422 and the first hundred', async () => {
  const sim = createSimulator({ strictRequests: true })
  const unknown = Object.fromEntries(Array.from({ length: 150_000 }, (_, i) => [`x${i}`, 1]))
  const answer = await sim.fetch('http://sim/deploy/llm', {
    method: 'POST',
    headers: { authorization: `Bearer ${sim.token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ ...LLM, num_gpus: 'two', ...unknown }),
  })
  const { status } = answer
  const body = await answer.json()
  expect(status).toBe(422)
  expect(body.detail).toHaveLength(101)
  expect(body.detail[0]).toMatchObject({ loc: ['body', 'num_gpus'] })
  expect(body.detail[100].msg).toBe('Only the first 100 errors are listed; there are 149901 more')
  expect(sim.unreadFields).toHaveLength(100)
})

test.each([
  ['unknown fields', (count: number) => Object.fromEntries(Array.from({ length: count }, (_, i) => [`x${i}`, 1]))],
  ['invalid faults', (count: number) => ({ faults: Array.from({ length: count }, () => 1) })],
])(
  'a world of its own is refused with 422 and the first hundred errors when the body has 200,000 %s',
  async (_, body) => {
    const server = await running({ fixtures: 'empty' })
    const refused = await server.command('/_sim/worlds', body(200_000))
    expect(refused.status).toBe(422)
    expect(refused.body.detail).toHaveLength(101)
    expect(refused.body.detail[100].msg).toBe('Only the first 100 errors are listed; there are 199900 more')
  },
)

/** Sends a form with one file. */
async function sendForm(
  path: string,
  fields: Readonly<Record<string, string>>,
  name: string,
  file: Uint8Array<ArrayBuffer>,
) {
  const sim = createSimulator()
  const body = new FormData()
  for (const [field, value] of Object.entries(fields)) body.set(field, value)
  body.set(name, new Blob([file]), 'file')
  const headers = { authorization: `Bearer ${sim.token}` }
  return sim.fetch(`http://sim${path}`, { method: 'POST', headers, body })
}

test('audio above the limit is 413, as a form and as a data URL', async () => {
  const path = '/v1/inference/larkspur-audio/lark-scribe-large'
  const large = new Uint8Array(25 * 1_048_576 + 1)
  expect((await sendForm(path, {}, 'audio', large)).status).toBe(413)
  const { ask } = service()
  const { status, body } = await ask(`POST ${path}`, { audio: `data:;base64,${Buffer.from(large).toString('base64')}` })
  expect([status, body]).toEqual([413, { error: 'file is larger than 25 MB' }])
})
