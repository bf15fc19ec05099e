/** The list of models: who may read it, and what each row says. */
import OpenAI from 'openai'
import { describe, expect, test } from 'vitest'
import { MODEL_TASKS } from '../../../src/data/records/enums.ts'
import { createSimulator } from '../../../src/simulator/simulator.ts'

const PATHS = ['/v1/models', '/v1/compat/models']

describe.each(PATHS)('GET %s', path => {
  const statusOf = async (policies: object, headers: Record<string, string>) => {
    const sim = createSimulator({ seed: 1, profile: { policies } })
    return (await sim.fetch(`http://sim${path}`, { headers })).status
  }

  test('needs no token, and a wrong one is 401', async () => {
    expect(await statusOf({}, {})).toBe(200)
    expect(await statusOf({}, { authorization: 'Bearer wrong' })).toBe(401)
    expect(await statusOf({}, { 'x-api-key': 'wrong' })).toBe(401)
    expect(await statusOf({}, { authorization: 'Bearer sim_default_token' })).toBe(200)
  })

  test('is 401 without a token when the policy model_list_token is required', async () => {
    const policies = { model_list_token: 'required' }
    expect(await statusOf(policies, {})).toBe(401)
    expect(await statusOf(policies, { authorization: 'Bearer sim_default_token' })).toBe(200)
  })
})

test('each row of the list has metadata with a price, whatever its task', async () => {
  const sim = createSimulator({ seed: 1 })
  const { data } = await new OpenAI({
    apiKey: sim.token,
    baseURL: 'http://sim/v1',
    fetch: sim.fetch as typeof fetch,
  }).models.list({ query: { filter: 'with_meta' } })
  type Row = { id: string; metadata: { context_length: number; max_tokens: number; pricing: Record<string, number> } }
  const rows = new Map((data as unknown as Row[]).map(row => [row.id, row.metadata]))
  const tasks = new Map(sim.world.store.models.all().map(({ model_name, type }) => [model_name, type]))
  expect(new Set([...rows.keys()].map(id => tasks.get(id)))).toEqual(new Set([...MODEL_TASKS, undefined]))
  for (const [id, metadata] of rows) {
    expect(metadata, id).toMatchObject({ context_length: expect.any(Number), max_tokens: expect.any(Number) })
    expect(Object.values(metadata.pricing).length, id).toBeGreaterThan(0)
  }
  expect(rows.get('larkspur-audio/lark-tts-2')!.pricing).toEqual({ input_chars: 0.000007 })
  expect(rows.get('acme/assistant')).toMatchObject({ context_length: 8192, max_tokens: 8192 })
  expect(rows.get('acme/assistant')!.pricing.sec).toBeCloseTo(4.4 / 3600, 9)
})

test('the command line of the service learns without a token that its version is current', async () => {
  const sim = createSimulator({ seed: 1 })
  for (const path of ['/cli/version?version=0.9.1', '/cli/version/check']) {
    const answer = await sim.fetch(`http://sim${path}`)
    expect([answer.status, await answer.json()]).toEqual([200, { min: '0.0.0', update: '0.0.0', latest: '1.0.0' }])
  }
})
