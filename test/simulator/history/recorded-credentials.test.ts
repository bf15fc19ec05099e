/** Credentials in bodies: a recording has a hash of each, and its replay gives the same answers. */

import { expect, test } from 'vitest'
import * as z from 'zod'
import { endpoint, type FaultRule, replay } from '../../../src/index.ts'
import { decodeBase64 } from '../../../src/lib/bytes.ts'
import { parseRecording } from '../../../src/simulator/history/file.ts'
import type { RequestLine } from '../../../src/simulator/history/lines.ts'
import { recordSimulator } from '../../../src/simulator/history/record.ts'
import { createSimulator, type Simulator, type SimulatorOptions } from '../../../src/simulator/simulator.ts'
import { batchLine } from '../../setup/batches.ts'
import { askTo, formOf, sendTo } from '../../setup/send-to.ts'

const SECRET = 'hf_0123456789abcdefghijklmnopqrstuvwxyz'
const HASH = /^sha256-[0-9a-f]{32}\.*$/
const LLM = { model_name: 'acme/chat', gpu: 'H100-80GB', hub: { repo: 'acme/gated', token: SECRET } }
const GATED = {
  repo: 'acme/gated',
  bytes: 2e9,
  parameters_b: 1,
  context: 8192,
  gated: true,
  tokens: [SECRET, 'hf_other'],
}
const CONTAINER = { name: 'trial', gpu_config: '1xL4-24GB', container_image: 'registry.example/cuda-dev:12.8' }

function recorded(options: SimulatorOptions = {}) {
  const sim = createSimulator({ seed: 3, fixtures: 'empty', ...options })
  return { sim, recording: recordSimulator(sim), ...senderTo(sim) }
}

function senderTo(sim: Simulator) {
  const send = async (path: string, body: unknown, init: RequestInit = {}) => {
    const text = typeof body === 'string' ? { body } : {}
    const answer = await sendTo(sim, `POST ${path}`, body, { ...text, ...init })
    return { status: answer.status, text: await answer.text() }
  }
  return { send }
}

function bodiesOf(text: string): unknown[] {
  const { lines } = parseRecording(text, 'run')
  return lines.filter((line): line is typeof line & RequestLine => 'request' in line).map(({ body }) => body)
}

test.each([
  ['one that the repository takes', LLM, 'running'],
  ['another one', { ...LLM, hub: { ...LLM.hub, token: 'hf_wrong' } }, 'failed'],
  ['an empty one', { ...LLM, hub: { ...LLM.hub, token: '' } }, 'failed'],
])('a token of a gated repository is a hash, and the replay of %s is the same', async (_, body, status) => {
  const { sim, recording, send } = recorded({ with: { hub: { repositories: [GATED] } } })
  const created = await send('/deploy/llm', body)
  const { deploy_id } = JSON.parse(created.text) as { deploy_id: string }
  await sim.clock.advance('2h')
  const read = await sendTo(sim, `GET /deploy/${deploy_id}`)
  expect(await read.json()).toMatchObject({ status })
  recording.stop()
  const [first] = bodiesOf(recording.text) as string[]
  const { token } = (JSON.parse(first!) as typeof LLM).hub
  if (body.hub.token === '') expect(token).toBe('')
  else expect(token).toMatch(HASH)
  expect(await replay(recording)).toEqual({ outcome: 'same', requests: 2 })
})

test('a snapshot at the begin of a recording has no token of the hub', async () => {
  const sim = createSimulator({ seed: 3, fixtures: 'two-nodes' })
  const { send } = senderTo(sim)
  expect((await send('/deploy/llm', LLM)).status).toBe(200)
  await sim.clock.advance('1m')
  const recording = recordSimulator(sim)
  expect((await send('/deploy/llm', { ...LLM, model_name: 'acme/second' })).status).toBe(200)
  recording.stop()
  const { header } = parseRecording(recording.text, 'run')
  expect(recording.text).not.toContain(SECRET)
  expect(Buffer.from(decodeBase64(header.snapshot!)).includes(SECRET)).toBe(false)
  expect(await replay(recording)).toEqual({ outcome: 'same', requests: 1 })
})

