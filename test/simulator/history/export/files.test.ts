import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import * as z from 'zod'
import { createSimulator, endpoint, refuse } from '../../../../src/index.ts'
import { toScenario } from '../../../../src/simulator/history/export/scenario.ts'
import { parseRecording, withEndpoints } from '../../../../src/simulator/history/file.ts'
import { parseHar, playHar } from '../../../../src/simulator/history/replay/har.ts'
import { listExchanges } from '../../../../src/simulator/history/timeline.ts'
import { commanded } from '../../../cli/commanded.ts'
import { sendTo } from '../../../setup/send-to.ts'
import { temporaryFolder } from '../../../setup/temporary-folder.ts'

let folder: string
let file: string

/** Returns an entry of a HAR file. */
const entry = (url: string, more: object = {}) => ({
  startedDateTime: '2026-01-01T00:00:00Z',
  request: { method: 'GET', url, ...more },
})

beforeEach(async () => {
  folder = temporaryFolder()
  file = join(folder, 'run.ndjson')
  const sim = createSimulator({ fixtures: 'two-nodes', seed: 3, inferencePace: 'clock' })
  const recording = sim.record({ file })
  const send = (method: string, path: string, body?: object) => sendTo(sim, `${method} ${path}`, body)
  sim.faults.add({ on: 'listDeployments', times: 1, fault: { kind: 'status', status: 503 } })
  await send('POST', '/deploy/llm', { model_name: 'acme/chat', gpu: 'H100-80GB', hub: { repo: 'acme/chat-8b' } })
  await send('GET', '/deploy/list')
  await sim.clock.advance('20m')
  const messages = [{ role: 'user', content: 'Grüße 🌍' }]
  const chat = send('POST', '/v1/chat/completions', { model: 'acme/chat', stream: true, messages })
  const reading = chat.then(answer => answer.text())
  await sim.clock.advance('2m')
  await reading
  sim.cluster.node('h100-0').crash()
  await sim.clock.advance('1h')
  recording.stop()
})

test('replay plays a HAR file into a world that answers the same, and names what differs', {
  tags: 'slow',
}, async () => {
  const har = join(folder, 'run.har')
  const headers = [{ name: 'content-type', value: 'application/json' }]
  const create = { model_name: 'acme/chat', gpu: 'H100-80GB', hub: { repo: 'acme/chat-8b' } }
  const entries = [
    {
      ...{ startedDateTime: '2026-01-01T00:00:01Z', time: 5, response: { status: 503 } },
      request: { method: 'GET', url: 'http://h/deploy/list', headers },
    },
    {
      ...{ startedDateTime: '2026-01-01T00:00:00Z', time: 5, response: { status: 200 } },
      request: { method: 'POST', url: 'http://h/deploy/llm', headers, postData: { text: JSON.stringify(create) } },
    },
  ]
  writeFileSync(har, JSON.stringify({ log: { version: '1.2', entries } }))
  const record = join(folder, 'again.ndjson')
  const played = await commanded(['replay', har, '--record', record, '--fixtures', 'two-nodes', '--seed', '3'])
  expect(played.stdout).toBe(
    `${har}: 2 requests played, recorded in ${record}.\n  GET /deploy/list: 503 in the file, 200 here\n`,
  )
  expect(await commanded(['replay', record])).toMatchObject({ code: 0 })
})

test('a field __proto__ is a field of the source of a scenario', async () => {
  const sim = createSimulator({ fixtures: 'empty', strictRequests: true })
  const recording = sim.record()
  const text = '{"name":"k","__proto__":{"a":1}}'
  await sendTo(sim, 'POST /v1/ssh_keys', JSON.parse(text))
  recording.stop()
  const source = toScenario(parseRecording(recording.text, 'x'), { format: 'typescript' })
  const body = /body: (\{.*\}),? \}/.exec(source)![1]
  expect(JSON.stringify(new Function(`return ${body}`)())).toBe(text)
})

