/** What comes over a socket and no `fetch` would send: pieces, breaks, strange targets, and clients that stay. */
import { Agent, request as httpRequest, STATUS_CODES } from 'node:http'
import { connect, type Socket } from 'node:net'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { serve } from '../../../src/server/http/server.ts'
import { createSimulator, type SimulatorOptions } from '../../../src/simulator/simulator.ts'
import { type Running, running, stateOf } from './running-server.ts'

const MIB = 1_048_576

/** A connection as a client holds it. */
interface Line {
  readonly socket: Socket
  /** All that came until now. */
  received(): string
  /** Resolves when what came matches, or the other side hung up. */
  until(pattern: RegExp): Promise<string>
}

async function dial({ server }: Running): Promise<Line> {
  const socket = connect(server.port, '127.0.0.1')
  onTestFinished(() => {
    socket.destroy()
  })
  socket.setNoDelay(true)
  let text = ''
  socket.on('data', data => {
    text += data
  })
  // A server that cuts a body off resets the connection.
  socket.on('error', () => {})
  await new Promise<void>(resolve => socket.once('connect', resolve))
  return {
    socket,
    received: () => text,
    until: pattern =>
      new Promise(resolve => {
        const look = () => {
          if (pattern.test(text) || socket.destroyed) resolve(text)
        }
        socket.on('data', look)
        socket.on('close', () => resolve(text))
        look()
      }),
  }
}

/** Each piece in a packet of its own: the next goes out when the system has taken the last. */
async function sendPieces({ socket }: Line, bytes: Buffer, size: number): Promise<void> {
  for (let at = 0; at < bytes.length; at += size)
    await new Promise<void>(resolve => socket.write(bytes.subarray(at, at + size), () => setImmediate(resolve)))
}

/** The head of a request; the token of the world goes with it unless it has another. */
const head = (line: string, headers: Readonly<Record<string, string | number>> = {}) =>
  [
    line,
    ...Object.entries({ Host: 'localhost', Authorization: 'Bearer sim_token', ...headers }).map(
      ([name, value]) => `${name}: ${value}`,
    ),
    '\r\n',
  ].join('\r\n')

const chunked = (pieces: readonly string[]) =>
  [...pieces, ''].map(piece => `${Buffer.byteLength(piece).toString(16)}\r\n${piece}\r\n`).join('')

const MULTIPART = { 'Content-Type': 'multipart/form-data; boundary=cut' }
const CONTENT = '{"custom_id":"ü🦙"}\r\n--cu\r\n\r\n--cu t--'.repeat(3)
const FILE_PART = `--cut\r\ncontent-disposition: form-data; name="file"; filename="in.jsonl"\r\ncontent-type: application/octet-stream\r\n\r\n${CONTENT}\r\n`
const PURPOSE_PART = '--cut\r\ncontent-disposition: form-data; name="purpose"\r\n\r\nbatch\r\n'
const FORM = `${FILE_PART}${PURPOSE_PART}--cut--\r\n`

/** A world that owns nothing but the token that these requests carry. */
const EMPTY: SimulatorOptions = {
  fixtures: 'empty',
  with: {
    api_tokens: [{ token: 'sim_token', token_id: 'token_of_the_wire', name: 'wire', created_at: 1_760_000_000 }],
  },
}

describe('an upload in pieces, its parts in the other order', () => {
  test.each([
    ['with a length', { 'Content-Length': Buffer.byteLength(FORM) }, Buffer.from(FORM)],
    ['in chunks', { 'Transfer-Encoding': 'chunked' }, Buffer.from(chunked([FORM.slice(0, 100), FORM.slice(100)]))],
  ])('%s: the file is whole', async (_, framing, bytes) => {
    const world = await running(EMPTY)
    const line = await dial(world)
    line.socket.write(head('POST /v1/files HTTP/1.1', { ...MULTIPART, ...framing, Connection: 'close' }))

    await sendPieces(line, bytes, 7)

    const answer = await line.until(/"object":"file".*\}/)
    expect(answer).toMatch(/^HTTP\/1.1 200 /)
    const { id } = JSON.parse(/\{.*\}/.exec(answer)![0]) as { id: string }
    expect(await (await world.ask(`/v1/files/${id}/content`)).text()).toBe(CONTENT)
  })

  test('enters the world only when it is complete', async () => {
    const world = await running(EMPTY)
    const line = await dial(world)
    line.socket.write(head('POST /v1/files HTTP/1.1', { ...MULTIPART, 'Content-Length': Buffer.byteLength(FORM) }))
    await sendPieces(line, Buffer.from(FORM).subarray(0, -5), 50)
    await vi.waitFor(() => expect(world.server.inFlight).toBe(1))
    await world.command('/_sim/clock/advance', { by: '1h' })

    await sendPieces(line, Buffer.from(FORM).subarray(-5), 5)

    expect(await line.until(/"created_at":\d+/)).toContain(`"created_at":${1_767_225_600 + 3600}`)
  })
})

