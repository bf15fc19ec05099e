import { beforeAll, describe, expect, test } from 'vitest'
import { createSimulator, replay } from '../../../src/index.ts'
import { toScenario } from '../../../src/simulator/history/export/scenario.ts'
import { type ParsedRecording, parseRecording } from '../../../src/simulator/history/file.ts'
import { type ReplayChanges, replayChanged } from '../../../src/simulator/history/replay/changed-replay.ts'
import { playFreely } from '../../../src/simulator/history/replay/free-play.ts'
import { findReceivers } from '../../../src/simulator/history/replay/recorded-receivers.ts'
import type { DeliverWebhook } from '../../../src/simulator/webhook-options.ts'
import { sendTo } from '../../setup/send-to.ts'

let recording: ParsedRecording
let text: string
let id: string

beforeAll(async () => {
  const unusedRule = { on: 'uploadFile', fault: { kind: 'status', status: 503 } } as const
  const sim = createSimulator({ fixtures: 'two-nodes', seed: 3, faults: [unusedRule] })
  const recorded = sim.record()
  const get = (path: string) => sendTo(sim, `GET ${path}`)
  sim.faults.add({ on: 'getDeployment', times: 1, fault: { kind: 'status', status: 503 } })
  const created = await sendTo(sim, 'POST /deploy/llm', {
    ...{ model_name: 'acme/chat', gpu: 'H100-80GB', num_gpus: 1, hub: { repo: 'acme/chat-8b' } },
    settings: { min_instances: 1, max_instances: 2 },
  })
  id = ((await created.json()) as { deploy_id: string }).deploy_id
  await sim.clock.advance('30s')
  await get(`/deploy/${id}`)
  await sim.clock.advance('20m')
  await get(`/deploy/${id}`)
  sim.cluster.nodeOf(id).crash()
  await sim.clock.advance('1h')
  await get(`/deploy/${id}`)
  recorded.stop()
  text = recorded.text
  recording = parseRecording(text, 'play')
})

/** Returns the consequences of a change. */
const consequencesOf = async (...args: Parameters<typeof replayChanged>) => (await replayChanged(...args)).consequences!
const ask = (changes: ReplayChanges) => consequencesOf(recording, 'play', changes)

test('a fault that did nothing has no consequences when it is left out', async () => {
  expect(await ask({ without: 'fault:1' })).toEqual([])
})

test('a decisive fault has exactly its consequences when it is left out', async () => {
  expect(await ask({ without: 'fault:2' })).toEqual([
    { kind: 'answer', subject: `GET /deploy/${id} (request 2)`, before: '503', after: '200' },
  ])
})

test.each([
  { kind: 'status', status: 503 },
  { kind: 'rateLimit' },
  { kind: 'reset' },
  { kind: 'refused' },
  { kind: 'html' },
  { kind: 'hang' },
] as const)('the body of a request that $kind answers before its endpoint is recorded', async fault => {
  const sim = createSimulator({ fixtures: 'two-nodes', seed: 3 })
  const recorded = sim.record()
  sim.faults.add({ on: 'createLlmDeployment', nth: 1, fault })
  const body = { model_name: 'acme/chat', gpu: 'H100-80GB', hub: { repo: 'acme/chat-8b', token: 'hf_secretsecret1' } }
  const sent = sendTo(sim, 'POST /deploy/llm', body).catch(() => {})
  await sim.clock.advance('1h')
  recorded.stop()
  const { digest } = sim
  await sim[Symbol.asyncDispose]()
  await sent
  expect(await replay(recorded)).toEqual({ outcome: 'same', requests: 1 })
  const lines = parseRecording(recorded.text, 'faulty')
  expect(recorded.text).not.toContain('hf_secretsecret1')
  expect(lines.lines.at(-1)).toMatchObject({ digest })
  const consequences = await consequencesOf(lines, 'faulty', { without: 'fault:1' })
  const created = expect.objectContaining({ kind: 'answer', after: '200' })
  const rent = expect.objectContaining({ kind: 'money', subject: 'rent' })
  expect(consequences).toEqual(expect.arrayContaining([created, rent]))
  expect(await consequencesOf(lines, 'faulty', { set: 'gpu=L4-24GB' })).toEqual([])
  expect(toScenario(lines, { format: 'yaml' })).toContain('acme/chat-8b')
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
  const read = async () => (await sendTo(sim, 'GET /v1/voices')).text()
  const open = [read(), read()].map(text => text.catch(() => {}))
  await sim.clock.advance('1h')
  recorded.stop()
  await sim[Symbol.asyncDispose]()
  await Promise.all(open)
  const play = parseRecording(recorded.text, 'slow')
  const [first, second] = [1, 2].map(request => `GET /v1/voices (request ${request})`)
  expect(await consequencesOf(play, 'slow', { without: 'fault:1' })).toEqual(
    expect.arrayContaining([
      { kind: 'answer', subject: first, before: 'hang', after: '200, slow' },
      { kind: 'time', subject: first, before: 'never', after: '13s' },
    ]),
  )
  expect(await consequencesOf(play, 'slow', { without: 'fault:2' })).toEqual([
    { kind: 'answer', subject: second, before: '200, slow', after: '200' },
    { kind: 'time', subject: second, before: '13s', after: '0us' },
  ])
})

test('a field and a profile change states, answers and money', async () => {
  const larger = await ask({ set: 'min_instances=2' })
  expect(larger[0]!.after).toContain('settings.min_instances: 2')
  expect(larger).toContainEqual(expect.objectContaining({ kind: 'money', subject: 'rent' }))
  const rough = await ask({ profile: 'rough' })
  expect(rough).toContainEqual(expect.objectContaining({ kind: 'state', subject: id }))
})

