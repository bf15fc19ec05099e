/** The policies with which test suites of other projects run: any model and any token. */
import { readFileSync } from 'node:fs'
import VendorClient from '@anthropic-ai/sdk'
import OpenAI, { NotFoundError } from 'openai'
import { describe, expect, test } from 'vitest'
import { createSimulator } from '../../src/simulator/simulator.ts'

const MODEL = 'aurora-labs/aurora-8b-instruct'
/** The profile of the page. */
const OPEN = JSON.parse(/```json\n([\s\S]*?)```/.exec(readFileSync('docs/clients.md', 'utf8'))![1]!).policies
const messages = [{ role: 'user' as const, content: 'Hello!' }]

function clientsOf(policies: object) {
  const sim = createSimulator({ seed: 1, check: true, profile: { policies } })
  const fetch = sim.fetch as typeof globalThis.fetch
  return {
    sim,
    openai: new OpenAI({ apiKey: 'sk-any', baseURL: 'http://sim/v1', maxRetries: 0, fetch }),
    vendor: new VendorClient({ apiKey: 'any', baseURL: 'http://sim/vendor_a', maxRetries: 0, fetch }),
  }
}

describe('with unknown_models and unknown_tokens', () => {
  test('two common packages get answers for models and tokens of their own', async () => {
    const { openai, vendor } = clientsOf(OPEN)
    const brief = [{ role: 'developer' as const, content: 'Be brief.' }, ...messages]
    const chat = await openai.chat.completions.create({ model: 'gpt-next', messages: brief })
    expect([chat.model, chat.choices[0]!.finish_reason]).toEqual(['gpt-next', 'stop'])
    const text = await openai.completions.create({ model: 'text-next:1', prompt: 'Once' })
    expect(text.usage!.completion_tokens).toBeGreaterThan(0)
    const ask = { model: 'vendor-next', messages }
    expect((await vendor.messages.create({ ...ask, max_tokens: 50 })).model).toBe('vendor-next')
    expect((await vendor.messages.countTokens(ask)).input_tokens).toBeGreaterThan(0)
    const line = { custom_id: 'a', method: 'POST', url: '/v1/chat/completions', body: { model: 'gpt-next', messages } }
    const file = await openai.files.create({
      purpose: 'batch',
      file: new File([JSON.stringify(line)], 'in.jsonl'),
    })
    const spec = { input_file_id: file.id, endpoint: '/v1/chat/completions', completion_window: '24h' } as const
    expect((await openai.batches.create(spec)).status).toBe('validating')
  })

  test('what is known stays refused: deprecated models, other tasks, wrong versions, ids, and no token', async () => {
    const { sim, openai } = clientsOf(OPEN)
    const statusOf = (model: string) =>
      openai.chat.completions.create({ model, messages }).then(
        () => 200,
        ({ status }) => status,
      )
    const models = ['aurora-labs/aurora-v1-7b-chat', 'acme/summarizer', `${MODEL}:none`, 'deploy_id:none']
    expect(await Promise.all(models.map(statusOf))).toEqual([404, 404, 404, 404])
    expect(await statusOf('cedarline/cedar-embed-base')).toBe(400)
    expect((await sim.fetch('http://sim/deploy/list')).status).toBe(401)
  })
})

test('without the policies both are refused, and a policy without a model is an error', async () => {
  const { sim, openai } = clientsOf({})
  await expect(openai.chat.completions.create({ model: 'gpt-next', messages })).rejects.toMatchObject({ status: 401 })
  const known = new OpenAI({ apiKey: sim.token, baseURL: 'http://sim/v1', maxRetries: 0, fetch: sim.fetch as never })
  await expect(known.chat.completions.create({ model: 'gpt-next', messages })).rejects.toThrow(NotFoundError)
  expect(() => clientsOf({ unknown_models: 'accept' })).toThrow("'accept_as:acme/chat'")
})
