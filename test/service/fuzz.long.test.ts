/**
 * Random input for each endpoint: paths, queries, headers, bodies and uploads generated from the declaration.
 *
 * Asserts that no answer is 5xx, that a refusal changes nothing, and that a success has the declared schema. The default is
 * 50 runs for each endpoint, and 300 in `.ci/nightly`. `FUZZ_RUNS=2000` sends more, `FUZZ_SEED=8` others.
 */
import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import { beforeAll, describe, expect, test } from 'vitest'
import { loadFixture } from '../../src/data/fixtures/load.ts'
import type { AnyEndpoint } from '../../src/service/endpoint.ts'
import { operations } from '../../src/service/index.ts'
import { loadTokenizer } from '../../src/service/openai/tokenizer.ts'
import { createSimulator } from '../../src/simulator/simulator.ts'
import { requests } from '../../tools/sweep/fuzz/requests.ts'
import { type SentRequest, toRequest } from '../../tools/sweep/fuzz/sent-request.ts'
import { KnownValues } from '../../tools/sweep/fuzz/values.ts'
import { sendTo } from '../setup/send-to.ts'

const RUNS = Number(process.env.FUZZ_RUNS ?? 50)
const SEED = Number(process.env.FUZZ_SEED ?? 7)

const CONTAINER = {
  container_id: 'container_1',
  name: 'trial',
  gpu_config: '1xL4-24GB',
  container_image: 'registry.example/cuda-dev:12.8',
  created_at: 1_767_000_000,
}
const sim = createSimulator({
  maxStorageBytes: 4_000_000,
  with: { containers: [CONTAINER] },
  onBug(error) {
    throw error
  },
})

const known = new KnownValues(sim.token)
known.collect(JSON.parse(JSON.stringify({ ...loadFixture('default'), schemas: [] })))
known.collect(CONTAINER)
// Only models of the account can be deleted, and only a free name can be deployed.
known.set('model_name', [...known.get('model_name'), ...deployed(), ...Array(20).fill('acme/free-name')])
known.set('lora_name', adapterNames())
known.set('family_name', ['aurora', 'cedar'])
known.set(
  'ssh_key_id',
  loadFixture('default').ssh_keys.map(({ id }) => id),
)
known.set('key', ['ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f'])
known.set('from', ['current', '2025.12', '2026.01', '1767225600'])

function adapterNames(): string[] {
  const adapters = loadFixture('default').deployments.filter(({ type }) => type === 'lora')
  return adapters.flatMap(({ model_name }) => [model_name, model_name.slice(model_name.indexOf('/') + 1)])
}

function deployed(): string[] {
  return loadFixture('default').deployments.flatMap(({ model_name }) => Array(6).fill(model_name) as string[])
}

beforeAll(async () => {
  await loadTokenizer()
  known.set('jwtoken', [await scopedToken()])
})

/** Returns a scoped token that is valid for a year. */
async function scopedToken(): Promise<string> {
  const answer = await sendTo(sim, 'POST /v1/scoped-jwt', { api_key_name: 'default' })
  return (await answer.json()).token
}

describe.each(Object.entries<AnyEndpoint>(operations))('%s', (operation, endpoint) => {
  test(`answers ${RUNS} random requests as declared`, { timeout: 30_000 + 20 * RUNS }, async () => {
    sim.reset()
    const pristine = state()
    const statuses = new Map<number, number>()
    let lastJson = ''
    const property = fc.asyncProperty(requests(known, endpoint), async sent => {
      const { status, text, led, isJson } = await answerTo(sent)
      statuses.set(status, (statuses.get(status) ?? 0) + 1)
      // 503 is valid for a model that does not run yet. Any other 5xx is a bug.
      if (status >= 500 && status !== 503) expect.fail(`${status}: ${text}`)
      if (status >= 400) {
        // A matcher is slow, so it runs only for the message of a failure.
        if (!isDeepStrictEqual(state(), pristine))
          expect(state(), 'a refused request changes nothing').toEqual(pristine)
        const usual = led === undefined ? [404, 405] : [400, 401, 403, 413, 415, 422]
        const declared = led === undefined ? {} : operations[led as keyof typeof operations].refusals
        if (!usual.includes(status) && !(status in declared)) expect.fail(`a refusal is declared, and ${status} is not`)
        if (typeof JSON.parse(text) !== 'object') expect.fail(`a refusal is an object, and this is ${text}`)
        return
      }
      if (status !== 200) expect(status).toBe(200)
      if (endpoint.streamEvent !== undefined && text.startsWith('data: ')) {
        if (!text.endsWith('data: [DONE]\n\n'))
          expect.fail(`a stream ends with [DONE], and this with ${text.slice(-80)}`)
      } else if (led === operation && isJson && text !== lastJson) {
        endpoint.returns.parse(JSON.parse(text))
        lastJson = text
      }
      if (sim.digest !== pristine.digest) sim.reset()
    })
    // A request without an answer must fail the test.
    await fc.assert(property, { numRuns: RUNS, seed: SEED, timeout: 2_000 } as fc.Parameters<[SentRequest]>)
    if (process.env.FUZZ_SHOW) process.stdout.write(`${operation} ${JSON.stringify(Object.fromEntries(statuses))}\n`)
    if (RUNS >= 300) expect([...statuses.keys()], 'what is random enough gets through as well').toContain(200)
    expect(statuses.size).toBeGreaterThan(1)
  })
})

function state() {
  return { digest: sim.digest, balance: sim.ledger.balance, planned: sim.world.agenda.size }
}

async function answerTo(sent: SentRequest) {
  const { request, path } = toRequest(sent)
  const response = await sim.answer(request, { path })
  const led = sim.api.findOperationId(sent.method, path.split('?', 1)[0]!)
  const isJson = response.headers.get('content-type') === 'application/json'
  return { status: response.status, text: await response.text(), led, isJson }
}
