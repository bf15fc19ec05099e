import { readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { endpoints } from '../../../examples/own-endpoints/pods.ts'
import { createSimulator, type SimulatorOptions } from '../../../src/index.ts'
import { createCrc32, formatCrc32 } from '../../../src/simulator/history/line-writer.ts'
import { commanded } from '../../cli/commanded.ts'
import { sendTo } from '../../setup/send-to.ts'
import { temporaryFolder } from '../../setup/temporary-folder.ts'

async function recordPlay(file: string): Promise<void> {
  const sim = createSimulator({ fixtures: 'two-nodes', seed: 3 })
  const recording = sim.record({ file })
  await sendTo(sim, 'GET /deploy/list')
  await sim.clock.advance('10m')
  await sendTo(sim, 'POST /deploy/llm', { model_name: 'acme/chat', gpu: 'H100-80GB', hub: { repo: 'acme/chat-8b' } })
  await sim.fetch('http://sim/deploy/list', {
    headers: { authorization: 'Bearer a-real-secret', cookie: 'id=private' },
  })
  await sim.clock.advance('10m')
  recording.stop()
}

test('replay exits with 0 when nothing differs, and the file is for its owner alone', async () => {
  const file = join(temporaryFolder(), 'run.ndjson')
  await recordPlay(file)
  expect(statSync(file).mode & 0o777).toBe(0o600)
  const expected = { code: 0, stdout: `${file}: 3 requests replayed, every answer is the same.\n`, stderr: '' }
  expect(await commanded(['replay', file])).toEqual(expected)
})

test('replay and judge find own endpoints by --config, and what they print has no control characters', async () => {
  const folder = temporaryFolder()
  const [file, config] = [join(folder, 'run.ndjson'), join(folder, 'other.ts')]
  const pods = new URL('../../../examples/own-endpoints/pods.ts', import.meta.url).href
  writeFileSync(config, `import { endpoints } from '${pods}'\nexport default { endpoints }\n`)
  const sim = createSimulator({ endpoints, fixtures: 'empty' })
  const recording = sim.record({ file })
  await sendTo(sim, 'POST /rest/v1/pods', { name: 'a\u001b[31m', gpuTypeId: 'H100' })
  recording.stop()
  const advice =
    'If that request is for an endpoint of your own, give --config and the file whose endpoints declare it.'
  expect(await commanded(['replay', file])).toMatchObject({ code: 1, stdout: expect.stringContaining(`\n${advice}\n`) })
  expect(await commanded(['replay', file, '--without', 'request:1'])).toMatchObject({
    code: 1,
    stdout: expect.stringMatching(/, without the change: line 2 differs: .*\n.*recorded: status 200 /),
  })
  expect(await commanded(['replay', file, '--config', config])).toMatchObject({ code: 0 })
  expect(await commanded(['judge', file])).toMatchObject({ code: 2, stderr: expect.stringContaining(advice) })
  expect((await commanded(['judge', file, '--config', config])).stdout).toContain('1 request')
  const { stdout } = await commanded(['replay', file, '--config', config, '--set', 'name=zz'])
  expect(stdout).toContain('a\\u001b[31m')
  expect(stdout).not.toContain('\u001b')
})

test('a recording of a world with a profile file begins at its start, and has the content of the file', async () => {
  const folder = temporaryFolder()
  const [file, profile, out] = ['run.ndjson', 'own.json', 'run.yaml'].map(name => join(folder, name)) as [
    string,
    ...string[],
  ]
  writeFileSync(profile!, '{ "extends": "quick", "policies": { "unknown_tokens": "accept" } }')
  const sim = createSimulator({ fixtures: 'two-nodes', profile: profile! })
  const recording = sim.record({ file })
  await sim.fetch('http://sim/deploy/list', { headers: { authorization: 'Bearer unknown' } })
  recording.stop()
  rmSync(profile!)
  expect(await commanded(['replay', file])).toMatchObject({ code: 0 })
  expect(await commanded(['replay', file, '--profile', 'quick'])).toMatchObject({
    ...{ code: 0, stderr: '' },
    stdout: expect.stringContaining('| answer | GET /deploy/list (request 1) | 200 | 401 |'),
  })
  expect(await commanded(['replay', file, '--export', out!])).toMatchObject({ code: 0, stderr: '' })
})

test('a recording begins at the start when the profile of its world extends other files', () => {
  const folder = temporaryFolder()
  const write = (name: string, profile: object) => writeFileSync(join(folder, name), JSON.stringify(profile))
  write('base.json', {
    ...{ extends: 'quick', description: 'A base.' },
    timings: { image_pull: { value: { median: '50s', sigma: 0.3 }, source: 'measured' }, warm_up: { median: '9s' } },
  })
  write('middle.json', { extends: './base.json', policies: { unknown_tokens: 'accept' } })
  write('own.json', { extends: './middle.json', timings: { warm_up: { sigma: 0 } } })
  const startOf = (profile: SimulatorOptions['profile']) => {
    const sim = createSimulator({ fixtures: 'empty', profile: profile! })
    const start = JSON.parse(sim.record().text.split('\n')[0]!) as { snapshot?: string; options: SimulatorOptions }
    const again = start.snapshot ? undefined : createSimulator(start.options)
    expect(again?.world.profile).toEqual(sim.world.profile)
    return start.options.profile
  }
  expect(startOf(join(folder, 'own.json'))).toMatchObject({ name: 'own', extends: 'quick' })
  startOf({
    extends: join(folder, 'middle.json'),
    timings: { image_pull: { value: { median: '5s' }, source: 'guessed' } },
  })
})

test('a recording has a snapshot when the profile file of its world was changed or deleted since', () => {
  const profile = join(temporaryFolder(), 'own.json')
  const startOf = (change: () => void) => {
    writeFileSync(profile, '{ "policies": { "unknown_tokens": "accept" } }')
    const sim = createSimulator({ fixtures: 'empty', profile })
    change()
    return JSON.parse(sim.record().text.split('\n')[0]!) as { readonly snapshot?: string }
  }
  expect(startOf(() => {})).not.toHaveProperty('snapshot')
  expect(startOf(() => writeFileSync(profile, '{ "extends": "quick" }'))).toHaveProperty('snapshot')
  expect(startOf(() => rmSync(profile))).toHaveProperty('snapshot')
})

test('a recording says that the credentials of requests and answers are hashes', async () => {
  const sim = createSimulator({ fixtures: 'empty' })
  const recording = sim.record()
  const body = { model_name: 'chat', gpu: 'H100-80GB', hub: { repo: 'acme/chat-8b', token: 'hub-secret' } }
  await sim.fetch('http://sim/deploy/llm?api_key=query-secret', {
    method: 'POST',
    headers: { authorization: `Bearer ${sim.token}`, 'x-auth-token': 'header-secret' },
    body: JSON.stringify(body),
  })
  recording.stop()
  expect(recording.text).not.toMatch(/query-secret|header-secret|hub-secret/)
  expect(JSON.parse(recording.text.split('\n')[0]!).contains).toMatch(/credentials of requests and answers as a hash/)
})

test('replay exits with 1 and names both sides and the entries before when an answer differs', async () => {
  const folder = temporaryFolder()
  const file = join(folder, 'run.ndjson')
  const sim = createSimulator({ fixtures: 'two-nodes', seed: 3 })
  const recording = sim.record({ file })
  await sendTo(sim, 'GET /deploy/list')
  // A write beside every interface: no recording can know of it.
  const { voices } = sim.world.store
  voices.put({ user_id: 'user_1', voice_id: 'voice_1', name: 'Ada', description: '', created_at: 0, updated_at: 0 })
  await sendTo(sim, 'GET /v1/voices')
  recording.stop()
  const { code, stdout } = await commanded(['replay', file])
  expect(code).toBe(1)
  expect(stdout).toMatch(/run\.ndjson: line 3 differs: GET \/v1\/voices \(request 2\)/)
  expect(stdout).toMatch(/recorded: body .*Ada/)
  expect(stdout).toMatch(/replayed: body /)
  expect(stdout).toMatch(/before it:\n(.*\n)*.*request GET \/deploy\/list/)
})

const renamed = (from: string | RegExp, to: string) => (lines: string[]) => lines.with(0, lines[0]!.replace(from, to))

test.each([
  ['changed', (lines: string[]) => lines.with(2, lines[2]!.replace('200', '201')), /line 3: its checksum does not fit/],
  ['removed', (lines: string[]) => lines.toSpliced(3, 1), /line 4: its checksum does not fit/],
  ['moved', ([head, ...rest]: string[]) => [head!, rest[1]!, rest[0]!, ...rest.slice(2)], /line 2: its checksum does/],
  ['without checksum', (lines: string[]) => lines.with(1, '{"request":1}'), /line 2: its checksum "sum" is missing/],
  ['no JSON', (lines: string[]) => lines.with(1, '{"request":'), /line 2: it is not a JSON object/],
  [
    'of an older format',
    renamed('"recording":3', '"recording":2'),
    /line 1: it has the format 2, and .* format 3\. Use/,
  ],
  ['of another version', renamed(/"version":"[^"]*"/, '"version":"9.9.9"'), /line 1: it was recorded with .* 9\.9\.9/],
  ['no recording', () => ['hello', ''], /line 1: it is not a header of a recording/],
  ['no recording and has one line', () => ['{"name":"x"}'], /line 1: it is not a header of a recording/],
  ['cut within its first line', ([header]: string[]) => [header!.slice(0, 50)], /line 1: it has no end/],
  ['empty', () => [''], /line 1: the file is empty/],
  ['with other ends of lines', (lines: string[]) => [lines.join('\r\n')], /line 1: it ends with CR LF, .* such as git/],
  ['with a byte order mark', (lines: string[]) => ['\ufeff'.concat(lines[0]!), ...lines.slice(1)], /byte order mark/],
])('replay exits with 2 and names the line when the file is %s', { tags: 'slow' }, async (_, change, message) => {
  const file = join(temporaryFolder(), 'run.ndjson')
  await recordPlay(file)
  writeFileSync(file, change(readFileSync(file, 'utf8').split('\n')).join('\n'))
  const { code, stdout, stderr } = await commanded(['replay', file])
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
  expect(stderr).toMatch(message)
})

test('replay says that nothing was compared when a recording has no requests', async () => {
  const file = join(temporaryFolder(), 'run.ndjson')
  createSimulator().record({ file }).stop()
  const expected = { code: 0, stdout: `${file}: it has no request whose answer could be compared.\n` }
  expect(await commanded(['replay', file])).toMatchObject(expected)
})

test('replay exits with 2 and names the line when the file is cut, unless --partial accepts it', async () => {
  const file = join(temporaryFolder(), 'run.ndjson')
  await recordPlay(file)
  const text = readFileSync(file, 'utf8')
  const lines = text.trimEnd().split('\n')
  for (const [cut, place] of [
    [`${lines.slice(0, -1).join('\n')}\n`, `after line ${lines.length - 1}`],
    [text.slice(0, -20), `in line ${lines.length}`],
  ] as const) {
    writeFileSync(file, cut)
    const result = await commanded(['replay', file])
    expect(result.code).toBe(2)
    expect(result.stderr).toContain(`the recording is cut off ${place}`)
    expect(await commanded(['replay', file, '--partial'])).toMatchObject({ code: 0, stderr: '' })
  }
})

test.each([
  ['replay', ['--weather', 'none']],
  ['replay', ['--export', 'made.test.ts']],
])('%s exits with 2 and writes nothing when the file is cut, unless --partial accepts it', async (command, args) => {
  const folder = temporaryFolder()
  const file = join(folder, 'run.ndjson')
  const given = args.map(one => (one.startsWith('made') ? join(folder, one) : one))
  await recordPlay(file)
  const text = readFileSync(file, 'utf8')
  const count = text.trimEnd().split('\n').length
  for (const [cut, place] of [
    [text.slice(0, text.lastIndexOf('\n', text.length - 2) + 1), `after line ${count - 1}`],
    [text.slice(0, -20), `in line ${count}`],
  ] as const) {
    writeFileSync(file, cut)
    expect(await commanded([command, file, ...given])).toEqual({
      code: 2,
      stdout: '',
      stderr: expect.stringMatching(
        `^Failed to read the recording \\S+ to its end: the recording is cut off ${place}: .+ To use the lines before, give --partial\\.\n$`,
      ),
    })
    expect(readdirSync(folder)).toEqual(['run.ndjson'])
  }
  const stderr = expect.stringContaining(`cut off in line ${count}: `)
  expect(await commanded([command, file, ...given, '--partial'])).toMatchObject({ code: 0, stderr })
})

test('a second recording of a simulator, and a file that exists, are refused', async () => {
  const file = join(temporaryFolder(), 'run.ndjson')
  const sim = createSimulator()
  const recording = sim.record({ file })
  expect(() => sim.record()).toThrow(/a recording of this simulator is in progress/)
  recording.stop()
  expect(() => sim.record({ file })).toThrow(/the file exists/)
  expect(() => sim.record({ file: join(file, '..') })).toThrow(/it is a folder/)
  sim.record().stop()
})

test('a recording of a fork names the fixture that its world began with', async () => {
  const sim = createSimulator({ fixtures: 'two-nodes', seed: 3 })
  await sim.clock.advance('10m')
  const fork = sim.fork()
  const restored = createSimulator({ fixtures: sim.snapshot() })
  for (const later of [fork, restored]) {
    const recording = later.record()
    recording.stop()
    const { fixtures, snapshot } = JSON.parse(recording.text.split('\n')[0]!)
    expect([fixtures, typeof snapshot]).toEqual(['two-nodes', 'string'])
  }
})

/** Returns lines with new checksums. */
function resealed(lines: readonly string[]): string {
  const crc32 = createCrc32()
  let sum = 0
  return lines
    .map(line => {
      const content = line.replace(/,"sum":"[0-9a-f]{8}"\}$/, '}')
      sum = crc32(content, sum)
      return `${content.slice(0, -1)},"sum":"${formatCrc32(sum)}"}\n`
    })
    .join('')
}

test.each([
  ['an action that is null', '{"action":null,"at":[0,0]}', /line 2: \$\.action: expected an object, got null\./],
  ['a number as position', '{"action":{"do":"clearAnswers"},"at":5}', /line 2: \$\.at: expected an array, got 5\./],
  [
    'a write to a prototype',
    '{"action":{"do":"writeData","kind":"__proto__","key":"x","action":"create","record":{}},"at":[0,0]}',
    /line 2: \$\.action\.kind: expected one of 'tokens', .*, got '__proto__'\./,
  ],
  [
    'an unknown action',
    '{"action":{"do":"clearAnswer"},"at":[0,0]}',
    /line 2: \$\.action\.do: .*mean 'clearAnswers'\?/,
  ],
  ['an unknown kind of line', '{"answers":1,"at":[0,0]}', /line 2: it has none of the fields request, step, /],
  ['an unknown field', '{"waits":1,"at":[0,0],"for":3}', /line 2: \$\.for: unknown field\. Remove it\./],
])('replay exits with 2 and names line and reason for %s under valid checksums', async (_, line, message) => {
  const file = join(temporaryFolder(), 'run.ndjson')
  await recordPlay(file)
  const lines = readFileSync(file, 'utf8').trimEnd().split('\n')
  writeFileSync(file, resealed(lines.toSpliced(1, 0, line)))
  const { code, stdout, stderr } = await commanded(['replay', file])
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
  expect(stderr).toMatch(message)
})

test('an action that the world refuses is a difference with its reason', async () => {
  const file = join(temporaryFolder(), 'run.ndjson')
  await recordPlay(file)
  const lines = readFileSync(file, 'utf8').trimEnd().split('\n')
  const line = '{"action":{"do":"command","command":{"do":"__proto__"}},"at":[0,0]}'
  writeFileSync(file, resealed(lines.toSpliced(1, 0, line)))
  const { code, stdout } = await commanded(['replay', file])
  expect(code).toBe(1)
  expect(stdout).toMatch(/line 2 differs: the action command/)
})
