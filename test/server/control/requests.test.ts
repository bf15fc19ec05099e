/** Received requests over the control plane: the same as in the process, without credentials. */
import { expect, test } from 'vitest'
import { createSimulator } from '../../../src/index.ts'
import { LIMITS } from '../../../src/lib/limits.ts'
import { sendTo } from '../../setup/send-to.ts'
import { running } from '../http/running-server.ts'

const NEW = { model_name: 'acme/new', gpu: 'H100-80GB', hub: { repo: 'acme/chat-8b' } }

test('the list over HTTP is sim.requests', async () => {
  const { sim, ask, command } = await running()
  await ask('/deploy/llm', { method: 'POST', body: JSON.stringify(NEW) })
  await sim.clock.advance('90s')
  await ask('/deploy/missing')
  const { body } = await command('/_sim/requests', undefined, 'GET')
  expect(body).toEqual({
    requests: JSON.parse(JSON.stringify(sim.requests)),
    matched: 2,
    dropped: 0,
    last: sim.requests[1]!.seq,
  })
  const late = await command('/_sim/requests?from=90s&status=404', undefined, 'GET')
  expect(late.body.requests).toEqual([body.requests[1]])
})

test('the list shows no token, no credential of a body, and short bodies', async () => {
  const { sim, ask, command } = await running()
  const words = 'x'.repeat(2 * LIMITS.listedBody)
  const hub = { repo: `acme/${words}`, token: 'hub_secret' }
  await ask(`/deploy/${sim.token}?key=${sim.token}`)
  await ask('/deploy/llm', { method: 'POST', body: JSON.stringify({ ...NEW, hub, model_name: sim.token }) })
  const read = async (query: string) => {
    const { body } = await command(`/_sim/requests?operation=*Deployment*${query}`, undefined, 'GET')
    expect(JSON.stringify(body)).not.toContain(sim.token)
    expect(JSON.stringify(body)).not.toContain('hub_secret')
    return body.requests[1]
  }
  const short = await read('')
  expect(short.body).toHaveLength(LIMITS.listedBody + 1)
  expect((await read('&bodies=whole')).body).toMatchObject({ hub: { repo: hub.repo, token: '(hidden)' } })
  expect(await read('&bodies=none')).not.toHaveProperty('body')
})

test('a page continues where the one before ended', async () => {
  const { ask, command } = await running()
  for (const path of ['/deploy/list', '/v1/voices', '/v1/me']) await ask(path)
  const read = async (query: string) => (await command(`/_sim/requests?${query}`, undefined, 'GET')).body
  const first = await read('limit=2')
  expect([first.requests.length, first.matched]).toEqual([2, 3])
  const second = await read(`limit=2&after=${first.last}`)
  expect(second.requests.map(({ operation }: { operation: string }) => operation)).toEqual(['getMe'])
  expect(await read(`after=${second.last}`)).toEqual({ requests: [], matched: 0, dropped: 0, last: 0 })
})

test('a verification over HTTP is that of the process', async () => {
  const { sim, ask, command } = await running()
  await ask('/deploy/llm', { method: 'POST', body: JSON.stringify(NEW) })
  const fork = createSimulator({ seed: 1 })
  const expected = [
    { operation: 'createLlmDeployment', body: { gpu: 'B200-180GB' } },
    { operation: 'createLlmDeployment', exactly: 1 },
  ]
  const { status, body } = await command('/_sim/verify', { expect: expected })
  await sendTo(fork, 'POST /deploy/llm', NEW)
  expect(status).toBe(200)
  expect(body).toEqual(fork.verify(expected))
  expect(body).toMatchObject({ ok: false, results: [{ ok: false }, { ok: true }] })
  expect(fork.findRequests({ operation: 'create*' })).toHaveLength(1)
  expect(sim.requests).toHaveLength(1)
})

test('reading requests leaves the world and its journal as they were', async () => {
  const { sim, ask, command } = await running()
  await ask('/deploy/list')
  const before = [sim.digest, sim.world.journal.last, sim.requests.length]
  await command('/_sim/requests', undefined, 'GET')
  await command('/_sim/verify', { expect: { operation: 'getMe' } })
  expect([sim.digest, sim.world.journal.last, sim.requests.length]).toEqual(before)
})

test('the list and the events show a body that is nested too deep as its text', async () => {
  const { sim, server, ask, command } = await running()
  const deep = `${'['.repeat(30_000)}${']'.repeat(30_000)}`
  const { status } = await ask('/deploy/llm', { method: 'POST', body: deep })
  expect(status).toBe(422)
  await ask('/v1/me')
  const { body } = await command('/_sim/requests?bodies=whole', undefined, 'GET')
  expect(body.requests.map((request: { body?: unknown }) => request.body)).toEqual([deep, undefined])
  expect(sim.requests[0]!.body).toBe(deep)
  const events = await (await fetch(`${server.url}/_sim/events?after=start&follow=false&kind=request`)).text()
  expect(events.match(/^event: request$/gm)).toHaveLength(2)
})

test.each([
  ['is cut', JSON.stringify({ hub: { token: 'hub_secret' }, rest: 'x'.repeat(LIMITS.requestBody) })],
  [
    'is cut within a credential',
    `{"rest":"${'x'.repeat(LIMITS.requestBody - 40)}","api_key":"${'hub_secret'.repeat(20)}"}`,
  ],
])('no list, event or near miss shows a credential of a body that %s', { tags: 'slow' }, async (_, body) => {
  const { server, ask, command } = await running()
  await ask('/deploy/llm', { method: 'POST', body })
  const list = await command('/_sim/requests?bodies=whole', undefined, 'GET')
  const events = await (await fetch(`${server.url}/_sim/events?after=start&follow=false`)).text()
  const verified = await command('/_sim/verify', { expect: { operation: 'create*', body: { gpu: 'H100-80GB' } } })
  expect(JSON.stringify(list.body)).toContain('(hidden)')
  for (const answer of [JSON.stringify(list.body), events, JSON.stringify(verified.body)])
    expect(answer).not.toContain('hub_secret')
})
