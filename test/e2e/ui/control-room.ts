/** A browser with the control room of a server in this process, as a person would have it open. */
import { join } from 'node:path'
import type { BrowserContextOptions, Page } from 'playwright-core'
import { onTestFinished } from 'vitest'
import { type ServeOptions, type Server, serve } from '../../../src/server/http/server.ts'
import type { SimulatorOptions } from '../../../src/simulator/options.ts'
import { createSimulator, type Simulator } from '../../../src/simulator/simulator.ts'
import { type OpenWindow, openWindow } from '../chromium.ts'
import { installed, packageIn } from '../installed-package.ts'

/** The script of the package. A server that runs from the source sends one that is not minified as much. */
const SCRIPT = join(packageIn(installed()), 'dist/ui/page.js')

/** Longest real time that a step of a page takes, in milliseconds. */
const STEP_MS = 20_000

export interface ControlRoom extends OpenWindow {
  readonly sim: Simulator
  readonly server: Server
}

interface ControlRoomOptions extends SimulatorOptions {
  readonly view?: string
  readonly serve?: ServeOptions
  readonly context?: BrowserContextOptions
}

/** Serves a world and opens its control room. Both are closed at the end of the test. */
export async function openControlRoom(options: ControlRoomOptions = {}): Promise<ControlRoom> {
  const { view = '', serve: serveOptions, context, ...simulatorOptions } = options
  const sim = createSimulator({ clock: 'manual', ...simulatorOptions })
  const server = await serve(sim, { port: 0, ...serveOptions })
  const opened = await openPage(`${server.url}/_sim/ui#/${view}`, context)
  onTestFinished(() => server.close())
  await opened.page.locator('.link.live').waitFor()
  return { sim, server, ...opened }
}

/** Opens an address, and listens to what goes wrong. */
export async function openPage(url: string, options?: BrowserContextOptions): Promise<OpenWindow> {
  const opened = await openWindow(options)
  const { page } = opened
  // Shorter than the time of a test, so that a failure names the step that waited.
  page.setDefaultTimeout(STEP_MS)
  await page.route('**/_sim/ui/page.js', route => route.fulfill({ path: SCRIPT }))
  await page.goto(url)
  return opened
}

/** Sends a request to the service of a world as its client does. Resolves with the body of the answer. */
export async function sendAsClient(
  { sim, server }: Pick<ControlRoom, 'sim' | 'server'>,
  method: string,
  path: string,
  body?: unknown,
  headers: Readonly<Record<string, string>> = {},
): Promise<Record<string, unknown>> {
  const response = await fetch(server.url + path, {
    method,
    headers: { authorization: `Bearer ${sim.token}`, 'content-type': 'application/json', ...headers },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  return (await response.json()) as Record<string, unknown>
}

/** Drags the handle of the timeline to a share of its width. The present is at 0.78. */
export async function dragTimeTo(page: Page, share: number): Promise<void> {
  const range = page.getByRole('slider', { name: 'Go to a time' })
  const { x, y, width, height } = (await range.boundingBox())!
  const value = await range.evaluate(element => {
    const { value, max } = element as HTMLInputElement
    return Number(value) / Number(max)
  })
  await page.mouse.move(x + value * width, y + height / 2)
  await page.mouse.down()
  await page.mouse.move(x + ((value + share) / 2) * width, y + height / 2)
  await page.mouse.move(x + share * width, y + height / 2)
  await page.mouse.up()
}
