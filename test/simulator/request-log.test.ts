/** The memory of requests is bounded by characters, not by their count alone. */
import { inspect } from 'node:util'
import { describe, expect, test } from 'vitest'
import { createSimulator, replay } from '../../src/index.ts'
import { type Exchange, readRetryAfter } from '../../src/service/http/exchange.ts'
import { RequestLog } from '../../src/simulator/exchanges/request-log.ts'
import type { Simulator } from '../../src/simulator/simulator.ts'
import { askTo, sendTo } from '../setup/send-to.ts'

const { world } = createSimulator({ fixtures: 'empty' })
const EXCHANGE: Exchange = {
  ...{ operation: 'createLlmDeployment', method: 'POST', path: '/deploy/llm', decidedBy: 'none' as const },
  ...{ text: undefined, seq: undefined, lastSeq: 0, unread: undefined, reason: undefined, status: 200 },
  ...{ sentAt: 0, endedAt: 0, client: '', retryAfter: undefined },
}

test.each([
  ['20', 20],
  [' 1.5 ', 1.5],
  ['Thu, 01 Jan 1970 00:01:30 GMT', 30],
  ['Thu, 01 Jan 1970 00:00:30 GMT', 0],
  ['', undefined],
  ['soon', undefined],
  [null, undefined],
])('the header Retry-After %j asks for a wait of %j seconds', (header, seconds) => {
  expect(readRetryAfter(header, 60_000)).toBe(seconds === undefined ? undefined : seconds * 1e6)
})

test('a log keeps at most 16 Mi characters, of the newest requests', () => {
  const log = new RequestLog()
  const unread = Array.from({ length: 100 }, (_, i) => `body ${String(i).padStart(10_000, 'x')}`)
  for (let i = 0; i < 200; i++) log.add({ ...EXCHANGE, path: `/${i}`, status: 422, unread })
  const kept = log.list(world)
  expect(kept.length).toBeGreaterThan(10)
  expect(kept.length).toBeLessThan(20)
  expect(kept.at(-1)!.path).toBe('/199')
  expect(log.unreadFields(true)).toHaveLength(100)
})

test('a log keeps 1,000 requests of usual size', () => {
  const log = new RequestLog()
  for (let i = 0; i < 5000; i++) log.add({ ...EXCHANGE, path: `/${i}`, text: '{}' })
  expect(log.list(world).map(({ path }) => path)).toEqual(Array.from({ length: 1000 }, (_, i) => `/${4000 + i}`))
})

test('journal and log keep the beginning of a long path', async () => {
  const sim = createSimulator()
  await sim.fetch(`http://sim/deploy/${'x'.repeat(15_000)}`)
  expect(sim.requests[0]!.path.length).toBeLessThan(5_000)
  expect(sim.journal.entries().at(-1)!.subject.length).toBeLessThan(2_000)
})

