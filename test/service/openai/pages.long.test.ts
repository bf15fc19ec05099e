/** Long lists through the iterator of the openai package. */
import OpenAI from 'openai'
import { expect, test } from 'vitest'
import { createSimulator } from '../../../src/simulator/simulator.ts'

const FILES = 1_000
const BATCHES = 300
/** Maximum number of batches in progress. */
const AT_ONCE = 100

test('1,000 files and 300 batches are listed by page, each once, newest first', async () => {
  const sim = createSimulator({ fixtures: 'empty', seed: 1 })
  const client = new OpenAI({ baseURL: 'http://sim/v1', apiKey: sim.token, fetch: sim.fetch })
  const made = async (path: string, body: BodyInit, type?: string) => {
    const headers = { authorization: `Bearer ${sim.token}`, ...(type && { 'content-type': type }) }
    const answer = await sim.fetch(`http://sim${path}`, { method: 'POST', headers, body })
    return ((await answer.json()) as { id: string }).id
  }
  const line = JSON.stringify({
    ...{ custom_id: 'a', method: 'POST', url: '/v1/chat/completions' },
    body: { model: 'aurora-labs/aurora-8b-instruct', messages: [{ role: 'user', content: 'Hi' }], max_tokens: 1 },
  })
  const part = (name: string, text: string) => `--x\r\ncontent-disposition: form-data; ${name}\r\n\r\n${text}\r\n`
  const upload = `${part('name="purpose"', 'batch')}${part('name="file"; filename="in.jsonl"', line)}--x--\r\n`
  const files: string[] = []
  for (let n = 0; n < FILES; n++) files.push(await made('/v1/files', upload, 'multipart/form-data; boundary=x'))
  const batches: string[] = []
  for (let n = 0; n < BATCHES; n++) {
    if (n > 0 && n % AT_ONCE === 0) await sim.clock.advance('1d')
    const asked = { input_file_id: files[n]!, endpoint: '/v1/chat/completions', completion_window: '24h' }
    batches.push(await made('/v1/batches', JSON.stringify(asked)))
  }

  const listed: OpenAI.Batch[] = []
  for await (const batch of client.batches.list({ limit: 50 })) listed.push(batch)
  expect(listed.map(({ id }) => id).toSorted()).toEqual(batches.toSorted())
  const times = listed.map(({ created_at }) => created_at)
  expect(times).toEqual(times.toSorted((a, b) => b - a))
  // One request for each page.
  expect(sim.requests.filter(({ operation }) => operation === 'listBatches')).toHaveLength(BATCHES / 50)

  const walked = async (order: 'asc' | 'desc') => {
    const ids: string[] = []
    for await (const { id } of client.files.list({ purpose: 'batch', limit: 100, order })) ids.push(id)
    return ids
  }
  const newest = await walked('desc')
  expect(newest.toSorted()).toEqual(files.toSorted())
  expect(await walked('asc')).toEqual(newest.toReversed())
})
