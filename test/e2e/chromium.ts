/**
 * Chromium for tests that open local pages. A worker starts one, and its tests share a window in turn: a start takes a
 * second of processor time, and so does each new window.
 */
import { existsSync } from 'node:fs'
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core'
import { describe, onTestFinished, test } from 'vitest'

/** Chromium: that of `CHROME_PATH`, or Debian's. */
const executablePath = [process.env.CHROME_PATH, '/usr/bin/chromium', '/usr/bin/google-chrome'].find(
  path => path !== undefined && existsSync(path),
)

if (executablePath === undefined) {
  process.stderr.write('Tests of pages are skipped: Chromium is missing. Install it, or set CHROME_PATH.\n')
}

/** A test, and a suite, that need a browser. Without one they are skipped. */
export const pageTest = test.skipIf(executablePath === undefined)
export const pageSuite = describe.skipIf(executablePath === undefined)

const VIEWPORT = { width: 1440, height: 900 }

let started: Promise<Browser> | undefined

/** Returns the browser of this worker. It ends with the worker. */
export function startedBrowser(): Promise<Browser> {
  started ??= chromium.launch({ executablePath: executablePath!, args: ['--no-sandbox', '--disable-gpu'] })
  return started
}

export interface OpenWindow {
  readonly page: Page
  /** What the browser reported: errors of the page, and requests that the policy of the page refused. */
  readonly problems: readonly string[]
  /** Addresses of all requests of the page, except for `data:`, and their origins. */
  readonly requests: readonly string[]
  readonly origins: ReadonlySet<string>
}

/** The window that tests use in turn; undefined while a test has it. */
let sharedWindow: Page | undefined

/**
 * Opens an empty window, and listens to what goes wrong in it. It is empty again at the end of the test: without storage,
 * listeners, and what was emulated. With options, the window has a context of its own.
 */
export async function openWindow(options?: BrowserContextOptions): Promise<OpenWindow> {
  const free = options === undefined ? sharedWindow : undefined
  if (free !== undefined) sharedWindow = undefined
  const page = free ?? (await createWindow(options))
  onTestFinished(async () => {
    const isKept = options === undefined && sharedWindow === undefined && (await clear(page))
    if (isKept) sharedWindow = page
    else await page.context().close()
  })
  const problems: string[] = []
  const requests: string[] = []
  page.on('pageerror', error => problems.push(error.stack ?? error.message))
  page.on('console', message => {
    if (message.type() === 'error') problems.push(message.text())
  })
  const origins = new Set<string>()
  page.on('request', request => {
    const url = request.url()
    if (url.startsWith('data:')) return
    requests.push(url)
    origins.add(new URL(url).origin)
  })
  return { page, problems, requests, origins }
}

async function createWindow(options?: BrowserContextOptions): Promise<Page> {
  const context = await (await startedBrowser()).newContext({ viewport: VIEWPORT, ...options })
  return context.newPage()
}

/** Empties a window for the next test. Resolves with false if it cannot be used again. */
async function clear(page: Page): Promise<boolean> {
  try {
    page.removeAllListeners()
    await page.unrouteAll({ behavior: 'ignoreErrors' })
    for (const other of page.context().pages()) if (other !== page) await other.close()
    // A later test can use the same port or file, and would then see the storage of this test.
    await page.evaluate('localStorage.clear(), sessionStorage.clear()')
    await page.goto('about:blank', { timeout: 5_000 })
    await page.emulateMedia({ colorScheme: null, reducedMotion: null })
    await page.setViewportSize(VIEWPORT)
    await page.mouse.move(0, 0)
    page.setDefaultTimeout(0)
    return true
  } catch {
    return false
  }
}
