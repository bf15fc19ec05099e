/** A saved page of 1,000 requests, opened from its file in Chromium. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { chromium } from 'playwright-core'
import { recordSimulator } from '../src/evidence/recording/record.ts'
import { toPageRecording } from '../src/pages/saved/page-recording.ts'
import type { CompressedScript, PageParts } from '../src/pages/saved/parts.ts'
import { savedPage } from '../src/pages/saved/saved-page.ts'
import { createSimulator } from '../src/simulator/simulator.ts'
import { atMost, type Bench, type Group, type Measured } from './figure.ts'

const REQUESTS = 1_000

export const ui: Group = {
  name: 'ui',
  figures: [
    { name: 'saved_page_kb', unit: 'kB', goal: atMost(2_500), run: size },
    { name: 'saved_page_ms', unit: 'ms until it shows its world', goal: atMost(3_000), run: opening },
  ],
}

async function size(bench: Bench): Promise<Measured> {
  const recording = await recordRequests('default')
  const small = createPage(bench, await recordRequests('empty')).length / 1000
  return {
    value: createPage(bench, recording).length / 1000,
    beside: `${small.toFixed(0)} kB without the tokenizer, in the world empty`,
  }
}

async function opening(bench: Bench): Promise<Measured> {
  const executablePath = [process.env.CHROME_PATH, '/usr/bin/chromium'].find(path => path && existsSync(path))
  if (executablePath === undefined) throw new Error('Chromium is missing: install it, or set CHROME_PATH')
  const file = join(bench.outdir, 'saved-page.html')
  writeFileSync(file, createPage(bench, await recordRequests('default')))
  const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] })
  const times: number[] = []
  try {
    for (let run = 0; run <= (bench.quick ? 0 : bench.runs); run++) {
      bench.progress(`saved_page_ms: ${run} of ${bench.runs}`)
      const page = await browser.newPage()
      // The time in the page itself, from the begin of its navigation.
      await page.addInitScript(`new MutationObserver(() => {
        if (document.querySelector('.link.live')) globalThis.shownAt ??= performance.now()
      }).observe(document, { subtree: true, childList: true, attributes: true })`)
      await page.goto(pathToFileURL(file).href)
      await page.locator('.link.live').waitFor()
      times.push(await page.evaluate(() => (globalThis as unknown as { shownAt: number }).shownAt))
      await page.close()
    }
  } finally {
    await browser.close()
  }
  return { value: Math.min(...times), beside: `${REQUESTS} requests run again` }
}

function createPage({ outdir }: Bench, recording: string): string {
  const read = (name: string) => JSON.parse(readFileSync(join(outdir, 'dist/pages', name), 'utf8'))
  const { text, needsTokenizer } = toPageRecording(recording, 'of the bench')
  const parts: PageParts = read('saved-page.json')
  const tokenizer: CompressedScript | undefined = needsTokenizer ? read('tokenizer.json') : undefined
  return savedPage({ ...parts, tokenizer }, { title: 'bench', worlds: [{ title: 'the bench', recording: text }] })
}

/** Records reads and moves of the clock in turn, with a create now and then. */
async function recordRequests(fixtures: string): Promise<string> {
  const sim = createSimulator({ fixtures, seed: 1 })
  const recording = recordSimulator(sim)
  const headers = { authorization: `Bearer ${sim.token}`, 'content-type': 'application/json' }
  for (let n = 0; n < REQUESTS; n++) {
    if (n % 100 === 0) {
      const body = JSON.stringify({ model_name: `acme/m${n}`, gpu: 'H100-80GB', hub: { repo: 'acme/chat-8b' } })
      await sim.fetch('http://sim/deploy/llm', { method: 'POST', headers, body })
    } else await sim.fetch(`http://sim/${n % 2 === 0 ? 'deploy/list' : 'v1/models'}`, { headers })
    if (n % 5 === 0) await sim.clock.advance('1m')
  }
  recording.stop()
  return recording.text
}
