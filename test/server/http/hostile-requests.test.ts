/** Requests that are invalid, oversized or abandoned: each gets a short answer, and none keeps the server busy. */
import { once } from 'node:events'
import { connect } from 'node:net'
import { describe, expect, test } from 'vitest'
import { eventLoopTurn } from '../../../src/lib/real-time.ts'
import { running, stateOf } from './running-server.ts'

const MEGABYTE = 1_000_000

describe('HTTP that the server cannot serve gets JSON and no date of the real clock', () => {
  test.each([
    ['a missing host', 'GET /deploy/list HTTP/1.1\r\n\r\n', 400, 'Bad Request: the Host header is missing'],
    [
      'an unknown expectation',
      'POST /deploy/llm HTTP/1.1\r\nhost: localhost\r\nexpect: magic\r\ncontent-length: 0\r\n\r\n',
      417,
      'Expectation Failed',
    ],
    ['OPTIONS *', 'OPTIONS * HTTP/1.1\r\nhost: localhost\r\n\r\n', 400, 'Bad Request: the target is not a path'],
    ['a backslash', 'GET /\\x HTTP/1.1\r\nhost: localhost\r\n\r\n', 400, 'Bad Request: the target is not a path'],
  ])('%s', async (_, bytes, status, detail) => {
    const server = await running()
    const before = stateOf(server)
    const text = await readAll(server.server.port, bytes)
    const [head, body] = text.split('\r\n\r\n') as [string, string]
    expect(head).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `))
    expect(head).toMatch(/content-type: application\/json/i)
    expect(head).not.toMatch(/^date:/im)
    expect(body).toContain(JSON.stringify({ detail }))
    expect(stateOf(server)).toEqual(before)
  })
})

/** Returns all that the server sends before it closes the connection. */
async function readAll(port: number, bytes: string): Promise<string> {
  const socket = connect(port, '127.0.0.1')
  let text = ''
  socket.setEncoding('utf8').on('data', data => {
    text += data
  })
  socket.write(bytes)
  await once(socket, 'close')
  return text
}

test('the address of a new world has the host of the header when the target names another', async () => {
  const { raw, server } = await running()
  const host = `127.0.0.1:${server.port}`
  const body = '{}'
  const text = await raw(
    `POST http://evil.example/_sim/worlds HTTP/1.1\r\nhost: ${host}\r\ncontent-type: application/json\r\n` +
      `content-length: ${body.length}\r\nconnection: close\r\n\r\n${body}`,
  )
  expect(text).toContain(`"base_url":"http://${host}/_sim/worlds/`)
  expect(text).not.toContain('evil.example')
})

describe('an error quotes only the beginning of a long value', () => {
  const long = 'x'.repeat(MEGABYTE / 2)
  test.each<[string, string, unknown]>([
    ['a duration', '/_sim/clock/advance', { by: long }],
    ['a time', '/_sim/clock/advance', { to: long }],
    ['a verb', '/_sim/commands', { verb: long, target: 'h100-0' }],
    ['a target', '/_sim/commands', { verb: 'crash', target: long }],
    ['an operation of a fault rule', '/_sim/faults', { on: long, fault: { kind: 'hang' } }],
    ['a path to wait for', '/_sim/clock/until', { get: long, where: { status: 'running' } }],
  ])('%s', async (_, path, body) => {
    const { command } = await running()
    const answer = await command(path, body)
    expect(answer.status).toBeGreaterThanOrEqual(400)
    expect(answer.status).toBeLessThan(500)
    expect(JSON.stringify(answer.body).length).toBeLessThan(10_000)
  })
})

test('a move of the clock ends when its client leaves', { tags: 'slow', timeout: 60_000 }, async () => {
  const { sim, server } = await running({ fixtures: 'fleet' })
  const client = new AbortController()
  const asked = fetch(`${server.url}/_sim/clock/advance`, {
    method: 'POST',
    body: JSON.stringify({ by: '3650d' }),
    headers: { 'content-type': 'application/json' },
    signal: client.signal,
  }).catch(() => {})
  await expect.poll(() => sim.clock.elapsed, { interval: 5, timeout: 20_000 }).toBeGreaterThan(0)
  client.abort()
  await asked
  let before = -1
  await expect
    .poll(
      async () => {
        const isStill = sim.clock.elapsed === before
        before = sim.clock.elapsed
        for (let turn = 0; turn < 20; turn++) await eventLoopTurn()
        return isStill && sim.clock.elapsed === before
      },
      { interval: 50, timeout: 20_000 },
    )
    .toBe(true)
  expect(sim.clock.elapsed).toBeLessThan(3650 * 86_400_000_000)
})

test('a description to wait for that is too long is refused', async () => {
  const { command } = await running()
  const where = { status: 'x'.repeat(MEGABYTE) }
  const answer = await command('/_sim/clock/until', { get: '/deploy/2cZeTxVFN7tKxCCh', where })
  expect(answer).toMatchObject({ status: 400, body: { error: expect.stringContaining('Give at most 10000') } })
})