test('replay sends the form of a HAR file that has only its fields, and names a file without content', async () => {
  const sim = createSimulator({ fixtures: 'two-nodes' })
  const file = { name: 'file', fileName: 'a.jsonl', contentType: 'application/jsonl' }
  const line = { custom_id: '1', method: 'POST', url: '/v1/chat/completions', body: { model: 'm', messages: [] } }
  const upload = (mimeType: string, value?: string) => {
    const params = [{ name: 'purpose', value: 'batch' }, value === undefined ? file : { ...file, value }]
    return entry('http://h/v1/files', { method: 'POST', postData: { mimeType, params } })
  }
  const fields = { mimeType: 'application/x-www-form-urlencoded', params: [{ name: 'name', value: 'a b&c' }], text: '' }
  const entries = [
    upload('multipart/form-data; boundary=XX', `${JSON.stringify(line)}\n`),
    upload('multipart/form-data', `${JSON.stringify(line)}\n`),
    upload('multipart/form-data'),
    entry('http://h/v1/voices/add', { method: 'POST', postData: fields }),
  ]
  const recording = sim.record()
  const played = await playHar(sim, parseHar(JSON.stringify({ log: { entries } }), 'run.har'))
  expect(played.unsendable).toEqual([`log.entries[2] left out: its form has the file "a.jsonl" without the content`])
  recording.stop()
  expect([...played.differing]).toEqual([
    ['POST /v1/files: 0 in the file, 200 here', 2],
    ['POST /v1/voices/add: 0 in the file, 422 here', 1],
  ])
  expect(recording.text).toContain('name=a+b%26c')
})

test('replay leaves out the text of a form that lacks the content of a file, as Chrome writes it', async () => {
  const sim = createSimulator({ fixtures: 'two-nodes' })
  const upload = (...contents: string[]) => {
    const head = (name: string) => `Content-Disposition: form-data; name="file"; filename="${name}"`
    const parts = contents.map((content, i) => `${head(`${i}.jsonl`)}\r\nContent-Type: text/plain\r\n\r\n${content}`)
    const fields = ['Content-Disposition: form-data; name="purpose"\r\n\r\n', `${head('')}\r\n\r\n`]
    const text = [...fields, ...parts].map(part => `--XX\r\n${part}\r\n`).join('')
    const postData = { mimeType: 'multipart/form-data; boundary=XX', text: `${text}--XX--\r\n` }
    return entry('http://h/v1/files', { method: 'POST', postData })
  }
  const entries = [upload('a\r\n\r\n'), upload(''), upload('a', ''), upload('\r\n')]
  const { unsendable } = await playHar(sim, parseHar(JSON.stringify({ log: { entries } }), 'run.har'))
  expect(unsendable).toEqual([
    'log.entries[1] left out: its form has the file "0.jsonl" without the content',
    'log.entries[2] left out: its form has the file "1.jsonl" without the content',
  ])
})

const request = { method: 'GET', url: 'http://h/' }

