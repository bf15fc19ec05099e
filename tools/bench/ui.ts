/** What the control room costs the server that it watches. Requires Chromium, so it runs only when it is asked for. */
import { setTimeout as sleep } from 'node:timers/promises'
import { chromium } from 'playwright-core'
import { loadFixture } from '../../src/data/fixtures/load.ts'
import { atMost, type Bench, type Group } from './figure.ts'
import { commandOf } from './installed.ts'
import { times } from './measure.ts'
import { besideFirstCore, pinned, scriptOf } from './worker.ts'

/** Real milliseconds in which the page asks what it asks at its begin. */
const SETTLE_MS = 2_000
const DAYS = 7
const REQUESTS = 2_000
const FIXTURE = 'fleet'

export const ui: Group = {
  name: 'ui',
  heavy: true,
  figures: [
    {
      name: 'page_open_cpu',
      unit: 'ms of CPU of the server',
      goal: atMost(1.2, 'ratio'),
      run: bench =>
        times(
          bench,
          'page_open_cpu',
          bench.quick ? 1 : 5,
          () => besideFirstCore(() => cpuOfServer(bench, true)),
          () => besideFirstCore(() => cpuOfServer(bench, false)),
        ),
    },
  ],
}

/** Returns the milliseconds of CPU for which a server advances a week and answers 2,000 requests. */
async function cpuOfServer(bench: Bench, isPageOpen: boolean): Promise<number> {
  const command = [commandOf(bench, 'installed'), 'serve', '--port', '0', '--clock', 'manual']
  const flags = ['--fixtures', FIXTURE]
  const served = pinned(bench, 'page_open_cpu', 'first', ['--import', scriptOf(bench, 'probe'), ...command, ...flags])
  const { token } = loadFixture(FIXTURE).api_tokens[0]!
  const executablePath = process.env.CHROME_PATH ?? '/usr/bin/chromium'
  const browser = isPageOpen ? await chromium.launch({ executablePath, args: ['--no-sandbox'] }) : undefined
  try {
    const url = await served.url
    const send = async (method: string, path: string, body?: object) => {
      const headers = { 'content-type': 'application/json', authorization: `Bearer ${token}` }
      const response = await fetch(url + path, { method, headers, ...(body && { body: JSON.stringify(body) }) })
      const text = await response.text()
      if (!response.ok) throw new Error(`${method} ${path} answered ${response.status}: ${text}`)
    }
    // The past is kept in both cases: what it costs is not what the page costs.
    await send('POST', '/_sim/past')
    if (browser !== undefined) {
      const page = await browser.newPage()
      await page.goto(`${url}/_sim/ui`)
      await page.locator('.link.live').waitFor()
      await page.locator('.totals').waitFor()
    }
    const live = async () => {
      for (let day = 0; day < DAYS; day++) await send('POST', '/_sim/clock/advance', { by: '24h' })
      for (let n = 0; n < REQUESTS; n++) await send('GET', n % 2 === 0 ? '/deploy/list' : '/v1/models')
    }
    // What is loaded and compiled once is not counted: the first week warms both sides up.
    await live()
    await sleep(SETTLE_MS)
    const { cpuMicros: before } = await served.ask<{ cpuMicros: number }>('cpu')
    await live()
    const { cpuMicros: after } = await served.ask<{ cpuMicros: number }>('cpu')
    return (after - before) / 1000
  } finally {
    await browser?.close()
    served.end()
  }
}