test('user data, metadata and fields that nothing reads are hashes, and content that is read stays', async () => {
  const { recording, send } = recorded({ fixtures: 'default' })
  const sent = `{ "model_name": "acme/x",\n "gpu": "H100-80GB", "hfToken": "${SECRET}", "env": {"HF_TOKEN":"${SECRET}", "A":"b"}, "size": 1.50 }`
  await send('/deploy/llm', sent)
  await send('/v1/containers', { ...CONTAINER, cloud_init_user_data: `export TOKEN=${SECRET}` })
  await send('/v1/chat/completions', {
    model: 'aurora-labs/aurora-8b-instruct',
    messages: [{ role: 'user', content: '{"password": "said"}' }],
    tools: [{ type: 'function', function: { name: 'log', parameters: { properties: { token: { const: 'kept' } } } } }],
    metadata: { api_key: SECRET, team: 'search' },
    password: SECRET,
  })
  recording.stop()
  const [llm, container, chat] = bodiesOf(recording.text) as string[]
  expect(recording.text).not.toContain(SECRET)
  const mask = (text: string) => text.replaceAll(/"(?:sha256-[0-9a-f]{32}\.*|hf_\w+|b)"/g, '|')
  expect(mask(llm!)).toBe(mask(sent))
  expect(JSON.parse(container!).cloud_init_user_data).toMatch(HASH)
  expect(JSON.parse(chat!)).toMatchObject({
    messages: [{ content: '{"password": "said"}' }],
    tools: [{ function: { parameters: { properties: { token: { const: 'kept' } } } } }],
    metadata: { api_key: expect.stringMatching(HASH), team: 'search' },
    password: expect.stringMatching(HASH),
  })
  expect(await replay(recording)).toEqual({ outcome: 'same', requests: 3 })
})

test('a credential that is too long, in invalid JSON or in one that is too deep is a hash and is refused in the same way', async () => {
  const { recording, send } = recorded()
  const tooLong = await send('/v1/containers', { ...CONTAINER, cloud_init_user_data: SECRET.repeat(1_000) })
  expect(tooLong.status).toBe(422)
  const invalid = await send('/deploy/llm', `{"hub": {"repo": "acme/x", "token": "${SECRET}"} "gpu": 1}`)
  expect(invalid.text).toContain('JSON decode error')
  const deep = `${'['.repeat(20_000)}${']'.repeat(20_000)}`
  const tooDeep = await send('/deploy/llm', `{"hub": {"repo": "acme/x", "token": "${SECRET}"}, "gpu": ${deep}}`)
  expect(tooDeep.status).toBe(422)
  recording.stop()
  expect(recording.text).not.toContain(SECRET)
  expect(await replay(recording)).toEqual({ outcome: 'same', requests: 3 })
})

