/** The playground from a folder of files: its examples run, without a server of the simulator. */
import { readFileSync } from 'node:fs'
import type AxeBuilder from 'axe-core'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { serve } from '../../../src/server/http/server.ts'
import { createSimulator } from '../../../src/simulator/simulator.ts'
import { EXAMPLES } from '../../../tools/site/playground/playground.tsx'
import { openWindow, pageSuite } from '../chromium.ts'
import { shell } from '../cli/process.ts'
import { digestIn, openFile, servePlayground } from './page-browser.ts'

pageSuite('the playground', () => {
  let site: Awaited<ReturnType<typeof servePlayground>>

  beforeAll(async () => {
    site = await servePlayground()
  }, 120_000)

  afterAll(async () => {
    site?.close()
  })

  async function open() {
    const opened = await openWindow()
    const { page } = opened
    await page.goto(site.url)
    await page.locator('.link.live').waitFor()
    return opened
  }

  async function runExample(page: Page, title: string): Promise<{ output: string; curls: string }> {
    await page.getByRole('button', { name: title }).click()
    await page.getByRole('button', { name: 'Run', exact: true }).click()
    await page.getByRole('region', { name: 'Output' }).waitFor({ timeout: 20_000 })
    await page.getByRole('button', { name: 'Run', exact: true }).waitFor()
    const textOf = (name: string) => page.getByRole('region', { name }).locator('pre').innerText()
    return { output: await textOf('Output'), curls: await textOf('The same with curl') }
  }

  test('shows headers and answers of its requests, and sends one again as it was then', {
    timeout: 60_000,
  }, async () => {
    const { page, problems } = await open()
    await runExample(page, EXAMPLES[0]!.title)
    await page.getByRole('link', { name: 'Requests', exact: true }).click()
    await page.locator('button.list-row').first().click()
    await page.getByRole('heading', { name: 'Answered' }).waitFor()
    await page
      .locator('summary', { hasText: /headers?$/ })
      .nth(1)
      .click()
    await page.getByRole('region', { name: 'Headers of the answer' }).getByText('content-type').waitFor()
    await page.getByRole('button', { name: 'Edit and send again' }).click()
    await page.getByRole('button', { name: 'Send in a fork of the past' }).click()
    await page.getByText('The answers are equal').waitFor()
    expect(problems).toEqual([])
  })

  test('runs each example, and a server gives the same world by the curl of it', { timeout: 180_000 }, async () => {
    const { page, problems, origins } = await open()
    for (const { title } of EXAMPLES) {
      const { output, curls } = await runExample(page, title)
      expect([title, output.length > 20]).toEqual([title, true])
      expect(await page.getByRole('alert').count()).toBe(0)
      if (title === 'Fork a world') continue
      const sim = createSimulator({ fixtures: 'default', seed: 1, clock: 'manual' })
      const server = await serve(sim, { port: 0 })
      onTestFinished(() => server.close())
      const lines = curls.replaceAll('http://127.0.0.1:4010', server.url).replaceAll(/^curl/gm, 'curl -sS')
      expect((await shell(lines)).stderr).toBe('')
      expect([title, sim.digest]).toEqual([title, await digestIn(page)])
    }
    expect(problems).toEqual([])
    expect([...origins]).toEqual([new URL(site.url).origin])
  })

  test('shows what its code did in the control room, and the error of code that fails', async () => {
    const { page } = await open()
    await runExample(page, 'Refuse two requests')
    await page.getByRole('link', { name: 'Requests' }).click()
    await page.getByText('429').first().waitFor()
    const code = page.getByRole('textbox', { name: 'Code' })
    await code.fill("await get('/deploy/unknown')")
    await code.press('Control+Enter')
    await page.getByText('GET /deploy/unknown is answered with 404').waitFor()
    await code.fill('const = 1')
    await code.press('Control+Enter')
    await page.getByText('SyntaxError').waitFor()
  }, 60_000)

  test('saves its world as a page that opens without the site', async () => {
    const { page } = await open()
    await runExample(page, 'Deploy a model')
    const digest = await digestIn(page)
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Save this page' }).click(),
    ])
    expect(download.suggestedFilename()).toBe('default.html')
    const file = `${await download.path()}.html`
    await download.saveAs(file)
    const saved = await openFile(file)
    expect(await digestIn(saved.page)).toBe(digest)
    expect(saved.problems).toEqual([])
  }, 60_000)

  test('has no violation of accessibility, in light and dark, wide and narrow', async () => {
    const { page } = await open()
    await runExample(page, 'Crash a node')
    await page.evaluate(readFileSync('node_modules/axe-core/axe.min.js', 'utf8'))
    for (const colorScheme of ['light', 'dark'] as const) {
      for (const width of [1440, 390]) {
        await page.emulateMedia({ colorScheme })
        await page.setViewportSize({ width, height: 844 })
        const violations = await page.evaluate(async () => {
          const { axe } = globalThis as unknown as { axe: typeof AxeBuilder }
          const { violations } = await axe.run('#editor')
          return violations.map(({ id, nodes }) => [id, nodes.map(({ html }) => html)])
        })
        expect([colorScheme, width, violations]).toEqual([colorScheme, width, []])
      }
    }
  }, 60_000)
})
