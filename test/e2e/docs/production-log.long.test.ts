/** docs/production-log.md: its steps are gone with a HAR file of calls to another world. */
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { beforeAll, expect, test } from 'vitest'
import { blocksOf, blockWith, ReaderFolder } from './page-blocks.ts'

const blocks = blocksOf('docs/production-log.md')
const deployments = [
  ...[{ deploy_id: 'pR0dUct10nChat42', model_name: 'acme/chat', status: 'stopped', weights: { repo: 'acme/chat-8b' } }],
  ...[{ deploy_id: 'pR0dUct10nMail42', model_name: 'acme/mail', status: 'running', weights: { repo: 'acme/mail-8b' } }],
]
/** Runs the client of the page against a provider, and writes what a proxy saw. */
const PROVIDER = `
  import { writeFileSync } from 'node:fs'
  import { createSimulator } from 'modelhost-sim'
  import client from './client.mjs'
  const sim = createSimulator({ fixtures: './provider', seed: 'production', epoch: '2025-12-31T09:00:00Z' })
  const entries = []
  const fetch = async (url, { method, headers: sent, body }) => {
    const startedDateTime = sim.clock.now
    const answer = await sim.fetch(url, { method, headers: sent, body })
    const text = await answer.clone().text()
    const headers = Object.entries({ ...sent, 'x-provider-key': 'REAL-KEY' }).map(([name, value]) => ({ name, value }))
    const request = { method, url, headers, ...(body && { postData: { mimeType: 'application/json', text: body } }) }
    entries.push({ startedDateTime, time: 9, request, response: { status: answer.status, content: { text } } })
    return answer
  }
  await client({ fetch, url: 'https://api.example.com', token: 'my_token', sleep: ms => sim.clock.advance(ms) })
  writeFileSync('calls.har', JSON.stringify({ log: { version: '1.2', entries } }))`
const folder = ReaderFolder.ofTests()

beforeAll(async () => {
  folder.write('client.mjs', blockWith(blocks, 'export default'))
  await folder.command('npx modelhost-sim fixture new provider')
  folder.write('provider/deployments.json', JSON.stringify(deployments))
  await folder.script(PROVIDER)
}, 120_000)

test('the page goes from a HAR file to a world, to findings, and to a client without them', async () => {
  expect(blocks.map(({ language }) => language)).toEqual([
    ...['js', 'sh', 'text', 'js', 'sh', 'text', 'sh', 'sh', 'text', 'diff'],
  ])
  const [, play, unknown, world, make, slower, same, explore, findings, diff] = blocks.map(({ code }) => code)
  expect(await folder.command(play!)).toMatchObject({ code: 0, stdout: unknown })

  folder.write('my-world.mjs', world!)
  const [create, fill, check, again] = make!.trim().split('\n')
  expect(await folder.command(create!)).toMatchObject({ code: 0 })
  execFileSync(process.execPath, fill!.split(' ').slice(1), { cwd: folder.path })
  expect(await folder.command(check!)).toMatchObject({ code: 0 })
  expect(await folder.command(again!)).toMatchObject({ code: 0, stdout: slower })
  expect((await folder.command(same!)).stdout).toBe('calls.har: 27 requests played, recorded in calls.ndjson.\n')
  for (const name of ['first', 'second', 'calls']) expect(folder.read(`${name}.ndjson`)).not.toContain('REAL-KEY')

  const report = (await folder.command(explore!)).stdout
  expect(`${report.match(/^(\d+\. .*|\d+ findings)$/gm)!.join('\n')}\n`).toBe(findings)
  expect(report).toMatch(/Not judged: .*noLeak \(it\s+creates nothing/s)
  expect(await folder.command('npx modelhost-sim run findings')).toMatchObject({ code: 1 })
  folder.write('step.diff', diff!)
  const env = { ...process.env, GIT_DIR: '/nonexistent' }
  execFileSync('git', ['apply', join(folder.path, 'step.diff')], { cwd: folder.path, env })
  expect(await folder.command(explore!)).toMatchObject({ code: 0, stdout: expect.stringContaining('\n0 findings\n') })
  expect(await folder.command('npx modelhost-sim run findings')).toMatchObject({ code: 0 })
}, 300_000)
