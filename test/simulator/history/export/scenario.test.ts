import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import { type RunArguments, run } from '../../../../src/cli/commands/run.ts'
import { createSimulator, type Simulator, type SimulatorOptions } from '../../../../src/index.ts'
import { toScenario } from '../../../../src/simulator/history/export/scenario.ts'
import { parseRecording } from '../../../../src/simulator/history/file.ts'
import { commandOutput } from '../../../cli/command-output.ts'
import { commanded } from '../../../cli/commanded.ts'
import { sendTo } from '../../../setup/send-to.ts'
import { temporaryFolder } from '../../../setup/temporary-folder.ts'

let folder: string

beforeEach(() => {
  folder = temporaryFolder()
})

interface Recorded {
  readonly sim: Simulator
  /** Sends a request with the first token. Returns its answer. */
  readonly send: (method: string, path: string, body?: unknown, init?: RequestInit) => Promise<Response>
}

/** Records what happens. Returns the text of the recording. */
async function recorded(options: SimulatorOptions, play: (run: Recorded) => Promise<unknown>): Promise<string> {
  const sim = createSimulator(options)
  const headers = { authorization: `Bearer ${sim.token}`, 'content-type': 'application/json' }
  const recording = sim.record()
  await play({
    sim,
    send: (method, path, body, init) =>
      sim.fetch(`http://sim${path}`, {
        method,
        headers,
        ...(body !== undefined && { body: JSON.stringify(body) }),
        ...init,
      }),
  })
  recording.stop()
  await sim[Symbol.asyncDispose]()
  return recording.text
}

async function played(name: string, args: Partial<RunArguments> = {}) {
  const { written, output } = commandOutput()
  const code = await run({ scenarios: [name], ...args }, { ...output, folder })
  return { code, ...written }
}

/** Writes a recording as a file of this name by the command, and plays that. Returns the file. */
async function exported(text: string, name: string): Promise<string> {
  const file = join(folder, 'run.ndjson')
  writeFileSync(file, text)
  const out = join(folder, name)
  expect(await commanded(['replay', file, '--export', out])).toMatchObject({ code: 0, stderr: '' })
  expect(await played(name)).toMatchObject({ code: 0, error: '' })
  return readFileSync(out, 'utf8')
}

/** What YAML would read as a saved value. */
const REFERENCE = ['$', '{not.saved}'].join('')
const CHAT = { model: 'acme/chat', messages: [{ role: 'user', content: 'Hello' }] }

const story = () =>
  recorded({ fixtures: 'two-nodes', seed: 3, inferencePace: 'clock' }, async ({ sim, send }) => {
    sim.faults.add({ on: 'listDeployments', times: 1, fault: { kind: 'status', status: 503 } })
    await send('POST', '/deploy/llm', { model_name: 'acme/chat', gpu: 'H100-80GB', hub: { repo: 'acme/chat-8b' } })
    await send('GET', '/deploy/list')
    await sim.clock.advance('20m')
    const chat = send('POST', '/v1/chat/completions', CHAT)
    await sim.clock.advance('100ms')
    await send('GET', '/deploy/list')
    await sim.clock.advance('1m')
    await chat
    sim.cluster.node('h100-0').crash({ at: '90s' })
    await sim.clock.advance('2m')
  })

test('a recording becomes a scenario in YAML that says what happened and passes at once', {
  tags: 'slow',
}, async () => {
  const yaml = await exported(await story(), 'run.yaml')
  expect(
    yaml.replaceAll(/\d+ms\d+us/g, 'SOME'),
  ).toBe(`# Made from a recording. It has the bodies of its requests, prompts included.
title: the recording run.ndjson plays as before
seeds: own
given:
  seed: 3
  fixtures: two-nodes
  inferencePace: clock
steps:
  - fault:
      on: listDeployments
      times: 1
      fault:
        kind: status
        status: 503
        effect: none
  - request: POST /deploy/llm
    body:
      model_name: acme/chat
      gpu: H100-80GB
      hub:
        repo: acme/chat-8b
    status: 200
  - request: GET /deploy/list
    status: 503
  - advance: 20m
  - request: POST /v1/chat/completions
    body:
      model: acme/chat
      messages:
        - role: user
          content: Hello
    later: request3
  - advance: 100ms
  - request: GET /deploy/list
    status: 200
  - advance: SOME
  - answered: request3
    status: 200
  - advance: 59sSOME
  - fault:
      verb: node.crash
      target: h100-0
      at: 1m30s
  - advance: 2m
`)
  expect(readFileSync(join(folder, 'run.trace'), 'utf8')).toContain('node.crashed h100-0')
})