describe('a client that hangs up in the middle', () => {
  test.each([
    ['an upload', head('POST /v1/files HTTP/1.1', { ...MULTIPART, 'Content-Length': 10_000_000 }) + FILE_PART],
    [
      'an upload in chunks',
      `${head('POST /v1/files HTTP/1.1', { ...MULTIPART, 'Transfer-Encoding': 'chunked' })}ffff\r\n${FILE_PART}`,
    ],
    ['a JSON body', `${head('POST /deploy/llm HTTP/1.1', { 'Content-Length': 500 })}{"model_name":"acme/new"`],
    [
      'a command',
      `${head('POST /_sim/clock/advance HTTP/1.1', { 'Content-Type': 'application/json', 'Content-Length': 99 })}{"by":"1h"`,
    ],
  ])('of %s changes nothing, and the server continues', { tags: 'slow' }, async (_, bytes) => {
    const world = await running(EMPTY)
    const before = [world.sim.digest, world.sim.clock.iso, world.sim.world.files.storedBytes]
    const line = await dial(world)
    line.socket.write(bytes)
    await vi.waitFor(() => expect(world.server.inFlight).toBe(1))

    line.socket.resetAndDestroy()

    await vi.waitFor(() => expect(world.server.inFlight).toBe(0))
    expect((await world.ask('/deploy/list')).status).toBe(200)
    expect([world.sim.digest, world.sim.clock.iso, world.sim.world.files.storedBytes]).toEqual(before)

    // One that only stops sending still listens, and hears that there was more to come.
    const half = await dial(world)
    half.socket.end(bytes)
    expect(await half.until(/never/)).toMatch(/^HTTP\/1.1 400 /)
    expect([world.sim.digest, world.sim.clock.iso, world.sim.world.files.storedBytes]).toEqual(before)
  })
})

