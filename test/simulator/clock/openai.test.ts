/** The `openai` package in step: its retries, its timeouts and its polling are timers of its own. */
import OpenAI, { APIConnectionTimeoutError, toFile } from 'openai'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { createSimulator, type Simulator } from '../../../src/simulator/simulator.ts'

const EPOCH = Date.UTC(2031, 4, 1)

let sim: Simulator
let openai: OpenAI
beforeEach(() => {
  vi.useFakeTimers({ now: EPOCH })
  sim = createSimulator()
  openai = new OpenAI({ baseURL: 'https://sim.test/v1', apiKey: sim.token, fetch: sim.fetch, maxRetries: 3 })
})
afterEach(async () => {
  await sim[Symbol.asyncDispose]()
  vi.useRealTimers()
})

async function upload() {
  const line = JSON.stringify({
    custom_id: 'one',
    method: 'POST',
    url: '/v1/chat/completions',
    body: { model: 'aurora-labs/aurora-8b-instruct', messages: [{ role: 'user', content: 'Hello' }] },
  })
  return openai.files.create({ purpose: 'batch', file: await toFile(Buffer.from(line), 'in.jsonl') })
}

/** Seconds of the fake clock since the test began. */
const seconds = () => (Date.now() - EPOCH) / 1000
const asked = (operation: string) => sim.requests.filter(request => request.operation === operation)

test('the openai client retries after the time of Retry-After, and succeeds', async () => {
  sim.faults.add({ on: 'uploadFile', times: 2, fault: { kind: 'status', status: 503 } })
  const uploading = upload()
  await sim.clock.advance('1900ms')
  expect(asked('uploadFile').map(({ status }) => status)).toEqual([503, 503])
  await sim.clock.advance('200ms')
  expect((await uploading).object).toBe('file')
  expect(asked('uploadFile').map(({ status }) => status)).toEqual([503, 503, 200])
})

test('the openai client retries after growing delays without Retry-After, and succeeds', async () => {
  sim.faults.add({
    on: 'uploadFile',
    times: 2,
    fault: { kind: 'status', status: 503, headers: { 'Retry-After': null } },
  })
  const uploading = upload()
  let tookSeconds = 0
  uploading.then(() => {
    tookSeconds = seconds()
  })
  await sim.clock.advance('1m')
  expect((await uploading).object).toBe('file')
  expect(asked('uploadFile').map(({ status }) => status)).toEqual([503, 503, 200])
  // Half a second and a second, each less up to a quarter.
  expect(tookSeconds).toBeGreaterThanOrEqual(1.125)
  expect(tookSeconds).toBeLessThanOrEqual(1.5)
})

test('the openai client waits for the time in Retry-After', async () => {
  sim.faults.add({ on: 'listBatches', times: 1, fault: { kind: 'rateLimit', retryAfter: '20s' } })
  const listing = openai.batches.list()
  let tookSeconds = 0
  listing.then(() => {
    tookSeconds = seconds()
  })
  await sim.clock.advance('1m')
  await listing
  expect(tookSeconds).toBe(20)
})

test('the openai client times out and retries when an answer never comes', async () => {
  sim.faults.add({ on: 'listBatches', times: 1, fault: { kind: 'hang' } })
  const listing = openai.batches.list({}, { timeout: 30_000 })
  await sim.clock.advance('1m')
  expect((await listing).data.length).toBeGreaterThan(0)
  expect(asked('listBatches').length).toBe(2)
})

test('the openai client polls in a loop for half an hour, every five seconds', { tags: 'slow' }, async () => {
  // A file has no state that this waits for, so it waits until its own time limit.
  const uploading = upload()
  await sim.clock.advance('1s')
  const { id } = await uploading
  const gaveUp = expect(openai.files.waitForProcessing(id)).rejects.toThrow(APIConnectionTimeoutError)
  await sim.clock.advance('1h')
  await gaveUp
  expect(asked('getFile').length).toBe(362)
})
