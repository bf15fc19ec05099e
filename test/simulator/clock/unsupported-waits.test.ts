/** The ways in which people move time under fake timers when nothing moves both clocks: what goes wrong, held as it is. */
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { createSimulator } from '../../../src/simulator/simulator.ts'
import { pollingClient } from './polling-client.ts'

const HOUR = 3_600_000

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
  vi.unstubAllGlobals()
})

/** A simulator whose every answer takes real turns of the event loop, as decompression or a file does. */
function slowly(turns: number) {
  const sim = createSimulator({ fixtures: 'two-nodes', timers: 'ignore' })
  const fetch: typeof globalThis.fetch = async (input, init) => {
    for (let turn = 0; turn < turns; turn++) await new Promise(resolve => realTimers.setImmediate(resolve))
    return sim.fetch(input as string, init)
  }
  return { sim, client: pollingClient({ fetch, baseUrl: 'http://sim', token: sim.token }) }
}

const realTimers = { setImmediate: globalThis.setImmediate }
const quiet = async () => {
  for (let turn = 0; turn < 200; turn++) await new Promise(resolve => realTimers.setImmediate(resolve))
}

test('a synchronous advance fires one timer, because the client sets the next one after its answer', async () => {
  const { sim, client } = slowly(1)
  const waiting = client.deploy('chat')
  await quiet()
  await sim.clock.advance('1h')
  vi.advanceTimersByTime(HOUR)
  await quiet()
  let over = false
  waiting.then(() => {
    over = true
  })
  vi.advanceTimersByTime(60_000)
  await quiet()
  expect(over).toBe(true)
  const { polls, seen } = await waiting
  expect(polls).toBeLessThanOrEqual(3)
  expect(seen).toEqual(['initializing', 'running'])
})

test('a fixed number of turns between timers is too short for an answer that takes more', {
  tags: 'slow',
}, async () => {
  const polls: number[] = []
  for (const turns of [0, 40]) {
    const { sim, client } = slowly(turns)
    // A deployment that waits for ever, so that nothing but the polls counts.
    sim.cluster.stockOut('H100-80GB')
    client.deploy(`chat-${turns}`)
    await quiet()
    const before = sim.journal.entries().length
    await vi.advanceTimersByTimeAsync(HOUR)
    polls.push(sim.journal.entries().length - before)
  }
  expect(polls[1]).toBeLessThanOrEqual(1)
  expect(polls[0]).toBeGreaterThan(60)
})

test('a driven clock waits for every number of turns of an answer', { tags: 'slow' }, async () => {
  const seen = new Set<string>()
  for (const turns of [1, 40]) {
    const fetch: typeof globalThis.fetch = async (input, init) => {
      for (let turn = 0; turn < turns; turn++) await new Promise(resolve => realTimers.setImmediate(resolve))
      return sim.fetch(input as string, init)
    }
    vi.stubGlobal('fetch', fetch)
    const sim = createSimulator({ fixtures: 'two-nodes' })
    const waiting = pollingClient({
      fetch: (...args) => globalThis.fetch(...args),
      baseUrl: 'http://sim',
      token: sim.token,
    }).deploy('chat')
    await sim.clock.advance('1h')
    seen.add(JSON.stringify(await waiting))
    await sim[Symbol.asyncDispose]()
  }
  expect(seen.size).toBe(1)
})
