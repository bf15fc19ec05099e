import OpenAI, { toFile } from 'openai'
import { expect, test } from 'vitest'
import { createSimulator } from '../../../src/simulator/simulator.ts'
import { useEveryResource } from './every-resource.ts'

test('the openai package uses every resource', { tags: 'slow', timeout: 60_000 }, async () => {
  const sim = createSimulator({ seed: 1, check: true, profile: { policies: { batch_endpoints: 'with_embeddings' } } })
  const client = new OpenAI({ baseURL: 'http://sim/v1', apiKey: sim.token, fetch: sim.fetch, maxRetries: 0 })
  const results = await useEveryResource({ client, toFile, clock: sim.clock })
  expect(results.errors).toEqual([
    ['NotFoundError', 404, 'model_not_found'],
    ['UnprocessableEntityError', 422, undefined],
    ['BadRequestError', 400, null],
  ])
})