test.each([
  ['a credential', `{"model_name":"caf\xe9","hub":{"token":"${SECRET}"}}`],
  ['a credential that has the byte', `{"model_name":"x","hub":{"token":"${SECRET}\xe9"}}`],
])('a body that is not UTF-8 is kept as bytes without %s, and is refused again', async (_, text) => {
  const { recording, send } = recorded()
  const sent = Buffer.from(text, 'latin1')
  expect(await send('/deploy/llm', '', { body: sent })).toMatchObject({
    ...{ status: 400, text: expect.stringContaining('The body is not UTF-8') },
  })
  recording.stop()
  const [kept] = bodiesOf(recording.text) as { base64: string }[]
  const bytes = Buffer.from(kept!.base64, 'base64')
  expect(bytes).toHaveLength(sent.length)
  expect(bytes.toString('latin1')).toMatch(/"token":"sha256-[0-9a-f]{32}/)
  expect(bytes.includes(0xe9)).toBe(true)
  expect(await replay(recording)).toEqual({ outcome: 'same', requests: 1 })
})

/** Faults with a credential in a header, in the body or in the message. */
const FAULTS: Readonly<Record<string, FaultRule['fault']>> = {
  'set-cookie': { kind: 'headers', headers: { 'set-cookie': `sid=${SECRET}; Path=/` } },
  'x-api-key': { kind: 'status', status: 503, headers: { 'x-api-key': SECRET } },
  authorization: { kind: 'status', status: 503, headers: { authorization: `Bearer ${SECRET}` } },
  'proxy-authorization': { kind: 'html', headers: { 'proxy-authorization': `Basic ${SECRET}` } },
  cookie: { kind: 'rateLimit', headers: { cookie: `a=${SECRET}; b=${SECRET}` } },
  location: { kind: 'headers', headers: { location: `https://u:${SECRET}@h/` } },
  'a body': { kind: 'status', status: 503, body: { api_key: SECRET } },
  'a message': { kind: 'status', status: 503, message: `key ${SECRET}` },
}

const placesOf = (rule: FaultRule) => ({
  'an option': () => recorded({ faults: [rule] }),
  'a rule': () => {
    const run = recorded()
    run.sim.faults.add(rule)
    return run
  },
  'a snapshot': () => {
    const sim = createSimulator({ seed: 3, fixtures: 'empty' })
    sim.faults.add(rule)
    return { sim, recording: recordSimulator(sim), ...senderTo(sim) }
  },
})

test.each(Object.keys(FAULTS))('a credential in %s of a fault is a hash', async name => {
  const rule: FaultRule = { on: 'listDeployments', chance: 0.5, fault: FAULTS[name]! }
  for (const [place, begin] of Object.entries(placesOf(rule))) {
    const { sim, recording } = begin()
    const seen: string[] = []
    for (let request = 0; request < 8; request++) {
      const answer = await sendTo(sim, 'GET /deploy/list')
      seen.push(JSON.stringify([[...answer.headers], await answer.text()]))
    }
    expect(new Set(seen.map(text => text.includes(SECRET)))).toEqual(new Set([true, false]))
    recording.stop()
    expect(recording.text).not.toContain(SECRET)
    const { header } = parseRecording(recording.text, 'run')
    expect(Buffer.from(header.snapshot ?? '', 'base64').includes(SECRET)).toBe(false)
    expect(await replay(recording), place).toEqual({ outcome: 'same', requests: 8 })
  }
})

test('metadata is answered as it was sent, and its replay is the same with hashes', async () => {
  const { sim, recording, send } = recorded({ fixtures: 'default' })
  const file = new Blob([`${JSON.stringify(batchLine('1', {}))}\n`])
  const { id } = (await askTo(sim, 'POST /v1/files', formOf({ purpose: 'batch', api_key: SECRET, file }))).body
  const metadata = { api_key: SECRET, note: `see https://user:${SECRET}@host.example` }
  const batch = { input_file_id: id, endpoint: '/v1/chat/completions', completion_window: '24h', metadata }
  const created = await send('/v1/batches', batch)
  expect(JSON.parse(created.text)).toMatchObject({ metadata })
  await sendTo(sim, 'GET /v1/batches')
  recording.stop()
  expect(recording.text).not.toContain(SECRET)
  expect(await replay(recording)).toEqual({ outcome: 'same', requests: 3 })
})

test('a token that a client made is a hash, and the replay takes the hash in its place', async () => {
  const { sim, recording, send } = recorded({ fixtures: 'default' })
  const made = JSON.parse((await send('/v1/api-tokens', { name: 'made' })).text) as { token: string }
  const client = { fetch: sim.fetch, token: made.token }
  sim.faults.add({ on: 'listDeployments', token: made.token, times: 1, fault: { kind: 'status', status: 503 } })
  const statuses: number[] = []
  for (const path of [
    '/deploy/list',
    '/deploy/list',
    `/payment/usage/${made.token}?from=current-1`,
    '/v1/api-tokens',
  ]) {
    statuses.push((await sendTo(client, `GET ${path}`)).status)
  }
  expect(statuses).toEqual([503, 200, 200, 200])
  await sendTo(client, `DELETE /v1/api-tokens/${made.token}`)
  recording.stop()
  expect(recording.text).not.toContain(made.token)
  expect(await replay(recording)).toEqual({ outcome: 'same', requests: 6 })
})

test('each cookie of a request is a hash', async () => {
  const { sim, recording } = recorded()
  const headers = { authorization: `Bearer ${sim.token}`, cookie: `sid=${SECRET}; other=${SECRET}` }
  expect((await sim.fetch('http://sim/deploy/list', { headers })).status).toBe(200)
  recording.stop()
  expect(recording.text).not.toContain(SECRET)
  expect(await replay(recording)).toEqual({ outcome: 'same', requests: 1 })
})

test('a token of the world is a hash, and a body without credentials stays', async () => {
  const { sim, recording, send } = recorded()
  await send('/deploy/llm', { ...LLM, api_token: sim.token })
  const plain = '{"model_name": "acme/y",  "gpu": "H100-80GB"}'
  await send('/deploy/llm', plain)
  recording.stop()
  const [first, second] = bodiesOf(recording.text) as string[]
  expect(JSON.parse(first!).api_token).toMatch(HASH)
  expect(second).toBe(plain)
  expect(await replay(recording)).toEqual({ outcome: 'same', requests: 2 })
})

test('a credential under a vendor name is a hash', { tags: 'slow' }, async () => {
  const names = { fields: { hub: 'repository', 'Deployment.config': 'setup', token: 'pass' } }
  const { recording, send } = recorded({ names })
  const { hub: repository, ...rest } = LLM
  const answer = await send('/deploy/llm', { ...rest, repository: { repo: repository.repo, pass: SECRET } })
  expect(answer.status).toBe(200)
  recording.stop()
  expect(recording.text).not.toContain(SECRET)
  expect(await replay(recording)).toEqual({ outcome: 'same', requests: 1 })
})

test('an answer with a credential of several words is a hash, and the replay is the same', {
  tags: 'slow',
}, async () => {
  const endpoints = {
    find: endpoint({
      ...{ route: 'GET /find', summary: 'find', auth: 'none' },
      returns: z.object({ token: z.string(), note: z.string() }),
      handle: () => ({ token: 'two words\n"quoted"', note: 'in {"token":"a b"}' }),
    }),
  }
  const { sim, recording } = recorded({ endpoints })
  for (const path of ['/openapi.json', '/find'])
    expect((await (await sim.fetch(`http://sim${path}`)).text()).length).toBeGreaterThan(30)
  recording.stop()
  expect(recording.text).toContain('\\"token\\":\\"sha256-')
  expect(recording.text).not.toContain('two words')
  expect(await replay(recording, { endpoints })).toEqual({ outcome: 'same', requests: 1 })
})
