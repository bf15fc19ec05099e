/** Live events on the wire: server-sent events for any client. */
import { connect } from 'node:net'
import { expect, test } from 'vitest'
import { LIMITS } from '../../../src/lib/limits.ts'
import { eventLoopTurn } from '../../../src/lib/real-time.ts'
import { ServerSentEventParser } from '../../../src/lib/text/server-sent-events.ts'
import { createEventStream, EventTexts } from '../../../src/server/control/event-stream.ts'
import { readEntryColumns } from '../../../src/server/page/store/feed.ts'
import { EventReader } from '../../../src/simulator/requests/event-reader.ts'
import { createSimulator } from '../../../src/simulator/simulator.ts'
import { sendTo } from '../../setup/send-to.ts'
import { running } from '../http/running-server.ts'

test('an event has an id, a type and one line of JSON, without tokens', async () => {
  const { sim, server, ask } = await running()
  await ask(`/deploy/${sim.token}`)
  const response = await fetch(`${server.url}/_sim/events?after=start&follow=false&kind=request`)
  expect(response.headers.get('content-type')).toBe('text/event-stream; charset=utf-8')
  const text = await response.text()
  expect(text).toMatch(/^: events of modelhost-sim\n\nid: 1-1-1\nevent: request\ndata: \{"seq":1,.*\}\n\n$/)
  expect(text).not.toContain(sim.token)
})

test('in columns, the same entries and requests come with fewer events', async () => {
  const { sim, server, ask } = await running()
  await ask('/deploy/list')
  await sim.clock.advance('1d')
  await ask('/v1/me')
  await ask(`/deploy/${sim.token}`)
  const read = async (form: string) => {
    const response = await fetch(`${server.url}/_sim/events?after=start&follow=false${form}`)
    return new ServerSentEventParser().read(new Uint8Array(await response.arrayBuffer()))
  }
  const single = await read('')
  const columns = await read('&form=columns')
  expect(columns.length).toBeLessThan(single.length)
  expect(columns.at(-1)!.id).toBe(single.at(-1)!.id)
  const groups = columns.flatMap(({ type, data }) => (type === 'requests' ? [JSON.parse(data).requests] : []))
  expect(groups.map(({ length }) => length)).toEqual([1, 2])
  expect(groups.flat()).toEqual(single.flatMap(({ type, data }) => (type === 'request' ? [JSON.parse(data)] : [])))
  expect(columns.map(({ data }) => data).join()).not.toContain(sim.token)
  const entries = columns.flatMap(({ type, data }) => (type === 'entries' ? readEntryColumns(JSON.parse(data)) : []))
  const plain = single.flatMap(({ type, data }) => (type === 'entry' ? [JSON.parse(data)] : []))
  expect(entries.length).toBeGreaterThan(10)
  expect(entries.map(({ seq, at, kind, subject }) => [seq, at, kind, subject])).toEqual(
    plain.map(({ seq, at, kind, subject }) => [seq, at, kind, subject]),
  )
  const wrong = await fetch(`${server.url}/_sim/events?form=rows`)
  expect([wrong.status, await wrong.text()]).toEqual([422, expect.stringContaining('form')])
})

test('Last-Event-ID continues, and takes precedence over the address', async () => {
  const { server, ask } = await running()
  for (const path of ['/v1/me', '/deploy/list', '/v1/voices']) await ask(path)
  const address = `${server.url}/_sim/events?after=start&follow=false&kind=request`
  const ids = [...(await (await fetch(address)).text()).matchAll(/^id: (.*)$/gm)].map(([, id]) => id!)
  expect(ids).toHaveLength(3)
  const rest = await (await fetch(address, { headers: { 'last-event-id': ids[1]! } })).text()
  expect([...rest.matchAll(/^id: (.*)$/gm)].map(([, id]) => id)).toEqual([ids[2]])
})

test('a request of its headers alone holds no reader', async () => {
  const { sim, server } = await running()
  const { status } = await fetch(`${server.url}/_sim/events`, { method: 'HEAD' })
  expect(status).toBe(200)
  expect(sim.requestLog.listeners).toBe(0)
})

test('a silent stream has comments', async () => {
  const sim = createSimulator({ fixtures: 'empty' })
  const reader = createEventStream(sim, new EventReader(sim), new EventTexts(), 0).getReader()
  let text = ''
  while (!text.includes(': still here\n\n: still here')) text += new TextDecoder().decode((await reader.read()).value)
  expect(text.startsWith(': events of modelhost-sim\n\n')).toBe(true)
  await reader.cancel()
  expect(sim.requestLog.listeners).toBe(0)
})

