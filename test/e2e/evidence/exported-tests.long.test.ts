import { spawn, spawnSync } from 'node:child_process'
import { resolve } from 'node:path'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { createSimulator, type ExplorableSimulator } from '../../../src/index.ts'
import { serve } from '../../../src/server/http/server.ts'
import { toPytest } from '../../../src/simulator/history/export/pytest-test.ts'
import { planTest } from '../../../src/simulator/history/export/steps.ts'
import { toVitest } from '../../../src/simulator/history/export/vitest-test.ts'
import { parseRecording } from '../../../src/simulator/history/file.ts'
import { playMixedHour } from '../../simulator/history/mixed-hour.ts'
import { ReaderFolder } from '../docs/page-blocks.ts'

const VITEST = resolve('node_modules/vitest/vitest.mjs')

let folder: ReaderFolder
beforeAll(() => {
  folder = new ReaderFolder()
}, 120_000)
afterAll(() => folder.remove())

/** Returns the text of a recording of what `play` does. */
async function record(sim: ExplorableSimulator, play: () => Promise<void>): Promise<string> {
  const recording = sim.record()
  await play()
  recording.stop()
  await sim[Symbol.asyncDispose]()
  return recording.text
}

/**
 * Exports a recording for pytest, and runs the test at a server.
 *
 * @param before statements of Python that are executed before the test
 */
async function runPytest(
  name: string,
  text: string,
  before = '',
): Promise<{ readonly code: unknown; readonly errors: string }> {
  const plan = await planTest(parseRecording(text, name), name, { isServed: true })
  folder.write(`test_${name}.py`, toPytest(plan, name))
  const server = await serve(createSimulator({ clock: 'manual' }), { port: 0 })
  onTestFinished(() => server.close())
  const python = spawn('python3', ['-c', `${before}import test_${name}; test_${name}.test_${name}()`], {
    cwd: folder.path,
    env: { ...process.env, MODELHOST_SIM_URL: server.url },
  })
  let errors = ''
  python.stderr.on('data', (text: Buffer) => {
    errors += text.toString().slice(-2000)
  })
  const code = await new Promise(resolve => python.on('close', resolve))
  return { code, errors }
}

/** Exports a recording for vitest, and runs the test. */
async function runVitest(name: string, text: string): Promise<{ readonly code: unknown; readonly errors: string }> {
  const plan = await planTest(parseRecording(text, name), name, { isServed: false })
  folder.write('vitest.config.mjs', 'export default { test: { watch: false } }')
  folder.write(`${name}.test.ts`, toVitest(plan, name))
  const env = Object.fromEntries(Object.entries(process.env).filter(([key]) => !key.startsWith('VITEST')))
  const { status, stderr } = spawnSync(process.execPath, [VITEST, 'run', name, '--root', folder.path], {
    ...{ cwd: folder.path, encoding: 'utf8', timeout: 100_000 },
    env: { ...env, NO_COLOR: '1' },
  })
  return { code: status, errors: stderr.replaceAll(NOTICE, '') }
}

/** What a simulator says of a request that hangs for a second of real time. On a slow machine, the tests take as long. */
const NOTICE = /stderr \| .*\n(modelhost-sim: .* waits for an answer that never comes\. .*\n)+\n/g

const PASSED = { code: 0, errors: '' }

test('the test for pytest of a mixed hour passes at once at a server', async () => {
  const sim = createSimulator({ seed: 5, weather: 'bad-week', inferencePace: 'clock' })
  const text = await record(sim, () => playMixedHour(sim, (input, init) => sim.fetch(input, init), 'http://sim'))
  expect(await runPytest('hour', text)).toEqual(PASSED)
}, 60_000)

test('the test for pytest needs no connection of an earlier request', async () => {
  const sim = createSimulator({ seed: 5, fixtures: 'empty' })
  const headers = { authorization: `Bearer ${sim.token}` }
  const text = await record(sim, async () => {
    for (let nth = 0; nth < 150; nth++) await (await sim.fetch('http://sim/deploy/list', { headers })).text()
  })
  const limit = 'import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (100, 100)); '
  expect(await runPytest('many', text, limit)).toEqual(PASSED)
}, 60_000)

/** Sends requests whose answers hang, come slowly, or break off: also streams, and also at the end of a world. */
async function playWireFaults(sim: ExplorableSimulator): Promise<void> {
  const headers = { authorization: `Bearer ${sim.token}`, 'content-type': 'application/json' }
  const open: Promise<unknown>[] = []
  const send = (path: string, init: RequestInit = {}) => {
    const client = new AbortController()
    const request = sim.fetch(`http://sim${path}`, { headers, signal: client.signal, ...init })
    open.push(request.then(answer => answer.text()).catch(() => {}))
    return client
  }
  const chat = (stream: boolean) => {
    const messages = [{ role: 'user', content: 'Tell a story' }]
    const body = { model: 'aurora-labs/aurora-8b-instruct', messages, stream, max_tokens: 50 }
    return send('/v1/chat/completions', { method: 'POST', body: JSON.stringify(body) })
  }
  const meet = (on: string, fault: object) => sim.faults.add({ on, times: 1, fault } as never)
  for (const effect of ['none', 'done']) {
    meet('listVoices', { kind: 'hang', effect })
    const client = send('/v1/voices')
    await sim.clock.advance('3s')
    client.abort()
    meet('createChatCompletion', { kind: 'hang', effect })
    chat(effect === 'none')
    await sim.clock.advance('1m')
  }
  send('/deploy/list')
  for (const bytesPerSecond of [10_000, 10, 1]) {
    meet('listDeployments', { kind: 'slowBody', bytesPerSecond })
    send('/deploy/list')
    await sim.clock.advance('7s')
    meet('createChatCompletion', { kind: 'slowBody', bytesPerSecond })
    chat(bytesPerSecond === 10)
    await sim.clock.advance('2m')
  }
  for (const stream of [true, false]) {
    meet('createChatCompletion', { kind: 'truncated', bytes: 300 })
    chat(stream)
    await sim.clock.advance('30s')
    meet('createChatCompletion', { kind: 'latency', delay: '20s' })
    chat(stream)
    await sim.clock.advance('90s')
  }
  for (const world of ['the first', 'the next']) {
    meet('listVoices', { kind: 'hang' })
    send('/v1/voices')
    meet('listVoices', { kind: 'slowBody', bytesPerSecond: 1 })
    send('/v1/voices')
    await sim.clock.advance('2s')
    if (world === 'the first') sim.reset()
  }
}

for (const inferencePace of ['instant', 'clock'] as const) {
  for (const [tool, run] of Object.entries({ vitest: runVitest, pytest: runPytest })) {
    test(`the test for ${tool} of requests that hang and slow answers passes with pace ${inferencePace}`, async () => {
      const sim = createSimulator({ seed: 5, inferencePace })
      const text = await record(sim, () => playWireFaults(sim))
      expect(await run(`wire_${inferencePace}`, text)).toEqual(PASSED)
    }, 120_000)
  }
}
