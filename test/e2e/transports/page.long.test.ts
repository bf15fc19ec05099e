/** The browser build in a page: worlds of the package by name, and the worker of MSW. */
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { build } from 'esbuild'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Simulator } from '../../../src/simulator/simulator-interface.ts'
import { openWindow, pageSuite, startedBrowser } from '../chromium.ts'
import { blocksOf, blockWith } from '../docs/page-blocks.ts'
import { installed, packageIn } from '../installed-package.ts'

/** What a page imports from the package, as its bundler sees it. */
const PAGE = `
import { createSimulator } from 'modelhost-sim'
import { handlers, listenOptions } from 'modelhost-sim/msw'
import { setupWorker } from 'msw/browser'
Object.assign(window, { createSimulator, handlers, listenOptions, setupWorker })
`

interface PageScope {
  readonly createSimulator: typeof import('../../../src/simulator/simulator.ts').createSimulator
  readonly handlers: typeof import('../../../src/workbench/testing/msw.ts').handlers
  readonly listenOptions: object
  readonly setupWorker: (...handlers: readonly unknown[]) => { start(options: object): Promise<unknown>; stop(): void }
}

pageSuite('a page', () => {
  let page: Page
  let script: string
  /** The example that `/example.js` is. */
  let example: string
  const server = createServer(({ url }, response) => {
    const scripts: Readonly<Record<string, string>> = {
      '/page.js': script,
      '/example.js': example,
      '/mockServiceWorker.js': readFileSync('node_modules/msw/lib/mockServiceWorker.js', 'utf8'),
    }
    const text = scripts[url!]
    if (text !== undefined) response.writeHead(200, { 'content-type': 'text/javascript' }).end(text)
    else response.writeHead(200, { 'content-type': 'text/html' }).end(`<script type="module" src="${url}.js"></script>`)
  })

  beforeAll(async () => {
    script = await bundled(PAGE)
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
    page = await (await startedBrowser()).newPage()
    await page.goto(`http://127.0.0.1:${(server.address() as AddressInfo).port}/page`)
    await page.waitForFunction(() => 'setupWorker' in window)
  }, 120_000)

  afterAll(async () => {
    await page?.context().close()
    server.close()
  })

  test('creates each world of the package by its name, with the digest that Node has', async () => {
    const { createSimulator } = await import('../../../src/simulator/simulator.ts')
    for (const fixtures of ['default', 'empty', 'fleet', 'full', 'two-nodes']) {
      const digest = await page.evaluate(async name => {
        const sim = (window as unknown as PageScope).createSimulator({ fixtures: name })
        await sim.clock.advance('10m')
        return sim.digest
      }, fixtures)
      const sim = createSimulator({ fixtures })
      await sim.clock.advance('10m')
      expect([fixtures, digest]).toEqual([fixtures, sim.digest])
    }
  }, 60_000)

  test('answers the fetch of the page through the worker of MSW', async () => {
    const answer = await page.evaluate(async () => {
      const { createSimulator, handlers, listenOptions, setupWorker } = window as unknown as PageScope
      const baseUrl = 'https://api.example.test'
      const sim = createSimulator({ with: { deployments: [{ model_name: 'acme/page', status: 'stopped' }] } })
      const worker = setupWorker(...handlers(sim, { baseUrl }))
      await worker.start({ ...listenOptions, quiet: true })
      const headers = { authorization: `Bearer ${sim.token}` }
      const list = await fetch(`${baseUrl}/deploy/list`, { headers })
      const models = await fetch(`${baseUrl}/v1/models`, { headers })
      worker.stop()
      return {
        names: ((await list.json()) as { model_name: string }[]).map(each => each.model_name),
        models: models.status,
        requests: sim.requests.map(({ operation }) => operation),
      }
    })
    expect(answer.names).toContain('acme/page')
    expect(answer.names.length).toBeGreaterThan(5)
    expect(answer).toMatchObject({ models: 200, requests: ['listDeployments', expect.any(String)] })
  }, 60_000)

  test('runs the example of the README with the lines for a page', async () => {
    const block = blockWith(blocksOf('README.md'), 'setupServer(')
    const line = 'await setupWorker(...handlers(sim, { baseUrl })).start(listenOptions)'
    const inPage = block
      .replace("{ setupServer } from 'msw/node'", "{ setupWorker } from 'msw/browser'")
      .replace(/^setupServer\(.*$/m, line)
    example = await bundled(inPage)
    const { page: other } = await openWindow({})
    const written = other.waitForEvent('console', message => message.text().startsWith('[{'))
    await other.goto(new URL('/example', page.url()).href)
    expect(JSON.parse((await written).text())).toMatchObject([{ model_name: 'acme/chat', status: 'running' }])
  }, 60_000)

  test('runs the example of docs/clients.md', async () => {
    const block = blockWith(blocksOf('docs/clients.md'), 'setupWorker')
    const read = `const answer = await fetch('https://api.example.test/models/list')\nconsole.log('status', answer.status)\n`
    example = await bundled(block + read)
    const { page: other } = await openWindow({})
    const written = other.waitForEvent('console', message => message.text().startsWith('status'))
    await other.goto(new URL('/example', page.url()).href)
    expect((await written).text()).toBe('status 200')
  }, 60_000)

  test('counts the tokens that Node counts', async () => {
    const { createSimulator } = await import('../../../src/simulator/simulator.ts')
    const { usage } = JSON.parse((await chat(createSimulator())).text)
    const answer = await page.evaluate(`(${chat})(createSimulator())`)
    expect(usage.total_tokens).toBeGreaterThan(10)
    expect(JSON.parse((answer as Answer).text).usage).toEqual(usage)
  }, 60_000)

  test('refuses what counts tokens when its bundler leaves the tokenizer out', async () => {
    const whole = script.length
    script = await bundled(PAGE, ['modelhost-sim-without-tokenizer'])
    expect(whole - script.length).toBeGreaterThan(2_000_000)
    const { page: other } = await openWindow({})
    await other.goto(page.url())
    await other.waitForFunction(() => 'setupWorker' in window)
    const refusal = expect.stringContaining('this page has no tokenizer')
    expect(await other.evaluate(`(${chat})(createSimulator())`)).toEqual({ status: 501, text: refusal })
    const moved = (fixtures: string) => `{
      const sim = createSimulator({ fixtures: '${fixtures}' })
      sim.clock.advance('10m').then(() => sim.clock.now.toISOString(), String)
    }`
    // Its batch is in progress.
    expect(await other.evaluate(moved('default'))).toEqual(refusal)
    expect(await other.evaluate(moved('empty'))).toBe('2026-01-01T00:10:00.000Z')
  }, 60_000)

  test('rejects an unknown world with the nearest name', async () => {
    const message = await page.evaluate(() => {
      try {
        ;(window as unknown as PageScope).createSimulator({ fixtures: 'two-node' })
        return 'nothing was thrown'
      } catch (error) {
        return (error as Error).message
      }
    })
    expect(message).toBe(
      "Failed to read fixture 'two-node': folders need Node. Did you mean 'two-nodes'? Give one of 'default', 'empty', 'fleet', 'full', 'two-nodes', or the fixture as an object.",
    )
  })
})

interface Answer {
  readonly status: number
  readonly text: string
}

/** Sends a chat to a running deployment. It also runs in a page. */
async function chat(sim: Simulator): Promise<Answer> {
  const headers = { authorization: `Bearer ${sim.token}`, 'content-type': 'application/json' }
  const list = await sim.fetch('http://sim/deploy/list?status=running', { headers })
  const [{ model_name: model }] = (await list.json()) as [{ model_name: string }]
  const body = JSON.stringify({ model, messages: [{ role: 'user', content: 'How many tokens has 日本語?' }] })
  const answer = await sim.fetch('http://sim/v1/chat/completions', { method: 'POST', headers, body })
  return { status: answer.status, text: await answer.text() }
}

/** Bundles a script as the bundler of a page does. */
async function bundled(contents: string, conditions: string[] = []): Promise<string> {
  const { outputFiles } = await build({
    stdin: {
      contents: contents.replace('await answer.json()', 'JSON.stringify(await answer.json())'),
      resolveDir: installed(),
    },
    bundle: true,
    write: false,
    format: 'esm',
    platform: 'browser',
    logLevel: 'error',
    conditions,
  })
  return outputFiles[0]!.text
}

test('the worlds of a page are in one module beside the bundle', () => {
  const folder = join(packageIn(installed()), 'dist/browser')
  expect(readFileSync(join(folder, 'index.js'), 'utf8')).toContain('./worlds.js')
  expect(readFileSync(join(folder, 'worlds.js')).byteLength).toBeLessThan(300_000)
})

test('docs/clients.md says the sizes of the browser build', async () => {
  const { outputFiles, metafile } = await build({
    stdin: {
      contents: "import { createSimulator } from 'modelhost-sim'\nwindow.create = createSimulator",
      resolveDir: installed(),
    },
    bundle: true,
    splitting: true,
    minify: true,
    metafile: true,
    write: false,
    outdir: 'page',
    format: 'esm',
    platform: 'browser',
    logLevel: 'error',
  })
  const outputs = Object.entries(metafile.outputs)
  const nameOf = (input: RegExp) =>
    outputs.find(([, { inputs }]) => Object.keys(inputs).some(path => input.test(path)))![0]
  const loaded = new Set([nameOf(/stdin/)])
  for (const name of loaded) {
    for (const { path, kind } of metafile.outputs[name]!.imports) if (kind === 'import-statement') loaded.add(path)
  }
  const sizesOf = (names: readonly string[]) => {
    const contents = outputFiles.filter(({ path }) => names.some(name => path.endsWith(name))).map(one => one.contents)
    const sum = (sizes: readonly number[]) => sizes.reduce((a, b) => a + b) / 1000
    return [sum(contents.map(each => each.length)), sum(contents.map(each => gzipSync(each).length))]
  }
  const text = readFileSync('docs/clients.md', 'utf8').replaceAll(/\s+/g, ' ')
  const said =
    /The browser build has ([\d,]+) kB minified, ([\d,]+) kB with gzip. The tokenizer has ([\d,]+) kB, ([\d,]+) kB/
  const stated = said
    .exec(text)!
    .slice(1)
    .map(size => Number(size.replace(',', '')))
  const measured = [...sizesOf([...loaded]), ...sizesOf([nameOf(/browser\/tokenizer\.js$/)])]
  const ratios = measured.map((size, i) => size / stated[i]!)
  expect(Math.min(...ratios), `${measured} kB`).toBeGreaterThan(0.95)
  expect(Math.max(...ratios), `${measured} kB`).toBeLessThan(1.05)
})
