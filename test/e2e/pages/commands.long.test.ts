/** The pages that commands, failed tests and servers write. Each opens from its file with the world of its run. */
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import type { Connection } from '../../../src/server/page/store/ask.ts'
import { temporaryFolderOfTests } from '../../setup/temporary-folder.ts'
import { pageSuite } from '../chromium.ts'
import { run, started } from '../cli/process.ts'
import { Installed, runIn } from '../examples/installed.ts'
import { digestIn, openFile } from './page-browser.ts'

const folder = temporaryFolderOfTests()
const page = join(folder, 'page.html')
const STORY = `title: a story
given: { fixtures: two-nodes }
steps:
  - do: { createLlmDeployment: { model_name: acme/chat, gpu: H100-80GB, hub: { repo: acme/chat-8b } } }
    as: made
  - advance: 40m
`

pageSuite('a page', () => {
  /** Opens the page, which must have no problem. Returns the digest of a world in it, and its title. */
  async function opened(base = ''): Promise<{ digest: string; title: string }> {
    const { page: open, problems, requests } = await openFile(page)
    const digest = await digestIn(open, base)
    expect(await open.getByRole('alert').count()).toBe(0)
    expect(problems).toEqual([])
    expect(requests.filter(url => !url.startsWith('file:'))).toEqual([])
    return { digest, title: await open.title() }
  }

  test('of run has the world of the scenario, and only its owner can read the file', async () => {
    const story = join(folder, 'story.yaml')
    writeFileSync(story, STORY)
    const { code, stderr } = await run(['run', story, '--update', '--html', page])
    expect([code, stderr]).toEqual([0, `Page: ${page}\n`])
    expect(statSync(page).mode & 0o777).toBe(0o600)
    const { title, digest } = await opened()
    expect(title).toBe('a story: passed')
    expect(digest).toMatch(/^[0-9a-f]{32}$/)
  }, 120_000)

  test('of a scenario that fails has its world, too', async () => {
    const story = join(folder, 'wrong.yaml')
    writeFileSync(
      story,
      `${STORY}  - expect: { get: { getDeployment: { deploy_id: '\${made.deploy_id}' } }, is: { status: failed } }\n`,
    )
    const { code } = await run(['run', story, '--html', page])
    expect(code).toBe(1)
    expect((await opened()).title).toBe('a story: failed')
  }, 120_000)

  test('of simulate has the world at the end of the simulation', async () => {
    const { code } = await run(['simulate', '--for', '1d', '--html', page])
    expect(code).toBe(0)
    const { page: open } = await openFile(page)
    await digestIn(open)
    await open.getByText('2026-01-02').first().waitFor()
  }, 120_000)

  test('of explore opens with the finding, and has the run without faults beside it', async () => {
    const client = join(folder, 'client.mjs')
    writeFileSync(
      client,
      `export default async function deploy({ fetch, url, token }) {
        const headers = { authorization: 'Bearer ' + token, 'content-type': 'application/json' }
        const body = JSON.stringify({ model_name: 'acme/new', gpu: 'H100-80GB', hub: { repo: 'acme/chat-8b' } })
        const answer = await fetch(url + '/deploy/llm', { method: 'POST', headers, body, signal: AbortSignal.timeout(60_000) })
        return (await answer.json()).deploy_id
      }`,
    )
    const { code } = await run(['explore', client, '--fixtures', 'two-nodes', '--faults', 'singles', '--html', page])
    expect(code).toBe(1)
    const { page: open } = await openFile(page)
    await digestIn(open)
    const decided = await open.evaluate(async () => {
      const { simulator } = globalThis as unknown as { simulator: Connection }
      const decisions: string[] = []
      for (const base of ['', '/_sim/worlds/w1']) {
        const answer = await simulator.send(`${base}/_sim/requests`)
        decisions.push(
          ...((await answer.json()) as { requests: { decidedBy: string }[] }).requests.map(one => one.decidedBy),
        )
      }
      return decisions
    })
    expect(decided).toEqual(['fault', 'none'])
    await open.getByRole('heading', { name: 'The shrunk plan' }).waitFor()
    expect(await open.title()).toMatch(/^client: doneAsSaid@/)
  }, 180_000)

  test('of a failed test of vitest is beside its recording', async () => {
    const installed = new Installed()
    installed.build()
    onTestFinished(() => installed.remove())
    const project = installed.copy('vitest', 'failing')
    writeFileSync(
      join(project, 'failing.test.ts'),
      `import { expect, test } from 'modelhost-sim/vitest'
       test('fails', async ({ sim }) => {
         await sim.fetch('http://sim/deploy/list', { headers: { authorization: 'Bearer ' + sim.token } })
         await sim.clock.advance('1h')
         expect(sim).toHaveReceived('stopDeployment')
       })`,
    )
    const kept = join(folder, 'kept')
    const { said } = await runIn(project, ['npx', 'vitest', 'run', 'failing.test.ts'], { MODELHOST_SIM_RECORD: kept })
    expect(readdirSync(kept)).toEqual(['failing.test.ts-fails.html', 'failing.test.ts-fails.ndjson'])
    expect(said).toContain(`page (with prompts): ${join(kept, 'failing.test.ts-fails.html')}`)
    const recording = readFileSync(join(kept, 'failing.test.ts-fails.ndjson'), 'utf8')
    const { digest } = JSON.parse(recording.trimEnd().split('\n').at(-1)!) as { digest: string }
    const { page: open } = await openFile(join(kept, 'failing.test.ts-fails.html'))
    expect(await digestIn(open)).toBe(digest)
  }, 120_000)

  test('of a server has the world whose past is kept', async () => {
    const { url } = await started(['serve', '--port', '0', '--clock', 'manual', '--fixtures', 'empty'])
    const missing = await fetch(`${url}/_sim/page`)
    expect([missing.status, await missing.text()]).toEqual([409, expect.stringContaining('POST /_sim/past')])
    const json = { method: 'POST', headers: { 'content-type': 'application/json' } }
    await fetch(`${url}/_sim/past`, { method: 'POST' })
    await fetch(`${url}/_sim/commands`, { ...json, body: '{"verb":"funds.set","args":{"usd":3}}' })
    await fetch(`${url}/_sim/clock/advance`, { ...json, body: '{"by":"2h"}' })
    const answer = await fetch(`${url}/_sim/page`)
    expect(answer.headers.get('content-disposition')).toBe('attachment; filename="default.html"')
    expect(answer.headers.get('content-type')).toBe('application/octet-stream')
    writeFileSync(page, await answer.text())
    const { digest } = (await (await fetch(`${url}/_sim/digest`)).json()) as { digest: string }
    expect((await opened()).digest).toBe(digest)
  }, 120_000)
})

test('a page that cannot be written is refused with exit code 2 and one line', async () => {
  const { code, stdout, stderr } = await run(['simulate', '--for', '1h', '--html', join(folder, 'none/page.html')])
  expect([code, stdout, stderr.trimEnd().split('\n')]).toEqual([2, '', [expect.stringContaining('there is no folder')]])
})