test.each<[string, unknown, string]>([
  ['no JSON', '[1', "it is not JSON: line 1, column 3: expected ',' or ']', got the end of the file. Give a file that"],
  ['an empty file', '', 'it is not JSON: line 1, column 1: expected a value'],
  ['JSON without entries', '[1]', 'log.entries is missing'],
  ['null', 'null', 'log.entries is missing'],
  ['an entry without a time', [{ request: {} }], 'log.entries[0]: startedDateTime is not a time'],
  ['an entry of the 30th of February', [{ request, startedDateTime: '2026-02-30T00:00:00Z' }], 'is not a time with an'],
  [
    'entries of two centuries',
    [entry('http://h/'), { request, startedDateTime: '2126-01-03T00:00:00Z' }],
    'is over 100',
  ],
  ['an entry that took centuries', [{ ...entry('http://h/'), time: 1e16 }], '[0]: it is over 100 years from another'],
  ['an entry whose length is a text', [{ ...entry('http://h/'), time: '5' }], '[0]: time is not a number'],
  ['an entry whose status is a text', [{ ...entry('http://h/'), response: { status: '200' } }], 'response.status is'],
  ['an entry without a URL', [entry('x')], 'log.entries[0]: request.url is not a URL'],
  ['an entry that is null', [null], 'log.entries[0]: startedDateTime is not a time'],
  ['an entry with headers by name', [entry('http://h/', { headers: [{ name: 'a' }] })], 'request.headers is not a'],
  ['an entry whose body is not a text', [entry('http://h/', { postData: { text: 7 } })], 'postData.text is not a text'],
])('replay refuses %s in place of a HAR file and names the place', { tags: 'slow' }, async (_, content, message) => {
  const har = join(folder, 'bad.har')
  writeFileSync(har, typeof content === 'string' ? content : JSON.stringify({ log: { entries: content } }))
  const { code, stderr } = await commanded(['replay', har, '--record', join(folder, 'never.ndjson')])
  expect(code).toBe(2)
  expect(stderr).toContain(message)
  expect(existsSync(join(folder, 'never.ndjson'))).toBe(false)
})

test('replay names the entries of a HAR file that are of no server', { tags: 'slow' }, async () => {
  const har = join(folder, 'data.har')
  const urls = ['data:image/png;base64,AAAA', 'file:///etc/passwd', 'HTTPS://site.example/deploy/list']
  writeFileSync(har, JSON.stringify({ log: { entries: urls.map(url => entry(url)) } }))
  const { stdout } = await commanded(['replay', har, '--record', join(folder, 'data.ndjson')])
  const left = ['data:', 'file:'].map(
    (scheme, i) => `  log.entries[${i}] left out: its URL begins with "${scheme}", and not with http: or https:\n`,
  )
  expect(stdout).toContain('1 request played')
  expect(stdout).toContain(left.join(''))
  expect(stdout).not.toContain('/_sim')
})

test('replay plays what is below the base path of a HAR file, and nothing of the control plane', {
  tags: 'slow',
}, async () => {
  const har = join(folder, 'site.har')
  const paths = ['/', '/app.js', '/api/deploy/list', '/api/_sim/clock', '/apis/deploy/list']
  writeFileSync(har, JSON.stringify({ log: { entries: paths.map(path => entry(`https://site.example${path}`)) } }))
  const below = await commanded(['replay', har, '--record', join(folder, 'below.ndjson'), '--base-path', '/api'])
  expect(below.stdout).toContain('1 request played')
  expect(below.stdout).toContain('4 requests left out: outside of /api, or below /api/_sim')
  const all = await commanded(['replay', har, '--record', join(folder, 'all.ndjson')])
  expect(all.stdout).toContain('5 requests played')
  const refused = await commanded(['replay', har, '--record', join(folder, 'never.ndjson'), '--base-path', 'api'])
  expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining("--base-path 'api': it is not a path") })
  expect(existsSync(join(folder, 'never.ndjson'))).toBe(false)
})

test('replay plays a HAR file in the names of a provider, without its credentials, and counts equal differences', {
  tags: 'slow',
}, async () => {
  const [har, names, record] = [join(folder, 'named.har'), join(folder, 'names.json'), join(folder, 'named.ndjson')]
  writeFileSync(names, JSON.stringify({ paths: { hosted: 'machines' }, headers: { 'alt-api-key': 'x-provider-key' } }))
  const headers = ['authorization', 'cookie', 'x-provider-key', 'x-other'].map(name => ({ name, value: 'REAL-VALUE' }))
  const entries = ['/v1/machines', '/deploy/gone', '/deploy/gone'].map(path => ({
    ...entry(`https://api.example${path}`, { headers }),
    response: { status: 200 },
  }))
  writeFileSync(har, JSON.stringify({ log: { entries } }))
  const { stdout } = await commanded(['replay', har, '--record', record, '--names', names])
  expect(stdout).toBe(
    `${har}: 3 requests played, recorded in ${record}.\n  GET /deploy/gone: 200 in the file, 404 here, 2 times\n`,
  )
  expect(readFileSync(record, 'utf8')).not.toContain('REAL-VALUE')
  rmSync(names)
  expect(await commanded(['replay', record])).toMatchObject({ code: 0 })
})

