/** Chromium with pages of this machine: from a small web server, or from files. */
import { existsSync, readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { type Browser, chromium } from 'playwright-core'
import { installed, packageIn } from '../installed-package.ts'

export const executablePath = [process.env.CHROME_PATH, '/usr/bin/chromium', '/usr/bin/google-chrome'].find(
  path => path !== undefined && existsSync(path),
)

/** Added to the title of tests that do not run. */
export const SKIPPED = executablePath === undefined ? ' (skipped: Chromium is missing; set CHROME_PATH)' : ''

export function launch(): Promise<Browser> {
  return chromium.launch({ executablePath: executablePath!, args: ['--no-sandbox'] })
}

/** A web server for the scripts of pages. */
export async function servePages(): Promise<{ readonly url: string; close(): void }> {
  const folder = join(packageIn(installed()), 'dist/pages')
  const server = createServer(({ url = '/' }, response) => {
    const file = join(folder, url.replace(/^\/+/, ''))
    if (url === '/') response.writeHead(200, { 'content-type': 'text/html' }).end('<!doctype html><title>page</title>')
    else if (!existsSync(file)) response.writeHead(404).end()
    else response.writeHead(200, { 'content-type': 'text/javascript' }).end(readFileSync(file))
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, close: () => void server.close() }
}
