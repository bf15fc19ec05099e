/** HAR files in a process of its own, whose code is loaded while it plays. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { createSimulator } from '../../../src/index.ts'
import { run } from '../cli/process.ts'

test('har plays requests of one time in their order, also an upload and a request that needs it', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'har-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const file = join(folder, 'batch.ndjson')
  const sim = createSimulator({ fixtures: 'two-nodes', seed: 3 })
  const recording = sim.record({ file })
  const headers = { authorization: `Bearer ${sim.token}` }
  const form = new FormData()
  form.set('purpose', 'batch')
  form.set('file', new Blob(['{}\n']), 'in.jsonl')
  const upload = await sim.fetch('http://sim/v1/files', { method: 'POST', headers, body: form })
  const { id } = (await upload.json()) as { id: string }
  const body = JSON.stringify({ input_file_id: id, endpoint: '/v1/chat/completions', completion_window: '24h' })
  const init = { method: 'POST', headers: { ...headers, 'content-type': 'application/json' }, body }
  expect((await sim.fetch('http://sim/v1/batches', init)).status).toBe(200)
  recording.stop()
  const har = join(folder, 'batch.har')
  expect(await run(['har', file, '--out', har])).toMatchObject({ code: 0, stderr: '' })
  const record = join(folder, 'played.ndjson')
  const { stdout } = await run(['har', har, '--record', record, '--fixtures', 'two-nodes', '--seed', '3'])
  expect(stdout).toBe(`${har}: 2 requests played, recorded in ${record}.\n`)
}, 60_000)
