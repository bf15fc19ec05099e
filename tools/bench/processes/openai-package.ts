/** Uses every resource of the openai package. Prints the answers as JSON on stdout. */
import { createSimulator } from 'modelhost-sim'
import OpenAI, { toFile } from 'openai'
import { useEveryResource } from '../../../test/service/openai/every-resource.ts'

const sim = createSimulator({ seed: 1, profile: { policies: { batch_endpoints: 'with_embeddings' } } })
const client = new OpenAI({ baseURL: 'http://sim/v1', apiKey: sim.token, fetch: sim.fetch, maxRetries: 0 })
const results = await useEveryResource({ client, toFile, clock: sim.clock })
process.stdout.write(JSON.stringify({ node: process.version, results }))
