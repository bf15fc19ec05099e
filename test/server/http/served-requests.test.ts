/** What a server reports of its requests, what it says to a client whose polls cannot end, and which pages may use it. */
import { expect, onTestFinished, test, vi } from 'vitest'
import { requestLine } from '../../../src/cli/commands/serve.ts'
import type { ServedRequest } from '../../../src/server/http/server.ts'
import { running } from './running-server.ts'

const DEPLOYMENT = { model_name: 'acme/new', gpu: 'H100-80GB', hub: { repo: 'acme/chat-8b' } }

function json(body: unknown): RequestInit {
  return { method: 'POST', body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }
}

function warnings(): string[] {
  const lines: string[] = []
  const spy = vi.spyOn(console, 'warn').mockImplementation(line => void lines.push(line))
  onTestFinished(() => spy.mockRestore())
  return lines
}

test('a server reports each request with its operation, the time of its world and what decided it', {
  tags: 'slow',
}, async () => {
  const served: ServedRequest[] = []
  const { ask, sim, command } = await running({}, { onRequest: request => served.push(request) })
  await sim.clock.advance('90s')
  sim.faults.add({ name: 'busy', on: 'listVoices', fault: { kind: 'status', status: 503 } })
  sim.faults.add({ on: 'getMe', fault: { kind: 'reset' } })
  await ask('/deploy/list?status=running')
  await ask('/v1/voices')
  await ask('/deploy/llm', json({ ...DEPLOYMENT, num_gpus: 8 }))
  await ask('/nowhere')
  await ask('/openapi.json')
  await ask('/v1/me').catch(() => {})
  await ask(`/v1/api-tokens/${sim.token}`)
  await command('/_sim/clock/pause', { owner: 'test' })
  await ask('/deploy/list')
  const line = (one: ServedRequest) =>
    `${one.status} ${one.method} ${one.path} ${one.operation} ${one.decidedBy} ${one.reason?.match(/over the GPU limit/)?.[0] ?? one.reason ?? ''}`.trim()
  expect(served.map(line)).toEqual([
    '200 GET /deploy/list?status=running listDeployments none',
    '503 GET /v1/voices listVoices fault busy (status)',
    '403 POST /deploy/llm createLlmDeployment limit over the GPU limit',
    '404 GET /nowhere  none Not Found',
    '200 GET /openapi.json  none',
    '0 GET /v1/me getMe fault fault-1 (reset)',
    '200 GET /v1/api-tokens/…oken getApiToken none',
    '200 POST /_sim/clock/pause pauseClock none',
    '200 GET /deploy/list listDeployments none',
  ])
  const places = new Set(served.map(({ world, time }) => `${world} ${time}`))
  expect(places).toEqual(new Set(['default 2026-01-01T00:01:30.000Z']))
})

test('a server reports a request that it refuses for its host', async () => {
  const served: ServedRequest[] = []
  const { send } = await running({}, { onRequest: request => served.push(request) })
  await send('/deploy/list', { headers: { host: 'rebound.example' } })
  expect(served).toMatchObject([{ method: 'GET', path: '/deploy/list', status: 403, operation: '' }])
})

