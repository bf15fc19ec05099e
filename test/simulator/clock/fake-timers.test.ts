import http from 'node:http'
import { install } from '@sinonjs/fake-timers'
import { setupServer } from 'msw/node'
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { createSimulator as create, type Simulator, type SimulatorOptions } from '../../../src/simulator/simulator.ts'
import { handlers } from '../../../src/workbench/testing/msw.ts'
import { batchFile } from '../../setup/batches.ts'
import { askTo, sendTo } from '../../setup/send-to.ts'
import { pollingClient, type Waited } from './polling-client.ts'

const BASE = 'https://api.example.test'

beforeEach(() => {
  vi.useFakeTimers({ now: Date.UTC(2031, 4, 1) })
})
const made: Simulator[] = []
function createSimulator(options: SimulatorOptions = {}): Simulator {
  const sim = create(options)
  made.push(sim)
  return sim
}

afterEach(async () => {
  vi.useRealTimers()
  for (const sim of made.splice(0)) await sim[Symbol.asyncDispose]()
})

/** A shared capacity so small that a few hundred lines take hours. */
function slow(options: SimulatorOptions = {}): Simulator {
  return createSimulator({
    profile: { extends: 'realistic', timings: { batch_shared_tokens_per_second: 2 } },
    ...options,
  })
}

function clientOf(sim: Simulator, fetch: typeof globalThis.fetch = sim.fetch) {
  return pollingClient({ fetch, baseUrl: fetch === sim.fetch ? 'http://sim' : BASE, token: sim.token })
}

function trace(sim: Simulator): string[] {
  return sim.journal.entries().map(({ time, kind, subject }) => `${time} ${kind} ${subject}`)
}

describe('a client without code for the simulator', () => {
  test('waits for a deployment and a batch on its own timers, without real time and always the same', {
    tags: 'slow',
  }, async () => {
    const runs: { waited: [Waited, Waited]; trace: string[] }[] = []
    for (let run = 0; run < 2; run++) {
      const sim = slow()
      const client = clientOf(sim)
      const both = Promise.all([client.deploy('chat-under-test'), client.batch('aurora-labs/aurora-8b-instruct', 200)])
      await sim.clock.advance('8h')
      runs.push({ waited: await both, trace: trace(sim) })
      await sim[Symbol.asyncDispose]()
    }
    const [{ waited }] = runs as [(typeof runs)[0]]
    expect(waited[0]).toMatchObject({ outcome: 'running' })
    expect(waited[0].seen[0]).toBe('initializing')
    expect(waited[1]).toMatchObject({ outcome: 'completed' })
    expect(waited[1].polls).toBeGreaterThan(60)
    expect(new Set(runs.map(run => JSON.stringify(run))).size).toBe(1)
  })

  test('times out by its own clock', async () => {
    const sim = createSimulator({ fixtures: 'empty' })
    sim.cluster.stockOut('H100-80GB')
    const client = pollingClient({ fetch: sim.fetch, baseUrl: BASE, token: sim.token, giveUpMs: 600_000 })
    const waiting = client.deploy('never')
    await sim.clock.advance('1h')
    expect(await waiting).toMatchObject({ outcome: 'gave up', seen: ['initializing'] })
  })

  test('is driven through MSW as well', async () => {
    const sim = slow()
    const server = setupServer(...handlers(sim, { baseUrl: BASE }))
    server.listen({ onUnhandledRequest: 'error' })
    try {
      const waiting = clientOf(sim, (...args) => globalThis.fetch(...args)).deploy('through-msw')
      await sim.clock.advance('1h')
      expect(await waiting).toMatchObject({ outcome: 'running' })
    } finally {
      server.close()
      await sim[Symbol.asyncDispose]()
    }
  })
})

describe('the driven fake timers', () => {
  test('give the same trace for one client with sinon and with Vitest', async () => {
    const traces: string[] = []
    for (const fakes of ['vitest', 'sinon']) {
      vi.useRealTimers()
      const sinon =
        fakes === 'sinon'
          ? install({ now: 0, toFake: ['setTimeout', 'clearTimeout', 'Date'], shouldClearNativeTimers: true })
          : undefined
      if (sinon === undefined) vi.useFakeTimers({ now: 0 })
      try {
        const sim = createSimulator({ fixtures: 'empty' })
        const waiting = clientOf(sim).deploy('chat')
        await sim.clock.advance('1h')
        traces.push(JSON.stringify([await waiting, trace(sim)]))
        await sim[Symbol.asyncDispose]()
      } finally {
        sinon?.uninstall()
      }
    }
    expect(traces[0]).toContain('"outcome":"running"')
    expect(traces[1]).toBe(traces[0])
  })

  test.each([
    ['setTimeout behind a spy', () => vi.spyOn(globalThis, 'setTimeout').mockImplementation(hidden(setTimeout))],
    ['an interval alone', () => vi.useRealTimers().useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })],
  ])('are found: %s', async (_, arrange) => {
    arrange()
    const sim = createSimulator({ fixtures: 'empty' })
    let fired = 0
    setInterval(() => fired++, 10_000)
    await sim.clock.advance('1m')
    vi.restoreAllMocks()
    expect(fired).toBe(6)
  })
})

