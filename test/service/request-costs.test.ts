/** The costs of requests by their ids. */
import { beforeAll, expect, test } from 'vitest'
import { LIMITS } from '../../src/lib/limits.ts'
import { loadTokenizer } from '../../src/service/openai/tokenizer.ts'
import { createSimulator } from '../../src/simulator/simulator.ts'
import { sendTo } from '../setup/send-to.ts'
import { issues, service } from './service-world.ts'

const MODEL = 'aurora-labs/aurora-8b-instruct'

beforeAll(async () => {
  await loadTokenizer()
})

test('POST /v1/request-costs answers the cost of each known request', async () => {
  const { ask, client, world } = service()
  const chat = { model: MODEL, messages: [{ role: 'user', content: 'Hello!' }] }
  const { body: first } = await ask('POST /v1/chat/completions', chat)
  const { body: own } = await ask('POST /v1/chat/completions', { ...chat, model: 'acme/assistant' })
  const { body: completion } = await ask('POST /v1/completions', { model: MODEL, prompt: 'Once', max_tokens: 5 })
  const { body: message } = await ask('POST /vendor_a/v1/messages', { ...chat, max_tokens: 9 })
  const ids = [first.id, 'chatcmpl-unknown', own.id, completion.id, message.id]
  const { requests } = await client.getRequestCosts({ requestIds: [...ids, first.id] })
  expect(requests.map(({ requestId }) => requestId)).toEqual([first.id, own.id, completion.id, message.id])
  const [cost, free] = requests.map(({ costNanoUsd }) => costNanoUsd)
  const { prompt_tokens, completion_tokens } = first.usage
  const { pricing } = world.store.hardware.get(MODEL)!.hardware.find(one => one.type === 'serverless') as never as {
    pricing: { cents_per_million_input_tokens: number; cents_per_million_output_tokens: number }
  }
  const { cents_per_million_input_tokens: input, cents_per_million_output_tokens: output } = pricing
  // A cent per million tokens is ten nano-dollars per token.
  expect(cost).toBe(Math.floor(Number((10 * (prompt_tokens * input + completion_tokens * output)).toFixed(6))))
  expect(free).toBe(0)
  const charged = world.ledger.entries().filter(({ kind }) => kind === 'tokens')
  const sum = charged.reduce((total, { microcents }) => total - microcents, 0)
  const costs = requests.reduce((total, { costNanoUsd }) => total + costNanoUsd, 0)
  expect(Math.abs(sum * 10 - costs)).toBeLessThan(10 * requests.length)
})

test.each([
  ['cedarline/cedar-embed-base', { inputs: ['A river in spring.'] }],
  ['inkfold/canvas-fast', { prompt: 'A river.', width: 64, height: 64 }],
  ['larkspur-audio/lark-tts-2', { text: 'The rain ends before midnight.' }],
])('native inference with %s has an id whose cost is known', async (model, body) => {
  const sim = createSimulator()
  const post = async (path: string, content: object) => {
    const answer = await sendTo(sim, `POST ${path}`, content)
    return await answer.json()
  }
  const { request_id, inference_status } = await post(`/v1/inference/${model}`, body)
  expect(inference_status.cost).toBeGreaterThan(0)
  const costNanoUsd = Math.floor(Number((inference_status.cost * 1e9).toFixed(6)))
  expect(await post('/v1/request-costs', { requestIds: [request_id] })).toEqual({
    requests: [{ requestId: request_id, costNanoUsd }],
  })
})

test('costs are part of forks and snapshots, and only the newest are kept', async () => {
  const sim = createSimulator()
  const { requestCosts } = sim.world.access
  for (let i = 0; i < LIMITS.requestCosts + 3000; i++) requestCosts.add(`id-${i}`, i)
  const last = `id-${LIMITS.requestCosts + 2999}`
  expect([...requestCosts.find(['id-0', 'id-2999', 'id-3000', last, 'none']).keys()].sort()).toEqual([last, 'id-3000'])
  const snapshot = sim.snapshot()
  const fork = sim.fork()
  requestCosts.add('later', 1)
  expect(fork.world.access.requestCosts.find(['later', last]).size).toBe(1)
  sim.restore(snapshot)
  expect([...sim.world.access.requestCosts.find(['later', last])]).toEqual([[last, LIMITS.requestCosts + 2999]])
})

test.each<[unknown, string]>([
  [{}, 'body/requestIds missing'],
  [{ requestIds: 'x' }, 'body/requestIds list_type'],
  [{ requestIds: [7] }, 'body/requestIds/0 string_type'],
  [{ requestIds: Array(1001).fill('x') }, 'body/requestIds too_long'],
])('request costs: 422', async (body, expected) => {
  expect(await issues(service().client.getRequestCosts(body as never))).toEqual([expected])
})
