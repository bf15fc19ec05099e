/** What the README says of clients that wait, and of one that is not a client of this service. */
import OpenAI, { toFile } from 'openai'
import { expect, test } from 'vitest'
import { createSimulator, type Simulator } from '../../src/simulator/simulator.ts'
import { sendTo } from '../setup/send-to.ts'

/** A client as people write them: it asks, sleeps and asks again. */
async function untilRunning(sim: Simulator, sleep: (ms: number) => Promise<unknown>): Promise<number> {
  for (let polls = 1; ; polls++) {
    const answer = await sendTo(sim, 'GET /deploy/list')
    const [deployment] = (await answer.json()) as { status: string }[]
    if (deployment?.status === 'running') return polls
    await sleep(10_000)
  }
}

function starting(clock: 'manual' | { mode: 'scaled'; speed: number } = 'manual'): Simulator {
  const deployments = [{ model_name: 'acme/chat', status: 'deploying' as const }]
  return createSimulator({ fixtures: 'empty', clock, with: { deployments } })
}

test('a client whose sleep moves time', async () => {
  const sim = starting()
  expect(await untilRunning(sim, ms => sim.clock.advance(ms))).toBeGreaterThan(1)
})

test('a client that sleeps on the clock, which the test moves', async () => {
  const sim = starting()
  const done = untilRunning(sim, sim.clock.sleep)
  await sim.clock.advance('10m')
  expect(await done).toBeGreaterThan(1)
  expect(sim.clock.elapsed).toBe(600_000_000)
})

test('a client that cannot take a sleep function', { tags: 'slow' }, async () => {
  // Slow enough that a process which gets no time for a while still sees it start.
  const sim = starting({ mode: 'scaled', speed: 360 })
  expect(await untilRunning(sim, () => new Promise(resolve => setTimeout(resolve, 5)))).toBeGreaterThan(1)
})

test('the openai package uploads, runs a batch and reads what came out; its errors have no body', async () => {
  const sim = createSimulator()
  const client = new OpenAI({ baseURL: 'https://sim.test/v1', apiKey: sim.token, fetch: sim.fetch, maxRetries: 0 })
  const body = { model: 'aurora-labs/aurora-8b-instruct', messages: [{ role: 'user', content: 'Hello' }] }
  const line = JSON.stringify({ custom_id: 'one', method: 'POST', url: '/v1/chat/completions', body })
  const input = await client.files.create({ purpose: 'batch', file: await toFile(Buffer.from(line), 'in.jsonl') })
  const { id } = await client.batches.create({
    input_file_id: input.id,
    endpoint: '/v1/chat/completions',
    completion_window: '24h',
  })
  await sim.clock.advance('1h')
  const batch = await client.batches.retrieve(id)
  expect(batch.status).toBe('completed')
  expect(await (await client.files.content(batch.output_file_id!)).text()).toContain('"custom_id":"one"')
  // Both are there, and one is empty: the table of endpoints says so.
  expect(await (await client.files.content(batch.error_file_id!)).text()).toBe('')
  await expect(client.batches.retrieve('none')).rejects.toThrow('404 status code (no body)')
})