test('replay leaves out the entries of a HAR file that cannot be sent, and says why', async () => {
  const har = join(folder, 'odd.har')
  const header = (value: string) => entry('http://h/deploy/list', { headers: [{ name: 'Accept', value }] })
  const entries = [header('a\r\nb: c'), header('日本'), entry('http://h/', { method: 'TRACE' }), header('é')]
  writeFileSync(har, JSON.stringify({ log: { entries } }))
  const record = join(folder, 'odd.ndjson')
  const reason = 'left out: its header "Accept" has a character that no header can have'
  expect(await commanded(['replay', har, '--record', record])).toEqual({
    ...{ code: 0, stderr: '' },
    stdout:
      `${har}: 1 request played, recorded in ${record}.\n  log.entries[0] ${reason}\n  log.entries[1] ${reason}\n` +
      '  log.entries[2] left out: its method "TRACE" cannot be sent\n  GET /deploy/list: 0 in the file, 200 here\n',
  })
})

test('replay says how to play a HAR file', async () => {
  const har = join(folder, 'site.har')
  writeFileSync(har, JSON.stringify({ log: { entries: [] } }))
  for (const more of [[], ['--export', join(folder, 'site.yaml')]]) {
    expect(await commanded(['replay', har, ...more])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('it is a HAR file. To play it, give --record and a new file.'),
    })
  }
})

test.each([
  ['--without', ['--without', 'fault:1', '--record', 'never.ndjson']],
  ['--set', ['--set', 'min_instances=2', '--record', 'never.ndjson']],
  ['--weather', ['--weather', 'none', '--record', 'never.ndjson']],
  ['--partial', ['--partial', '--record', 'never.ndjson']],
  ['--seed', ['--seed', '3']],
])('replay refuses %s when the other kind of file does not read it', { tags: 'slow' }, async (flag, args) => {
  const har = join(folder, 'site.har')
  writeFileSync(har, JSON.stringify({ log: { entries: [] } }))
  const refused = await commanded(['replay', har, ...args])
  expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining(`Failed to read ${flag}: `) })
  expect(existsSync('never.ndjson')).toBe(false)
})

test('a recording leaves out the OpenAPI document, so that replays and judgements count the same requests', async () => {
  const sim = createSimulator({ fixtures: 'empty' })
  const recording = sim.record()
  await sendTo(sim, 'GET /openapi.json')
  await sendTo(sim, 'GET /nope')
  recording.stop()
  const names = listExchanges(parseRecording(recording.text, 'run').lines).map(({ name }) => name)
  expect(names).toEqual(['GET /nope (request 1)'])
  expect([...sim.requestLog.numbers.values()]).toEqual([1])
})

test('replay plays a HAR file with own endpoints, and so does the replay of its recording', async () => {
  const [har, record, config] = [join(folder, 'own.har'), join(folder, 'own.ndjson'), join(folder, 'own.ts')]
  const pods = new URL('../../../../examples/own-endpoints/pods.ts', import.meta.url).href
  writeFileSync(config, `import { endpoints } from '${pods}'\nexport default { endpoints }\n`)
  const entries = [{ ...entry('http://h/rest/v1/pods'), time: 5, response: { status: 200 } }]
  writeFileSync(har, JSON.stringify({ log: { version: '1.2', entries } }))
  const expected = { ...{ code: 0, stderr: '' }, stdout: `${har}: 1 request played, recorded in ${record}.\n` }
  expect(await commanded(['replay', har, '--record', record, '--config', config])).toEqual(expected)
  expect(await commanded(['replay', record, '--config', config])).toMatchObject({ code: 0 })
})

