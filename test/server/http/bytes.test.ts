/** Bodies with bytes that are not UTF-8, in process and over HTTP. */
import { describe, expect, test } from 'vitest'
import { createSimulator } from '../../../src/simulator/simulator.ts'
import { batchFile } from '../../setup/batches.ts'
import { running } from './running-server.ts'

const MODEL = 'aurora-labs/aurora-8b-instruct'
const chat = (content: string) => JSON.stringify({ model: MODEL, messages: [{ role: 'user', content }], max_tokens: 4 })
const line = (custom_id: string, content: string) =>
  JSON.stringify({ custom_id, method: 'POST', url: '/v1/chat/completions', body: JSON.parse(chat(content)) })
const latin1 = (text: string) => Buffer.from(text, 'latin1')
const REPLACEMENT = '\ufffd'

type Send = (path: string, body: BodyInit, type?: string) => Promise<Response>

const transports = {
  async 'in process'() {
    const sim = createSimulator({ seed: 1 })
    const send: Send = (path, body, type) =>
      sim.fetch(`http://sim${path}`, {
        ...{ method: 'POST', body },
        headers: { authorization: `Bearer ${sim.token}`, ...(type && { 'content-type': type }) },
      })
    return { sim, send }
  },
  async 'over HTTP'() {
    const { sim, ask } = await running({ fixtures: 'default', seed: 1 })
    const send: Send = (path, body, type) =>
      ask(path, { method: 'POST', body, headers: { ...(type && { 'content-type': type }) } })
    return { sim, send }
  },
}

describe.each(Object.entries(transports))('%s', (_, open) => {
  test('a body in Latin-1 is 400 with words, and one in UTF-8 is served, also behind a byte order mark', async () => {
    const { sim, send } = await open()
    const before = sim.digest
    const json = 'application/json'
    const refused = await send('/v1/chat/completions', latin1(chat('Ein Fluß')), json)
    expect([refused.status, await refused.text()]).toEqual([400, expect.stringContaining('not UTF-8')])
    const form = latin1('name=Fluß')
    const edit = '/v1/voices/voice_k7RtWq2mXb4Hn9ZpGam4zyNb/edit'
    expect((await send(edit, form, 'application/x-www-form-urlencoded')).status).toBe(400)
    expect(sim.digest).toBe(before)
    for (const body of [chat('Ein Fluß'), chat(REPLACEMENT), `\ufeff${chat('Ein Fluß')}`])
      expect((await send('/v1/chat/completions', Buffer.from(body), json)).status).toBe(200)
  })

  test('a batch file with a line in Latin-1 fails with the number of the line', async () => {
    const { sim, send } = await open()
    const batchOf = async (content: Uint8Array<ArrayBuffer>) => {
      const { id: input_file_id } = (await (await send('/v1/files', batchFile(content))).json()) as { id: string }
      const spec = { input_file_id, endpoint: '/v1/chat/completions', completion_window: '24h' }
      const { id } = (await (await send('/v1/batches', JSON.stringify(spec), 'application/json')).json()) as {
        id: string
      }
      await sim.clock.advance('2h')
      return sim.world.batches.get(id)!.toRecord()
    }
    const lines = [line('a', 'A river'), line('b', 'Ein Fluß')]
    const failed = await batchOf(latin1(lines.join('\n')))
    expect([failed.status, failed.errors!.data]).toEqual([
      'failed',
      [{ code: 'invalid_json', line: 1, message: 'the line is not UTF-8', param: null }],
    ])
    const good = Buffer.from(`\ufeff${[...lines, line('c', REPLACEMENT)].join('\n')}`)
    expect(await batchOf(good)).toMatchObject({ status: 'completed', request_counts: { completed: 3, failed: 0 } })
  })
})
