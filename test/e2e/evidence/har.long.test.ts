/** HAR files in a process of its own, whose code is loaded while it plays. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { createSimulator } from '../../../src/index.ts'
import { batchFile } from '../../setup/batches.ts'
import { temporaryFolder } from '../../setup/temporary-folder.ts'
import { run } from '../cli/process.ts'

test('replay plays requests of a HAR file in their order, also an upload and a request that needs it', async () => {
  const folder = temporaryFolder()
  const sim = createSimulator({ fixtures: 'two-nodes', seed: 3 })
  const headers = { authorization: `Bearer ${sim.token}` }
  const upload = new Request('http://sim/v1/files', { method: 'POST', headers, body: batchFile('{}\n') })
  const uploaded = { mimeType: upload.headers.get('content-type')!, text: await upload.clone().text() }
  const { id } = (await (await sim.fetch(upload)).json()) as { id: string }
  const batch = JSON.stringify({ input_file_id: id, endpoint: '/v1/chat/completions', completion_window: '24h' })
  const entry = (path: string, postData: object) => ({
    ...{ startedDateTime: '2026-01-01T00:00:00Z', time: 0, response: { status: 200 } },
    request: { method: 'POST', url: `http://sim${path}`, postData },
  })
  const entries = [entry('/v1/files', uploaded), entry('/v1/batches', { mimeType: 'application/json', text: batch })]
  const har = join(folder, 'batch.har')
  writeFileSync(har, JSON.stringify({ log: { version: '1.2', entries } }))
  const record = join(folder, 'played.ndjson')
  const { stdout } = await run(['replay', har, '--record', record, '--fixtures', 'two-nodes', '--seed', '3'])
  expect(stdout).toBe(`${har}: 2 requests played, recorded in ${record}.\n`)
}, 60_000)
