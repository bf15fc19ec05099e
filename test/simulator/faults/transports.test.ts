/** What takes time, at three transports: how each waits, and for how long. What else clients meet is in clients.test.ts. */
import { setupServer } from 'msw/node'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { type Latency, serve } from '../../../src/server/http/server.ts'
import type { FaultRule } from '../../../src/simulator/faults/rules.ts'
import { createSimulator, type Simulator, type SimulatorOptions } from '../../../src/simulator/simulator.ts'
import { handlers, listenOptions } from '../../../src/workbench/testing/msw.ts'

/** The platform's own, from before MSW put itself in its place. */
const unwatchedFetch = globalThis.fetch
const BASE = 'https://faulty.example.test'
const CHAT = { model_name: 'acme/chat', gpu: 'H100-80GB', hub: { repo: 'acme/chat-8b' } }
const CREATE = { method: 'POST', body: JSON.stringify(CHAT) }

const msw = setupServer()
beforeAll(() => msw.listen(listenOptions))
afterAll(() => msw.close())

type Ask = (path: string, init?: RequestInit) => Promise<Response>
interface OpenTransport {
  readonly sim: Simulator
  readonly url: string
  readonly ask: Ask
}

const TRANSPORTS = ['in-process', 'msw', 'server'] as const
type TransportName = (typeof TRANSPORTS)[number]

async function openTransport(
  name: TransportName,
  rules: FaultRule[],
  options: SimulatorOptions = {},
  latency?: Latency,
): Promise<OpenTransport> {
  const sim = createSimulator({ fixtures: 'empty', seed: 1, faults: rules, ...options })
  const authorized = (init: RequestInit = {}) => ({
    ...init,
    headers: { authorization: `Bearer ${sim.token}`, ...(init.headers as Record<string, string> | undefined) },
  })
  if (name === 'in-process')
    return { sim, url: 'http://sim', ask: (path, init) => sim.fetch(`http://sim${path}`, authorized(init)) }
  if (name === 'msw') {
    msw.resetHandlers(...handlers(sim, { baseUrl: BASE }))
    return { sim, url: BASE, ask: (path, init) => fetch(`${BASE}${path}`, authorized(init)) }
  }
  const server = await serve(sim, { port: 0, ...(latency && { latency }) })
  onTestFinished(() => server.close())
  return { sim, url: server.url, ask: (path, init) => unwatchedFetch(`${server.url}${path}`, authorized(init)) }
}

/** What a client makes of an answer, or of none. */
async function outcome(asked: Promise<Response>): Promise<Record<string, unknown>> {
  try {
    const response = await asked
    const { status, headers } = response
    const head = { status, type: headers.get('content-type'), retryAfter: headers.get('retry-after') }
    try {
      return { ...head, text: await response.text() }
    } catch (error) {
      return { ...head, broke: (error as Error).message, ...codeOf(error) }
    }
  } catch (error) {
    return { threw: (error as Error).message, ...codeOf(error) }
  }
}

function codeOf(error: unknown): { code?: string } {
  const { code } = ((error as Error).cause ?? {}) as { code?: string }
  return code === undefined ? {} : { code }
}

describe('latency', () => {
  const rules: FaultRule[] = [{ on: 'createLlmDeployment', fault: { kind: 'latency', delay: '10s' } }]

  test('in a process a late answer comes by itself on a scaled clock', async () => {
    const { sim, ask } = await openTransport('in-process', rules, { clock: { mode: 'scaled', speed: 10_000 } })
    await ask('/deploy/llm', CREATE)
    expect(sim.clock.elapsed).toBeGreaterThanOrEqual(10_000_000)
  })

  test('until moves time to an answer that its predicate awaits', async () => {
    const { sim, ask } = await openTransport('in-process', [{ on: '*', fault: { kind: 'latency', delay: '10s' } }])
    await sim.clock.until(async () => (await ask('/deploy/list')).ok)
    expect(sim.clock.elapsed).toBe(10_000_000)
    await expect(sim.clock.until(async () => (await ask('/deploy/list')).ok, { within: '9s' })).rejects.toThrow(
      'Failed to reach the condition within 9s',
    )
    sim.reset()
  })

  test('a server answers at once on a stopped clock and gives the delay in a header', async () => {
    const { sim, ask } = await openTransport('server', rules)
    const answer = await ask('/deploy/llm', CREATE)
    expect([answer.status, answer.headers.get('x-sim-delay')]).toEqual([200, '10000000'])
    expect(sim.clock.elapsed).toBe(0)
  })

  test.each<[Latency, SimulatorOptions, string]>([
    ['scaled', { clock: { mode: 'scaled', speed: 200 } }, '10s'],
    ['real', {}, '50ms'],
    ['real', { clock: { mode: 'scaled', speed: 1e6 } }, '50ms'],
  ])('on a server, %s', { tags: 'slow' }, async (latency, options, delay) => {
    const slow: FaultRule[] = [{ on: 'listDeployments', fault: { kind: 'latency', delay } }]
    const { ask } = await openTransport('server', slow, options, latency)
    const began = performance.now()
    const answer = await ask('/deploy/list')
    expect(performance.now() - began).toBeGreaterThan(48)
    expect([answer.status, answer.headers.get('x-sim-delay')]).toEqual([200, null])
  })

  test('jitter is within its bounds and equal for equal seeds', { tags: 'slow' }, async () => {
    const jittery: FaultRule[] = [{ on: 'listDeployments', fault: { kind: 'latency', delay: '1s', jitter: '2s' } }]
    const delays = async () => {
      const { ask } = await openTransport('server', jittery)
      const seen: number[] = []
      for (let i = 0; i < 20; i++) seen.push(Number((await ask('/deploy/list')).headers.get('x-sim-delay')))
      return seen
    }
    const first = await delays()
    expect(Math.min(...first)).toBeGreaterThanOrEqual(1_000_000)
    expect(Math.max(...first)).toBeLessThan(3_000_000)
    expect(new Set(first).size).toBeGreaterThan(15)
    expect(await delays()).toEqual(first)
  })
})

