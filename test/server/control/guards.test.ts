import { describe, expect, test } from 'vitest'
import { controlOperations } from '../../../src/server/control/index.ts'
import { type Running, running, stateOf } from '../http/running-server.ts'

const JSON_TYPE = { 'content-type': 'application/json' }
const FUNDS = { method: 'POST', body: '{"amount":500}' }

/** Commands that would show, each by itself. */
const COMMANDS: { path: string; method: string; body?: string }[] = [
  { path: '/_sim/clock/advance', method: 'POST', body: '{"by":"1h"}' },
  { path: '/_sim/clock/next', method: 'POST' },
  { path: '/_sim/clock', method: 'PUT', body: '{"mode":"scaled"}' },
  { path: '/_sim/commands', method: 'POST', body: '{"verb":"card.decline"}' },
  { path: '/_sim/commands', method: 'POST', body: '{"verb":"node.crash","target":"h100-0"}' },
  { path: '/_sim/commands', method: 'POST', body: '{"verb":"price.set","target":"H100-80GB","args":{"cents":1}}' },
]

async function expectNoEffect(world: Running, act: () => Promise<number>, statuses: number[]) {
  const before = stateOf(world)
  expect(statuses).toContain(await act())
  expect(stateOf(world)).toEqual(before)
}

describe('a host name that is not of the server', () => {
  test.each(['evil.example', 'evil.example:4010', 'localhost.evil.example'])(
    '%s reaches neither the service nor the control plane',
    { tags: 'slow' },
    async host => {
      const world = await running()
      const authorization = `Bearer ${world.sim.token}`
      await expectNoEffect(
        world,
        async () =>
          (await world.send('/payment/funds', { ...FUNDS, headers: { host, authorization, ...JSON_TYPE } })).status,
        [403],
      )
      for (const { path, ...command } of COMMANDS) {
        const headers = { host, ...JSON_TYPE }
        await expectNoEffect(world, async () => (await world.send(path, { ...command, headers })).status, [403])
      }
      expect((await world.send('/', { headers: { host } })).status).toBe(403)
    },
  )

  test.each([
    'localhost',
    'LOCALHOST:80',
    'sim.localhost',
    '127.0.0.1:9',
    '[::1]:80',
    '10.1.2.3',
    'simulator:4010',
    'localhost.',
  ])('%s is accepted as a name of the server', async host => {
    const { send } = await running()
    expect((await send('/_sim/clock', { headers: { host } })).status).toBe(200)
    expect((await send('/', { headers: { host } })).status).toBe(200)
  })

  test('can be allowed by name, or a whole domain', async () => {
    for (const name of ['http://x', 'sim.example:4010', 'sim.example.', 'sim example', '', '.', 'sím.example'])
      await expect(running({}, { allowHosts: [name] })).rejects.toThrow(`Failed to allow the host '${name}': it is`)
    const { send } = await running({}, { allowHosts: ['sim.example', '.team.example', '[::1]', 'Sim-1'] })
    const status = async (host: string) => (await send('/_sim/clock', { headers: { host } })).status
    expect(await status('sim.example:4010')).toBe(200)
    expect(await status('a.team.example')).toBe(200)
    expect(await status('sim.example.evil.example')).toBe(403)
    expect(await status('team.example')).toBe(403)
  })

  test('in the request line does not count', async () => {
    const world = await running()
    const answer = await world.raw(
      'POST http://localhost/_sim/clock/next HTTP/1.1\r\nHost: evil.example\r\nContent-Length: 0\r\n\r\n',
    )
    expect(answer).toMatch(/^HTTP\/1.1 403 /)
  })

  test('is named in the refusal with the flag that allows it', async () => {
    const { send } = await running()
    expect(JSON.parse((await send('/', { headers: { host: 'evil.example' } })).text).error).toBe(
      "Failed to answer for the host 'evil.example': unknown name of this server. To allow it, start the server with --allow-host and the name.",
    )
  })
})

describe('requests of a web page of another origin', () => {
  const forms: [what: string, headers: Record<string, string>][] = [
    ['a foreign origin', { origin: 'https://evil.example', ...JSON_TYPE }],
    ['the null origin', { origin: 'null', ...JSON_TYPE }],
    ['another port', { origin: 'http://127.0.0.1:1', ...JSON_TYPE }],
    ['a name that begins alike', { origin: 'http://127.0.0.1.evil.example', ...JSON_TYPE }],
    ['a cross-site fetch', { 'sec-fetch-site': 'cross-site', ...JSON_TYPE }],
    ['a same-site fetch', { 'sec-fetch-site': 'same-site', ...JSON_TYPE }],
    ['text/plain', { 'content-type': 'text/plain' }],
    ['a form', { 'content-type': 'application/x-www-form-urlencoded' }],
    ['a multipart form', { 'content-type': 'multipart/form-data; boundary=x' }],
    ['a type that begins alike', { 'content-type': 'application/json-patch+json' }],
  ]
  test.each(forms)('%s changes nothing', async (_, headers) => {
    const world = await running()
    for (const { path, ...command } of COMMANDS)
      await expectNoEffect(world, async () => (await world.send(path, { ...command, headers })).status, [403, 415])
  })

  test('a body without a content type changes nothing', async () => {
    const world = await running()
    await expectNoEffect(
      world,
      async () => (await world.send('/_sim/clock/advance', { method: 'POST', body: '{"by":"1h"}' })).status,
      [415],
    )
  })

  test('an image or a link reads nothing of the control plane', async () => {
    const { send } = await running()
    expect((await send('/_sim/journal', { headers: { 'sec-fetch-site': 'cross-site' } })).status).toBe(403)
  })

  test('a preflight is refused', async () => {
    const { send } = await running()
    const { status, headers } = await send('/_sim/clock/advance', {
      method: 'OPTIONS',
      headers: { origin: 'https://evil.example', 'access-control-request-method': 'POST' },
    })
    expect(status).toBe(403)
    expect(Object.keys(headers).filter(name => name.startsWith('access-control-'))).toEqual([])
  })

  test('pages of the server itself are allowed', async () => {
    const { send, server } = await running()
    const headers = {
      origin: server.url,
      host: `127.0.0.1:${server.port}`,
      'sec-fetch-site': 'same-origin',
      ...JSON_TYPE,
    }
    expect((await send('/_sim/clock/advance', { method: 'POST', body: '{"by":"1s"}', headers })).status).toBe(200)
  })
})

