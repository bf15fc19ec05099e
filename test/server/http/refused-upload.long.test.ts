import { Agent, request } from 'node:http'
import { connect } from 'node:net'
import { describe, expect, onTestFinished, test } from 'vitest'
import { batchFile } from '../../setup/batches.ts'
import { type Running, running } from './running-server.ts'

const MIB = 1_048_576

/** Sends bodies one after another on one kept connection, as a client with a pool does; resolves with the statuses. */
async function statusesOf(
  { server, sim }: Running,
  count: number,
  path: string,
  headers: Record<string, string>,
  pieces: () => Iterable<string | Buffer>,
): Promise<(number | string | undefined)[]> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  onTestFinished(() => agent.destroy())
  const statuses: (number | string | undefined)[] = []
  for (let nth = 0; nth < count; nth++) {
    statuses.push(
      await new Promise(resolve => {
        const options = { agent, method: 'POST', headers: { authorization: `Bearer ${sim.token}`, ...headers } }
        const outgoing = request(`${server.url}${path}`, options, incoming => {
          incoming.resume().on('end', () => resolve(incoming.statusCode))
        })
        outgoing.on('error', (error: NodeJS.ErrnoException) => resolve(error.code))
        for (const piece of pieces()) outgoing.write(piece)
        outgoing.end()
      }),
    )
  }
  return statuses
}

function* formOf(parts: number, bytes: number): Generator<string | Buffer> {
  yield '--B\r\ncontent-disposition: form-data; name="purpose"\r\n\r\nbatch\r\n'
  for (let nth = 0; nth < parts; nth++) yield `--B\r\ncontent-disposition: form-data; name="field${nth}"\r\n\r\nx\r\n`
  yield '--B\r\ncontent-disposition: form-data; name="file"; filename="large.jsonl"\r\n\r\n'
  yield Buffer.alloc(bytes, 'a')
  yield '\r\n--B--\r\n'
}

const FORM = { 'content-type': 'multipart/form-data; boundary=B' }

describe('after a body is refused midway, the next request on its connection is answered', () => {
  test('a file that is too large', async () => {
    const world = await running({ maxStorageBytes: MIB })
    const statuses = await statusesOf(world, 20, '/v1/files', FORM, () => formOf(0, 2 * MIB))
    expect(statuses).toEqual(Array(20).fill(413))
  })

  test('a form of too many parts', async () => {
    const world = await running()
    const statuses = await statusesOf(world, 20, '/v1/files', FORM, () => formOf(101, 2 * MIB))
    expect(statuses).toEqual(Array(20).fill(422))
  })

  test('a chunked JSON body that is too large', async () => {
    const world = await running()
    const block = Buffer.alloc(MIB, ' ')
    const json = { 'content-type': 'application/json' }
    const statuses = await statusesOf(world, 2, '/deploy/llm', json, () => Array(68).fill(block))
    expect(statuses).toEqual([413, 413])
  })

  test("a file that is too large, sent by Node's fetch", async () => {
    const { ask } = await running({ maxStorageBytes: MIB })
    for (let nth = 0; nth < 20; nth++) {
      const { status, body } = await ask('/v1/files', { method: 'POST', body: batchFile(Buffer.alloc(2 * MIB, 'a')) })
      await body?.cancel()
      expect(status).toBe(413)
    }
  })
})

test('a refusal says that the connection closes when the rest of the body is too large to read', async () => {
  const { server, sim } = await running()
  const form = [...formOf(101, 0)].join('')
  const head = [
    'POST /v1/files HTTP/1.1',
    'Host: localhost',
    `Authorization: Bearer ${sim.token}`,
    `Content-Type: ${FORM['content-type']}`,
    `Content-Length: ${100 * MIB}`,
  ]
  const answer = await new Promise<string>(resolve => {
    let text = ''
    const socket = connect(server.port, '127.0.0.1', () => socket.write(`${head.join('\r\n')}\r\n\r\n${form}`))
    socket.on('data', data => {
      text += data
    })
    socket.on('error', () => {})
    socket.on('close', () => resolve(text))
  })
  expect(answer).toMatch(/^HTTP\/1\.1 422 /)
  expect(answer).toMatch(/^connection: close\r$/im)
  expect(answer).not.toMatch(/^connection: keep-alive/im)
})
