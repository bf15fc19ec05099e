/** The site of the docs: built, opened at an address that it does not know, and opened from the file system. */
import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Page } from 'playwright-core'
import { beforeAll, expect, test } from 'vitest'
import { collectPages } from '../../../tools/site/pages.ts'
import { pageTest } from '../chromium.ts'
import { openPage } from '../ui/control-room.ts'
import { serveFiles } from './static-server.ts'

const DIST = resolve('tools/site/dist')
/** No server of static files has another way to say where a site is. */
const PLACE = '/some%20where/docs-of-it/'
const TABS = 2

function pagesOfSite(): string[] {
  return readdirSync(DIST, { recursive: true, encoding: 'utf8' })
    .map(name => name.replaceAll('\\', '/'))
    .filter(name => name.endsWith('.html') && !name.startsWith('playground/') && name !== '404.html')
    .sort()
}

/** Waits for the two pictures of the page about pictures: the address changes before its content is there. */
const expectPictures = (page: Page) =>
  expect
    .poll(
      () => page.locator('.vp-doc img').evaluateAll(all => all.map(one => (one as HTMLImageElement).naturalWidth)),
      { timeout: 10_000 },
    )
    .toEqual([780, 780])

const htmlOf = (name: string) => readFileSync(join(DIST, name), 'utf8')
const attributesOf = (html: string, name: string) =>
  Array.from(html.matchAll(new RegExp(`<[^>]* ${name}="([^"]*)"`, 'g')), ([, value]) => value!)

beforeAll(() => {
  const { status, stderr, stdout } = spawnSync('npm', ['run', '-s', 'docs'], { encoding: 'utf8' })
  expect(status, stdout + stderr).toBe(0)
}, 400_000)

test('the site has a page for each page of docs and all that they link to', () => {
  const expected = [...collectPages().pages.keys(), 'playground.md'].map(path => path.replace(/\.md$/, '.html'))
  expect(pagesOfSite()).toEqual(expected.sort())
})

test('every link and file of every page is there, and every anchor', () => {
  const ids = new Map(pagesOfSite().map(name => [name, new Set(attributesOf(htmlOf(name), 'id'))]))
  const dead: string[] = []
  for (const name of pagesOfSite()) {
    const html = htmlOf(name)
    for (const link of [...attributesOf(html, 'href'), ...attributesOf(html, 'src')]) {
      if (/^[a-z]+:/.test(link)) continue
      const { pathname, hash } = new URL(link, `http://host/${name}`)
      const target = decodeURIComponent(pathname).slice(1)
      const anchor = decodeURIComponent(hash).slice(1)
      if (!existsSync(join(DIST, target)) || (anchor !== '' && ids.get(target)?.has(anchor) === false)) {
        dead.push(`${name}: ${link}`)
      }
    }
  }
  expect(dead).toEqual([])
})