test('a recording becomes a scenario in TypeScript that passes at once', { tags: 'slow' }, async () => {
  const source = await exported(await story(), 'run.ts')
  expect(source).toContain("    const request3 = send('POST /v1/chat/completions', {")
  expect(source).toContain('    check(await request3.answer(), { status: 200 })')
  expect(source).toContain(`    await cluster.node("h100-0").crash({ at: '1m30s' })`)
})

test('a body that is not UTF-8 is refused again by each kind of export', { tags: 'slow' }, async () => {
  const text = await recorded({ fixtures: 'empty', seed: 7 }, async ({ sim, send }) => {
    const body = Buffer.from('{"model_name":"caf\xe9"}', 'latin1')
    sim.faults.add({ on: '*', nth: 9, fault: { kind: 'status', status: 503 } })
    expect((await send('POST', '/deploy/llm', undefined, { body })).status).toBe(400)
    await send('GET', '/deploy/list')
  })
  expect(await exported(text, 'bytes.yaml')).toContain('base64: eyJtb2RlbF9uYW1lIjoiY2Fm6SJ9')
  const source = "body: Buffer.from('eyJtb2RlbF9uYW1lIjoiY2Fm6SJ9', 'base64')"
  expect(await exported(text, 'other.ts')).toContain(source)
  const vitest = toScenario(parseRecording(text, 'run'), { format: 'vitest' })
  expect(vitest).toContain(source)
})

test('a scenario fails when the world does something else', { tags: 'slow' }, async () => {
  const file = join(folder, 'run.yaml')
  const yaml = toScenario(parseRecording(await story(), 'run'), { format: 'yaml' })
  writeFileSync(file, yaml.replace('status: 503\n        effect', 'status: 500\n        effect'))
  const { code, out } = await played('run.yaml', { update: true })
  expect(code).toBe(1)
  expect(out).toContain('check 2 (GET /deploy/list) does not hold:')
  expect(out).toContain('status: expected 503, found 500')
})

test.each(['run.yaml', 'run.ts'])(
  'credentials, bodies and clients that leave are as recorded in %s',
  { tags: 'slow' },
  async name => {
    const text = await recorded({ seed: 5, inferencePace: 'clock' }, async ({ sim, send }) => {
      for (const headers of [{}, { authorization: 'Bearer another' }, { 'x-api-key': 'another' }])
        await sim.fetch('http://sim/deploy/list', { headers })
      const created = await send('POST', '/tokens', { name: 'ci', scopes: ['inference'] })
      const { token } = (await created.json()) as { token?: string }
      await sim.fetch('http://sim/v1/models', { headers: { authorization: `Bearer ${token}` } })
      await send('POST', '/v1/chat/completions', undefined, { body: '{ "model": 1.0, ' })
      const first = send('POST', '/v1/chat/completions', { ...CHAT, model: 'acme/assistant', user: REFERENCE })
      await sim.clock.advance('20s')
      await first
      await send('PATCH', '/no/such/path?q=1')
      const client = new AbortController()
      const left = send('POST', '/v1/chat/completions', { ...CHAT, model: 'acme/assistant' }, { signal: client.signal })
      left.catch(() => {})
      await sim.clock.advance('50ms')
      client.abort()
      sim.inference.add({ contains: 'weather', answer: { text: 'Sunny.' } })
      const messages = [{ role: 'user', content: 'the weather' }]
      const streamed = send('POST', '/v1/chat/completions', { model: 'acme/assistant', stream: true, messages })
      const read = streamed.then(answer => answer.text())
      await sim.clock.advance('20s')
      await read
      sim.inference.clear()
      await sim.clock.advance('10m')
    })
    const source = await exported(text, name)
    expect(source).toContain('request')
    expect(source).toMatch(/sha256-/)
    expect(source).not.toContain('Bearer another')
  },
)

