import { spawnSync } from 'node:child_process'
import { resolve } from 'node:path'
import { expect, test } from 'vitest'
import { createSimulator, type ExplorableSimulator } from '../../../src/index.ts'
import { toScenario } from '../../../src/simulator/history/export/scenario.ts'
import { parseRecording } from '../../../src/simulator/history/file.ts'
import { ReaderFolder } from '../docs/page-blocks.ts'

const VITEST = resolve('node_modules/vitest/vitest.mjs')

const folder = ReaderFolder.ofTests()

/** Returns the text of a recording of what `play` does. */
async function record(sim: ExplorableSimulator, play: () => Promise<void>): Promise<string> {
  const recording = sim.record()
  await play()
  recording.stop()
  await sim[Symbol.asyncDispose]()
  return recording.text
}

/** Exports a recording for vitest, and runs the test. */
async function runVitest(name: string, text: string): Promise<{ readonly code: unknown; readonly errors: string }> {
  folder.write('vitest.config.mjs', 'export default { test: { watch: false } }')
  folder.write(`${name}.test.ts`, toScenario(parseRecording(text, name), { format: 'vitest', name }))
  const env = Object.fromEntries(Object.entries(process.env).filter(([key]) => !key.startsWith('VITEST')))
  const { status, stderr } = spawnSync(process.execPath, [VITEST, 'run', name, '--root', folder.path], {
    ...{ cwd: folder.path, encoding: 'utf8', timeout: 100_000 },
    env: { ...env, NO_COLOR: '1' },
  })
  return { code: status, errors: stderr.replaceAll(NOTICE, '') }
}

/** What a simulator says of a request that hangs for a second of real time. On a slow machine, the tests take as long. */
const NOTICE = /stderr \| .*\n(modelhost-sim: .* waits for an answer that never comes\. .*\n)+\n/g

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
  test(`the test for vitest of requests that hang and slow answers passes with pace ${inferencePace}`, async () => {
    const sim = createSimulator({ seed: 5, inferencePace })
    const text = await record(sim, () => playWireFaults(sim))
    expect(await runVitest(`wire_${inferencePace}`, text)).toEqual({ code: 0, errors: '' })
  }, 120_000)
}
