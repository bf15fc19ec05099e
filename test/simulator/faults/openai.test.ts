/** What the `openai` package makes of faults, on its default settings but for the number of retries. */
import OpenAI, { type ClientOptions } from 'openai'
import { beforeEach, describe, expect, test } from 'vitest'
import { createClient } from '../../../src/service/client/client.ts'
import type { FaultRule } from '../../../src/simulator/faults/rules.ts'
import { createSimulator } from '../../../src/simulator/simulator.ts'
import { openTransports, TRANSPORTS, type Transport } from '../../server/transports.ts'

const ID = 'batch_4bszUZ9REqRnzm2DdbW5wBgB'

const sim = createSimulator({ seed: 1 })
const at = openTransports(sim, { base: 'https://openai.example.test', latency: 'real' })
beforeEach(() => sim.reset())

function clientAt(transport: Transport, options: ClientOptions = {}): OpenAI {
  const { fetch, url } = at(transport)
  return new OpenAI({ baseURL: `${url}/v1`, apiKey: sim.token, fetch, maxRetries: 0, ...options })
}

async function outcomeOf(asked: Promise<unknown>): Promise<unknown> {
  try {
    return await asked
  } catch (error) {
    const { status, headers } = error as { status?: number; headers?: Headers }
    const retryAfter = headers?.get('retry-after')
    return { threw: (error as Error).constructor.name, ...(status && { status }), ...(retryAfter && { retryAfter }) }
  }
}

const ONCE: [FaultRule['fault'], unknown][] = [
  [
    { kind: 'status', status: 503 },
    { threw: 'InternalServerError', status: 503, retryAfter: '1' },
  ],
  [
    { kind: 'status', status: 403 },
    { threw: 'PermissionDeniedError', status: 403 },
  ],
  [
    { kind: 'rateLimit', retryAfter: '90s' },
    { threw: 'RateLimitError', status: 429, retryAfter: '90' },
  ],
  [
    { kind: 'rateLimit', retryAfter: '90s', as: 'date' },
    { threw: 'RateLimitError', status: 429, retryAfter: 'Thu, 01 Jan 2026 00:01:30 GMT' },
  ],
  [{ kind: 'rateLimit' }, { threw: 'RateLimitError', status: 429, retryAfter: '1' }],
  [{ kind: 'reset' }, { threw: 'APIConnectionError' }],
  [{ kind: 'refused' }, { threw: 'APIConnectionError' }],
  [{ kind: 'html' }, { threw: 'InternalServerError', status: 502 }],
  [{ kind: 'html', status: 200 }, expect.stringContaining('<h1>200 Welcome</h1>')],
  [{ kind: 'truncated' }, { threw: 'TypeError' }],
  [{ kind: 'garbled' }, { threw: 'SyntaxError' }],
  // It takes a length of nothing for no answer.
  [{ kind: 'empty' }, undefined],
  [{ kind: 'drift', change: 'extraField' }, expect.objectContaining({ id: ID })],
  [{ kind: 'drift', change: 'missingField', field: 'id' }, expect.not.objectContaining({ id: ID })],
  [
    { kind: 'drift', change: 'unlistedValue', field: 'status' },
    expect.objectContaining({ status: 'not_in_the_document' }),
  ],
  [
    { kind: 'drift', change: 'numberAsString', field: 'created_at' },
    expect.objectContaining({ created_at: expect.any(String) }),
  ],
]

describe.each(TRANSPORTS)('at %s', transport => {
  test.each(ONCE)('%j', { tags: 'slow' }, async (fault, seen) => {
    sim.faults.add({ on: 'getBatch', fault })
    expect(await outcomeOf(clientAt(transport).batches.retrieve(ID))).toEqual(seen)
  })

  test('a batch exists twice when its request was duplicated', async () => {
    const client = clientAt(transport)
    const line = { custom_id: 'a', method: 'POST', url: '/v1/chat/completions', body: { model: 'm', messages: [] } }
    const file = new File([JSON.stringify(line)], 'in.jsonl')
    sim.faults.add({ on: 'listFiles', times: 1, fault: { kind: 'stale', lag: '1h' } })
    const { id } = await client.files.create({ purpose: 'batch', file })
    const listed = async () => (await client.files.list()).data.some(one => one.id === id)
    expect([await listed(), await listed()]).toEqual([false, true])
    const before = (await client.batches.list()).data.length
    sim.faults.add({ on: 'createBatch', fault: { kind: 'duplicate' } })
    await client.batches.create({ input_file_id: id, endpoint: '/v1/chat/completions', completion_window: '24h' })
    expect((await client.batches.list()).data).toHaveLength(before + 2)
  })
})

test('the openai client retries every failure that can be retried at every transport', { tags: 'slow' }, async () => {
  const api = createClient(sim.fetch, { baseUrl: 'http://sim', token: sim.token })
  const asked = TRANSPORTS.map(async transport => {
    // Each transport has a token of its own, so that its rules apply to it alone.
    const { token } = await api.createApiToken({ name: transport })
    const rules: FaultRule[] = [
      { on: 'getBatch', token, nth: 1, fault: { kind: 'status', status: 503 } },
      { on: 'getBatch', token, nth: 2, fault: { kind: 'rateLimit', retryAfter: 0 } },
      { on: 'listFiles', token, nth: 1, fault: { kind: 'reset' } },
      { on: 'listFiles', token, nth: 2, fault: { kind: 'rateLimit', retryAfter: 0 } },
    ]
    const added = rules.map(rule => sim.faults.add(rule))
    const client = clientAt(transport, { apiKey: token, maxRetries: 2 })
    const [batch, files] = await Promise.all([client.batches.retrieve(ID), client.files.list()])
    return [batch.id, files.data.length > 0, ...added.map(({ hits }) => hits)]
  })
  expect(await Promise.all(asked)).toEqual(TRANSPORTS.map(() => [ID, true, 1, 1, 1, 1]))
})
