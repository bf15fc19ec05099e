import OpenAI, { toFile } from 'openai'
import { expect, test } from 'vitest'
import { createSimulator } from '../../../src/simulator/simulator.ts'
import { useEveryResource } from './every-resource.ts'

test('the openai package uses every resource, and equal worlds give it equal answers', async () => {
  const run = () => {
    const sim = createSimulator({ seed: 1, check: true, profile: { policies: { batch_endpoints: 'with_embeddings' } } })
    const client = new OpenAI({ baseURL: 'http://sim/v1', apiKey: sim.token, fetch: sim.fetch, maxRetries: 0 })
    return useEveryResource({ client, toFile, clock: sim.clock })
  }
  const results = await run()
  expect(results.errors).toEqual([
    ['NotFoundError', 404, 'model_not_found'],
    ['UnprocessableEntityError', 422, undefined],
    ['BadRequestError', 400, null],
  ])
  expect(await run()).toEqual(results)
}, 60_000)
