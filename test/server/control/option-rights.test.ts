/** What options may name: data from outside names worlds and profiles of the package, and no file of the host. */
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createToolServer } from '../../../src/cli/mcp/tool-server.ts'
import { createSimulator, replay, type SimulatorOptions } from '../../../src/index.ts'
import { withoutPause } from '../../../src/lib/slices.ts'
import { givenBody } from '../../../src/server/control/describe.ts'
import { controlOperations } from '../../../src/server/control/index.ts'
import { type Server, serve } from '../../../src/server/http/server.ts'
import { connectInPage } from '../../../src/server/saved-page/connect.ts'
import { preparePage } from '../../../src/server/saved-page/page-recording.ts'
import { runAgain } from '../../../src/server/saved-page/run-again.ts'
import { toScenario } from '../../../src/simulator/history/export/scenario.ts'
import { parseRecording } from '../../../src/simulator/history/file.ts'
import { createRecordedSimulator } from '../../../src/simulator/history/header.ts'
import { LineWriter } from '../../../src/simulator/history/line-writer.ts'
import { OPTIONS } from '../../../src/simulator/options.ts'
import { ScenarioLibrary } from '../../../src/workbench/scenario/runner/library.ts'
import { recordMinute } from '../../simulator/recorded-minute.ts'

/** A word in each file and folder that a client must not see. */
const SECRET = 'sesame'
const recorded = parseRecording(recordMinute(), 'the minute')

let host: string
let server: Server
let tools: Client
beforeAll(async () => {
  host = mkdtempSync(join(tmpdir(), 'host-'))
  mkdirSync(join(host, 'folder'))
  writeFileSync(join(host, 'folder', `${SECRET}.key`), '')
  writeFileSync(join(host, 'file.json'), JSON.stringify({ [SECRET]: { password: 'x' } }))
  writeFileSync(join(host, 'names.json'), JSON.stringify({ paths: { hosted: SECRET } }))
  writeFileSync(join(host, 'profile.json'), JSON.stringify({ name: SECRET, timings: { image_pull: '1s' } }))
  server = await serve(createSimulator(), { port: 0, scenarios: new ScenarioLibrary([host]) })
  tools = new Client({ name: 'a test', version: '1' })
  const [clientSide, toolSide] = InMemoryTransport.createLinkedPair()
  const toolServer = await createToolServer({ url: server.url })
  await Promise.all([tools.connect(clientSide), toolServer.connect(toolSide)])
})
afterAll(async () => {
  await tools.close()
  await server.close()
  rmSync(host, { recursive: true })
})

/** Options that open something of the host, which exists. A name without an ending is one in the folder of the process. */
const PATHS: readonly (readonly [existing: string, toOptions: (path: string) => object])[] = [
  ['folder/', fixtures => ({ fixtures })],
  ['file.json', path => ({ fixtures: `${path}.snapshot` })],
  ['src', fixtures => ({ fixtures })],
  ['file.json', profile => ({ profile })],
  ['profile.json', profile => ({ profile })],
  ['LICENSE', profile => ({ profile })],
  ['profile.json', path => ({ profile: { extends: path } })],
  ['LICENSE', path => ({ profile: { extends: path } })],
  ['file.json', names => ({ names })],
  ['names.json', names => ({ names })],
]

/** Returns a recording whose header has further options, with the checksums of such a file. */
function forge(options: object): string {
  const { fixtureDigest: _, ...header } = recorded.header
  let text = ''
  const writer = new LineWriter(written => {
    text += written
  })
  writer.add({ ...header, options: { ...header.options, ...options } })
  for (const { line: _, ...line } of recorded.lines) writer.add(line)
  writer.flush()
  return text
}

const parsed = (options: object) => parseRecording(forge(options), 'it')
const worldsOf = (options: object) => [{ title: 'w', recording: forge(options) }]

type Answer = readonly [outcome: number | 'done' | 'refused', text: string]

/** The ways in of options. Each returns the status and the text of its answer. */
const WAYS_IN: Readonly<Record<string, (options: object) => Promise<Answer>>> = {
  'POST /_sim/worlds': options => post('/_sim/worlds', options),
  'POST /_sim/worlds below a world': options => post('/_sim/worlds/default/_sim/worlds', options),
  'POST /_sim/recordings': options => post('/_sim/recordings', { recording: forge(options) }),
  'POST /_sim/worlds in a page': options => postInPage('/_sim/worlds', options),
  'POST /_sim/recordings in a page': options => postInPage('/_sim/recordings', { recording: forge(options) }),
  'the tool create_world': options => call('create_world', options),
  'the tool open_recording': options => call('open_recording', { recording: forge(options) }),
  replay: async options => {
    const result = await replay({ text: forge(options) })
    return result.outcome === 'failed' ? ['refused', result.reason] : ['done', JSON.stringify(result)]
  },
  'replay with a change': async options => {
    const result = await replay({ text: forge(options) }, { without: 'command:1' })
    return result.outcome === 'failed' ? ['refused', result.reason] : ['done', JSON.stringify(result)]
  },
  'export to a scenario': options => attempt(() => toScenario(parsed(options), { format: 'yaml' })),
  'export to a test': options => attempt(() => toScenario(parsed(options), { format: 'vitest' })),
  'saving a page': options => attempt(() => withoutPause(preparePage({ title: 'p', worlds: worldsOf(options) }))),
  'opening a saved page': options => attempt(() => runAgain(worldsOf(options), {}, () => {})),
}

