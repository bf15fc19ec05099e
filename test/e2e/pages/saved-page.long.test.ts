/** Saved pages: they run again from a file, and nothing in them does anything else. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, expect, test } from 'vitest'
import { withoutPause } from '../../../src/lib/slices.ts'
import type { Connection } from '../../../src/server/page/store/ask.ts'
import type { SavedContent } from '../../../src/server/saved-page/content.ts'
import { createSavedPage, readPageParts } from '../../../src/server/saved-page/create-page.ts'
import { preparePage } from '../../../src/server/saved-page/page-recording.ts'
import type { PageParts } from '../../../src/server/saved-page/parts.ts'
import { savedPage } from '../../../src/server/saved-page/saved-page.ts'
import { parseRecording } from '../../../src/simulator/history/file.ts'
import { LineWriter } from '../../../src/simulator/history/line-writer.ts'
import { recordSimulator } from '../../../src/simulator/history/record.ts'
import { createSimulator, type Simulator, type SimulatorOptions } from '../../../src/simulator/simulator.ts'
import { temporaryFolderOfTests } from '../../setup/temporary-folder.ts'
import { pageSuite } from '../chromium.ts'
import { digestIn, openFile } from './page-browser.ts'

const folder = temporaryFolderOfTests()

pageSuite('a saved page', () => {
  /** The parts of pages: from the source, each reading of them builds them. */
  let parts: PageParts

  beforeAll(async () => {
    parts = await readPageParts(true)
  }, 60_000)

  const pageOf = (content: SavedContent) => {
    const prepared = withoutPause(preparePage(content))
    const usedParts = prepared.needsTokenizer ? parts : { ...parts, tokenizer: undefined }
    return withoutPause(savedPage(usedParts, prepared.content))
  }

  const open = (html: string) => {
    const file = join(folder, 'page.html')
    writeFileSync(file, html)
    return openFile(file)
  }

  test('shows the digest of the run that it holds, without a request that leaves the file', async () => {
    const { sim, content } = await record({ fixtures: 'default', seed: 7 }, useDeployments)
    const { page, problems, requests } = await open(await createSavedPage(content))
    expect(await digestIn(page)).toBe(sim.digest)
    expect(await page.title()).toBe('a run')
    expect(problems).toEqual([])
    expect(requests.filter(url => !url.startsWith('file:'))).toEqual([])
  }, 120_000)

  test('goes back to each moment of its run, exactly as it was', async () => {
    const digests: [time: string, digest: string][] = []
    const { content } = await record({ fixtures: 'two-nodes', seed: 3 }, async sim => {
      await useDeployments(sim, () => {
        digests.push([sim.clock.iso, sim.digest])
      })
    })
    const { page } = await open(pageOf(content))
    await digestIn(page)
    for (const [at, digest] of [digests[0]!, digests[4]!, digests.at(-1)!]) {
      const found = await page.evaluate(async at => {
        const { simulator } = globalThis as unknown as { simulator: Connection }
        const headers = { 'content-type': 'application/json' }
        const body = JSON.stringify({ from: 'default', at })
        const made = await simulator.send('/_sim/worlds', { method: 'POST', headers, body })
        const { world } = (await made.json()) as { world: string }
        return (await (await simulator.send(`/_sim/worlds/${world}/_sim/digest`)).json()) as { digest: string }
      }, at)
      expect([at, found.digest]).toEqual([at, digest])
    }
  }, 120_000)

  test('holds several worlds, and can be saved again after a change', async () => {
    const first = await record({ fixtures: 'empty', seed: 1 }, useDeployments)
    const second = await record({ fixtures: 'empty', seed: 2 }, useDeployments)
    const worlds = [...first.content.worlds, ...second.content.worlds]
    const { page } = await open(pageOf({ title: 'two', worlds }))
    expect(await digestIn(page)).toBe(first.sim.digest)
    expect(await digestIn(page, '/_sim/worlds/w1')).toBe(second.sim.digest)
    const again = await page.evaluate(async () => {
      const { simulator } = globalThis as unknown as { simulator: Connection }
      const headers = { 'content-type': 'application/json' }
      await simulator.send('/_sim/clock/advance', { method: 'POST', headers, body: '{"by":"3h"}' })
      await simulator.send('/_sim/commands', { method: 'POST', headers, body: '{"verb":"funds.set","args":{"usd":3}}' })
      return (await simulator.send('/_sim/page')).text()
    })
    const digest = await digestIn(page)
    expect(digest).not.toBe(first.sim.digest)
    const { page: saved, problems } = await open(again)
    expect(await digestIn(saved)).toBe(digest)
    expect(problems).toEqual([])
  }, 120_000)

  test('has the tokenizer if its run counts tokens, and says what is missing if it does not', async () => {
    const chat = async (sim: Simulator) => {
      const headers = { authorization: `Bearer ${sim.token}`, 'content-type': 'application/json' }
      const body = JSON.stringify({
        model: 'acme/assistant',
        messages: [{ role: 'user', content: 'Hi' }],
        stream: true,
      })
      await (await sim.fetch('http://sim/v1/chat/completions', { method: 'POST', headers, body })).text()
    }
    const { sim, content } = await record({ fixtures: 'default', seed: 7 }, chat)
    const { page } = await open(pageOf(content))
    expect(await digestIn(page)).toBe(sim.digest)

    const small = await record({ fixtures: 'empty' }, useDeployments)
    const html = pageOf(small.content)
    expect(html.length).toBeLessThan(1_000_000)
    const { page: other } = await open(html)
    await digestIn(other)
    const answer = await other.evaluate(async token => {
      const { simulator } = globalThis as unknown as { simulator: Connection }
      const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
      const body = '{"model":"acme/assistant","messages":[{"role":"user","content":"Hi"}]}'
      const response = await simulator.send('/v1/chat/completions', { method: 'POST', headers, body })
      return `${response.status} ${await response.text()}`
    }, small.sim.token)
    expect(answer).toMatch(/this page has no tokenizer/)
  }, 120_000)

  test('runs bulk records, which only Node can make', async () => {
    const { sim, content } = await record({ fixtures: 'empty', fill: { models: 60 } }, useDeployments)
    const { page } = await open(pageOf(content))
    expect(await digestIn(page)).toBe(sim.digest)
  }, 120_000)

  test('does nothing with markup in names, headers, bodies, fixtures and titles', async () => {
    const canary = `<img src=x onerror="document.title='canary'"></script><!--<script>document.title='canary'</script>\u2028`
    const { sim, content } = await record(
      {
        fixtures: 'default',
        with: { deployments: [{ model_name: `acme/${'x'}`, status: 'stopped', description: canary }] },
      } as SimulatorOptions,
      async sim => {
        const headers = {
          authorization: `Bearer ${sim.token}`,
          'content-type': 'application/json',
          'x-note': canary.slice(0, 40),
        }
        const body = JSON.stringify({ model_name: canary, hub: { repo: canary }, gpu: canary })
        await sim.fetch(`http://sim/deploy/llm?x=${encodeURIComponent(canary)}`, { method: 'POST', headers, body })
        sim.faults.add({
          name: 'canary',
          on: 'listDeployments',
          fault: { kind: 'status', status: 500, message: canary },
        })
        await sim.fetch('http://sim/deploy/list', { headers })
      },
    )
    const worlds = [{ ...content.worlds[0]!, title: canary }]
    const { page, problems, requests } = await open(pageOf({ title: canary, worlds }))
    expect(await digestIn(page)).toBe(sim.digest)
    for (const view of ['requests', 'faults', 'money']) {
      await page.evaluate(view => {
        location.hash = `#/${view}`
      }, view)
      await page.locator('[aria-current=page]', { hasText: new RegExp(view, 'i') }).waitFor()
    }
    expect(await page.title()).toBe(canary)
    expect(await page.locator('img').count()).toBe(0)
    expect(problems).toEqual([])
    expect(requests.filter(url => !url.startsWith('file:'))).toEqual([])
  }, 120_000)

  test('opens with 1,000 requests', { timeout: 180_000 }, async () => {
    const { sim, content } = await record({ fixtures: 'default', seed: 5 }, async sim => {
      const headers = { authorization: `Bearer ${sim.token}` }
      for (let n = 0; n < 1_000; n++) {
        await sim.fetch(`http://sim/${n % 2 === 0 ? 'deploy/list' : 'v1/models'}`, { headers })
        if (n % 10 === 0) await sim.clock.advance('1m')
      }
    })
    const { page } = await open(pageOf(content))
    expect(await digestIn(page)).toBe(sim.digest)
  })

  test('says what is wrong if its content was changed or is cut off', async () => {
    const { content } = await record({ fixtures: 'empty' }, useDeployments)
    const html = pageOf(content)
    const cut = await open(html.slice(0, html.length / 2))
    await cut.page.getByText('the file is incomplete').waitFor()

    const lines = content.worlds[0]!.recording.trimEnd().split('\n')
    const broken = { ...content, worlds: [{ title: 'the run', recording: 'no recording' }] }
    const changed = await open(withoutPause(savedPage(parts, broken)))
    await changed.page.getByRole('alert').getByText('Failed to read the recording of the run: line 1').waitFor()

    const code = html.replace(
      /"code":\{"compressed":"[^"]{100}/,
      text => `${text.slice(0, -1)}${text.endsWith('A') ? 'B' : 'A'}`,
    )
    const otherCode = await open(code)
    await otherCode.page.getByRole('alert').getByText('Failed to open this page').waitFor()

    const shorter = { ...content, worlds: [{ title: 'the run', recording: `${lines.slice(0, -1).join('\n')}\n` }] }
    const { page } = await open(withoutPause(savedPage(parts, shorter)))
    await page.getByRole('alert').getByText('the run: the recording is cut off after line').waitFor()
    await digestIn(page)
  }, 120_000)

  test('says where its run differs from its recording', async () => {
    const { content } = await record({ fixtures: 'empty' }, useDeployments)
    const { header, lines } = parseRecording(content.worlds[0]!.recording, 'run')
    let recording = ''
    const writer = new LineWriter(text => {
      recording += text
    })
    writer.add(header)
    for (const { line: _, ...line } of lines) writer.add('answer' in line ? { ...line, status: 299 } : line)
    writer.flush()
    const differing = { ...content, worlds: [{ title: 'the run', recording }] }
    const { page } = await open(withoutPause(savedPage(parts, differing)))
    const alert = page.locator('.saved-page-alert')
    await alert
      .getByText(/the run differs from its recording at .* POST \/deploy\/llm .*Recorded: status 299/)
      .waitFor()
    await digestIn(page)
  }, 120_000)
})

/** Records what a client does with a simulator. */
async function record(
  options: SimulatorOptions,
  use: (sim: Simulator) => Promise<void>,
): Promise<{ sim: Simulator; content: SavedContent }> {
  const sim = createSimulator(options)
  const recording = recordSimulator(sim)
  await use(sim)
  recording.stop()
  return { sim, content: { title: 'a run', worlds: [{ title: 'the run', recording: recording.text }] } }
}

async function useDeployments(sim: Simulator, afterMinute: () => void = () => {}): Promise<void> {
  const headers = { authorization: `Bearer ${sim.token}`, 'content-type': 'application/json' }
  const body = JSON.stringify({ model_name: 'acme/new', hub: { repo: 'acme/chat-8b' }, gpu: 'H100-80GB' })
  await sim.fetch('http://sim/deploy/llm', { method: 'POST', headers, body })
  for (let minute = 0; minute < 10; minute++) {
    await sim.fetch('http://sim/deploy/list', { headers })
    await sim.clock.advance('1m')
    afterMinute()
  }
}
