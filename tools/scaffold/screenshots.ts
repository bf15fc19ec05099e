/**
 * `npm run screenshots`: pictures of each view of the control room, light and dark, wide and narrow, in .tmp/screenshots.
 * `--view NAME`: of this view only; repeatable. `--out FOLDER`: in another folder. Requires Chromium: that of
 * `CHROME_PATH`, or /usr/bin/chromium.
 */
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { chromium, type Page } from 'playwright-core'
import { serve } from '../../src/server/http/server.ts'
import { createSimulator, type Simulator } from '../../src/simulator/simulator.ts'
import { ROOT } from './declarations.ts'

const FOLDER = join(ROOT, '.tmp/screenshots')
/** Bytes of the largest picture. */
const MAX_BYTES = 60_000
/** Sizes and qualities to try, the best first. */
const ATTEMPTS = [
  { scale: 1, quality: 80 },
  { scale: 1, quality: 50 },
  { scale: 0.75, quality: 70 },
  { scale: 0.75, quality: 40 },
  { scale: 0.6, quality: 40 },
] as const

const SIZES = {
  wide: { width: 1440, height: 900 },
  narrow: { width: 390, height: 844 },
} as const
const THEMES = ['light', 'dark'] as const

const { values } = parseArgs({
  options: { view: { type: 'string', multiple: true }, out: { type: 'string', default: FOLDER } },
})

const sim = createSimulator({ fixtures: 'default', clock: 'manual', seed: 7 })
const server = await serve(sim, { port: 0 })
const browser = await chromium.launch({
  executablePath: process.env.CHROME_PATH ?? '/usr/bin/chromium',
  args: ['--no-sandbox'],
})
try {
  const fork = await liveThroughAnHour(sim)
  const views: Readonly<Record<string, (page: Page) => Promise<unknown>>> = {
    fleet: page => page.locator('.totals').waitFor(),
    lifecycles: page => page.locator('.lane-name').first().waitFor(),
    money: page => page.locator('.money-row').first().waitFor(),
    requests: page => page.locator('button.list-row').first().click(),
    faults: page => page.getByRole('button', { name: 'Record as scenario' }).waitFor(),
    report: async page => {
      const buffer = Buffer.from(exploreNaiveClient())
      const file = { name: 'report.json', mimeType: 'application/json', buffer }
      await page.getByLabel('Open a recording').setInputFiles(file)
      await page.locator('.rule button').nth(1).click()
      await page.getByRole('region', { name: /^Finding / }).evaluate(element => {
        const main = element.closest('main')!
        main.scrollBy(0, element.getBoundingClientRect().top - main.getBoundingClientRect().top)
      })
    },
    worlds: async page => {
      await page.getByRole('button', { name: 'Worlds and snapshots' }).click()
      await page.getByRole('row', { name: fork }).getByRole('button', { name: 'Compare' }).click()
      await page
        .locator('.scroll-x')
        .first()
        .evaluate(element => element.scrollTo(0, 0))
    },
    inspector: page => page.locator('.inspector h3').first().waitFor(),
  }
  mkdirSync(values.out, { recursive: true })
  for (const [view, open] of Object.entries(views)) {
    if (values.view?.includes(view) === false) continue
    for (const colorScheme of THEMES) {
      for (const [size, viewport] of Object.entries(SIZES)) {
        const context = await browser.newContext({ viewport, colorScheme, reducedMotion: 'reduce' })
        const page = await context.newPage()
        const place =
          view === 'inspector'
            ? `lifecycles?id=${deploymentOf(sim)}`
            : view === 'requests'
              ? 'requests?filter=4xx'
              : view
        await page.goto(`${server.url}/_sim/ui#/${place}`)
        await page.locator('.link.live').waitFor()
        await open(page)
        await page.mouse.move(0, 0)
        // Answers that are on their way are drawn with the next frames.
        await page.waitForTimeout(1_500)
        const picture = await takePicture(page)
        const name = `${view}-${size}-${colorScheme}.webp`
        writeFileSync(join(values.out, name), picture)
        process.stdout.write(`${name} ${picture.length} bytes\n`)
        await context.close()
      }
    }
  }
} finally {
  await browser.close()
  await server.close()
}

