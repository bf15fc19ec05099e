import { once } from 'node:events'
import { connect } from 'node:net'
import { describe, expect, test, vi } from 'vitest'
import { ListenError, serve } from '../../../src/server/http/server.ts'
import { createSimulator } from '../../../src/simulator/simulator.ts'
import { running } from './running-server.ts'

describe('a server answers as in the process', () => {
  const requests: [method: string, path: string, body?: unknown][] = [
    ['GET', '/deploy/list'],
    ['GET', '/deploy/list/?status=running,stopped'],
    ['GET', '/deploy/list?status=wrong'],
    ['GET', '/models/deployment/list'],
    ['GET', '/models/aurora-labs%2Faurora-8b-instruct/schema/default'],
    ['GET', '/models/aurora-labs/aurora-8b-instruct/schema/default'],
    ['GET', '/v1/voices'],
    ['GET', '/v1/voices/none'],
    ['GET', '/v2/hardware'],
    ['GET', '/payment/usage/rent?from=1767225600'],
    ['GET', '/v1/api-tokens'],
    ['GET', '/aggregator/models'],
    ['GET', '/no/such/path'],
    ['GET', '/openapi.json'],
    ['HEAD', '/deploy/list'],
    ['PATCH', '/deploy/list'],
    ['POST', '/deploy/llm', { model_name: 'acme/chat2', gpu: 'H100-80GB', hub: { repo: 'acme/chat-8b' } }],
    ['POST', '/deploy/llm', { model_name: 'acme/chat2', gpu: 'T4' }],
    ['POST', '/payment/funds', { amount: 500 }],
    ['POST', '/vendor_a/v1/messages/count_tokens', { model: 'none', messages: [] }],
  ]

  test('with the same status, headers and body for a series of requests', async () => {
    const { sim, ask } = await running()
    const twin = createSimulator({ seed: 1 })
    for (const [method, path, body] of requests) {
      const init = {
        method,
        ...(body !== undefined && { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
      }
      const served = await ask(path, init)
      const direct = await twin.fetch(`http://sim${path}`, {
        ...init,
        headers: { authorization: `Bearer ${twin.token}`, ...init.headers },
      })
      const shown = async (response: Response) => ({
        status: response.status,
        type: response.headers.get('content-type'),
        date: response.headers.get('date'),
        allow: response.headers.get('allow'),
        text: await response.text(),
      })
      expect(await shown(served), `${method} ${path}`).toEqual(await shown(direct))
    }
    expect(sim.digest).toBe(twin.digest)
  })

  test('to an upload and its download', async () => {
    const { ask } = await running()
    const content = '{"custom_id":"ü"}\n'.repeat(20_000)
    const form = new FormData()
    form.set('file', new Blob([content]), 'input.jsonl')
    form.set('purpose', 'batch')

    const { id } = (await (await ask('/v1/files', { method: 'POST', body: form })).json()) as { id: string }

    expect(await (await ask(`/v1/files/${id}/content`)).text()).toBe(content)
  })
})

describe('the address of the client', () => {
  const office = { authorization: 'Bearer sim_office_token' }

  test("is the socket's address, whatever a header says", async () => {
    const { ask } = await running()
    expect((await ask('/v1/voices', { headers: { ...office, 'x-forwarded-for': '203.0.113.7' } })).status).toBe(403)
  })

  test('is the forwarded address behind a trusted proxy', async () => {
    const { ask } = await running({}, { trustProxy: true })
    const from = async (address: string) =>
      (await ask('/v1/voices', { headers: { ...office, 'x-forwarded-for': address } })).status
    expect(await from('203.0.113.7, 10.0.0.1')).toBe(200)
    expect(await from('::ffff:203.0.113.7')).toBe(200)
    expect(await from('198.51.100.1')).toBe(403)
    expect(await from('nonsense')).toBe(403)
  })
})

describe('a scaled clock', () => {
  test('has caught up before a request is answered', async () => {
    const { sim, ask } = await running({ clock: { mode: 'scaled', speed: 1e6 } })
    const first = sim.clock.elapsed
    await ask('/deploy/list')
    expect(sim.clock.elapsed).toBeGreaterThan(first)
  })
})

describe('an invalid HTTP request', () => {
  test.each([
    ['garbage', 'garbage\r\n\r\n', 400],
    ['no Host', 'GET / HTTP/1.1\r\n\r\n', 400],
    [
      'two lengths',
      'POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n',
      400,
    ],
    ['a broken escape', 'GET /deploy/%zz HTTP/1.1\r\nHost: localhost\r\n\r\n', 404],
    ['a backslash', 'GET /_sim\\clock HTTP/1.1\r\nHost: localhost\r\n\r\n', 400],
    ['a star', 'OPTIONS * HTTP/1.1\r\nHost: localhost\r\n\r\n', 400],
    ['an upgrade', 'GET /_sim HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n', 200],
    [
      'a packed body',
      'POST /payment/funds HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer sim_default_token\r\nContent-Encoding: gzip\r\nContent-Length: 1\r\n\r\nx',
      415,
    ],
  ])('%s is answered, and the server continues', async (_, bytes, status) => {
    const { raw, ask } = await running()
    expect(await raw(bytes)).toMatch(new RegExp(`^HTTP/1.1 ${status} `))
    expect((await ask('/deploy/list')).status).toBe(200)
  })

  test('a client that disconnects during a request is not reported', async () => {
    const { server, sim, ask } = await running()
    const said = [vi.spyOn(console, 'error'), vi.spyOn(console, 'info'), vi.spyOn(process.stderr, 'write')]
    const before = sim.digest
    const head = `Host: localhost\r\nAuthorization: Bearer ${sim.token}\r\nContent-Length: 5000\r\n`
    for (let i = 0; i < 40; i++) {
      await new Promise<void>(resolve => {
        const socket = connect(server.port, '127.0.0.1', () => {
          socket.write(`POST /payment/funds HTTP/1.1\r\n${head}Content-Type: application/json\r\n\r\n{"am`, () => {
            socket.destroy()
            resolve()
          })
        })
      })
    }
    await vi.waitFor(() => expect(server.inFlight).toBe(0))
    expect((await ask('/deploy/list')).status).toBe(200)
    expect(sim.digest).toBe(before)
    for (const spy of said) expect(spy).not.toHaveBeenCalled()
    vi.restoreAllMocks()
  })
})

describe('listening', () => {
  test('on a port in use fails with the port, the reason and a remedy', async () => {
    const { server } = await running()
    const failed = serve(createSimulator(), { port: server.port })

    await expect(failed).rejects.toThrow(
      `Failed to listen on 127.0.0.1:${server.port}: the port is taken. Stop the other process, or give another port: --port ${server.port + 1}.`,
    )
    await expect(failed).rejects.toBeInstanceOf(ListenError)
    await expect(failed).rejects.toMatchObject({ code: 'EADDRINUSE', exitCode: 2 })
  })

  test('on an address of another machine fails with the cause', async () => {
    await expect(serve(createSimulator(), { port: 0, hostname: '192.0.2.1', controlToken: 'x' })).rejects.toThrow(
      'no such address on this machine. Give one of its own: --host 127.0.0.1.',
    )
  })

  test('beyond loopback requires a control token', async () => {
    await expect(serve(createSimulator(), { port: 0, hostname: '0.0.0.0' })).rejects.toThrow(
      'Failed to listen on 0.0.0.0: other machines could command the simulator.',
    )
  })

  test('beyond loopback refuses an empty control token', async () => {
    await expect(serve(createSimulator(), { port: 0, hostname: '0.0.0.0', controlToken: '' })).rejects.toMatchObject({
      code: 'NO_CONTROL_TOKEN',
      exitCode: 2,
    })
  })

  test('binds only loopback by default', async () => {
    const { server } = await running()
    expect(server.url).toBe(`http://127.0.0.1:${server.port}`)
  })
})

describe('closing', () => {
  test('completes a request in flight and accepts no more', async () => {
    const { server, sim } = await running()
    const body = '{"amount":500}'
    const socket = connect(server.port, '127.0.0.1')
    let answer = ''
    socket.on('data', data => {
      answer += data
    })
    socket.write(
      `POST /payment/funds HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${sim.token}\r\nContent-Length: ${body.length}\r\n\r\n`,
    )
    await vi.waitFor(() => expect(server.inFlight).toBe(1))

    const closed = server.close()
    expect(server.close()).toBe(closed)
    await expect(fetch(server.url)).rejects.toThrow()
    socket.write(body)
    await Promise.all([closed, once(socket, 'close')])

    expect(answer).toMatch(/^HTTP\/1.1 200 /)
  })

  test('does not wait for idle connections', async () => {
    const { server, ask } = await running()
    await (await ask('/deploy/list')).text()
    await server.close()
  })
})