describe('hang', () => {
  const rules: FaultRule[] = [{ on: 'createLlmDeployment', fault: { kind: 'hang', effect: 'done' } }]

  test('in a process a reset ends a hang', async () => {
    const { sim, ask } = await openTransport('in-process', rules)
    const asked = outcome(ask('/deploy/llm', CREATE))
    await sim.clock.advance('1h')
    sim.reset()
    expect(await asked).toEqual({ threw: expect.stringContaining('the simulator was reset') })
  })

  test('a hang ends without a wait when the server closes', async () => {
    const sim = createSimulator({ faults: [{ on: '*', fault: { kind: 'hang' } }] })
    const server = await serve(sim, { port: 0 })
    const asked = outcome(unwatchedFetch(`${server.url}/deploy/list`))
    await expect.poll(() => server.inFlight).toBe(1)
    await server.close()
    expect(await asked).toMatchObject({ threw: 'fetch failed' })
  })
})

test.each(['in-process', 'msw'] as const)('%s: silence after the head ends when the client gives up', async name => {
  const fault = { kind: 'truncated', bytes: 0, end: 'silence' } as const
  const { sim, ask } = await openTransport(name, [{ on: 'listDeployments', fault }])
  const controller = new AbortController()
  const asked = outcome(ask('/deploy/list', { signal: controller.signal }))
  await sim.clock.advance('1m')
  controller.abort()
  expect(await asked).toMatchObject({ status: 200, broke: 'This operation was aborted' })
  expect(sim.clock.elapsed).toBe(60_000_000)
})

describe('a slow body', () => {
  // 2 bytes of an empty list, 10 s.
  const rules: FaultRule[] = [{ on: 'listDeployments', fault: { kind: 'slowBody', bytesPerSecond: 0.2 } }]

  test.each(['in-process', 'msw'] as const)('%s: its head is there at once, its bytes as time goes', async name => {
    const { sim, ask } = await openTransport(name, rules)
    const { body, status } = await ask('/deploy/list')
    expect(status).toBe(200)
    const reader = body!.getReader()
    const arrived: [number, string][] = []
    const reading = (async () => {
      for (let piece = await reader.read(); !piece.done; piece = await reader.read())
        arrived.push([sim.clock.elapsed, new TextDecoder().decode(piece.value)])
    })()
    await sim.clock.advance('9s')
    await expect.poll(() => arrived.map(([, text]) => text)).toEqual(['['])
    await sim.clock.advance('1s')
    await reading
    expect(arrived.map(([, text]) => text)).toEqual(['[', ']'])
    // MSW hands a body on in its own time.
    if (name === 'in-process') expect(arrived.map(([at]) => at)).toEqual([5_000_000, 10_000_000])
  })

  test('on a server', async () => {
    const { ask } = await openTransport('server', rules, { clock: { mode: 'scaled', speed: 200 } })
    const began = performance.now()
    const answer = await ask('/deploy/list')
    const headAfter = performance.now() - began
    expect(await answer.text()).toBe('[]')
    expect(performance.now() - began).toBeGreaterThan(48)
    expect(headAfter).toBeLessThan(performance.now() - began)
  })

  test('on a server whose clock is stopped', async () => {
    const answer = await (await openTransport('server', rules)).ask('/deploy/list')
    expect([await answer.text(), answer.headers.get('x-sim-delay')]).toEqual(['[]', '10000000'])
  })
})

test.each(TRANSPORTS)('%s: a type that a rule leaves out is missing', async name => {
  const { ask } = await openTransport(name, [
    { on: '*', fault: { kind: 'headers', headers: { 'content-type': null } } },
  ])
  const answer = await ask('/deploy/list')
  expect([answer.headers.get('content-type'), await answer.json()]).toEqual([null, []])
  expect((await ask('/deploy/list', { method: 'HEAD' })).headers.get('content-type')).toBeNull()
  expect((await ask('/deploy/none')).status).toBe(404)
})

test('faults never apply to the control plane', async () => {
  const { sim, ask } = await openTransport('server', [{ on: '*', fault: { kind: 'reset' } }])
  expect((await ask('/_sim/health')).status).toBe(200)
  const until = await ask('/_sim/clock/until', {
    method: 'POST',
    body: JSON.stringify({ get: '/deploy/list', where: [{ status: 'running' }], within: '1s' }),
    headers: { 'content-type': 'application/json' },
  })
  expect(await until.json()).toMatchObject({ reached: false, last: { status: 200, body: [] } })
  expect(sim.faults.get('fault-1').matches).toBe(0)
})
