/** What `sim.fetch` does with signals and bodies is what `fetch` does with a server. */
import { expect, test } from 'vitest'
import { createSimulator } from '../../src/index.ts'
import { sendTo } from '../setup/send-to.ts'

const reason = new Error('enough')
const gone = new Error('disk gone')

/** A body that begins and never goes on. `left` has the reason for which it was cancelled. */
function unendedBody() {
  const left: unknown[] = []
  const body = new ReadableStream({
    start: controller => controller.enqueue(new TextEncoder().encode('{"model_na')),
    pull: () => new Promise(() => {}),
    cancel: reason => {
      left.push(reason)
    },
  })
  return { body, left }
}

async function* failingBody() {
  yield new TextEncoder().encode('{"model_na')
  throw gone
}

const upload = { duplex: 'half', headers: { 'content-type': 'application/json' } } as RequestInit

test.each(['POST /deploy/llm', 'POST /v1/files'])(
  '%s rejects when its signal aborts before its body has ended',
  async request => {
    const sim = createSimulator({ fixtures: 'empty' })
    const leave = new AbortController()
    const { body, left } = unendedBody()
    const headers = request.endsWith('files') ? { 'content-type': 'multipart/form-data; boundary=x' } : upload.headers!
    const sent = sendTo(sim, request, undefined, { ...upload, headers, body, signal: leave.signal })
    await new Promise(resolve => setImmediate(resolve))
    leave.abort(reason)
    await expect(sent).rejects.toBe(reason)
    expect(left).toEqual([reason])
    expect(sim.requests).toEqual([])
    // A body that has not ended does not matter to an answer that does not need it.
    const refused = await sim.fetch('http://sim/deploy/llm', { ...upload, method: 'POST', body: unendedBody().body })
    expect(refused.status).toBe(401)
  },
)

test.each([
  ['a generator that throws', failingBody],
  ['a stream that fails', () => new ReadableStream({ start: controller => controller.error(gone) })],
])('a request whose body is %s rejects with the cause', async (_, make) => {
  const sim = createSimulator({ fixtures: 'empty' })
  const body = make() as ReadableStream
  const sent = sendTo(sim, 'POST /deploy/llm', undefined, { ...upload, body })
  await expect(sent).rejects.toMatchObject({ name: 'TypeError', message: 'fetch failed', cause: gone })
  expect(sim.requests).toEqual([])
  sim.faults.add({ on: 'createLlmDeployment', nth: 9, fault: { kind: 'reset' } })
  const counted = sendTo(sim, 'POST /deploy/llm', undefined, { ...upload, body: make() as ReadableStream })
  await expect(counted).rejects.toMatchObject({ message: 'fetch failed', cause: gone })
})

test('a Request with a body can be sent once, also if its answer did not need the body', async () => {
  const sim = createSimulator({ fixtures: 'empty' })
  const request = new Request('http://sim/deploy/llm', { method: 'POST', body: '{}' })
  const sent = sim.fetch(request)
  expect(request.bodyUsed).toBe(true)
  expect((await sent).status).toBe(401)
  await expect(sim.fetch(request)).rejects.toThrow('Request object that has already been used')
  expect(sim.requests).toHaveLength(1)
  const list = new Request('http://sim/v1/models')
  for (const _ of [1, 2]) expect((await sim.fetch(list)).status).toBe(200)
})

test.each(['text', 'json', 'arrayBuffer', 'blob'] as const)('%s of an answer rejects after an abort', async read => {
  const sim = createSimulator({ fixtures: 'empty' })
  const url = 'http://sim/v1/models'
  const leave = new AbortController()
  const answers = [await sim.fetch(url, { signal: leave.signal }), await sim.fetch(new Request(url, leave))]
  expect(answers.map(({ url, status }) => [url, status])).toEqual(answers.map(() => [url, 200]))
  leave.abort(reason)
  for (const answer of answers) await expect(answer[read]()).rejects.toBe(reason)
})

test('a stream ends with the reason of an abort, and its request ends in the world', async () => {
  const sim = createSimulator({ fixtures: 'default' })
  const leave = new AbortController()
  const chat = { model: 'aurora-labs/aurora-8b-instruct', stream: true, messages: [{ role: 'user', content: 'Hi' }] }
  const answer = await sendTo(sim, 'POST /v1/chat/completions', chat, { signal: leave.signal })
  const reader = answer.body!.getReader()
  expect((await reader.read()).done).toBe(false)
  leave.abort(reason)
  await expect(reader.read()).rejects.toBe(reason)
  expect([...sim.world.inferenceRequests.handles.values()]).toEqual([])
})

test.each([{ keepalive: true }, { mode: 'no-cors' }] as const)('a POST with %j is sent', async options => {
  const sim = createSimulator()
  const headers = { authorization: `Bearer ${sim.token}`, 'content-type': 'application/json' }
  const body = JSON.stringify({ model: 'aurora-labs/aurora-8b-instruct', prompt: 'A reef is', max_tokens: 5 })
  const sent = { method: 'POST', headers, ...options }
  const url = 'http://sim/v1/completions'
  expect((await sim.fetch(url, { ...sent, body })).status).toBe(200)
  expect((await sim.fetch(new Request(url, { ...sent, body }))).status).toBe(200)
})