test('many readers share each turn of the event loop, and each of them gets all events', { tags: 'slow' }, async () => {
  const sim = createSimulator({ fixtures: 'fleet' })
  await sim.clock.advance('6h')
  const all = sim.journal.entries().length
  const texts = new EventTexts()
  let [inTurn, most, isOver] = [0, 0, false]
  const read = async () => {
    let count = 0
    for await (const bytes of createEventStream(sim, new EventReader(sim, { after: 'start', follow: false }), texts)) {
      const events = new TextDecoder().decode(bytes).split('\nevent: ').length - 1
      count += events
      inTurn += events
      most = Math.max(most, inTurn)
    }
    return count
  }
  const countTurns = async () => {
    while (!isOver) {
      await eventLoopTurn()
      inTurn = 0
    }
  }
  const counting = countTurns()
  const counts = await Promise.all(Array.from({ length: 30 }, read))
  isOver = true
  await counting
  expect(all).toBeGreaterThan(1_000)
  expect(new Set(counts)).toEqual(new Set([all]))
  // A reader whose turn it is may be counted in the one before.
  expect(most).toBeLessThanOrEqual(500)
})

test('several readers get all events when their program never gives the event loop a turn', {
  tags: 'slow',
}, async () => {
  const sim = createSimulator({ fixtures: 'empty' })
  const texts = new EventTexts()
  const requests = 3 * LIMITS.requests
  const read = async () => {
    let [count, gaps] = [0, 0]
    const reader = createEventStream(sim, new EventReader(sim, { kind: 'request' }), texts).getReader()
    while (count < requests && gaps === 0) {
      const text = new TextDecoder().decode((await reader.read()).value)
      count += text.split('\nevent: request\n').length - 1
      gaps += text.split('\nevent: gap\n').length - 1
    }
    await reader.cancel()
    return [count, gaps]
  }
  const readers = [read(), read(), read()]
  for (let request = 0; request < requests; request++) await sendTo(sim, 'GET /v1/me')
  expect(await Promise.all(readers)).toEqual(Array.from({ length: 3 }, () => [requests, 0]))
})

test('readers that do not read keep no turn from the others', { tags: 'slow' }, async () => {
  const sim = createSimulator({ fixtures: 'fleet' })
  await sim.clock.advance('6h')
  const texts = new EventTexts()
  const open = () => createEventStream(sim, new EventReader(sim, { after: 'start', follow: false }), texts)
  const [idle, left] = [open(), open()]
  await left.cancel()
  let bytes = 0
  for await (const piece of open()) bytes += piece.length
  expect(bytes).toBeGreaterThan(100_000)
  await idle.cancel()
})

test('a consumer that stops reading gets the note behind what it has not read, and its stream ends', {
  tags: 'slow',
}, async () => {
  const sim = createSimulator({ fixtures: 'empty' })
  const stream = createEventStream(sim, new EventReader(sim, { kind: 'request', readTimeoutMs: 0 }), new EventTexts())
  const ask = () => sendTo(sim, 'GET /v1/me')
  for (let i = 0; i < LIMITS.requests + 2_000; i++) await ask()
  while (sim.requestLog.listeners > 0) await eventLoopTurn()
  let text = ''
  for await (const chunk of stream) text += new TextDecoder().decode(chunk)
  expect(text).toMatch(/event: end\ndata: \{"reason":"slow","message":"This reader did not read, .*\}\n\n$/)
  // Nothing was made for a consumer that did not ask.
  expect(text).not.toContain('event: request')
})

test('a client that leaves ends its reader', async () => {
  const { sim, server } = await running()
  const socket = connect(server.port, '127.0.0.1', () =>
    socket.write('GET /_sim/events HTTP/1.1\r\nhost: localhost\r\n\r\n'),
  )
  while (sim.requestLog.listeners === 0) await eventLoopTurn()
  socket.destroy()
  while (sim.requestLog.listeners > 0) await eventLoopTurn()
})

test('a server that closes ends its streams', async () => {
  const { server } = await running()
  const response = await fetch(`${server.url}/_sim/events`)
  const text = response.text()
  await server.close()
  expect(await text).toContain('event: end\ndata: {"reason":"closed"')
})

test('events come during a move of the clock', async () => {
  const { sim, server } = await running()
  let seen: string | undefined
  await sim.clock.untilInSlices(async () => {
    const response = await fetch(`${server.url}/_sim/events?after=start&follow=false`)
    seen = await response.text()
    return true
  })
  expect(seen).toContain(': events of modelhost-sim')
})