/** Takes a picture of the page as WebP, the best one that is small enough. */
async function takePicture(page: Page): Promise<Buffer> {
  const session = await page.context().newCDPSession(page)
  const { width, height } = page.viewportSize()!
  for (const { scale, quality } of ATTEMPTS) {
    const clip = { x: 0, y: 0, width, height, scale }
    const { data } = await session.send('Page.captureScreenshot', { format: 'webp', quality, clip })
    const picture = Buffer.from(data, 'base64')
    if (picture.length <= MAX_BYTES) return picture
  }
  throw new Error(`Failed to take a picture of at most ${MAX_BYTES} bytes. Show less, or allow more bytes.`)
}

/** Lives through an hour with clients, a crash and lost answers. Returns the name of a fork in which no node crashed. */
async function liveThroughAnHour(sim: Simulator): Promise<string> {
  const send = async (method: string, path: string, body?: unknown, headers: Record<string, string> = {}) => {
    const response = await fetch(server.url + path, {
      method,
      headers: { authorization: `Bearer ${sim.token}`, 'content-type': 'application/json', ...headers },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    return (await response.json()) as Record<string, unknown>
  }
  await send('POST', '/_sim/past')
  const create = (name: string, gpu = 'H100-80GB') =>
    send('POST', '/deploy/llm', { model_name: name, gpu, hub: { repo: name } })
  const { deploy_id: id } = await create('acme/chat-8b')
  await create('acme/assistant')
  await send('POST', '/deploy/llm', { model_name: 'acme/wrong', gpu: 'H100' })
  for (let minute = 0; minute < 30; minute++) {
    await sim.clock.advance('1m')
    await send('GET', minute % 3 === 0 ? '/deploy/list' : `/deploy/${id}`)
  }
  await send('GET', '/deploy/Unknown000000000')
  const { world } = await send('POST', '/_sim/worlds', { from: 'default', clock: 'manual' })
  await send('POST', '/_sim/faults', { on: 'list*', times: 3, fault: { kind: 'status', status: 503 } })
  await send('POST', '/_sim/commands', { verb: 'node.crash', target: sim.cluster.nodeOf(String(id)).name })
  for (let minute = 0; minute < 30; minute++) {
    await sim.clock.advance('1m')
    await send('GET', minute % 4 === 0 ? '/deploy/list' : `/deploy/${id}`)
  }
  await send('POST', `/_sim/worlds/${world}/_sim/clock/advance`, { by: '30m' })
  await send('POST', '/_sim/snapshots', { name: 'after-the-crash' })
  return String(world)
}

/** Returns the id of the oldest deployment that a client created. */
function deploymentOf(sim: Simulator): string {
  return sim.journal.entries().find(({ kind }) => kind === 'deployment.created')!.subject
}

/** Explores the client of the tutorial, and returns the report. */
function exploreNaiveClient(): string {
  const folder = mkdtempSync(join(tmpdir(), 'screenshots-'))
  try {
    const [, client] = /```js\n(.*?)```/s.exec(readFileSync(join(ROOT, 'docs/explore-tutorial.md'), 'utf8'))!
    writeFileSync(join(folder, 'client.mjs'), client!)
    const command = [join(ROOT, 'bin/modelhost-sim.js'), 'explore', 'client.mjs']
    const flags = ['--fixtures', 'empty', '--faults', 'singles', '--json']
    return spawnSync(process.execPath, [...command, ...flags], { cwd: folder, encoding: 'utf8' }).stdout
  } finally {
    rmSync(folder, { recursive: true })
  }
}