test('a line has no control characters and no more than the beginning of a long reason', () => {
  const request: ServedRequest = {
    ...{ time: '2026-01-01T00:01:30.000Z', world: 'w1', method: 'GET', path: '/deploy/x', status: 404 },
    ...{ operation: 'getDeployment', decidedBy: 'state', reason: `\u001b[2J\r\n${'x'.repeat(500)}` },
  }
  const line = requestLine(request, 'text')
  expect(line).toMatch(
    /^2026-01-01 00:01:30 {2}404 {2}GET \/deploy\/x {2}getDeployment {2}in w1 {2}state: \\u001b\[2J\\u000d x+…\n$/,
  )
  expect(line.length).toBeLessThan(300)
  expect(JSON.parse(requestLine(request, 'json'))).toEqual(request)
  expect(requestLine({ ...request, status: 0, decidedBy: 'none' }, 'text')).toContain('  ---  GET')
})

test.each([
  ['GET', '/nowhere', undefined, '404', 'request: Not Found'],
  ['PUT', '/deploy/list', undefined, '405', 'request: Method Not Allowed'],
  ['POST', '/deploy/llm', '{}', '422', 'request: body.model_name: Field required'],
  ['GET', '/deploy/list?status=runing', undefined, '400', "request: unknown status 'runing'"],
])('the line of %s %s with the body %s gives the reason of its %s', async (method, path, body, status, reason) => {
  const served: ServedRequest[] = []
  const { ask } = await running({}, { onRequest: request => served.push(request) })
  await ask(path, { method, ...(body !== undefined && { body, headers: { 'content-type': 'application/json' } }) })
  const [line] = served.map(request => requestLine(request, 'text'))
  expect(line).toContain(`  ${status}  `)
  expect(line).toContain(`  ${reason}`)
})

test('the line of a request with an unknown token gives the reason of its 401', async () => {
  const served: ServedRequest[] = []
  const { ask } = await running({}, { onRequest: request => served.push(request) })
  await ask('/v1/me', { headers: { authorization: 'Bearer unknown' } })
  expect(requestLine(served[0]!, 'text')).toMatch(/ {2}401 .* request: \w/)
})

test('one notice says how to move time when a client polls and time does not move', async () => {
  const lines = warnings()
  const { ask, sim, server } = await running({ fixtures: 'two-nodes' })
  const created = (await (await ask('/deploy/llm', json(DEPLOYMENT))).json()) as { deploy_id: string }
  const poll = async (times: number) => {
    for (let i = 0; i < times; i++) await ask(`/deploy/${created.deploy_id}`)
  }
  await poll(4)
  expect(lines).toEqual([])
  await sim.clock.advance('1s')
  await poll(4)
  expect(lines).toEqual([])
  await poll(20)
  expect(lines).toHaveLength(1)
  expect(lines[0]).toContain(`GET /deploy/${created.deploy_id} was asked 5 times at 2026-01-01T00:00:01`)
  expect(lines[0]).toContain(`curl --json '{"by":"10m"}' ${server.url}/_sim/clock/advance`)
})

test('no notice comes when a client repeats a request for a thing that is complete', async () => {
  const lines = warnings()
  const { ask } = await running()
  for (let i = 0; i < 10; i++) await ask('/v1/voices')
  for (let i = 0; i < 10; i++) await ask('/v1/batches/batch_4bszUZ9REqRnzm2DdbW5wBgB')
  expect(lines).toEqual([])
})

test('pages of the allowed origin may use the service, after a preflight', async () => {
  const origin = 'http://localhost:5173'
  const { send, sim } = await running({}, { cors: origin })
  const authorization = `Bearer ${sim.token}`
  const preflight = await send('/deploy/llm', {
    method: 'OPTIONS',
    headers: {
      origin,
      'access-control-request-method': 'POST',
      'access-control-request-headers': 'authorization,content-type',
    },
  })
  expect(preflight).toMatchObject({
    status: 204,
    headers: {
      'access-control-allow-origin': origin,
      'access-control-allow-headers': 'authorization,content-type',
      'access-control-allow-methods': expect.stringContaining('POST'),
      vary: 'Origin',
    },
  })
  const answer = await send('/deploy/llm', {
    method: 'POST',
    headers: { origin, authorization, 'content-type': 'application/json', 'sec-fetch-site': 'same-site' },
    body: JSON.stringify(DEPLOYMENT),
  })
  expect(answer).toMatchObject({ status: 200, headers: { 'access-control-allow-origin': origin } })
  const refusal = await send('/deploy/none', { headers: { origin } })
  expect(refusal).toMatchObject({ status: 401, headers: { 'access-control-allow-origin': origin } })
})

test.each([['http://evil.example'], ['null'], ['http://localhost:51733']])('pages of %s get nothing', async other => {
  const { send, sim } = await running({}, { cors: 'http://localhost:5173' })
  const before = sim.digest
  const headers = { origin: other, 'access-control-request-method': 'POST' }
  for (const method of ['OPTIONS', 'GET'])
    expect((await send('/deploy/list', { method, headers })).headers).not.toHaveProperty('access-control-allow-origin')
  expect((await send('/deploy/llm', { method: 'POST', headers, body: '{}' })).status).toBe(403)
  expect(sim.digest).toBe(before)
})

test.each(['/_sim/clock', '/_sim/reset', '/_sim', '/', '/_sim/worlds/default/deploy/list'])(
  'pages of another origin never reach %s, whatever origin the service allows',
  async path => {
    const { send } = await running({}, { cors: '*' })
    const headers = { origin: 'http://page.example', 'access-control-request-method': 'POST' }
    for (const method of ['OPTIONS', 'GET', 'POST']) {
      const answer = await send(path, { method, headers })
      expect(answer.headers, `${method} ${path}`).not.toHaveProperty('access-control-allow-origin')
    }
  },
)

test('a server without an allowed origin answers no preflight', async () => {
  const { send } = await running()
  const headers = { origin: 'http://page.example', 'access-control-request-method': 'GET' }
  const answer = await send('/deploy/list', { method: 'OPTIONS', headers })
  expect(answer.status).toBe(405)
  expect(answer.headers).not.toHaveProperty('access-control-allow-origin')
})