describe('a client that closes its side when it has sent all', () => {
  const json = (line: string, body: string, headers: Readonly<Record<string, string>> = {}) =>
    head(line, { 'Content-Type': 'application/json', 'Content-Length': body.length, ...headers }) + body
  const upload = head('POST /v1/files HTTP/1.1', { ...MULTIPART, 'Content-Length': Buffer.byteLength(FORM) }) + FORM
  const chat = (more: object) =>
    json(
      'POST /v1/chat/completions HTTP/1.1',
      JSON.stringify({ model: 'acme/chat', messages: [{ role: 'user', content: 'Hello!' }], ...more }),
    )
  const CHAT: SimulatorOptions = {
    fixtures: 'two-nodes',
    with: { ...EMPTY.with, deployments: [{ model_name: 'acme/chat', max_batch_size: 4 }] },
  }

  test.each([
    ['a GET', EMPTY, head('GET /deploy/list HTTP/1.1'), /\[\]$/],
    [
      'two in one go',
      EMPTY,
      head('GET /deploy/list HTTP/1.1') + head('GET /v1/files HTTP/1.1'),
      /\[\]HTTP[\s\S]*"data":\[\]/,
    ],
    ['an upload', EMPTY, upload, /"object":"file"/],
    [
      'an upload in chunks',
      EMPTY,
      head('POST /v1/files HTTP/1.1', { ...MULTIPART, 'Transfer-Encoding': 'chunked' }) + chunked([FORM]),
      /"object":"file"/,
    ],
    ['a command', EMPTY, json('POST /_sim/clock/advance HTTP/1.1', '{"by":"1h"}'), /"now"/],
    ['a chat', CHAT, chat({}), /"finish_reason":"stop"/],
    ['a stream', CHAT, chat({ stream: true }), /data: \[DONE\]/],
  ])('gets the answer to %s, and the connection ends', async (_, options, bytes, answer) => {
    const world = await running(options)
    const line = await dial(world)
    line.socket.end(bytes)
    const text = await line.until(/never/)
    expect(text).toMatch(/^HTTP\/1.1 200 /)
    expect(text).toMatch(answer)
    expect(world.server.inFlight).toBe(0)
  })

  test.each([
    // As many others as the deployment has places for.
    ['for its turn', 4, {}, []],
    ['for its tokens', 0, { stream: true }, []],
    ['for an answer that never comes', 0, {}, [{ on: 'createChatCompletion', fault: { kind: 'hang' as const } }]],
  ])('is treated as gone when it has to wait %s', { tags: 'slow' }, async (_, others, more, faults) => {
    const world = await running({ ...CHAT, inferencePace: 'clock', faults })
    for (let i = 0; i < others; i++) (await dial(world)).socket.write(chat({}))
    await vi.waitFor(() => expect(world.sim.world.inferenceRequests.inFlightCount).toBe(others))

    const atOnce = await dial(world)
    atOnce.socket.end(chat(more))
    expect(await atOnce.until(/never/)).not.toContain('"content":"')
    await vi.waitFor(() => expect(world.server.inFlight).toBe(others))

    const later = await dial(world)
    later.socket.write(chat(more))
    await vi.waitFor(() => expect(world.server.inFlight).toBe(others + 1))
    later.socket.end()
    expect(await later.until(/never/)).not.toContain('[DONE]')
    await vi.waitFor(() => expect(world.server.inFlight).toBe(others))
    expect(world.sim.world.inferenceRequests.inFlightCount).toBe(others)
  })
})

describe('too large a body', () => {
  const REFUSED = /^HTTP\/1.1 413 [\s\S]*?"detail"/

  test.each([
    ['of an upload', 'POST /v1/files HTTP/1.1', { ...MULTIPART, 'Content-Length': 600 * MIB }],
    ['of JSON', 'POST /payment/funds HTTP/1.1', { 'Content-Length': 65 * MIB }],
  ])('%s is refused before it is sent when its length is declared', async (_, first, headers) => {
    const world = await running(EMPTY)
    const line = await dial(world)
    line.socket.write(head(first, headers))
    expect(await line.until(REFUSED)).toMatch(REFUSED)
  })

  test.each([['an upload', 'POST /v1/files HTTP/1.1', MULTIPART, FILE_PART, 2 * MIB]])(
    'of %s in chunks is refused at the limit',
    { tags: 'slow' },
    async (_, first, headers, start, bytes) => {
      const world = await running({ ...EMPTY, maxStorageBytes: MIB })
      const before = world.sim.digest
      const line = await dial(world)
      line.socket.write(head(first, { ...headers, 'Transfer-Encoding': 'chunked' }))
      line.socket.write(`${Buffer.byteLength(start).toString(16)}\r\n${start}\r\n`)
      const piece = Buffer.from(`${(256 * 1024).toString(16)}\r\n${'x'.repeat(256 * 1024)}\r\n`)
      const answered = line.until(REFUSED)
      // As much as it takes, and no end: only a server that counts can answer.
      for (let sent = 0; sent < bytes && !REFUSED.test(line.received()) && !line.socket.destroyed; sent += 256 * 1024)
        await new Promise(resolve => line.socket.write(piece, resolve))

      expect(await answered).toMatch(REFUSED)
      expect([world.sim.digest, world.sim.world.files.storedBytes]).toEqual([before, 0])
      expect((await world.ask('/deploy/list')).status).toBe(200)
    },
  )

  test('is never read as the next request', async () => {
    const world = await running(EMPTY)
    const smuggled = 'POST /_sim/clock/next HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n'
    const line = await dial(world)
    line.socket.write(
      head('POST /v1/files HTTP/1.1', { Authorization: 'Bearer unknown', 'Content-Length': smuggled.length }) +
        smuggled,
    )
    line.socket.write(head('GET /deploy/list HTTP/1.1', { Connection: 'close' }))

    const answer = await line.until(/HTTP\/1.1 [\s\S]*HTTP\/1.1 [\s\S]*\]$/)

    expect(answer.match(/HTTP\/1.1 \d+/g)).toEqual(['HTTP/1.1 401', 'HTTP/1.1 200'])
    expect(world.sim.journal.entries().map(({ subject }) => subject)).toEqual(['POST /v1/files', 'GET /deploy/list'])
  })

  test('without a token is refused for that, before it is read', async () => {
    const world = await running(EMPTY)
    const line = await dial(world)
    line.socket.write(
      head('POST /v1/files HTTP/1.1', { ...MULTIPART, 'Content-Length': 100 * MIB, Authorization: 'Bearer unknown' }),
    )
    expect(await line.until(/\}/)).toMatch(/^HTTP\/1.1 401 /)
  })
})

