import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { expect, onTestFinished, test, vi } from 'vitest'
import { HalfOpenConnections } from '../../../src/server/http/listen.ts'

test('a client that closed its side before its request began to wait has left as well', async () => {
  let left = false
  const server = createServer(({ socket }, outgoing) => {
    // As a request does that waits in line behind another.
    socket.once('end', async () => {
      await halfClosed.trackWait(socket, new Promise(resolve => outgoing.once('close', resolve)))
      left = true
    })
  })
  const halfClosed = new HalfOpenConnections(server)
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close().closeAllConnections())
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1')
  client.end('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n')
  await vi.waitFor(() => expect(left).toBe(true))
})
