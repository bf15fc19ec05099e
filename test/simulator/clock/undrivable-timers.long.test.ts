/** What cannot work in step is an error or a warning that says what to do, and nothing of it hangs. */
import { createServer, get, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { mock } from 'node:test'
import { install } from '@sinonjs/fake-timers'
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { createSimulator as create, type Simulator } from '../../../src/simulator/simulator.ts'
import { wall } from '../../setup/wall-clock.ts'

const warned = vi.fn()
beforeEach(() => {
  warned.mockClear()
  vi.spyOn(process, 'emitWarning').mockImplementation(text => warned(String(text)))
})
afterEach(() => {
  vi.restoreAllMocks()
  vi.useRealTimers()
})

function createSimulator(): Simulator {
  const sim = create({ fixtures: 'empty' })
  onTestFinished(() => sim[Symbol.asyncDispose]())
  return sim
}

const moves: Record<string, (sim: Simulator) => Promise<unknown>> = {
  advance: ({ clock }) => clock.advance('1m'),
  advanceTo: ({ clock }) => clock.advanceTo('2026-01-02T00:00:00Z'),
  next: ({ clock }) => clock.next(),
  until: ({ clock }) => clock.until(() => true),
}

describe('a move of time is rejected when the fakes would block requests', () => {
  test.each(Object.keys(moves))('a faked queueMicrotask: %s refuses and moves nothing', async move => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'queueMicrotask'] })
    const sim = createSimulator()
    await expect(moves[move]!(sim)).rejects.toThrow(/queueMicrotask is faked.*Fake only what the client waits with/)
    expect(sim.clock.elapsed).toBe(0)
  })

  test('with a faked process.nextTick', async () => {
    const fakes = install({ toFake: ['setTimeout', 'clearTimeout', 'nextTick'], shouldClearNativeTimers: true })
    const sim = create({ fixtures: 'empty' })
    const refused = await sim.clock.advance('1m').then(
      () => 'moved',
      error => String(error),
    )
    fakes.uninstall()
    expect(refused).toMatch(/process\.nextTick is faked.*doNotFake: \['nextTick', 'queueMicrotask'\]/)
    expect(sim.clock.elapsed).toBe(0)
  })
})

describe('a client that waits with timers that are not driven', () => {
  test('waits in real time when only Date is faked', async () => {
    vi.useFakeTimers({ toFake: ['Date'] })
    const sim = createSimulator()
    await sim.clock.advance('1m')
    await sim.clock.advance('1m')
    expect(warned.mock.calls).toEqual([
      [expect.stringMatching(/^Only Date is faked.*give the client sim\.clock\.sleep/)],
    ])
  })

  test('waits for the test to tick when the timers are those of node:test', async () => {
    mock.timers.enable({ apis: ['setTimeout'] })
    onTestFinished(() => mock.timers.reset())
    const sim = createSimulator()
    warned.mockClear()
    await sim.clock.advance('1m')
    await sim.clock.advance('1m')
    expect(warned.mock.calls).toEqual([[expect.stringMatching(/mock\.timers of node:test.*@sinonjs\/fake-timers/)]])
  })

  test('causes a warning when real timers are restored between two moves', async () => {
    vi.useFakeTimers()
    const sim = createSimulator()
    setTimeout(() => {}, 60_000)
    await sim.clock.advance('1s')
    vi.useRealTimers()
    await sim.clock.advance('1s')
    expect(warned.mock.calls).toEqual([
      [expect.stringMatching(/^Real timers were restored while 1 fake timer was waiting/)],
    ])
  })

  test('causes a warning when real timers are restored during a move, which ends', async () => {
    vi.useFakeTimers()
    const sim = createSimulator()
    let fired = 0
    setInterval(() => fired++, 1_000)
    setTimeout(() => vi.useRealTimers(), 5_500)
    await sim.clock.advance('1m')
    expect([fired, sim.clock.elapsed]).toEqual([5, 60e6])
    expect(warned.mock.calls).toEqual([[expect.stringMatching(/while 1 fake timer was waiting/)]])
  })
})

describe('a request in flight without an end', () => {
  const FOREVER = () => new Promise<never>(() => {})

  /** Puts something else in the place of the real fetch. */
  function answering(fetch: typeof globalThis.fetch): void {
    const inner = globalThis.fetch
    globalThis.fetch = fetch
    onTestFinished(() => {
      globalThis.fetch = inner
    })
  }

  test('is named when it is a call without an answer', async () => {
    vi.useFakeTimers()
    answering(FOREVER)
    const sim = createSimulator()
    setTimeout(() => fetch('https://elsewhere.example.test/slow'), 1_000)
    wall.ahead = 100
    await expect(sim.clock.advance('1m')).rejects.toThrow(
      /GET https:\/\/elsewhere.example.test\/slow has been in flight for 2 s.*await its answer/,
    )
    expect(sim.clock.elapsed).toBe(1e6)
  })

  test('is named when it is a body without an end', async () => {
    vi.useFakeTimers()
    answering(async () => new Response(new ReadableStream({ pull: FOREVER })))
    const sim = createSimulator()
    setTimeout(async () => (await fetch('https://elsewhere.example.test/log')).text(), 1_000)
    wall.ahead = 100
    await expect(sim.clock.advance('1m')).rejects.toThrow(/the body of GET https:\S+\/log has been in flight/)
  })

  test('is named when it is a request of node:http without an answer', async () => {
    vi.useFakeTimers()
    const url = await listening(() => {})
    const sim = createSimulator()
    setTimeout(() => get(`${url}/deploy/list`).on('error', () => {}), 1_000)
    wall.ahead = 100
    await expect(sim.clock.advance('1m')).rejects.toThrow(`GET ${url}/deploy/list has been in flight for 2 s`)
  })
})

test('a move of time waits for real sockets, and every poll is made', async () => {
  const later = globalThis.setTimeout
  const url = await listening((_, response) => void later(() => response.end('{}'), 20))
  vi.useFakeTimers()
  const sim = createSimulator()
  let polls = 0
  const poll = () =>
    get(url, answer => {
      polls++
      answer.resume()
      setTimeout(poll, 10_000)
    })
  setTimeout(poll, 10_000)
  await sim.clock.advance('1m')
  expect(polls).toBe(6)
})

test('a timer of the client that throws fails the move that fired it', async () => {
  vi.useFakeTimers()
  const sim = createSimulator()
  setTimeout(() => {
    throw new Error('the client broke')
  }, 1_000)
  await expect(sim.clock.advance('1m')).rejects.toThrow('the client broke')
})

async function listening(answer: RequestListener): Promise<string> {
  const server = createServer(answer)
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}