describe('an unusual request line or header', () => {
  test.each([
    ['a path with a broken escape', 'GET /v1/voices/%E0%A4%A HTTP/1.1', 404],
    ['a query with a broken escape', 'GET /deploy/list?status=%zz HTTP/1.1', 400],
    ['an absolute target', 'GET http://localhost/deploy/list HTTP/1.1', 200],
    ['an absolute target with a query', 'GET http://localhost/deploy/list?status=walking HTTP/1.1', 400],
    ['a path of two slashes', 'GET //deploy/list HTTP/1.1', 404],
    ['a very long path', `GET /${'x'.repeat(9000)} HTTP/1.1`, 404],
    ['more headers than there is room for', `GET /deploy/list HTTP/1.1\r\nX-Pad: ${'x'.repeat(20_000)}`, 431],
    ['an older version', 'GET /deploy/list HTTP/1.0', 200],
    ['an unknown method', 'BREW /deploy/list HTTP/1.1', 400],
    ['a method that no path has', 'PROPFIND /deploy/list HTTP/1.1', 405],
    ['a call for another protocol', 'GET /deploy/list HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: h2c', 200],
  ])('%s is answered, and changes nothing', { tags: 'slow' }, async (_, line, status) => {
    const world = await running(EMPTY)
    const before = world.sim.digest
    expect(await world.raw(head(line))).toMatch(new RegExp(`^HTTP/1.1 ${status} `))
    expect(world.sim.digest).toBe(before)
  })

  test('a target with another host reaches this server, and only the header is checked', async () => {
    const world = await running(EMPTY)
    const answer = await world.raw(head('GET http://evil.example/deploy/list HTTP/1.1'))
    expect(answer).toMatch(/^HTTP\/1.1 200 /)
  })

  test('a body with a content encoding is refused, also an upload', async () => {
    const world = await running(EMPTY)
    for (const encoding of ['gzip', 'br', 'deflate', 'x-unknown']) {
      const line = await dial(world)
      const framing = { ...MULTIPART, 'Content-Encoding': encoding, 'Content-Length': Buffer.byteLength(FORM) }
      line.socket.write(head('POST /v1/files HTTP/1.1', framing) + FORM)
      expect(await line.until(/Unsupported Media Type: send the body as it is, not compressed"/), encoding).toMatch(
        /^HTTP\/1.1 415 /,
      )
    }
    expect(world.sim.world.files.storedBytes).toBe(0)
  })

  test.each([
    'evil.example:80:80',
    'localhost@evil.example',
    'localhost:4010@evil.example',
    'evil.example#localhost',
    'evil.example/localhost',
    'evil.example?localhost',
    'evil.example\\localhost',
    'evil.example%00localhost',
    'localhost%2eevil.example',
    'LOCALHOST.EVIL.EXAMPLE',
    'localhost..evil.example',
    'evil.localhost.example',
    '127.evil.example',
    '127.0.0.1.nip.example',
    '127.0.0.1:80.evil.example',
    '[::1].evil.example',
    '[::1',
    '[evil.example]',
    'localhost,evil.example',
    'localhost evil.example',
    'evil.example..',
    'évil.example',
    '',
  ])('refuses the host %j', async host => {
    const world = await running()
    const before = stateOf(world)
    const command = `POST /_sim/clock/next HTTP/1.1\r\nHost: ${host}\r\nContent-Length: 0\r\n\r\n`
    expect(await world.raw(command)).toMatch(/^HTTP\/1.1 40[03] /)
    const funds = `POST /payment/funds HTTP/1.1\r\nHost: ${host}\r\nAuthorization: Bearer ${world.sim.token}\r\nContent-Length: 14\r\n\r\n{"amount":500}`
    expect(await world.raw(funds)).toMatch(/^HTTP\/1.1 40[03] /)
    expect(stateOf(world)).toEqual(before)
  })

  test.each([
    ['twice', 'Host: evil.example\r\nHost: localhost'],
    ['on a second line', 'Host: evil.example\r\n localhost'],
    ['not at all', 'X-Host: localhost'],
    ['as another header', 'X-Forwarded-Host: localhost\r\nHost: evil.example'],
  ])('a host given %s changes nothing', async (_, hosts) => {
    const world = await running()
    const before = stateOf(world)
    const command = `POST /_sim/clock/next HTTP/1.1\r\n${hosts}\r\nContent-Length: 0\r\n\r\n`
    expect(await world.raw(command)).toMatch(/^HTTP\/1.1 40[03] /)
    expect(stateOf(world)).toEqual(before)
  })
})

describe('closing', () => {
  test('announces a keep-alive timeout that is longer than clients leave a connection idle', async () => {
    const { ask } = await running(EMPTY)
    expect((await ask('/deploy/list')).headers.get('keep-alive')).toBe('timeout=75')
  })

  test('closes idle connections at once while a request is in flight', { tags: 'slow' }, async () => {
    const world = await running(EMPTY)
    const agent = new Agent({ keepAlive: true })
    onTestFinished(() => agent.destroy())
    const asked = Array.from(
      { length: 5 },
      () =>
        new Promise<Socket>((resolve, reject) => {
          const outgoing = httpRequest({ agent, port: world.server.port, host: '127.0.0.1', path: '/' }, incoming => {
            const { socket } = incoming
            incoming.resume().on('end', () => resolve(socket))
          })
          outgoing.on('error', reject).end()
        }),
    )
    // Browsers open connections in advance that never send a thing.
    const idle = [...(await Promise.all(asked)), (await dial(world)).socket]
    const line = await dial(world)
    line.socket.write(head('POST /v1/files HTTP/1.1', { ...MULTIPART, 'Content-Length': Buffer.byteLength(FORM) }))
    await vi.waitFor(() => expect(world.server.inFlight).toBe(1))
    expect(idle.some(socket => socket.destroyed)).toBe(false)

    const closed = world.server.close()

    await vi.waitFor(() => expect(idle.every(socket => socket.destroyed)).toBe(true))
    expect(line.socket.destroyed).toBe(false)
    line.socket.write(FORM)
    await closed
    expect(await line.until(/\}$/)).toMatch(/^HTTP\/1.1 200 [\s\S]*"object":"file"/)
    expect(world.sim.world.files.storedBytes).toBe(Buffer.byteLength(CONTENT))
  })

  test('frees the port for the next server', async () => {
    const { server } = await running()
    await server.close()
    const next = await serve(createSimulator(), { port: server.port })
    expect(next.port).toBe(server.port)
    await next.close()
  })
})

test.each([
  ['a header of a megabyte', head('GET /v1/voices HTTP/1.1', { 'X-Large': 'a'.repeat(MIB) }), 431],
  ['a text that is not HTTP', 'Hello, is this HTTP?\r\n\r\n', 400],
])('%s is refused with a JSON body', async (_, sent, status) => {
  const world = await running(EMPTY)
  const line = await dial(world)
  line.socket.write(sent)
  const [start, body] = (await line.until(/"}$/)).split('\r\n\r\n')
  expect(start).toMatch(new RegExp(`^HTTP/1.1 ${status} .*\\r\\ncontent-type: application/json\\r\\n`))
  expect(JSON.parse(body!)).toEqual({ detail: STATUS_CODES[status] })
  // Other clients have noticed nothing.
  expect((await fetch(`${world.server.url}/_sim/health`)).status).toBe(200)
})