describe('requests of a web page of another site to the service', () => {
  const path = '/vendor_a/v1/messages/count_tokens'
  const body = JSON.stringify({ model: 'aurora-labs/aurora-8b-instruct', messages: [{ role: 'user', content: 'Hi' }] })
  const sites: [what: string, headers: Record<string, string>][] = [
    ['a foreign origin', { origin: 'https://evil.example' }],
    ['the null origin', { origin: 'null' }],
    ['another port', { origin: 'http://127.0.0.1:1' }],
    ['a cross-site fetch', { 'sec-fetch-site': 'cross-site' }],
    ['a same-site fetch', { 'sec-fetch-site': 'same-site' }],
  ]
  const post = (headers: Record<string, string>) => ({
    method: 'POST',
    body,
    headers: { 'content-type': 'text/plain', ...headers },
  })

  test.each(sites)('the service rejects a request without a token when it has %s', async (_, headers) => {
    const world = await running()
    await world.command('/_sim/worlds', { name: 'other' })
    for (const place of [path, `/_sim/worlds/other${path}`])
      await expectNoEffect(world, async () => (await world.send(place, post(headers))).status, [403])
  })

  test.each(sites)('the service answers a request with a token when it has %s', async (_, headers) => {
    const { send, sim } = await running()
    const authorization = `Bearer ${sim.token}`
    expect((await send(path, post({ authorization, ...headers }))).status).toBe(200)
    expect((await send(path, post({ 'alt-api-key': sim.token, ...headers }))).status).toBe(200)
  })

  test('the service answers a request without a token when no other site sent it', { tags: 'slow' }, async () => {
    const { send, server } = await running()
    expect((await send(path, post({}))).status).toBe(200)
    const own = { origin: server.url, host: `127.0.0.1:${server.port}`, 'sec-fetch-site': 'same-origin' }
    expect((await send(path, post(own))).status).toBe(200)
    expect((await send('/openapi.json', { headers: { 'sec-fetch-site': 'cross-site' } })).status).toBe(200)
  })
})

test.each([
  '/_sim/clock/next',
  '/_sim//clock/next',
  '//_sim/clock/next',
  '/./_sim/clock/next',
  '/x/../_sim/clock/next',
  '/x/%2e%2e/_sim/clock/next',
  '/%5fsim/clock/next',
  '/_sim%2fclock/next',
  '/_SIM/clock/next',
  '/_sim/clock/next/',
  '/_sim/clock/next?x=/deploy/list',
  '/deploy/..%2f_sim/clock/next',
])('spellings of a path %s passes no guard', { tags: 'slow' }, async path => {
  const world = await running()
  const before = world.sim.digest
  await world.raw(
    `POST ${path} HTTP/1.1\r\nHost: localhost\r\nOrigin: https://evil.example\r\nContent-Length: 0\r\n\r\n`,
  )
  expect(world.sim.digest).toBe(before)
})

describe('beyond loopback', () => {
  const open = { hostname: '0.0.0.0', controlToken: 'control-secret' }

  test('every operation except health and the root requires the control token', { tags: 'slow' }, async () => {
    const world = await running({}, open)
    const free = ['getHealth', 'getRoot']
    for (const [operation, { method, path }] of Object.entries(controlOperations)) {
      const target = path.replaceAll(/\{\w+\}/g, 'x')
      const before = stateOf(world)
      const { status } = await world.send(target, { method, headers: { authorization: `Bearer ${world.sim.token}` } })
      expect([operation, status]).toEqual([operation, free.includes(operation) ? 200 : 401])
      expect(stateOf(world)).toEqual(before)
    }
  })

  test('the token is accepted in its header or as a bearer token, and only as a whole', async () => {
    const { send } = await running({}, open)
    const status = async (headers: Record<string, string>) => (await send('/_sim/clock', { headers })).status
    expect(await status({ 'x-sim-control-token': 'control-secret' })).toBe(200)
    expect(await status({ authorization: 'bearer control-secret' })).toBe(200)
    expect(await status({ 'x-sim-control-token': 'control-secre' })).toBe(401)
    expect(await status({ 'x-sim-control-token': '' })).toBe(401)
    expect(await status({ authorization: 'Basic control-secret' })).toBe(401)
  })

  test('the service requires its own tokens', async () => {
    const { ask } = await running({}, open)
    expect((await ask('/deploy/list')).status).toBe(200)
  })
})

test('the control plane on loopback needs no token and ignores one that is sent', async () => {
  const { send } = await running({}, { controlToken: 'unused' })
  expect((await send('/_sim/clock')).status).toBe(200)
  expect((await send('/_sim/clock', { headers: { authorization: 'Bearer sim_ci_token' } })).status).toBe(200)
})