async function post(path: string, body: object): Promise<Answer> {
  const headers = { 'content-type': 'application/json' }
  const response = await fetch(`${server.url}${path}`, { method: 'POST', body: JSON.stringify(body), headers })
  return [response.status, await response.text()]
}

async function postInPage(path: string, body: object): Promise<Answer> {
  const headers = { 'content-type': 'application/json' }
  const { send } = connectInPage(createSimulator())
  const response = await send(path, { method: 'POST', body: JSON.stringify(body), headers })
  return [response.status, await response.text()]
}

async function call(name: string, input: object): Promise<Answer> {
  const { content, isError } = await tools.callTool({ name, arguments: { ...input } })
  return [isError ? 'refused' : 'done', JSON.stringify(content)]
}

async function attempt(act: () => unknown): Promise<Answer> {
  try {
    return ['done', JSON.stringify(await act())]
  } catch (error) {
    return ['refused', String(error)]
  }
}

test.each(Object.entries(WAYS_IN))(
  '%s refuses a path in equal words when it exists and when not',
  { tags: 'slow' },
  async (way, send) => {
    for (const [existing, toOptions] of PATHS) {
      const answerFor = async (name: string): Promise<Answer> => {
        const path = /\W/.test(existing) ? join(host, name) : name
        const [outcome, text] = await send(toOptions(path))
        expect(text).not.toContain(SECRET)
        return [outcome, text.replaceAll(path, 'PATH')]
      }
      const answer = await answerFor(existing)
      // The schema of a body has no text for names.
      const isInvalidBody = way.startsWith('POST /_sim/worlds') && 'names' in toOptions('')
      const outcome = way.startsWith('POST') ? (isInvalidBody ? 422 : 400) : 'refused'
      expect([toOptions(existing), ...answer]).toEqual([toOptions(existing), outcome, expect.any(String)])
      expect(await answerFor('no-such-thing')).toEqual(answer)
    }
    expect(server.worlds.all()).toHaveLength(1)
    expect(await (await fetch(`${server.url}/openapi.json`)).text()).not.toContain(SECRET)
  },
)

test('a recording is refused with 400 when a recorder writes no such options', async () => {
  for (const options of [
    ...[{ fixtures: null }, { fixtures: 5 }, { fixtures: { account: 7 } }, { profile: { timings: 5 } }],
    ...[{ profile: [] }, { names: 5 }, { names: null }, { epoch: 5 }, { weather: 5 }, { seed: {} }, { onBug: 'x' }],
    ...[{ with: 'x' }, { faults: [5] }, { answers: [5] }, { fixture: 'empty' }],
  ]) {
    const [status, text] = await post('/_sim/recordings', { recording: forge(options) })
    expect([options, status, text]).toEqual([options, 400, expect.stringContaining('Failed to')])
  }
})

test('every option that can name a file is one of these, and no other operation takes them', () => {
  const tested = new Set(PATHS.flatMap(([, toOptions]) => Object.keys(toOptions(''))))
  expect(OPTIONS.filter(([, { shipped }]) => shipped !== undefined).map(([name]) => name)).toEqual([...tested])
  const takingOptions = Object.entries(controlOperations).filter(([, operation]) => {
    const { shape = {} } = (givenBody(operation) ?? {}) as { readonly shape?: object }
    return [...tested, 'recording'].some(name => name in shape)
  })
  expect(takingOptions.map(([name]) => name).sort()).toEqual(['createWorld', 'openRecording'])
})

const FILES: Readonly<Record<string, () => SimulatorOptions>> = {
  'a folder': () => ({ fixtures: './fixtures/worlds/two-nodes' }),
  'a names file': () => ({ names: join(host, 'names.json') }),
  'a profile': () => ({ profile: join(host, 'profile.json') }),
  'a profile that extends a file': () => ({ profile: { extends: join(host, 'profile.json') } }),
}

test.each(Object.entries(FILES))(
  'a recording needs no file when its world began with %s',
  { tags: 'slow' },
  (_, toOptions) => {
    const sim = createSimulator(toOptions())
    const recording = sim.record()
    recording.stop()
    const { header } = parseRecording(recording.text, 'it')
    expect(JSON.stringify(header.options)).not.toMatch(new RegExp(`${host}|\\./fixtures`))
    expect(createRecordedSimulator(header, 'it').digest).toBe(sim.digest)
  },
)

test('a scenario of the server becomes a world when its file names further files', { tags: 'slow' }, async () => {
  cpSync('fixtures/worlds/two-nodes', join(host, 'world'), { recursive: true })
  const given = { fixtures: './world', profile: './profile.json', names: './names.json' }
  writeFileSync(join(host, 'own.yaml'), JSON.stringify({ title: 'own', given, steps: [{ advance: '1m' }] }))
  const [status, text] = await post('/_sim/scenarios/own/run', { open: true })
  expect([status, JSON.parse(text)]).toEqual([200, expect.objectContaining({ seconds: 60, world: 'w1' })])
})