describe('a received request', () => {
  const CHAT = { messages: [{ role: 'user', content: 'Hello.' }] }
  async function send(sim: Simulator, method: string, path: string, body?: unknown, token = sim.token) {
    const { status, body: answer } = await askTo({ fetch: sim.fetch, token }, `${method} ${path}`, body)
    return { status, answer, request: sim.requests.at(-1)! }
  }

  test('has its journal entry, the id of its token and the things that it created', async () => {
    const sim = createSimulator({ seed: 1 })
    const body = { model_name: 'acme/new', gpu: 'H100-80GB', hub: { repo: 'acme/chat-8b' } }
    const { answer, request } = await send(sim, 'POST', '/deploy/llm', body)
    expect(sim.journal.why(request.seq)).toMatchObject([{ kind: 'request', fields: { operation: request.operation } }])
    expect(request.client).toBe(sim.world.store.tokens.all()[0]!.token_id)
    expect(JSON.stringify(request)).not.toContain(sim.token)
    // The instance is named nowhere in the request.
    expect(request.subjects).toEqual(expect.arrayContaining([answer.deploy_id, `${answer.deploy_id}-0`]))
    expect(request).not.toHaveProperty('reason')
    const read = await send(sim, 'GET', `/deploy/${answer.deploy_id}`)
    expect(read.request).toMatchObject({ subjects: [answer.deploy_id], seq: expect.any(Number) })
    expect(read.request.seq).toBeGreaterThan(request.seq)
  })

  test('names the deployment that serves the model of its body, and the words of its refusal', async () => {
    const sim = createSimulator({ seed: 1 })
    const { row } = sim.world.deployments.list().find(({ status }) => status === 'stopped')!
    const { id: deploy_id, plan } = row
    const { status, request } = await send(sim, 'POST', '/v1/chat/completions', { model: plan.modelName, ...CHAT })
    expect(status).toBeGreaterThan(399)
    expect(request.subjects).toContain(deploy_id)
    expect(request.reason).toContain(plan.modelName)
    const name = sim.world.store.models.all().find(({ type }) => type === 'text-generation')!.model_name
    expect((await send(sim, 'POST', '/v1/chat/completions', { model: name, ...CHAT })).request.subjects[0]).toBe(name)
  })

  test('is not about a thing that has a word of its route as its name', async () => {
    const sim = createSimulator({ seed: 1 })
    const name = sim.world.store.models.all().find(({ type }) => type === 'text-generation')!.model_name
    const deployed = await send(sim, 'POST', '/deploy/llm', {
      ...{ model_name: 'chat', gpu: 'H100-80GB', hub: { repo: 'acme/chat-8b' } },
    })
    const { subjects } = (await send(sim, 'POST', '/v1/chat/completions', { model: name, ...CHAT })).request
    expect(subjects).not.toContain(deployed.answer.deploy_id)
    expect(subjects).toContain(name)
  })

  test('has the status that its client got if a fault replaces the answer', async () => {
    const sim = createSimulator({ seed: 1 })
    sim.faults.add({ on: 'listDeployments', fault: { kind: 'status', status: 503, effect: 'done' } })
    expect((await send(sim, 'GET', '/deploy/list')).request).toMatchObject({ status: 503, decidedBy: 'fault' })
    sim.faults.add({ on: 'getMe', fault: { kind: 'reset', effect: 'done' } })
    await expect(send(sim, 'GET', '/v1/me')).rejects.toThrow('fetch failed')
    expect(sim.requests.at(-1)).toMatchObject({ operation: 'getMe', status: 0 })
    expect(sim.requestCounts).toContainEqual({ operation: 'getMe', status: 0, count: 1 })
  })

  test('is printed with its body and its subjects', async () => {
    const sim = createSimulator({ seed: 1 })
    const { request } = await send(sim, 'POST', '/v1/chat/completions', { model: 'acme/assistant', ...CHAT })
    expect(inspect(request, { depth: 5 })).toContain("content: 'Hello.'")
    expect(inspect([request])).not.toContain('[Getter]')
  })

  test('has the token of a request that a fault answers, and its Retry-After in seconds', async () => {
    const sim = createSimulator({ seed: 1 })
    sim.faults.add({ name: 'busy', on: 'listDeployments', times: 1, fault: { kind: 'rateLimit', retryAfter: '30s' } })
    sim.faults.add({ on: 'getMe', fault: { kind: 'rateLimit', retryAfter: '90s', as: 'date' } })
    const { token_id: client } = sim.world.store.tokens.all()[0]!
    const { request } = await send(sim, 'GET', '/deploy/list')
    expect(request).toMatchObject({ status: 429, client, retryAfter: 30, reason: 'busy (rateLimit)' })
    expect((await send(sim, 'GET', '/deploy/list')).request).not.toHaveProperty('retryAfter')
    expect((await send(sim, 'GET', '/v1/me')).request).toMatchObject({ status: 429, retryAfter: 90 })
    // A date has whole seconds: who waits until then has waited for less than 90 seconds.
    await sim.clock.advance('500ms')
    expect((await send(sim, 'GET', '/v1/me')).request).toMatchObject({ status: 429, retryAfter: 89.5 })
  })

  test('has no client and no subject if its token and its path are unknown', async () => {
    const sim = createSimulator({ seed: 1 })
    const { request } = await send(sim, 'GET', '/deploy/list', undefined, 'wrong')
    expect(request).toMatchObject({ status: 401, client: '', subjects: [] })
    await sim.fetch('http://sim/%zz/no?x=%zz')
    expect(sim.requests.at(-1)).toMatchObject({ status: 404, operation: '', client: '', subjects: [] })
  })

  test('was sent before it was answered, if its client had to wait', async () => {
    const sim = createSimulator({ seed: 1, inferencePace: 'clock' })
    const { model_name: model } = sim.world.store.models.all().find(({ type }) => type === 'text-generation')!
    const sent = send(sim, 'POST', '/v1/chat/completions', { model, ...CHAT })
    await sim.clock.until(() => sim.requests.length > 0)
    const { request } = await sent
    expect(request.sentAt).toBe('2026-01-01T00:00:00.000000+00:00')
    expect(request.at > request.sentAt).toBe(true)
  })
})