test('no file names the placeholder of the address, and no page loads anything from another host', () => {
  const files = readdirSync(DIST, { recursive: true, encoding: 'utf8' }).filter(name => /\.(?:html|js|css)$/.test(name))
  expect(files.filter(name => htmlOf(name).includes('__root_of_the_site__'))).toEqual([])
  for (const name of pagesOfSite()) {
    const html = htmlOf(name)
    const loaded = [
      ...attributesOf(html, 'src'),
      ...Array.from(html.matchAll(/<link [^>]*href="([^"]*)"/g), ([, to]) => to!),
    ]
    expect(loaded.filter(link => /^(?:https?:)?\/\//.test(link))).toEqual([])
  }
})

/** The first page of each depth of each folder at the top: at one depth, links begin in the same way. */
function pagesToStart(): string[] {
  const first = new Map<string, string>()
  for (const name of pagesOfSite()) {
    const folders = name.split('/').slice(0, -1)
    const kind = `${folders[0] ?? ''} ${folders.length}`
    if (!first.has(kind)) first.set(kind, name)
  }
  return [...first.values()]
}

pageTest(
  'pages of every depth start at an unknown address, without an error and without a request to another place',
  async () => {
    const root = await serveFiles(DIST, PLACE)
    const waiting = pagesToStart()
    expect(waiting.length).toBeGreaterThan(6)
    const tabs = Array.from({ length: TABS }, async () => {
      const { page, problems, origins } = await openPage('about:blank')
      const requests: string[] = []
      page.on('request', request => requests.push(request.url()))
      for (let name = waiting.shift(); name !== undefined; name = waiting.shift()) {
        await page.goto(root + name)
        await page.waitForFunction(() => '__vue_app__' in (document.querySelector('#app') ?? {}))
        // The page that is shown is that of the address, and not the page for unknown addresses.
        expect(await page.locator('.NotFound').count(), name).toBe(0)
        expect(problems, name).toEqual([])
      }
      expect(requests.filter(url => !url.startsWith(root) && !url.startsWith('data:'))).toEqual([])
      expect(origins).toEqual(new Set([new URL(root).origin]))
    })
    await Promise.all(tabs)
  },
  300_000,
)

pageTest('a reader follows links from folder to folder, searches, and goes back', async () => {
  const root = await serveFiles(DIST, PLACE)
  const { page, problems } = await openPage(`${root}docs/decisions/0001-reference-data.html`)
  await page.waitForFunction(() => '__vue_app__' in (document.querySelector('#app') ?? {}))
  await page.locator('.VPSidebar a', { hasText: 'What it is' }).click()
  await page.waitForURL(root)
  await page.locator('.VPSidebar a', { hasText: /^Picture of a report$/ }).click()
  await page.waitForURL(`${root}docs/plots.html`)
  await expectPictures(page)
  await page.locator('.vp-doc a', { hasText: 'series[]' }).click()
  await page.waitForURL(`${root}docs/reports.html#series`)
  await page.locator('.DocSearch-Button').click()
  await page.locator('#localsearch-input').fill('shards seeds')
  await page.locator('#localsearch-list a').first().waitFor()
  expect(await page.locator('#localsearch-list a').first().getAttribute('href')).toContain('shards')
  await page.keyboard.press('Enter')
  await page.waitForURL(`${root}docs/shards.html**`)
  await page.goBack()
  await page.waitForURL(`${root}docs/reports.html#series`)
  expect(problems).toEqual([])
})

pageTest(
  'the playground runs its five examples in the page, with their output and their command lines',
  async () => {
    const root = await serveFiles(DIST, PLACE)
    const { page, problems } = await openPage(`${root}docs/index.html`)
    const requests: string[] = []
    page.on('request', request => requests.push(request.url()))
    await page.locator('.VPNav a', { hasText: 'Playground' }).first().click()
    const playground = page.frameLocator('iframe.playground')
    const examples = playground.locator('.examples button')
    await examples.first().waitFor()
    expect(await examples.count()).toBe(5)
    for (let i = 0; i < 5; i++) {
      await examples.nth(i).click()
      await playground.getByRole('button', { name: 'Run', exact: true }).click()
      await playground.getByRole('region', { name: 'The same with curl' }).filter({ hasText: 'curl ' }).waitFor()
      const output = await playground.getByRole('region', { name: 'Output' }).locator('pre').textContent()
      expect(output!.trim()).not.toBe('')
      expect(await playground.locator('#editor [role=alert]').allTextContents()).toEqual([])
    }
    await page.locator('a', { hasText: 'Open it alone' }).click()
    await page.waitForURL(`${root}playground/index.html`)
    await page.locator('.examples button').first().waitFor()
    expect(requests.filter(url => !url.startsWith(root) && !url.startsWith('data:'))).toEqual([])
    expect(problems).toEqual([])
  },
  120_000,
)

pageTest('pages from the file system show text and pictures, follow links and run the playground', async () => {
  const { page, problems, origins } = await openPage(pathToFileURL(join(DIST, 'index.html')).href)
  await page.locator('.vp-doc a', { hasText: /^The tutorial$/ }).click()
  await page.waitForURL(pathToFileURL(join(DIST, 'docs/tutorial.html')).href)
  await page.locator('.VPSidebar a', { hasText: 'All pages' }).click()
  await page.waitForURL(pathToFileURL(join(DIST, 'docs/index.html')).href)
  await page.locator('.vp-doc a', { hasText: /^Picture of a report$/ }).click()
  await page.waitForURL(pathToFileURL(join(DIST, 'docs/plots.html')).href)
  await expectPictures(page)
  // What needs a script is not shown.
  expect(await page.locator('.DocSearch-Button').isVisible()).toBe(false)
  await page.locator('.VPNav a', { hasText: 'Playground' }).first().click()
  const playground = page.frameLocator('iframe.playground')
  await playground.getByRole('button', { name: 'Run', exact: true }).click()
  await playground.getByRole('region', { name: 'Output' }).filter({ hasText: 'after 20 minutes: running' }).waitFor()
  expect([problems, [...origins]]).toEqual([[], ['null']])
})
