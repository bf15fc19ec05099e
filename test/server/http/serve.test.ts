import { once } from 'node:events'
import { connect } from 'node:net'
import { describe, expect, test, vi } from 'vitest'
import { ListenError, serve } from '../../../src/server/http/server.ts'
import { createSimulator } from '../../../src/simulator/simulator.ts'
import { running } from './running-server.ts'

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

describe('an invalid HTTP request', () => {
  test.each([
    ['no Host', 'GET / HTTP/1.1\r\n\r\n', 400],
    [
      'two lengths',
      'POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n',
      400,
    ],
    ['a backslash', 'GET /_sim\\clock HTTP/1.1\r\nHost: localhost\r\n\r\n', 400],
    ['a star', 'OPTIONS * HTTP/1.1\r\nHost: localhost\r\n\r\n', 400],
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

test('closing completes a request in flight and accepts no more', async () => {
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
