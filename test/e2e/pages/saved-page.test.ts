/** Saved pages: they run again from a file, and nothing in them does anything else. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { recordSimulator } from '../../../src/evidence/recording/record.ts'
import type { SavedContent } from '../../../src/pages/saved/content.ts'
import { createSavedPage } from '../../../src/pages/saved/create-page.ts'
import { createSimulator, type Simulator, type SimulatorOptions } from '../../../src/simulator/simulator.ts'
import type { Connection } from '../../../src/ui/simulator/connection.ts'
import { executablePath, launch, SKIPPED } from './page-browser.ts'

const folder = mkdtempSync(join(tmpdir(), 'saved-pages-'))

describe.skipIf(executablePath === undefined)(`a saved page${SKIPPED}`, () => {
  let browser: Browser

  beforeAll(async () => {
    browser = await launch()
  })

  afterAll(async () => {
    await browser?.close()
    rmSync(folder, { recursive: true, force: true })
  })

  /** Opens a page from a file, and waits until its worlds have run. */
  async function open(html: string) {
    const context = await browser.newContext()
    onTestFinished(() => context.close())
    const page = await context.newPage()
    const problems: string[] = []
    const requests: string[] = []
    page.on('pageerror', error => problems.push(error.stack ?? error.message))
    page.on('console', message => message.type() === 'error' && problems.push(message.text()))
    page.on('request', request => requests.push(request.url()))
    const file = join(folder, 'page.html')
    writeFileSync(file, html)
    await page.goto(pathToFileURL(file).href)
    return { page, problems, requests }
  }

  test('shows the digest of the run that it holds', async () => {
    const { sim, content } = await record({ fixtures: 'default', seed: 7 }, useDeployments)
    const { page, problems, requests } = await open(await createSavedPage(content))
    expect(await digestIn(page).catch(error => [error, problems])).toBe(sim.digest)
    expect(problems).toEqual([])
    expect(requests.filter(url => !url.startsWith('file:'))).toEqual([])
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

async function useDeployments(sim: Simulator): Promise<void> {
  const headers = { authorization: `Bearer ${sim.token}`, 'content-type': 'application/json' }
  const body = JSON.stringify({ model_name: 'acme/new', gpu: 'H100-80GB', num_gpus: 1 })
  await sim.fetch('http://sim/deploy/llm', { method: 'POST', headers, body })
  for (let minute = 0; minute < 10; minute++) {
    await sim.clock.advance('1m')
    await sim.fetch('http://sim/deploy/list', { headers })
  }
}

/** Asks the control room of a page for the digest of its world. */
async function digestIn(page: Page): Promise<string> {
  await page
    .locator('.link.live')
    .waitFor({ timeout: 15_000 })
    .catch(async error => {
      throw new Error(await page.locator('body').innerText(), { cause: error })
    })
  return page.evaluate(async () => {
    const { simulator } = globalThis as unknown as { simulator: Connection }
    const { digest } = (await (await simulator.send('/_sim/digest')).json()) as { digest: string }
    return digest
  })
}
