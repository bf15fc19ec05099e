import { beforeAll, expect, test } from 'vitest'
import { type ParsedRecording, parseRecording } from '../../../src/evidence/recording/file.ts'
import type { ChangeSpec } from '../../../src/evidence/what-if/changes.ts'
import { whatIf } from '../../../src/evidence/what-if/what-if.ts'
import { createSimulator } from '../../../src/index.ts'

let recording: ParsedRecording
let id: string

beforeAll(async () => {
  const unusedRule = { on: 'uploadFile', fault: { kind: 'status', status: 503 } } as const
  const sim = createSimulator({ fixtures: 'two-nodes', seed: 3, faults: [unusedRule] })
  const recorded = sim.record()
  const headers = { authorization: `Bearer ${sim.token}`, 'content-type': 'application/json' }
  const get = (path: string) => sim.fetch(`http://sim${path}`, { headers })
  sim.faults.add({ on: 'getDeployment', times: 1, fault: { kind: 'status', status: 503 } })
  const body = JSON.stringify({
    ...{ model_name: 'acme/chat', gpu: 'H100-80GB', num_gpus: 1, hub: { repo: 'acme/chat-8b' } },
    settings: { min_instances: 1, max_instances: 2 },
  })
  const created = await sim.fetch('http://sim/deploy/llm', { method: 'POST', headers, body })
  id = ((await created.json()) as { deploy_id: string }).deploy_id
  await sim.clock.advance('30s')
  await get(`/deploy/${id}`)
  await sim.clock.advance('20m')
  await get(`/deploy/${id}`)
  sim.cluster.nodeOf(id).crash()
  await sim.clock.advance('1h')
  await get(`/deploy/${id}`)
  recorded.stop()
  recording = parseRecording(recorded.text, 'play')
})

const ask = (spec: ChangeSpec) => whatIf(recording, 'play', spec)

test('a fault that did nothing has no consequences when it is left out', async () => {
  expect(await ask({ without: 'fault:1' })).toEqual([])
})

test('a decisive fault has exactly its consequences when it is left out', async () => {
  expect(await ask({ without: 'fault:2' })).toEqual([
    { kind: 'answer', subject: `GET /deploy/${id} (request 2)`, before: '503', after: '200' },
  ])
})

test('a command that is left out changes what came after it alone', async () => {
  const consequences = await ask({ without: 'command:1' })
  expect(consequences.map(({ kind, subject }) => `${kind} ${subject}`)).toEqual([
    `answer GET /deploy/${id} (request 4)`,
    'money rent',
    'money balance',
  ])
})

test('a request that hangs never ends, and a slow answer ends with its last byte', async () => {
  const sim = createSimulator({ fixtures: 'empty', seed: 3 })
  const recorded = sim.record()
  sim.faults.add({ on: 'listVoices', times: 1, fault: { kind: 'hang' } })
  sim.faults.add({ on: 'listVoices', times: 1, fault: { kind: 'slowBody', bytesPerSecond: 1 } })
  const headers = { authorization: `Bearer ${sim.token}` }
  const read = async () => (await sim.fetch('http://sim/v1/voices', { headers })).text()
  const open = [read(), read()].map(text => text.catch(() => {}))
  await sim.clock.advance('1h')
  recorded.stop()
  await sim[Symbol.asyncDispose]()
  await Promise.all(open)
  const play = parseRecording(recorded.text, 'slow')
  const [first, second] = [1, 2].map(request => `GET /v1/voices (request ${request})`)
  expect(await whatIf(play, 'slow', { without: 'fault:1' })).toEqual(
    expect.arrayContaining([
      { kind: 'answer', subject: first, before: 'hang', after: '200, slow' },
      { kind: 'time', subject: first, before: 'never', after: '13s' },
    ]),
  )
  expect(await whatIf(play, 'slow', { without: 'fault:2' })).toEqual([
    { kind: 'answer', subject: second, before: '200, slow', after: '200' },
    { kind: 'time', subject: second, before: '13s', after: '0us' },
  ])
})

test('a command at a time, a field and a profile change states, answers and money', async () => {
  const down = await ask({ with: 'at 10m: hub down' })
  expect(down).toContainEqual(expect.objectContaining({ kind: 'state', subject: id, before: 'no more changes' }))
  const larger = await ask({ set: 'min_instances=2' })
  expect(larger[0]!.after).toContain('settings.min_instances: 2')
  expect(larger).toContainEqual(expect.objectContaining({ kind: 'money', subject: 'rent' }))
  const rough = await ask({ options: { profile: 'rough' } })
  expect(rough).toContainEqual(expect.objectContaining({ kind: 'state', subject: id }))
})

test.each([
  [{ without: 'fault:9' }, /the recording has 2 faults\. Give fault:1 to fault:2/],
  [{ without: 'falt:1' }, /unknown part 'falt'\. Did you mean 'fault'\?/],
  [{ without: 'command:node.crush' }, /Did you mean 'command:node.crash'\?/],
  [{ with: 'node h100-0 crash' }, /the time is missing/],
  [{ with: 'at soon: node h100-0 crash' }, /'soon' is no duration/],
  [{ with: 'at 1h: nodes h100-0 crash' }, /unknown command 'nodes h100-0 crash'/],
  [{ with: 'at 1h: node nowhere crash' }, /nowhere/],
  [{ with: 'at 2h: hub down' }, /the recording ends after 1h 20m\. Give a time before that\./],
  [{ with: 'at 1h: fault {"on":"*"' }, /the fault is no JSON\. Give a rule/],
  [{ set: 'min_instance=2' }, /no request of the recording has the field "min_instance"/],
])('an invalid change is refused with what is wrong: %j', async (spec, message) => {
  await expect(ask(spec)).rejects.toThrow(message)
})
