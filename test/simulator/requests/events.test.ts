/** Live events: every entry and every request once and in order, whatever the reader does. */

import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { LIMITS } from '../../../src/lib/limits.ts'
import { eventLoopTurn } from '../../../src/lib/real-time.ts'
import { EventReader, type EventReaderOptions, type LiveEvent } from '../../../src/simulator/requests/event-reader.ts'
import { createSimulator, type Simulator } from '../../../src/simulator/simulator.ts'
import { forAllAsync } from '../../setup/for-all.ts'
import { asking, NEW } from './asking.ts'

/** Reads what is kept. */
async function readAll(sim: Simulator, options: EventReaderOptions = {}): Promise<LiveEvent[]> {
  const reader = new EventReader(sim, { after: 'start', follow: false, ...options })
  const all: LiveEvent[] = []
  for (;;) {
    const events = await reader.next()
    if (events === undefined) return all
    all.push(...events)
  }
}

/** Reads as events come. `stop` ends the reader and returns what it read. */
function follow(sim: Simulator, options: EventReaderOptions = {}) {
  const reader = new EventReader(sim, options)
  const events: LiveEvent[] = []
  const done = (async () => {
    for (let batch = await reader.next(); batch !== undefined; batch = await reader.next()) events.push(...batch)
  })()
  const stop = async () => {
    await turns()
    reader.close()
    await done
    return events
  }
  return { events, done, stop }
}

/** Lets readers read. */
async function turns(count = 20): Promise<void> {
  for (let i = 0; i < count; i++) await eventLoopTurn()
}

const nameOf = (event: LiveEvent): string =>
  event.type === 'entry'
    ? `${event.entry.seq} ${event.entry.kind}`
    : event.type === 'request'
      ? event.request.operation
      : event.type

test('a reader gets entries and requests in the order in which they happened', async () => {
  const { sim, ask } = asking()
  const live = follow(sim)
  await ask('POST', '/deploy/llm', NEW)
  await sim.clock.advance('1m')
  await ask('GET', '/deploy/list')
  const names = (await live.stop()).map(nameOf)
  const created = names.indexOf('createLlmDeployment')
  expect(names.slice(0, created).join()).toContain('deployment.created')
  expect(names.slice(0, created).every(name => /^\d/.test(name))).toBe(true)
  expect(names.at(-1)).toBe('listDeployments')
  const seqs = live.events.flatMap(event => (event.type === 'entry' ? [event.entry.seq] : []))
  expect(seqs).toEqual(
    sim.journal
      .entries()
      .filter(({ kind }) => kind !== 'request')
      .map(({ seq }) => seq),
  )
  // Reading later gives the same events under the same ids.
  expect(await readAll(sim)).toEqual(live.events)
})

test('kind and subject select events', async () => {
  const { sim, ask } = asking()
  await ask('POST', '/deploy/llm', NEW)
  const id = sim.requests[0]!.subjects[0]!
  await sim.clock.advance('1m')
  await ask('GET', '/v1/me')
  await ask('GET', `/deploy/${id}`)
  const names = async (filter: EventReaderOptions) => (await readAll(sim, filter)).map(nameOf)
  expect(await names({ kind: 'request' })).toEqual(['createLlmDeployment', 'getMe', 'getDeployment'])
  expect(await names({ kind: 'request', subject: id })).toEqual(['createLlmDeployment', 'getDeployment'])
  const starts = await names({ kind: ['instance.*'], subject: `${id}-*` })
  expect(starts.length).toBeGreaterThan(2)
  expect(starts.every(name => name.includes('instance.'))).toBe(true)
})

test.each([
  ['an unknown kind', { kind: 'deploymnt.running' }, "unknown kind 'deploymnt.running'. Did you mean 'deployment.runn"],
  ['an invalid position', { after: '7' }, "invalid position '7'. Give 'now', 'start', or the id of an event."],
  ['an unknown field', { kinds: 'x' }, "unknown field 'kinds'. Did you mean 'kind'?"],
])('%s is refused', (_, options, says) => {
  const { sim } = asking()
  expect(() => new EventReader(sim, options as EventReaderOptions)).toThrow(says)
  expect(sim.requestLog.listeners).toBe(0)
})

test('a reader that continues from any event gets the rest, each event once', async () => {
  const { sim, ask } = asking()
  await ask('POST', '/deploy/llm', NEW)
  for (const path of ['/deploy/list', '/v1/me', '/v1/voices']) {
    await sim.clock.advance('5m')
    await ask('GET', path)
  }
  const all = await readAll(sim)
  await forAllAsync(
    [fc.nat({ max: all.length - 1 }), fc.constantFrom(undefined, 'request', 'instance.*')],
    async (at, kind) => {
      const rest = await readAll(sim, { after: all[at]!.id, ...(kind !== undefined && { kind }) })
      const isMeant = (event: LiveEvent) =>
        kind === undefined ||
        ((kind === 'request') === (event.type === 'request') &&
          (event.type === 'request' || nameOf(event).includes('instance.')))
      expect(rest).toEqual(all.slice(at + 1).filter(isMeant))
    },
  )
})

