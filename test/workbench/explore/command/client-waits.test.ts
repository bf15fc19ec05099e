/** The time of the world while a client in another process waits for real. */
import { beforeEach, describe, expect, test } from 'vitest'
import { createSimulator, type Simulator } from '../../../../src/simulator/simulator.ts'
import { ClientWaits } from '../../../../src/workbench/explore/command/served-client.ts'
import { type ClientExchange, RequestRecorder } from '../../../../src/workbench/explore/run/request-recorder.ts'
import { wall } from '../../../setup/wall-clock.ts'

let sim: Simulator
let waits: ClientWaits

beforeEach(() => {
  wall.now = 1_000_000
  sim = createSimulator({ fixtures: 'empty' })
  waits = new ClientWaits(sim)
})

/** A request of the client. Returns the seconds by which the time of the world moved before it. */
async function ask(target: string, end: Partial<ClientExchange> = {}): Promise<number> {
  const [method = '', path = ''] = target.split(' ')
  const before = sim.clock.elapsed
  await waits.beforeRequest(method, path)
  const request = new RequestRecorder().begin({ start: 1, operation: '', method, path, sentAt: 0 })
  waits.afterRequest(Object.assign(request, { outcome: 'answered', status: 200, ...end }))
  return (sim.clock.elapsed - before) / 1e6
}

describe('a client that sleeps too briefly', () => {
  test('repeats a request after 10 s, and sends another one at once', async () => {
    expect(await ask('POST /deploy/llm')).toBe(0)
    expect(await ask('GET /deploy/a')).toBe(0)
    expect(await ask('GET /deploy/a')).toBe(10)
    expect(await ask('GET /deploy/list')).toBe(0)
  })

  test.each<[string, Partial<ClientExchange>, number]>([
    ['a 503', { status: 503 }, 10],
    ['a 429 with Retry-After', { status: 429, retryAfter: 20e6 }, 20],
    ['a 503 with a short Retry-After', { status: 503, retryAfter: 1e6 }, 10],
    ['a broken connection', { outcome: 'failed', status: 0 }, 10],
    ['an answer that it cannot read', { readError: 'Unexpected end' }, 10],
    ['a refusal', { status: 404 }, 0],
    ['no answer, after its own limit of 30 s', { outcome: 'unanswered', status: 0 }, 40],
  ])('goes on after %s as if it had waited', async (_, end, seconds) => {
    await ask('POST /deploy/llm', end)
    expect(await ask('GET /deploy/list')).toBe(seconds)
  })
})

test('a sleep in real time counts in whole seconds, if it is longer than the assumed wait', async () => {
  await ask('GET /deploy/a')
  wall.now! += 15_900
  expect(await ask('GET /deploy/a')).toBe(15)
  wall.now! += 9_000
  expect(await ask('GET /deploy/a')).toBe(10)
  wall.now! += 999
  expect(await ask('GET /deploy/b')).toBe(0)
})

test('the waits of a client that moves the time itself are exact', async () => {
  await ask('GET /deploy/a', { status: 503 })
  await sim.clock.advance('2s')
  expect(await ask('GET /deploy/a', { status: 503 })).toBe(0)
  expect(waits.movesTime).toBe(true)
  expect(await ask('GET /deploy/a', { outcome: 'unanswered', status: 0 })).toBe(0)
  await sim.clock.advance('2s')
  // The client cannot move time while it waits for an answer.
  expect(await ask('GET /deploy/a')).toBe(30)
})

test('polls do not move the time after the first wait of the client that moves it', async () => {
  sim.clock.set('on-poll')
  const headers = { authorization: `Bearer ${sim.token}`, 'content-type': 'application/json' }
  const body = JSON.stringify({ model_name: 'chat', gpu: 'H100-80GB', hub: { repo: 'acme/chat-8b' } })
  const created = await sim.fetch('http://sim/deploy/llm', { method: 'POST', headers, body })
  const { deploy_id } = (await created.json()) as { deploy_id: string }
  const poll = async () => {
    const before = sim.clock.elapsed
    await sim.fetch(`http://sim/deploy/${deploy_id}`, { headers })
    return sim.clock.elapsed - before
  }
  expect(await poll()).toBeGreaterThan(1e6)
  await ask('GET /deploy/a')
  await sim.clock.advance('2s')
  await ask('GET /deploy/a')
  expect(await poll()).toBe(1_000)
})

test('requests at the same time wait once, and a restarted client does not wait', async () => {
  await ask('GET /deploy/a')
  await Promise.all([waits.beforeRequest('GET', '/deploy/a'), waits.beforeRequest('GET', '/deploy/a')])
  expect(sim.clock.elapsed).toBe(10e6)
  waits.onExit()
  expect(await ask('GET /deploy/a')).toBe(0)
})

test('what it waits for answers that never come is counted in real time, to its next request or its end', async () => {
  await ask('GET /deploy/a', { outcome: 'unanswered', status: 0 })
  wall.now! += 30_000
  await ask('GET /deploy/a')
  wall.now! += 5_000
  await ask('GET /deploy/a', { outcome: 'unanswered', status: 0 })
  wall.now! += 20_000
  waits.noteHang()
  expect(waits.hungMs).toBe(50_000)
})
