import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, expect, test } from 'vitest'
import type { ChromeTrace } from '../../../src/cli/formats/chrome-trace.ts'
import type { Har } from '../../../src/cli/formats/har-out.ts'
import { createSimulator } from '../../../src/index.ts'
import { commanded } from '../commanded.ts'

let folder: string
let file: string

/** Returns an entry of a HAR file. */
const entry = (url: string, more: object = {}) => ({
  startedDateTime: '2026-01-01T00:00:00Z',
  request: { method: 'GET', url, ...more },
})

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'formats-'))
  file = join(folder, 'run.ndjson')
  const sim = createSimulator({ fixtures: 'two-nodes', seed: 3, inferencePace: 'clock' })
  const recording = sim.record({ file })
  const headers = { authorization: `Bearer ${sim.token}`, 'content-type': 'application/json' }
  const send = (method: string, path: string, body?: object) =>
    sim.fetch(`http://sim${path}`, { method, headers, ...(body && { body: JSON.stringify(body) }) })
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
  return () => rmSync(folder, { recursive: true })
})

test('trace writes lanes of deployments, instances, requests and faults with their times', async () => {
  const out = join(folder, 'trace.json')
  expect(await commanded(['trace', file, '--out', out])).toMatchObject({ code: 0, stderr: '' })
  const { traceEvents } = JSON.parse(readFileSync(out, 'utf8')) as ChromeTrace
  const groups = new Map(
    traceEvents.filter(({ name }) => name === 'process_name').map(({ pid, args }) => [args!.name, pid]),
  )
  const shown = (group: string) => traceEvents.filter(({ pid, ph }) => pid === groups.get(group) && ph !== 'M')
  const slices = (group: string) => shown(group).filter(({ ph }) => ph === 'X')
  expect(shown('Requests').map(({ name, ph }) => [name, ph])).toEqual([
    ['POST /deploy/llm', 'i'],
    ['GET /deploy/list', 'i'],
    ['POST /v1/chat/completions', 'X'],
  ])
  expect(slices('Requests')[0]).toMatchObject({ ts: 1_200_000_000, dur: expect.any(Number) })
  expect(slices('Requests')[0]!.dur).toBeGreaterThan(1_000)
  expect(slices('Deployments').map(({ name }) => name)).toEqual(expect.arrayContaining(['downloading', 'running']))
  expect(slices('Instances').length).toBeGreaterThan(3)
  expect(traceEvents).toContainEqual(expect.objectContaining({ cat: 'fault.hit', ph: 'i' }))
  // A slice has a duration, so that its begin comes before its end in each reader.
  for (const { ph, ts, dur, s } of traceEvents) {
    expect(ts).toBeGreaterThanOrEqual(0)
    if (ph === 'X') expect(dur).toBeGreaterThan(0)
    else expect([dur, s]).toEqual([undefined, ph === 'i' ? 't' : undefined])
  }
  // Some readers split the category of each event.
  expect(traceEvents.filter(({ cat }) => cat === undefined)).toEqual([])
})

test('har writes HAR 1.2 without credentials, and plays it into a world that answers the same', async () => {
  const out = join(folder, 'run.har')
  expect(await commanded(['har', file, '--out', out])).toMatchObject({ code: 0, stderr: '' })
  const text = readFileSync(out, 'utf8')
  expect(text).not.toContain('sim_default_token')
  const { log } = JSON.parse(text) as Har
  expect(log.version).toBe('1.2')
  expect(log.entries.map(({ request, response }) => [request.method, response.status])).toEqual([
    ['POST', 200],
    ['GET', 503],
    ['POST', 200],
  ])
  const record = join(folder, 'again.ndjson')
  const played = await commanded(['har', out, '--record', record, '--fixtures', 'two-nodes', '--seed', '3'])
  // The fault is not part of the file.
  expect(played.stdout).toBe(
    `${out}: 3 requests played, recorded in ${record}.\n  GET /deploy/list: 503 in the file, 200 here\n`,
  )
  expect(await commanded(['replay', record])).toMatchObject({ code: 0 })
})