/** Returns events as names, with those of a group one by one. */
const namesOf = (events: readonly LiveEvent[]) =>
  events.flatMap(event =>
    event.type === 'entries' ? event.entries.map(({ seq, kind }) => `${seq} ${kind}`) : nameOf(event),
  )

test('a reader of groups gets the same events in the same order, from any of them on', async () => {
  const { sim, ask } = asking()
  await ask('POST', '/deploy/llm', NEW)
  for (const path of ['/deploy/list', '/v1/me', '/v1/voices']) {
    await sim.clock.advance('5m')
    await ask('GET', path)
  }
  const single = namesOf(await readAll(sim))
  const groups = await readAll(sim, { isGrouped: true })
  expect(namesOf(groups)).toEqual(single)
  expect(groups.map(({ type }) => type)).toContain('entries')
  expect(groups.length).toBeLessThan(single.length / 2)
  for (const [index, { id }] of groups.entries()) {
    const rest = await readAll(sim, { isGrouped: true, after: id })
    expect(rest).toEqual(groups.slice(index + 1))
  }
  const filtered = { kind: ['instance.*', 'request'], isGrouped: true }
  expect(namesOf(await readAll(sim, filtered))).toEqual(
    single.filter(name => name.includes(' instance.') || !/^\d/.test(name)),
  )
})

test('a group has at most 2,000 entries, and a reader that gets a full batch knows that there is more', {
  tags: 'slow',
}, async () => {
  const sim = createSimulator({ fixtures: 'fleet' })
  await sim.clock.advance('1d')
  const reader = new EventReader(sim, { after: 'start', follow: false, isGrouped: true })
  const sizes: number[] = []
  const behind: boolean[] = []
  for (let events = await reader.next(); events !== undefined; events = await reader.next()) {
    sizes.push(...events.map(event => (event.type === 'entries' ? event.entries.length : 0)))
    behind.push(reader.isBehind)
  }
  expect(sizes.length).toBeGreaterThan(2)
  expect(sizes.slice(0, -1).every(size => size === 2_000)).toBe(true)
  expect(behind).toEqual(sizes.map(size => size === 2_000))
})

describe('the rest of a reader', () => {
  const HOUR_MS = 3_600_000

  test.each([
    ['a quarter of the journal waits', (sim: Simulator) => sim.clock.advance('3d')],
    [
      'a quarter of the requests that are kept',
      async (_: Simulator, ask: () => Promise<unknown>) => {
        for (let i = 0; i < LIMITS.requests / 2; i++) await ask()
      },
    ],
    ['the simulator ends', (sim: Simulator) => sim[Symbol.asyncDispose]()],
  ])('ends when %s', { tags: 'slow' }, async (_, act) => {
    const { sim, ask } = asking({ fixtures: 'fleet' })
    const reader = new EventReader(sim)
    const rest = reader.rest(HOUR_MS)
    await act(sim, () => ask('GET', '/v1/me'))
    await rest
    reader.close()
  })

  test('goes on while little waits, and ends with the reader', async () => {
    const { sim, ask } = asking({ fixtures: 'empty' })
    const reader = new EventReader(sim)
    let isOver = false
    const rest = reader.rest(HOUR_MS).then(() => {
      isOver = true
    })
    for (let i = 0; i < LIMITS.requests / 5; i++) await ask('GET', '/v1/me')
    await turns()
    expect(isOver).toBe(false)
    reader.close()
    await rest
  })
})

test('whatever happens, a reader that reads has all of the last world, each event once and in order', async () => {
  const anyAction = fc.oneof(
    { weight: 6, arbitrary: fc.constantFrom('list', 'create', 'unknown', 'turn') },
    { weight: 3, arbitrary: fc.constantFrom('1m', '1h') },
    { weight: 1, arbitrary: fc.constantFrom('reset', 'restore') },
  )
  await forAllAsync(
    [fc.array(anyAction, { maxLength: 25 })],
    { numRuns: Number(process.env.INVARIANT_RUNS ?? 6) },
    async actions => {
      const { sim, ask } = asking({ fixtures: 'two-nodes' })
      const snapshot = sim.snapshot()
      const live = follow(sim, { after: 'start' })
      for (const [i, action] of actions.entries()) {
        if (action === 'list') await ask('GET', '/deploy/list')
        else if (action === 'create') await ask('POST', '/deploy/llm', { ...NEW, model_name: `acme/${i}` })
        else if (action === 'unknown') await ask('GET', '/no')
        else if (action === 'turn') await turns(3)
        else if (action === 'reset') sim.reset()
        else if (action === 'restore') sim.restore(snapshot)
        else await sim.clock.advance(action)
      }
      const events = await live.stop()
      const lastWorld = events.slice(events.findLastIndex(({ type }) => type === 'world') + 1)
      expect(lastWorld.map(({ id }) => id)).toEqual((await readAll(sim)).map(({ id }) => id))
      expect(new Set(events.map(({ id }) => id)).size).toBe(events.length)
      expect(lastWorld.filter(({ type }) => type === 'request')).toHaveLength(sim.requests.length)
    },
  )
})