describe('a start that is not that of the options', () => {
  test('after a reset, only what follows is part of the scenario', { tags: 'slow' }, async () => {
    const text = await recorded({ seed: 5 }, async ({ sim, send }) => {
      sim.faults.add({ on: '*', fault: { kind: 'reset' } })
      await sim.clock.advance('1h')
      sim.reset()
      sim.faults.add({ on: 'listModels', fault: { kind: 'status', status: 500 } })
      await send('GET', '/deploy/list')
      sim.faults.remove('fault-1')
      await sim.clock.advance('5s')
    })
    const yaml = await exported(text, 'run.yaml')
    expect(yaml.slice(yaml.indexOf('steps:')).match(/^ {2}- \w+/gm)).toEqual([
      ...['  - fault', '  - request', '  - removeFault', '  - advance'],
    ])
  })

  test('a snapshot is part of a scenario in TypeScript, and YAML refuses it', { tags: 'slow' }, async () => {
    const sim = createSimulator({ seed: 5, fixtures: 'two-nodes' })
    await sim.clock.advance('1h')
    const recording = sim.record()
    await sendTo(sim, 'GET /deploy/list')
    await sim.clock.advance('5m')
    recording.stop()
    const source = await exported(recording.text, 'run.ts')
    expect(source).toContain("fixtures: Snapshot.from(Buffer.from(snapshot, 'base64'))")
    expect(() => toScenario(parseRecording(recording.text, 'run'), { format: 'yaml', what: 'run' })).toThrow(
      'Failed to export run as YAML: it begins with a snapshot, which YAML cannot have. Write it in TypeScript, as in run.ts.',
    )
  })

  test('YAML names the line of a restore', { tags: 'slow' }, async () => {
    const text = await recorded({ seed: 5 }, async ({ sim, send }) => {
      const snapshot = sim.snapshot()
      await send('GET', '/deploy/list')
      sim.restore(snapshot)
      await send('GET', '/deploy/list')
    })
    const line = 1 + text.split('\n').findIndex(row => row.includes('"do":"restore"'))
    expect(() => toScenario(parseRecording(text, 'run'), { format: 'yaml', what: 'run' })).toThrow(
      `Failed to export run as YAML: the restore at line ${line} has a snapshot, which YAML cannot have.`,
    )
  })
})

test.each([
  ['nothing happens in it', async () => {}, 'yaml'],
  [
    'line 2: a scenario cannot start another one.',
    async ({ sim }: Recorded) => {
      sim.timelines.start({ name: 'a', title: 'A', acts: [], problems: [] })
    },
    'yaml',
  ],
  [
    'line 2: a scenario cannot write to the data.',
    async ({ sim }: Recorded) => {
      const data = await sim.data()
      await data.voices.create({ user_id: 'user_1', voice_id: 'v', name: 'V', created_at: 0, updated_at: 0 } as never)
    },
    'typescript',
  ],
  [
    'a text outside of a body has ${, which is a reference there',
    async ({ sim }: Recorded) => {
      sim.inference.add({ contains: REFERENCE, answer: { text: 'A' } })
    },
    'yaml',
  ],
  [
    'it has 3',
    async ({ send }: Recorded) => {
      await send('POST', '/v1/chat/completions', { ...CHAT, user: 'long '.repeat(70_000) })
    },
    'yaml',
  ],
] as const)('a recording is refused with the reason "%s"', { tags: 'slow' }, async (reason, play, format) => {
  const text = await recorded({ seed: 5 }, play as (run: Recorded) => Promise<void>)
  expect(() => toScenario(parseRecording(text, 'run'), { format, what: 'run' })).toThrow(
    new RegExp(`^Failed to export run.*: ${reason.replaceAll(/[${}]/g, '\\$&')}`),
  )
})

test('export refuses a file that exists, and a scenario whose trace is that of another one', {
  tags: 'slow',
}, async () => {
  const file = join(folder, 'run.ndjson')
  writeFileSync(file, await story())
  const [yaml, script] = [join(folder, 'run.yaml'), join(folder, 'run.ts')]
  const first = await commanded(['replay', file, '--export', yaml])
  expect(first).toMatchObject({ code: 0, stderr: '' })
  expect(first.stdout).toBe(`${yaml} and its trace are written. Play it with: npx modelhost-sim run ${yaml}\n`)
  const trace = readFileSync(join(folder, 'run.trace'), 'utf8')
  expect(await commanded(['replay', file, '--export', script])).toMatchObject({
    code: 2,
    stderr: `Failed to export to '${script}': run.trace is the trace of run.yaml. Give a file with another name.\n`,
  })
  expect(existsSync(script)).toBe(false)
  expect(readFileSync(join(folder, 'run.trace'), 'utf8')).toBe(trace)
  for (const present of [yaml, join(folder, 'mine.test.ts')]) {
    writeFileSync(present, 'mine')
    expect(await commanded(['replay', file, '--export', present])).toEqual({
      ...{ code: 2, stdout: '' },
      stderr: `Failed to export to '${present}': the file exists. Give the path of a new file.\n`,
    })
    expect(readFileSync(present, 'utf8')).toBe('mine')
  }
})

test('export names the kinds of files for another ending', async () => {
  const file = join(folder, 'run.ndjson')
  writeFileSync(file, await story())
  expect(await commanded(['replay', file, '--export', join(folder, 'run.js')])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('Give *.test.ts for vitest, or *.yaml or another *.ts for a scenario.'),
  })
})
