import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, expect, test } from 'vitest'
import { createSimulator, type ExplorableSimulator, replay } from '../../../src/index.ts'
import { parseRecording } from '../../../src/simulator/history/file.ts'
import { ReplayedRequest } from '../../../src/simulator/history/replay/replayed-request.ts'
import { listExchanges } from '../../../src/simulator/history/timeline.ts'
import { sendTo } from '../../setup/send-to.ts'
import { temporaryFolder } from '../../setup/temporary-folder.ts'

let file: string
let sim: ExplorableSimulator

beforeEach(() => {
  const folder = temporaryFolder()
  file = join(folder, 'run.ndjson')
  sim = createSimulator({ fixtures: 'two-nodes', seed: 3 })
})

const send = (path: string) => sendTo(sim, `GET ${path}`)

test('replay says that a file, a recording and its text are the same', async () => {
  const recording = sim.record({ file })
  await send('/deploy/list')
  await sim.clock.advance('10m')
  await send('/v1/models')
  recording.stop()
  const same = { outcome: 'same', requests: 2 }
  expect(await replay(file)).toEqual(same)
  expect(await replay(recording)).toEqual(same)
  expect(await replay({ text: recording.text })).toEqual(same)
})

test('replay shows both sides and the entries before them when an answer differs', async () => {
  const recording = sim.record()
  await send('/deploy/list')
  // A write beside every interface: no recording can know of it.
  const { voices } = sim.world.store
  voices.put({ user_id: 'user_1', voice_id: 'voice_1', name: 'Ada', description: '', created_at: 0, updated_at: 0 })
  await send('/v1/voices')
  await send('/v1/models')
  recording.stop()
  const diverged = {
    outcome: 'diverged',
    requests: 2,
    divergence: {
      line: 3,
      at: '2026-01-01T00:00:00.000000+00:00',
      subject: 'GET /v1/voices (request 2)',
      recorded: expect.stringContaining('Ada'),
      replayed: expect.stringMatching(/^body /),
      before: expect.arrayContaining([expect.stringContaining('GET /deploy/list')]),
    },
  }
  expect(await replay(recording)).toEqual(diverged)
  // Of another world, no change has the consequences that it would have had.
  expect(await replay(recording, { without: 'request:3' })).toEqual(diverged)
})

test('a replay, a change of it and an explanation give a request one number, and no number to looks of the clock', async () => {
  const recording = sim.record()
  const headers = { authorization: `Bearer ${sim.token}` }
  const look = (path: string) => sim.look(new Request(`http://sim${path}`, { headers }), { path })
  await send('/v1/models')
  for (let nth = 1; nth <= 3; nth++) await look('/deploy/list')
  sim.faults.add({ on: 'listDeployments', fault: { kind: 'status', status: 503 } })
  await send('/deploy/list')
  const { voices } = sim.world.store
  const { text } = recording
  voices.put({ user_id: 'user_1', voice_id: 'voice_1', name: 'Ada', description: '', created_at: 0, updated_at: 0 })
  await send('/v1/voices')
  recording.stop()
  const looking = sim.record()
  voices.put({ user_id: 'user_1', voice_id: 'voice_2', name: 'Bea', description: '', created_at: 0, updated_at: 0 })
  await look('/v1/voices')
  looking.stop()
  expect(await replay({ text }, { without: 'fault:1', partial: true })).toMatchObject({
    outcome: 'changed',
    consequences: [{ subject: 'GET /deploy/list (request 2)', before: '503', after: '200' }],
  })
  expect(await replay({ text }, { without: 'request:2', partial: true })).toMatchObject({
    consequences: expect.arrayContaining([expect.objectContaining({ subject: 'GET /deploy/list (request 2)' })]),
  })
  expect(sim.explain('request 2').sentences.join()).toContain('503')
  expect(await replay(recording)).toMatchObject({
    ...{ requests: 3, divergence: { subject: 'GET /v1/voices (request 3)' } },
  })
  expect(await replay(looking)).toMatchObject({
    ...{ requests: 0, divergence: { subject: 'GET /v1/voices (a look of the clock)' } },
  })
})

test('replay says why a recording that is cut off, edited or missing could not run', async () => {
  const recording = sim.record({ file })
  await send('/deploy/list')
  expect(await replay(recording)).toEqual({
    outcome: 'failed',
    reason: `Failed to replay ${file} to its end: the recording is cut off after line 2: its line with the digest is missing. Call its stop() first.`,
  })
  const unfinished = readFileSync(file, 'utf8')
  recording.stop()
  writeFileSync(file, unfinished)
  const expected = { outcome: 'failed', reason: expect.stringMatching(/give partial: true\.$/) }
  expect(await replay(file)).toMatchObject(expected)
  expect(await replay(file, { partial: true })).toEqual({ outcome: 'same', requests: 1 })
  expect(await replay({ text: unfinished.replace('two-nodes', 'two-modes') })).toEqual({
    outcome: 'failed',
    reason: expect.stringMatching(/^Failed to read the recording \{ text \}: line 1: its checksum does not fit/),
  })
  rmSync(file)
  const missing = `Failed to read the recording ${file}: the file or folder is missing. Give a file that serve --record or sim.record() wrote.`
  expect(await replay(file)).toEqual({ outcome: 'failed', reason: missing })
  expect(await replay(recording)).toEqual({ outcome: 'failed', reason: expect.stringContaining('is missing') })
})

test.each([
  [['{"recording":3}'], /the path begins with '\{', as the text of a recording does\. Give \{ text \}\.$/],
  [[undefined], /the recording is undefined\. Give the path of a file, or what sim\.record\(\) returned\.$/],
  [[{ text: 7 }], /text is 7\. Give the text of a recording\.$/],
  [['run.ndjson', { parital: true }], /unknown option 'parital'\. Did you mean 'partial'\?$/],
  [['run.ndjson', { partial: 'yes' }], /partial is "yes"\. Give true or false\.$/],
])('replay rejects the arguments %j', async (args, message) => {
  await expect(replay(...(args as Parameters<typeof replay>))).rejects.toThrow(message)
})

test.each([
  ['run.ndjson', /expected an object of options, got "run\.ndjson"\. Give file\.$/],
  [{ path: 'run.ndjson' }, /unknown option 'path'/],
  [{ file: '' }, /file is ""\. Give the path of a new file, or leave file out\.$/],
])('record rejects the argument %j', (options, message) => {
  expect(() => sim.record(options as never)).toThrow(message)
})

test('a replayed request does not enter its world when its client left while it arrived', async () => {
  const recording = sim.record()
  await send('/v1/models')
  recording.stop()
  const [exchange] = listExchanges(parseRecording(recording.text, 'run').lines)
  const request = new ReplayedRequest(exchange!, () => 0)
  request.leave()
  await expect(request.enter()).rejects.toMatchObject({ cause: { message: 'the client left' } })
})