/** A function that does the same and carries no mark of a fake. */
function hidden<Fn extends (...args: never[]) => unknown>(fake: Fn): Fn {
  return ((...args) => fake(...args)) as Fn
}

test('a move of time waits for a client on node:http behind MSW, as for one with fetch', async () => {
  const sim = createSimulator({ fixtures: 'empty' })
  const server = setupServer(...handlers(sim, { baseUrl: 'http://api.example.test' }))
  server.listen({ onUnhandledRequest: 'error' })
  let polls = 0
  const headers = { authorization: `Bearer ${sim.token}` }
  const poll = () =>
    http.get('http://api.example.test/deploy/list', { headers }, answer => {
      polls++
      answer.resume().on('end', () => setTimeout(poll, 10_000))
    })
  try {
    poll()
    await sim.clock.advance('2m')
    expect(polls).toBe(13)
  } finally {
    server.close()
  }
})

describe('until', () => {
  test('drives the timers up to the time at which it holds, and not beyond', async () => {
    const sim = createSimulator({ fixtures: 'empty' })
    const waiting = clientOf(sim).deploy('chat')
    let over = false
    waiting.then(() => {
      over = true
    })
    await sim.clock.until(() => over, { within: '1h' })
    expect(await waiting).toMatchObject({ outcome: 'running' })
    const { elapsed } = sim.clock
    expect(elapsed).toBeLessThan(10 * 60e6)
    expect(Date.now() - Date.UTC(2031, 4, 1)).toBe(Math.floor(elapsed / 1000))
  })

  test('wakes timers, sleepers and the world in one order', async () => {
    const sim = createSimulator({
      fixtures: 'empty',
      with: { deployments: [{ model_name: 'acme/chat', status: 'deploying' }] },
    })
    const order: string[] = []
    const at = (name: string) => order.push(`${name} ${sim.clock.elapsed / 1e6}`)
    setTimeout(() => at('timer'), 20_000)
    setInterval(() => at('interval'), 15_000)
    sim.clock.sleep('20s').then(() => at('sleeper'))
    setTimeout(() => at('late'), 40_000)
    await sim.clock.advance('45s')
    expect(order).toEqual(['interval 15', 'timer 20', 'sleeper 20', 'interval 30', 'late 40', 'interval 45'])
  })
})

test('all timers at the end of a move fire, and a later timer does not', async () => {
  vi.useFakeTimers()
  const sim = createSimulator({ fixtures: 'empty' })
  made.push(sim)
  const fired: string[] = []
  for (const name of ['one', 'another', 'a third']) setTimeout(() => fired.push(name), 1000)
  setTimeout(() => fired.push('too early'), 1001)
  await sim.clock.advance('1s')
  expect(fired).toEqual(['one', 'another', 'a third'])
})

describe('the two clocks', () => {
  test('agree for every time of installation and every system time', async () => {
    vi.useRealTimers()
    const sim = createSimulator({ fixtures: 'empty' })
    await sim.clock.advance('1h')
    vi.useFakeTimers()
    let fired = 0
    setTimeout(() => fired++, 600_000)
    await sim.clock.advance('5m')
    vi.setSystemTime(Date.UTC(2040, 0, 1))
    await sim.clock.advance('5m')
    expect(fired).toBe(1)
    expect(sim.clock.elapsed).toBe(70 * 60e6)
  })

  test('move together when the test moves the timers itself', async () => {
    const sim = createSimulator({ fixtures: 'empty' })
    const headers = { authorization: `Bearer ${sim.token}` }
    await sim.fetch(`${BASE}/deploy/list`, { headers })
    vi.advanceTimersByTime(90_000)
    await sim.fetch(`${BASE}/deploy/list`, { headers })
    expect(sim.clock.elapsed).toBe(90e6)
  })

  test('are independent when the test disables the driving', async () => {
    const sim = createSimulator({ fixtures: 'empty', timers: 'ignore' })
    let fired = 0
    setTimeout(() => fired++, 1_000)
    await sim.clock.advance('1h')
    expect(fired).toBe(0)
    expect(sim.clock.elapsed).toBe(3600e6)
  })

  test('start again after a reset', async () => {
    const sim = createSimulator({ fixtures: 'empty' })
    await sim.clock.advance('1h')
    sim.reset()
    let fired = 0
    setTimeout(() => fired++, 60_000)
    await sim.clock.advance('2m')
    expect(fired).toBe(1)
    expect(sim.clock.elapsed).toBe(120e6)
  })

  test('keep timers of more than 24 days', async () => {
    const sim = createSimulator({ fixtures: 'empty' })
    const fired = vi.fn()
    setTimeout(fired, 20 * 86_400_000)
    await sim.clock.advance('30d')
    expect(fired).toHaveBeenCalledTimes(1)
    expect(sim.clock.elapsed).toBe(30 * 86_400e6)
  })
})