describe('a reader in its place', () => {
  test('hears that the world was replaced, and then the new world from its start', async () => {
    const { sim, ask } = asking()
    const live = follow(sim)
    await ask('GET', '/v1/me')
    await turns()
    const snapshot = sim.snapshot()
    sim.reset()
    await ask('GET', '/deploy/list')
    await turns()
    sim.restore(snapshot)
    await ask('GET', '/v1/voices')
    const names = (await live.stop()).map(nameOf)
    const expected = ['getMe', 'world', 'listDeployments', 'world', 'listVoices']
    expect(names.filter(name => !/^\d/.test(name))).toEqual(expected)
  })

  test('of an earlier server or world begins with the event world', async () => {
    const { sim, ask } = asking()
    await ask('GET', '/v1/me')
    expect((await readAll(sim, { after: '1-999-999' })).map(nameOf)).toEqual(['world', 'getMe'])
    expect((await readAll(sim, { after: '7-1-1' })).map(nameOf)).toEqual(['world', 'getMe'])
  })

  test('gets an event that says how much was dropped before it came', { tags: 'slow' }, async () => {
    const { sim, ask } = asking({ journalLimit: 50 })
    const first = (await readAll(sim, { after: 'start' })).at(-1)?.id ?? '1-0-0'
    for (let i = 0; i < LIMITS.requests + 10; i++) await ask('GET', '/v1/me')
    const [gap, ...rest] = await readAll(sim, { after: first })
    expect(gap).toMatchObject({ type: 'gap', requests: 10 })
    expect(gap).toHaveProperty('message', expect.stringContaining('10 requests are no longer kept'))
    expect(rest.filter(({ type }) => type === 'request')).toHaveLength(LIMITS.requests)
  })
})

test('a reader that keeps reading misses nothing of 1,000 requests that never wait', async () => {
  const { sim, ask } = asking({ fixtures: 'empty' })
  const live = follow(sim, { kind: 'request' })
  for (let i = 0; i < 1_000; i++) await ask('GET', '/v1/me')
  const events = await live.stop()
  expect(events.filter(({ type }) => type !== 'request')).toEqual([])
  expect(events).toHaveLength(1_000)
})

describe('a reader that stops reading', () => {
  test('is dropped once events are lost to it, and its last event says so', { tags: 'slow' }, async () => {
    const { sim, ask } = asking({ fixtures: 'empty' })
    const reader = new EventReader(sim, { readTimeoutMs: 0 })
    let dropped = 0
    reader.onSlow = () => {
      dropped++
    }
    for (let i = 0; i < LIMITS.requests + 600; i++) await ask('GET', '/v1/me')
    while (dropped === 0) await eventLoopTurn()
    // It costs the world nothing from now on.
    expect(sim.requestLog.listeners).toBe(0)
    expect(await reader.next()).toMatchObject([{ type: 'end', reason: 'slow', id: '1-0-0' }])
    expect(await reader.next()).toBeUndefined()
  })

  test('is not dropped while nothing is lost', async () => {
    const { sim, ask } = asking({ fixtures: 'empty' })
    const reader = new EventReader(sim, { readTimeoutMs: 0, kind: 'request' })
    for (let i = 0; i < 900; i++) await ask('GET', '/v1/me')
    await turns()
    expect((await reader.next())?.[0]).toMatchObject({ type: 'request' })
    reader.close()
  })
})

test('readers end with the simulator, after all that happened', async () => {
  const { sim, ask } = asking({ fixtures: 'empty' })
  const live = follow(sim, { kind: 'request' })
  await ask('GET', '/v1/me')
  await sim[Symbol.asyncDispose]()
  await live.done
  expect(live.events.map(nameOf)).toEqual(['getMe', 'end'])
})

test('a world has at most 100 readers', () => {
  const { sim } = asking({ fixtures: 'empty' })
  const readers = Array.from({ length: LIMITS.eventReaders }, () => new EventReader(sim))
  expect(() => new EventReader(sim)).toThrow('the world has 100 readers, which is its limit')
  readers[0]!.close()
  new EventReader(sim).close()
})
