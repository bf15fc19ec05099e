/** Webhooks over the network: a server of the simulator, and a receiver on a port of its own. */
import { createServer, type Server as HttpServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { serve } from '../../src/server/http/server.ts'
import { createSimulator } from '../../src/simulator/simulator.ts'
import { sendTo } from '../setup/send-to.ts'

const TEXT = 'aurora-labs/aurora-8b-instruct'

interface Received {
  readonly method: string | undefined
  readonly url: string | undefined
  readonly type: string | undefined
  // biome-ignore lint/suspicious/noExplicitAny: whatever the simulator posts
  readonly body: any
}

/** Starts a receiver that answers with the statuses in turn, the last one for all others. */
async function receiver(
  statuses: readonly number[],
  location = '/elsewhere',
): Promise<{ url: string; received: Received[]; server: HttpServer }> {
  const received: Received[] = []
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', chunk => chunks.push(chunk))
    request.on('end', () => {
      const status = statuses[Math.min(received.length, statuses.length - 1)]!
      const { method, url, headers } = request
      received.push({ method, url, type: headers['content-type'], body: JSON.parse(Buffer.concat(chunks).toString()) })
      response.writeHead(status, { location }).end('thanks')
    })
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`, received, server }
}

afterEach(() => void vi.unstubAllGlobals())

test('a server posts a result to a local receiver when a move of its clock brings it', async () => {
  const { url, received } = await receiver([500, 302, 200])
  const sim = createSimulator({ seed: 1 })
  const server = await serve(sim, { port: 0 })
  onTestFinished(() => server.close())
  const post = (path: string, body: object) =>
    fetch(`${server.url}${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${sim.token}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
  const queued = await (await post(`/v1/inference/${TEXT}`, { input: 'Rivers', webhook: url })).json()
  expect(queued.inference_status.status).toBe('queued')
  // Each move waits for the attempt of the move before.
  for (let i = 0; i < 4; i++) await post('/_sim/clock/advance', { by: '1m' })
  expect(received).toHaveLength(3)
  expect(received[0]).toEqual({
    method: 'POST',
    url: '/hook',
    type: 'application/json',
    body: expect.objectContaining({ request_id: queued.request_id, results: [expect.anything()] }),
  })
  expect(received.map(one => one.url)).toEqual(['/hook', '/hook', '/hook'])
  const kinds = sim.journal.entries().map(({ kind }) => kind)
  expect(kinds.filter(kind => kind.startsWith('webhook.'))).toEqual([
    ...['webhook.sent', 'webhook.failed', 'webhook.sent', 'webhook.failed'],
    ...['webhook.sent', 'webhook.delivered'],
  ])
})

test.each([301, 302, 303, 307, 308])('a redirect with %d is a failure, and is not followed', async status => {
  const target = await receiver([200])
  // Both addresses are allowed, so only the rule about redirects keeps the result from the second one.
  const redirecting = await receiver([status], target.url)
  const sim = createSimulator({ seed: 1, profile: { timings: { webhook_attempts: 1 } } })
  const answer = await sendTo(sim, `POST /v1/inference/${TEXT}`, { input: 'Rivers', webhook: redirecting.url })
  expect(answer.status).toBe(200)
  await sim.clock.advance('1h')
  expect([redirecting.received.length, target.received.length]).toEqual([1, 0])
  const failed = sim.journal.entries().find(({ kind }) => kind === 'webhook.failed')
  expect(failed!.fields).toMatchObject({ status, attempt: 1 })
})

describe('in process', () => {
  const ask = async (sim: ReturnType<typeof createSimulator>, webhook: string) => {
    return (await sendTo(sim, `POST /v1/inference/${TEXT}`, { input: 'Rivers', webhook })).status
  }

  test('a result is posted by the global fetch of the moment, which a test can replace', async () => {
    const calls: [string, RequestInit][] = []
    const sim = createSimulator({ seed: 1 })
    expect(await ask(sim, 'http://localhost/hook')).toBe(200)
    vi.stubGlobal('fetch', async (url: string, init: RequestInit) => {
      calls.push([url, init])
      return new Response('ok')
    })
    await sim.clock.advance('1h')
    expect(calls).toEqual([['http://localhost/hook', expect.objectContaining({ method: 'POST', redirect: 'manual' })]])
  })

  test('a receiver that is not there is a failure with its reason', async () => {
    const { url, server } = await receiver([200])
    await new Promise(resolve => server.close(resolve))
    const sim = createSimulator({ seed: 1, profile: { timings: { webhook_attempts: 1 } } })
    expect(await ask(sim, url)).toBe(200)
    await sim.clock.advance('1h')
    const failed = sim.journal.entries().find(({ kind }) => kind === 'webhook.failed')
    expect(failed!.fields).toEqual({ reason: 'ECONNREFUSED', attempt: 1 })
  })
})