test('export refuses an unknown kind of test', async () => {
  const expected = { code: 2, stderr: expect.stringContaining('Give *.test.ts for vitest, or *.yaml') }
  expect(await commanded(['replay', file, '--export', join(folder, 'run.rb')])).toMatchObject(expected)
})

test('export says that the folder of its file is missing, before it reads the recording', async () => {
  const out = join(folder, 'missing', 'run.test.ts')
  expect(await commanded(['replay', 'none.ndjson', '--export', out])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining(
      `Failed to write '${out}': there is no folder '${join(folder, 'missing')}'. Create it, or give a file in another.`,
    ),
  })
})

describe('a recording that used own endpoints', () => {
  const endpoints = {
    getPod: endpoint({
      route: 'GET /rest/v1/pods/{id}',
      summary: 'Get a pod',
      auth: 'none',
      returns: z.object({ id: z.string() }),
      handle: ({ params }) => (params.id === 'none' ? refuse(404, 'no pod') : { id: params.id }),
    }),
  }
  const rule = { on: 'getPod', times: 1, fault: { kind: 'status', status: 503 } } as const
  const runs: Readonly<Record<string, (run: ReturnType<typeof createSimulator>) => unknown>> = {
    'GET /rest/v1/pods/a': sim => sim.fetch('http://sim/rest/v1/pods/a?x=1'),
    getPod: sim => sim.faults.add(rule),
  }

  test.each(Object.keys(runs).flatMap(own => ['own.yaml', 'own.ts', 'own.test.ts'].map(name => [own, name] as const)))(
    'with %s is not exported as %s',
    async (own, name) => {
      const sim = createSimulator({ fixtures: 'empty', endpoints })
      const record = join(folder, 'own.ndjson')
      const recording = sim.record({ file: record })
      await runs[own]!(sim)
      await sendTo(sim, 'GET /unknown')
      recording.stop()
      const out = join(folder, name)
      expect(await commanded(['replay', record, '--export', out])).toEqual({
        ...{ code: 2, stdout: '' },
        stderr:
          `Failed to export ${record}: the recording has requests to endpoints of its own (${own}). ` +
          'A scenario cannot have them: replay the file, or record without them.\n',
      })
      expect(existsSync(out)).toBe(false)
    },
  )

  test('is refused with the ids that its world knows, and is exported after a reset', async () => {
    const sim = createSimulator({ fixtures: 'empty', endpoints, faults: [rule] })
    const recording = sim.record()
    for (const id of ['a', 'none']) await sim.fetch(`http://sim/rest/v1/pods/${id}`)
    recording.stop()
    const parsed = withEndpoints(parseRecording(recording.text, 'run'), endpoints)
    expect(() => toScenario(parsed, { format: 'yaml' })).toThrow('endpoints of its own (getPod). A scenario')
    const other = createSimulator({ fixtures: 'empty', endpoints })
    const last = other.record()
    await other.fetch('http://sim/rest/v1/pods/a')
    other.reset()
    await sendTo(other, 'GET /deploy/list')
    last.stop()
    expect(toScenario(parseRecording(last.text, 'run'), { format: 'yaml' })).toContain('/deploy/list')
  })
})

test('an exported test for vitest is valid TypeScript that names each step', async () => {
  const out = join(folder, 'run.test.ts')
  expect(await commanded(['replay', file, '--export', out])).toMatchObject({ code: 0, stderr: '' })
  const source = readFileSync(out, 'utf8')
  expect(source).toContain('await cluster.node("h100-0").crash()')
  expect(source).toContain("await faults.add({ on: 'listDeployments'")
  expect(source).toContain("check(await send('GET /deploy/list').answer(), { status: 503 })")
  expect(source).toContain('const { failure } = await runScenario(recorded)')
})