test('a move that is left over fires no timers that were installed after its request', async () => {
  const sim = createSimulator()
  const moves = [sim.clock.advance('1h'), sim.clock.next(), sim.clock.until(() => false)]
  const ended = Promise.allSettled(moves)
  vi.useRealTimers()
  vi.useFakeTimers()
  const fired = vi.fn()
  setTimeout(fired, 1_000)
  for (const move of await ended) {
    expect(move).toMatchObject({
      reason: { message: expect.stringMatching(/^Failed to move time: other fake timers/) },
    })
  }
  expect(fired).not.toHaveBeenCalled()
  await sim.clock.advance('1s')
  expect(fired).toHaveBeenCalledOnce()
})

test('the global fetch is restored', async () => {
  // A simulator of an earlier file may still watch the fetch of the platform.
  const found = async () => new Response()
  vi.stubGlobal('fetch', found)
  const sim = createSimulator({ fixtures: 'empty' })
  await sim.clock.advance('1s')
  const other = createSimulator({ fixtures: 'empty' })
  await other.clock.advance('1s')
  expect(globalThis.fetch).not.toBe(found)
  await sim[Symbol.asyncDispose]()
  expect(globalThis.fetch).not.toBe(found)
  other.reset()
  expect(globalThis.fetch).toBe(found)
  vi.unstubAllGlobals()
})

test('a stored file of 200,000 bytes can be read with each method when the global fetch is watched', async () => {
  onTestFinished(() => void vi.unstubAllGlobals())
  await using sim = createSimulator({ fixtures: 'empty' })
  vi.stubGlobal('fetch', (...args: Parameters<typeof fetch>) => sim.fetch(...args))
  await sim.clock.advance('1s')
  const client = { token: sim.token, fetch: (...args: Parameters<typeof fetch>) => fetch(...args) }
  const content = JSON.stringify('x'.repeat(199_998))
  const { id } = (await askTo(client, 'POST /v1/files', batchFile(content))).body
  const get = () => sendTo(client, `GET /v1/files/${id}/content`)
  expect(await (await get()).text()).toBe(content)
  expect(await (await get()).json()).toBe(JSON.parse(content))
  expect(Buffer.from(await (await get()).arrayBuffer()).toString()).toBe(content)
  expect(await (await (await get()).blob()).text()).toBe(content)
  expect(await (await get()).clone().text()).toBe(content)
  await expect((await get()).formData()).rejects.toThrow(TypeError)
})

test('a response whose methods cannot be replaced can be read when the global fetch is watched', async () => {
  onTestFinished(() => void vi.unstubAllGlobals())
  await using sim = createSimulator({ fixtures: 'empty' })
  vi.stubGlobal('fetch', async () => Object.freeze(new Response('body')))
  await sim.clock.advance('1s')
  expect(await (await fetch('http://other')).text()).toBe('body')
})

test('the global fetch reaches its target for every order of MSW and simulators', { tags: 'slow' }, async () => {
  const base = 'http://127.0.0.1:1'
  const served = createSimulator({ fixtures: 'empty', timers: 'ignore' })
  const names = ['msw', 'one', 'other']
  const platform = fetch
  for (const [comes, goes] of orders(names).flatMap((comes, i, all) =>
    [comes, comes.toReversed(), all[(i + 1) % all.length]!].map(goes => [comes, goes] as const),
  )) {
    vi.useFakeTimers()
    const server = setupServer(...handlers(served, { baseUrl: base }))
    const leave: Record<string, () => unknown> = {}
    for (const name of comes) {
      if (name === 'msw') {
        server.listen()
        leave[name] = () => server.close()
        continue
      }
      const sim = createSimulator({ fixtures: 'empty' })
      await sim.clock.advance('1s')
      leave[name] = () => sim[Symbol.asyncDispose]()
    }
    let isListening = true
    for (const name of goes) {
      await leave[name]!()
      isListening &&= name !== 'msw'
      const reached = await fetch(`${base}/v1/voices`).then(({ status }) => status, String)
      const how = `${comes}; without ${goes.slice(0, goes.indexOf(name) + 1)}`
      expect(reached, how).toBe(isListening ? 401 : 'TypeError: fetch failed')
    }
    vi.useRealTimers()
    globalThis.fetch = platform
  }
})

function orders(names: readonly string[]): string[][] {
  if (names.length === 0) return [[]]
  return names.flatMap(first => orders(names.filter(name => name !== first)).map(rest => [first, ...rest]))
}