test.each([
  [{ without: 'fault:9' }, /the recording has 2 faults\. Give fault:1 to fault:2/],
  [{ without: 'falt:1' }, /unknown part 'falt'\. Did you mean 'fault'\?/],
  [{ without: 'request:0' }, /the recording has 4 requests\. Give request:1 to request:4/],
  [{ without: 'fault' }, /unknown part|the recording has 2 faults/],
  [{ set: 'min_instances' }, /it is not a field with a value/],
  [{ set: 'min_instance=2' }, /no request of the recording has the field "min_instance"/],
])('an invalid change is refused with what is wrong: %j', async (changes, message) => {
  await expect(ask(changes)).rejects.toThrow(message)
})

test('replay returns the consequences of a change, and refuses an invalid one', async () => {
  expect(await replay({ text }, { without: 'fault:2' })).toEqual({
    outcome: 'changed',
    consequences: [{ kind: 'answer', subject: `GET /deploy/${id} (request 2)`, before: '503', after: '200' }],
  })
  expect(await replay({ text }, { without: 'fault:9' })).toMatchObject({
    outcome: 'failed',
    reason: "Failed to leave out 'fault:9': the recording has 2 faults. Give fault:1 to fault:2.",
  })
  const cut = text.slice(0, text.lastIndexOf('\n', text.length - 2) + 1)
  expect(await replay({ text: cut }, { without: 'fault:1' })).toMatchObject({ outcome: 'failed' })
  expect(await replay({ text: cut }, { without: 'fault:1', partial: true })).toMatchObject({ outcome: 'changed' })
  await expect(replay({ text }, { set: 5 as never })).rejects.toThrow('set is 5. Give a text.')
})

/** A recording of a text for a webhook, whose receiver answers with these statuses in turn, and then with 204. */
async function recordWebhook(statuses: readonly number[], deliver?: DeliverWebhook): Promise<ParsedRecording> {
  const sent = [...statuses]
  const accept = async () => ({ status: sent.shift() ?? 204 })
  const sim = createSimulator({ seed: 7, webhooks: { deliver: deliver ?? accept } })
  const recorded = sim.record()
  const post = (input: string) =>
    sendTo(sim, 'POST /v1/inference/aurora-labs/aurora-8b-instruct', { input, webhook: 'http://127.0.0.1:3000/hook' })
  sim.faults.add({ on: 'getDeployment', times: 1, fault: { kind: 'status', status: 503 } })
  sim.faults.add({ on: 'listVoices', times: 1, fault: { kind: 'status', status: 503 } })
  await post('Rivers')
  await sim.clock.advance('1m')
  await sendTo(sim, 'GET /v1/voices')
  await post('Stones')
  await sim.clock.advance('1h')
  recorded.stop()
  await sim[Symbol.asyncDispose]()
  return parseRecording(recorded.text, 'hook')
}

describe('the receiver of a webhook', () => {
  test('answers as recorded, so that a fault without effect has no consequences', { tags: 'slow' }, async () => {
    const hook = await recordWebhook([500, 503])
    expect(await consequencesOf(hook, 'hook', { without: 'fault:1' })).toEqual([])
    const [answer, ...others] = await consequencesOf(hook, 'hook', { without: 'fault:2' })
    expect([answer, others]).toEqual([expect.objectContaining({ before: '503', after: '200' }), []])
  })

  test('answers the attempts for a request as it did when another request is left out', async () => {
    const consequences = await consequencesOf(await recordWebhook([500]), 'hook', { without: 'request:1' })
    expect(consequences.map(({ kind, before, after }) => [kind, before, after])).toEqual([
      ['answer', '200', 'not sent'],
      ['state', expect.stringMatching(/^sent at \S+, failed at \S+, sent at .+, delivered at /), 'no more changes'],
      ...['inference', 'balance'].map(() => ['money', expect.any(String), expect.any(String)]),
    ])
  })

  test('has no answer when it had none, and accepts everything when the recording does not know it', {
    tags: 'slow',
  }, async () => {
    const refused = await recordWebhook([], async () => {
      throw new Error('ECONNREFUSED')
    })
    expect(await consequencesOf(refused, 'hook', { without: 'fault:1' })).toEqual([])
    const consequences = await consequencesOf(refused, 'hook', { set: 'webhook=http://127.0.0.1:3000/other' })
    const states = consequences.filter(({ kind }) => kind === 'state')
    expect(states.length).toBeGreaterThanOrEqual(2)
    expect(states.map(({ before, after }) => `${before} ${after}`).join()).toContain('gaveUp')
    expect(states.map(({ after }) => after).join()).toContain('delivered')
  })

  test('answers attempts that the recording begins with', { tags: 'slow' }, async () => {
    const sim = createSimulator({ seed: 7, webhooks: { deliver: () => new Promise(() => {}) } })
    const body = { input: 'Rivers', webhook: 'http://127.0.0.1:3000/hook' }
    await sendTo(sim, 'POST /v1/inference/aurora-labs/aurora-8b-instruct', body)
    sim.world.runTo(600_000_000)
    const later = createSimulator({ fixtures: sim.snapshot(), webhooks: { deliver: async () => ({ status: 500 }) } })
    const recorded = later.record()
    later.faults.add({ on: 'getDeployment', times: 1, fault: { kind: 'status', status: 503 } })
    await later.clock.advance('1h')
    recorded.stop()
    for (const one of [sim, later]) await one[Symbol.asyncDispose]()
    const recording = parseRecording(recorded.text, 'hook')
    expect(await consequencesOf(recording, 'hook', { without: 'fault:1' })).toEqual([])
    const { states } = await playFreely(recording, 'hook', await findReceivers(recording, 'hook'))
    expect([...states.values()].flat().map(({ became }) => became)).toContain('webhook.gaveUp')
  })
})
