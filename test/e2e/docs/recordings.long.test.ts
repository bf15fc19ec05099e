/** docs/recordings.md: its commands are run with the package as published. */
import { readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, expect, test } from 'vitest'
import { blocksOf, blockWith, ReaderFolder } from './page-blocks.ts'

const folder = ReaderFolder.ofTests()
beforeAll(async () => {
  await folder.script(`
    import { createSimulator } from 'modelhost-sim'
    const sim = createSimulator({ seed: 3, fixtures: 'two-nodes' })
    const recording = sim.record({ file: 'run.ndjson' })
    const headers = { authorization: 'Bearer ' + sim.token, 'content-type': 'application/json' }
    sim.faults.add({ on: 'listDeployments', times: 1, fault: { kind: 'status', status: 503 } })
    const body = { model_name: 'acme/chat', gpu: 'H100-80GB', hub: { repo: 'acme/chat-8b' }, settings: { min_instances: 1 } }
    await sim.fetch('http://sim/deploy/llm', { method: 'POST', headers, body: JSON.stringify(body) })
    await sim.fetch('http://sim/deploy/list', { headers })
    await sim.clock.advance('3h')
    recording.stop()`)
}, 120_000)

test('the page records in a process, and its commands replay, export and convert', async () => {
  const blocks = blocksOf('docs/recordings.md')
  expect(blocks.map(({ language }) => language)).toEqual(['sh', 'ts', 'sh', 'ts', 'sh', 'text', 'sh'])
  expect(await folder.script(blockWith(blocks, 'sim.record()'))).toBe('4\n')

  const replay = blocks[2]!.code.trim()
  const same = { code: 0, stdout: 'run.ndjson: 2 requests replayed, every answer is the same.\n' }
  expect(await folder.command(replay)).toMatchObject(same)
  expect(await folder.script(blockWith(blocks, "await replay('run.ndjson')"))).toBe('same\n')
  const record = blocks[0]!.code.trim().split(' ').slice(2)
  await folder.server([...record.with(-1, 'served.ndjson'), '--clock', 'manual'])
  expect(readdirSync(folder.path)).toContain('served.ndjson')

  const lines = blocks.find(({ code }) => code.includes('--export'))!.code
  for (const line of lines.trim().split('\n')) expect(await folder.command(line)).toMatchObject({ code: 0 })
  expect(readdirSync(folder.path)).toEqual(expect.arrayContaining(['run.test.ts', 'run.yaml', 'again.ts']))
  // The scenarios pass at once.
  expect(await folder.command('npx modelhost-sim run run.yaml again.ts')).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('2 scenarios passed'),
  })
}, 120_000)

test('a replay with a change prints the consequences', async () => {
  const tables = []
  for (const line of blockWith(blocksOf('docs/recordings.md'), '--without').trim().split('\n'))
    tables.push((await folder.command(line)).stdout)
  expect(tables[0]).toContain('| answer | GET /deploy/list (request 2) | 503 | 200 |')
  for (const table of tables.slice(1)) expect(table).toContain('| money | rent |')
  writeFileSync(join(folder.path, 'empty.ndjson'), '')
  expect(await folder.command('npx modelhost-sim replay empty.ndjson')).toMatchObject({ code: 2 })
}, 120_000)
