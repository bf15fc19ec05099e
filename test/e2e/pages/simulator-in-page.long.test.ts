/** The simulator in a page: the same answers as in Node, live events, and a page that stays responsive. */
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openSimulatorInPage } from '../../../src/server/saved-page/connect.ts'
import { operations } from '../../../src/service/index.ts'
import { createExampleRequest } from '../../../src/service/openapi/examples.ts'
import { pageSuite, startedBrowser } from '../chromium.ts'
import { servePlayground } from './page-browser.ts'

type PageModule = typeof import('../../../src/server/saved-page/connect.ts')

/** A request as values that a page can get. */
interface Step {
  readonly path: string
  readonly method: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | undefined
}

pageSuite('a simulator in a page', () => {
  let page: Page
  let server: Awaited<ReturnType<typeof servePlayground>>

  beforeAll(async () => {
    server = await servePlayground()
    page = await (await startedBrowser()).newPage()
    await page.goto(server.url)
    // A text: the test runner rewrites imports of functions.
    await page.evaluate("import('./simulator.js').then(names => void Object.assign(window, names))")
  }, 120_000)

  afterAll(async () => {
    await page?.context().close()
    server?.close()
  })

  test('answers each operation to the byte as in Node, each in a world of its own, with equal digests', async () => {
    const { send } = openSimulatorInPage({ fixtures: 'default', seed: 'bytes' })
    const steps: Step[] = []
    const answers: string[] = []
    const sendStep = async (step: Step): Promise<Response> => {
      const { path, ...init } = step
      const body = step.body === undefined ? undefined : Buffer.from(step.body, 'base64')
      const answer = await send(path, { ...init, ...(body !== undefined && { body }) } as RequestInit)
      const bytes = Buffer.from(await answer.arrayBuffer())
      steps.push(step)
      answers.push(`${answer.status} ${JSON.stringify([...answer.headers])} ${bytes.toString('base64')}`)
      return new Response(bytes, { status: answer.status, headers: answer.headers })
    }
    const json = (path: string, body: object) => {
      const headers = { 'content-type': 'application/json' }
      return sendStep({ path, method: 'POST', headers, body: Buffer.from(JSON.stringify(body)).toString('base64') })
    }
    for (const operation of Object.keys(operations)) {
      const { world } = (await (await json('/_sim/worlds', { fixtures: 'default' })).json()) as { world: string }
      const base = `/_sim/worlds/${world}`
      const sendRequest = async (request: Request) => {
        const bytes = Buffer.from(await request.arrayBuffer())
        const { pathname, search } = new URL(request.url)
        return sendStep({
          path: `${base}${pathname}${search}`,
          method: request.method,
          headers: Object.fromEntries(request.headers),
          body: bytes.length === 0 ? undefined : bytes.toString('base64'),
        })
      }
      const { token } = openSimulatorInPage({ fixtures: 'default', seed: 'bytes' }).worlds.default
      const address = { baseUrl: 'http://sim', token: token! }
      await sendRequest(await createExampleRequest(operations, operation, sendRequest, address))
      await json(`${base}/_sim/clock/advance`, { by: '3h' })
      await sendStep({ path: `${base}/_sim/digest`, method: 'GET', headers: {}, body: undefined })
      await sendStep({ path: `${base}/_sim/journal?limit=10000`, method: 'GET', headers: {}, body: undefined })
      await sendStep({ path: base, method: 'DELETE', headers: {}, body: undefined })
    }
    const inPage = await page.evaluate(async (steps: readonly Step[]) => {
      const { openSimulatorInPage } = window as unknown as PageModule
      const connection = openSimulatorInPage({ fixtures: 'default', seed: 'bytes' })
      const answers: string[] = []
      for (const { path, body, ...init } of steps) {
        const bytes = body === undefined ? undefined : Uint8Array.from(atob(body), char => char.charCodeAt(0))
        const answer = await connection.send(path, { ...init, ...(bytes && { body: bytes }) } as RequestInit)
        const content = new Uint8Array(await answer.arrayBuffer())
        let text = ''
        for (const byte of content) text += String.fromCharCode(byte)
        answers.push(`${answer.status} ${JSON.stringify([...answer.headers])} ${btoa(text)}`)
      }
      return answers
    }, steps)
    const different = answers.flatMap((answer, at) => {
      if (answer === inPage[at]) return []
      return [[`${steps[at]!.method} ${steps[at]!.path}`, decode(answer), decode(inPage[at]!)]]
    })
    expect(steps.length).toBeGreaterThan(5 * Object.keys(operations).length - 1)
    expect(different).toEqual([])
  }, 300_000)

  test('streams live events of each world, and stops when the page leaves', async () => {
    const seen = await page.evaluate(async () => {
      const { openSimulatorInPage } = window as unknown as PageModule
      const connection = openSimulatorInPage({ fixtures: 'default', seed: 1 })
      const post = (path: string, body: object) =>
        connection.send(path, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify(body),
        })
      const { world } = (await (await post('/_sim/worlds', {})).json()) as { world: string }
      const leaving = new AbortController()
      const path = `/_sim/worlds/${world}/_sim/events?kind=deployment.*`
      const stream = await connection.send(path, { signal: leaving.signal })
      const reader = stream.body!.pipeThrough(new TextDecoderStream()).getReader()
      await post(`/_sim/worlds/${world}/_sim/clock/advance`, { by: '2d' })
      let text = ''
      while (!text.includes('event: entry')) text += (await reader.read()).value
      leaving.abort()
      let broken = ''
      while (broken === '') await reader.read().catch((error: Error) => (broken = error.name))
      return { type: stream.headers.get('content-type'), text, broken, home: connection.home }
    })
    expect(seen).toMatchObject({ type: 'text/event-stream; charset=utf-8', broken: 'AbortError', home: 'page' })
    expect(seen.text).toMatch(/event: entry\ndata: \{.*"kind":"deployment\./)
  }, 60_000)

  test('takes uploads of forms, breaks answers as faults say, and refuses what a server refuses', async () => {
    const seen = await page.evaluate(async () => {
      const { openSimulatorInPage } = window as unknown as PageModule
      const connection = openSimulatorInPage({
        fixtures: 'default',
        faults: [
          { on: 'listDeployments', times: 1, fault: { kind: 'reset' } },
          { on: 'listDeployments', fault: { kind: 'hang' } },
        ],
      })
      const headers = { authorization: `Bearer ${connection.worlds.default.token}` }
      const form = new FormData()
      form.set('purpose', 'batch')
      form.set('file', new Blob(['{"custom_id":"1"}\n']), 'lines.jsonl')
      const upload = await connection.send('/v1/files', { method: 'POST', headers, body: form })
      const nameOf = (error: Error) => error.name
      const reset = await connection.send('/deploy/list', { headers }).then(() => 'answered', nameOf)
      const leaving = new AbortController()
      const hanging = connection
        .send('/deploy/list', { headers, signal: leaving.signal })
        .then(() => 'answered', nameOf)
      setTimeout(() => leaving.abort(), 20)
      const unknown = await connection.send('/_sim/worlds/w9/_sim/clock')
      return {
        upload: (await upload.json()) as object,
        reset,
        hang: await hanging,
        unknown: [unknown.status, await unknown.text()],
      }
    })
    expect(seen).toMatchObject({
      upload: { filename: 'lines.jsonl', bytes: 18 },
      reset: 'TypeError',
      hang: 'AbortError',
      unknown: [404, expect.stringContaining("unknown world 'w9'")],
    })
  }, 60_000)

  test('moves a large fleet for weeks without a long task', { timeout: 120_000, retry: 2 }, async () => {
    const seen = await page.evaluate(async () => {
      const { openSimulatorInPage } = window as unknown as PageModule
      const connection = openSimulatorInPage({ fixtures: 'fleet', weather: 'rough' })
      await new Promise(resolve => setTimeout(resolve, 500))
      let tasks: number[] = []
      const observer = new PerformanceObserver(list => tasks.push(...list.getEntries().map(({ duration }) => duration)))
      observer.observe({ type: 'longtask' })
      // What the machine makes of 20 ms at a time, since it has other work.
      for (let slice = 0; slice < 60; slice++) {
        const end = performance.now() + 20
        while (performance.now() < end);
        await new Promise(resolve => setTimeout(resolve))
      }
      await new Promise(resolve => setTimeout(resolve, 100))
      const usual = Math.max(0, ...tasks)
      tasks = []
      let frames = 0
      let isMoving = true
      const frame = () => {
        frames++
        if (isMoving) setTimeout(frame)
      }
      frame()
      const headers = { 'content-type': 'application/json' }
      const start = performance.now()
      const init = { method: 'POST', headers, body: '{"by":"30d"}' }
      const answer = await connection.send('/_sim/clock/advance', init)
      isMoving = false
      await new Promise(resolve => setTimeout(resolve, 100))
      return { status: answer.status, frames, ms: performance.now() - start, longest: Math.max(0, ...tasks), usual }
    })
    expect(seen.status).toBe(200)
    expect(seen.frames).toBeGreaterThan(seen.ms / 400)
    expect(seen.longest).toBeLessThan(100 + 2 * seen.usual)
  })
})

function decode(answer: string): string {
  const at = answer.lastIndexOf(' ')
  return `${answer.slice(0, at)} ${Buffer.from(answer.slice(at + 1), 'base64')
    .toString()
    .slice(0, 500)}`
}