test('a request whose signal is aborted before its answer rejects, and is not carried out if it has not begun', async () => {
  const sim = createSimulator({ fixtures: 'empty' })
  const recording = sim.record()
  const reason = new Error('enough')
  const create = (signal: AbortSignal) => {
    const body = JSON.stringify({ model_name: 'acme/chat', gpu: 'H100-80GB', hub: { repo: 'acme/chat-8b' } })
    return sendTo(sim, 'POST /deploy/llm', undefined, { body, signal })
  }
  const read = (signal: AbortSignal) =>
    sim.fetch(new Request('http://sim/deploy/list', { headers: { authorization: `Bearer ${sim.token}` }, signal }))
  for (const send of [create, read]) await expect(send(AbortSignal.abort(reason))).rejects.toBe(reason)
  await expect(create(AbortSignal.abort())).rejects.toMatchObject({ name: 'AbortError' })
  const leave = new AbortController()
  const sent = [create(leave.signal), read(leave.signal)]
  leave.abort(reason)
  for (const answer of sent) await expect(answer).rejects.toBe(reason)
  expect(sim.requests.map(({ operation }) => operation)).toEqual(['listDeployments'])
  const other = new AbortController()
  const moved = create(other.signal)
  sim.faults.add({ on: 'listFiles', fault: { kind: 'reset' } })
  other.abort(reason)
  await expect(moved).rejects.toBe(reason)
  expect((await sendTo(sim, 'GET /deploy/list')).status).toBe(200)
  expect(sim.world.deployments.list()).toEqual([])
  // It has begun with the choice of a rule.
  sim.faults.add({ on: 'createLlmDeployment', fault: { kind: 'latency', delay: '1s' } })
  const late = new AbortController()
  const delayed = create(late.signal)
  late.abort(reason)
  await expect(delayed).rejects.toBe(reason)
  recording.stop()
  expect(await replay(recording)).toMatchObject({ outcome: 'same' })
  // By the standard, null takes the place of the signal of a request.
  const list = new Request('http://sim/deploy/list', { signal: AbortSignal.abort(reason) })
  expect((await sim.fetch(list, { signal: null })).status).toBe(401)
})

test('an answer has the address of its request, and a scheme other than http rejects', async () => {
  const sim = createSimulator({ fixtures: 'empty' })
  const answer = await sim.fetch('http://sim/v1/models?limit=1#top')
  const url = { value: 'http://sim/v1/models?limit=1', configurable: true }
  expect(Object.getOwnPropertyDescriptor(answer, 'url')).toMatchObject(url)
  for (const url of ['ftp://sim/v1/models', 'localhost:4010/v1/models'])
    await expect(sim.fetch(url)).rejects.toThrow(TypeError)
  expect(sim.requests).toHaveLength(1)
})

test('a URL whose content is in the process is read as Node reads it, and the service gets nothing', async () => {
  const sim = createSimulator({ fixtures: 'empty' })
  const url = URL.createObjectURL(new Blob(['a blob']))
  for (const input of ['data:text/plain,hi', new URL('DATA:,hi'), new Request('data:,hi')])
    expect(await (await sim.fetch(input)).text()).toBe('hi')
  expect(await (await sim.fetch(url)).text()).toBe('a blob')
  URL.revokeObjectURL(url)
  expect(sim.requests).toEqual([])
})
