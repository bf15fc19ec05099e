import assert from 'node:assert/strict'
import { beforeEach, test } from 'node:test'
import { createSimulator } from 'modelhost-sim'
import { BatchClient } from './client.js'

const MODEL = 'aurora-labs/aurora-8b-instruct'
// So little capacity that two questions take an hour.
const sim = createSimulator({ profile: { extends: 'realistic', timings: { batch_shared_tokens_per_second: 0.05 } } })
const client = new BatchClient({
  url: 'http://sim',
  token: sim.token,
  fetch: sim.fetch,
  sleep: sim.clock.sleep,
})

beforeEach(() => sim.reset())

test('waits for its answers', async () => {
  const asking = client.ask(MODEL, ['How is tea made?', 'Why does it rain?'])
  const { transitions } = await sim.clock.advance('24h')
  const { status, answers } = await asking

  assert.equal(status, 'completed')
  assert.equal(answers.length, 2)
  for (const answer of answers) assert.ok(answer.length > 0)
  const completed = transitions.find(({ became }) => became === 'batch.completed')
  assert.ok(completed.at > '2026-01-01T00:30', `it took longer than that: ${completed.at}`)
})

test('keeps what was answered before the batch expired', async () => {
  const asking = client.ask(
    MODEL,
    Array.from({ length: 400 }, (_, i) => `Question ${i}?`),
  )
  await sim.clock.advance('25h')
  const { status, answers } = await asking

  assert.equal(status, 'expired')
  const answered = answers.filter(answer => answer !== undefined).length
  assert.ok(answered > 0 && answered < 400, `${answered} of 400 were answered`)
})

test('downloads again when an answer is empty', async () => {
  sim.faults.add({ on: 'getFileContent', times: 1, fault: { kind: 'empty' } })
  const asking = client.ask(MODEL, ['How is tea made?'])
  await sim.clock.advance('24h')
  const { answers } = await asking

  assert.ok(answers[0].length > 0)
})

test('names the failed request when the service does not recover', async () => {
  sim.faults.add({ on: 'uploadFile', fault: { kind: 'status', status: 503 } })
  const rejected = assert.rejects(client.ask(MODEL, ['How is tea made?']), /POST \/v1\/files: 503/)
  await sim.clock.advance('5m')
  await rejected
})
