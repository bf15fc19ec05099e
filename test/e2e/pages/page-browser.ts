/** Pages of this machine: from a small web server, or from files. */
import { existsSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Page } from 'playwright-core'
import type { Connection } from '../../../src/server/page/store/ask.ts'
import { type OpenWindow, openWindow } from '../chromium.ts'
import { installed } from '../installed-package.ts'

/** Opens a page from a file. */
export async function openFile(file: string): Promise<OpenWindow> {
  const opened = await openWindow()
  await opened.page.goto(pathToFileURL(file).href)
  return opened
}

/** Asks the simulator of a page for the digest of a world, when the control room is open. */
export async function digestIn(page: Page, base = ''): Promise<string> {
  await page
    .locator('.link.live')
    .waitFor({ timeout: 20_000 })
    .catch(async error => {
      throw new Error(await page.locator('body').innerText(), { cause: error })
    })
  return page.evaluate(async base => {
    const { simulator } = globalThis as unknown as { simulator: Connection }
    const { digest } = (await (await simulator.send(`${base}/_sim/digest`)).json()) as { digest: string }
    return digest
  }, base)
}

const CONTENT_TYPES: Readonly<Record<string, string>> = {
  html: 'text/html',
  js: 'text/javascript',
  css: 'text/css',
  json: 'application/json',
}

/** Returns the folder of the playground. It is built once for each state of the source, like the package. */
async function builtPlayground(): Promise<string> {
  const folder = join(installed(), 'playground')
  if (existsSync(folder)) return folder
  const draft = mkdtempSync(join(installed(), 'building-'))
  // A script without types, beside the build.
  const { buildPlayground } = await import(pathToFileURL(resolve('tools/build/pages.js')).href)
  await buildPlayground(draft)
  try {
    renameSync(draft, folder)
  } catch {
    // Another worker was faster, with the same.
    rmSync(draft, { recursive: true })
  }
  return folder
}

/** Serves the playground below a path, as a site does. */
export async function servePlayground(): Promise<{ readonly url: string; close(): void }> {
  const folder = await builtPlayground()
  const server = createServer(({ url = '/' }, response) => {
    const name = /^\/site\/([^?]*)/.exec(url)?.[1]
    const file = join(folder, name || 'index.html')
    if (name === undefined || !existsSync(file)) return void response.writeHead(404).end()
    response.writeHead(200, { 'content-type': CONTENT_TYPES[file.split('.').at(-1)!] }).end(readFileSync(file))
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/site/`,
    close() {
      server.close()
    },
  }
}