test.each([
  [
    'no JSON',
    '[1',
    /it is not JSON: line 1, column 3: expected ',' or ']', got the end of the file\. Give a file that/,
  ],
  ['an empty file', '', /it is not JSON: line 1, column 1: expected a value/],
  ['JSON without entries', '[1]', /log\.entries is missing/],
  ['null', 'null', /log\.entries is missing/],
  [
    'an entry without a time',
    { log: { entries: [{ request: {} }] } },
    /log\.entries\[0\]: startedDateTime is not a time/,
  ],
  [
    'an entry without a URL',
    { log: { entries: [{ startedDateTime: '2026-01-01T00:00:00Z', request: { method: 'GET', url: 'x' } }] } },
    /log\.entries\[0\]: request\.url is not a URL/,
  ],
  ['an entry that is null', { log: { entries: [null] } }, /log\.entries\[0\]: startedDateTime is not a time/],
  [
    'an entry whose headers are not a list',
    { log: { entries: [entry('http://h/', { headers: [{ name: 'a' }] })] } },
    /log\.entries\[0\]: request\.headers is not a list of names and values/,
  ],
  [
    'an entry whose body is not a text',
    { log: { entries: [entry('http://h/', { postData: { text: 7 } })] } },
    /log\.entries\[0\]: request\.postData\.text is not a text/,
  ],
])('har refuses %s and names the place', async (_, content, message) => {
  const har = join(folder, 'bad.har')
  writeFileSync(har, typeof content === 'string' ? content : JSON.stringify(content))
  const { code, stderr } = await commanded(['har', har, '--record', join(folder, 'never.ndjson')])
  expect(code).toBe(2)
  expect(stderr).toMatch(message)
})

test('har plays what is below the base path alone, and nothing of the control plane', async () => {
  const har = join(folder, 'site.har')
  const paths = ['/', '/app.js', '/api/deploy/list', '/api/_sim/clock', '/apis/deploy/list']
  writeFileSync(har, JSON.stringify({ log: { entries: paths.map(path => entry(`https://site.example${path}`)) } }))
  const below = await commanded(['har', har, '--record', join(folder, 'below.ndjson'), '--base-path', '/api'])
  expect(below.stdout).toContain('1 request played')
  expect(below.stdout).toContain('4 requests left out: outside of /api, or below /api/_sim')
  const all = await commanded(['har', har, '--record', join(folder, 'all.ndjson')])
  expect(all.stdout).toContain('5 requests played')
  const refused = await commanded(['har', har, '--record', join(folder, 'never.ndjson'), '--base-path', 'api'])
  expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining("--base-path 'api': it is not a path") })
  expect(existsSync(join(folder, 'never.ndjson'))).toBe(false)
})

test('har says how to play a file that is one already', async () => {
  const har = join(folder, 'site.har')
  writeFileSync(har, JSON.stringify({ log: { entries: [] } }))
  expect(await commanded(['har', har])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('it is a HAR file. To play it, give --record and a new file.'),
  })
})

test('export refuses an unknown kind of test', async () => {
  expect(await commanded(['export', file, join(folder, 'run.rb')])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('Give *.test.ts for vitest, test_*.py for pytest'),
  })
})

test('export, har and trace say that the folder of their file is missing, before they read the recording', async () => {
  const out = join(folder, 'missing', 'run.test.ts')
  const expected = (name: string) => ({
    code: 2,
    stderr: expect.stringContaining(
      `Failed to write ${name}'${out}': there is no folder '${join(folder, 'missing')}'. Create it, or give a file in another.`,
    ),
  })
  expect(await commanded(['export', 'none.ndjson', out])).toMatchObject(expected(''))
  expect(await commanded(['har', 'none.ndjson', '--out', out])).toMatchObject(expected('--out '))
  expect(await commanded(['trace', 'none.ndjson', '--out', out])).toMatchObject(expected('--out '))
})

test('an exported test for vitest is valid TypeScript that names each step', async () => {
  const out = join(folder, 'run.test.ts')
  expect(await commanded(['export', file, out])).toMatchObject({ code: 0, stderr: '' })
  const source = readFileSync(out, 'utf8')
  expect(source).toContain('sim.cluster.node("h100-0").crash()')
  expect(source).toContain('sim.faults.add({"on":"listDeployments"')
  expect(source).toMatch(/expect\(await send\(2, "GET", "\/deploy\/list".*\)\.toBe\(503\)/)
  expect(source).toMatch(/const answer3 = send\(3, "POST"/)
})
